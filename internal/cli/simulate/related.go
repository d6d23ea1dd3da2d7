package simulate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// readRelated makes the controller read related objects.
func (w *fakeCluster) readRelated() error {
	for i := range w.compiled.Related {
		r := &w.compiled.Related[i]
		k := w.kinds.find(r.GVK)
		objects, err := w.watched(r)
		if err != nil {
			return fmt.Errorf("%s: %w", syntax.RelatedName(r.Name), err)
		}
		cache, err := watch.NewCache(watch.Want{Resource: k.Resource, Labels: r.Labels, Fields: r.Fields, Role: watch.Related}, func(watch.Event) {}, func() {})
		if err != nil {
			return err
		}
		if err := cache.Replace(objects, "1"); err != nil {
			return err
		}
		e := &related.Entry{Related: r, Kind: k, Caches: map[string]*watch.Cache{"": cache}, Index: related.NewIndex(nil, "")}
		if w.state.Read != nil {
			e.More = func(s related.Selection) []*object.Object { return w.state.Read(r.Name, s) }
		}
		w.controller.Related = append(w.controller.Related, e)
	}
	return nil
}

// watched returns the objects that the selectors of an entry select. Of several objects with the same name, the first one counts.
func (w *fakeCluster) watched(r *spec.Related) ([]any, error) {
	byLabels, err := labels.Parse(r.Labels)
	if err != nil {
		return nil, err
	}
	byFields, err := fields.ParseSelector(r.Fields)
	if err != nil {
		return nil, err
	}
	var out []any
	there := map[types.NamespacedName]bool{}
	for _, content := range slices.Concat([]map[string]any{w.state.Parent}, w.state.Objects, w.state.Related) {
		if child.GVKOf(content).GroupKind() != r.GVK.GroupKind() {
			continue
		}
		o, err := object.From(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(content), err)
		}
		if w.lets(r, o) && byLabels.Matches(o) && byFields.Matches(memserver.Fields(content)) && !there[o.Key()] {
			there[o.Key()] = true
			out = append(out, o)
		}
	}
	return out, nil
}

// lets reports whether objects in the namespace of o are watched. An unknown namespace matches.
func (w *fakeCluster) lets(r *spec.Related, o *object.Object) bool {
	if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, o.Namespace()) {
		return false
	}
	if r.NamespaceSelector == nil {
		return true
	}
	for _, content := range slices.Concat(w.state.Objects, w.state.Related) {
		if id := child.IDOf(content); id.Kind == (schema.GroupKind{Kind: "Namespace"}) && id.Name.Name == o.Namespace() {
			ns, err := object.From(content)
			return err == nil && r.NamespaceSelector.Matches(ns)
		}
	}
	return true
}

// relatedTo returns .related of templates.
func (p *finished) relatedTo(name string) ([]map[string]any, error) {
	objects, known := p.report.Related[name]
	if !known {
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return child.DecodeAll(objects, &p.budget)
}

// logs returns the logs of the State. Pods without logs have not started.
func (p *finished) logs(pod map[string]any) (map[string]string, error) {
	metadata := Map(pod["metadata"])
	return p.state.Logs[Text(metadata["namespace"])+"/"+Text(metadata["name"])], nil
}
