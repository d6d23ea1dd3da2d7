package typed

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// roots infers the data of templates.
type roots struct {
	spec      *v1.TemplateControllerSpec
	known     openapi.Set
	values    map[string]any // spec.values
	names     []string       // of entries
	skeletons *outline.Skeletons

	kinds    map[string]*types.Value // of the objects of entries, by name
	children map[string]*syntax.Unit // templates of entries, by name
	entries  map[string]string       // names of entries, by name of their readyWhen
	others   map[string]*types.Value // see otherObjects; nil = not computed yet
}

func newRoots(spec *v1.TemplateControllerSpec, known openapi.Set, program *render.Program, skeletons *outline.Skeletons) *roots {
	templates := program.Templates()
	r := &roots{
		spec: spec, known: known, values: program.Values(), names: templates.Names, skeletons: skeletons,
		kinds: map[string]*types.Value{}, children: map[string]*syntax.Unit{}, entries: map[string]string{},
	}
	units := make(map[string]*syntax.Unit, len(templates.Children))
	for _, u := range templates.Children {
		units[u.Text.Name] = u
	}
	for _, name := range r.names {
		r.children[name], r.entries[syntax.ReadyWhenName(name)] = units[syntax.ChildName(name)], name
	}
	return r
}

// of returns the data of a template.
func (r *roots) of(u *syntax.Unit) *types.Value {
	parent := r.object(r.spec.Watch.APIVersion, r.spec.Watch.Kind, "")
	keys := map[string]*types.Value{
		"parent":     parent,
		"controller": {Kinds: openapi.Map, Keys: map[string]*types.Value{"name": types.OfKinds(openapi.String)}},
		"values":     r.ofValues(),
	}
	for _, key := range []string{"metadata", "spec", "status"} {
		keys[key] = types.Anything
		if parent.Type != nil {
			found, _ := parent.Lookup(key)
			if found == nil {
				found = types.Missing
			}
			keys[key] = found
		}
	}
	if u.Purpose != syntax.ForSelect && u.Purpose != syntax.ForFilter && u.Purpose != syntax.ForFilterWithoutStatus {
		if r.others == nil {
			r.others = r.otherObjects()
		}
		maps.Copy(keys, r.others)
	}
	if u.Purpose == syntax.ForReadyWhen {
		keys["object"] = r.childOf(r.entries[u.Text.Name])
	}
	// The parser of templates checks which keys exist.
	return &types.Value{Kinds: openapi.Map, Keys: keys, Open: true, Origin: &types.Origin{Source: types.FromTemplate}}
}

// otherObjects returns the children and related objects, which are the same in all templates.
func (r *roots) otherObjects() map[string]*types.Value {
	observed, children := map[string]*types.Value{}, map[string]*types.Value{}
	for _, name := range r.names {
		observed[name], children[name] = objects(".observed."+name, r.childOf(name)), objects(".children."+name, r.childOf(name))
	}
	related := map[string]*types.Value{}
	for i := range r.spec.Related {
		entry := &r.spec.Related[i]
		related[entry.Name] = objects(".related."+entry.Name, r.object(entry.APIVersion, entry.Kind, ".related."+entry.Name+"[]"))
	}
	all := map[string]*types.Value{}
	for key, of := range map[string]map[string]*types.Value{"children": children, "observed": observed, "related": related} {
		all[key] = &types.Value{Kinds: openapi.Map, Keys: of, Open: true}
	}
	return all
}

// ofValues returns spec.values.
func (r *roots) ofValues() *types.Value {
	data := r.values
	if data == nil {
		data = map[string]any{}
	}
	return types.OfData(data, &types.Origin{Root: ".values", Source: types.FromValues, Items: map[uintptr]*types.Value{}})
}

// object returns an object of a kind.
func (r *roots) object(apiVersion, kind, root string) *types.Value {
	gv, err := gvk.ParseGroupVersion(apiVersion)
	if err != nil || r.known == nil {
		return types.OfKinds(openapi.Map)
	}
	t, exists := r.known.Lookup(gv.WithKind(kind))
	if t == nil || !exists {
		if t = r.anyObject(); t == nil {
			return types.OfKinds(openapi.Map)
		}
	}
	v := types.OfType(t, &types.Origin{Root: root, Object: kind, Type: t})
	v.Kinds = openapi.Map
	return v
}

// anyObject is the type of objects of unknown kind: they have metadata. It can be nil.
func (r *roots) anyObject() *openapi.Type {
	t, _ := r.known.Lookup(gvk.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	if t == nil {
		return nil
	}
	name := openapi.Field{Type: &openapi.Type{Kinds: openapi.String}, Present: true}
	return &openapi.Type{Kinds: openapi.Map, Open: true, Fields: map[string]openapi.Field{"apiVersion": name, "kind": name, "metadata": t.Fields["metadata"]}}
}

// childOf returns an object that a child template renders.
func (r *roots) childOf(name string) *types.Value {
	if v := r.kinds[name]; v != nil {
		return v
	}
	v := r.yields(name)
	r.kinds[name] = v
	return v
}

// yields returns the type of the objects of a child template, as far as its text shows their kinds.
func (r *roots) yields(name string) *types.Value {
	u := r.children[name]
	if u == nil {
		return types.OfKinds(openapi.Map)
	}
	var all []*types.Value
	root := ".children." + name + "[]"
	for _, kind := range r.skeletons.Of(u).Kinds() {
		all = append(all, r.object(kind.GroupVersion().String(), kind.Kind, root))
	}
	if len(all) == 1 {
		return all[0]
	}
	v := r.object("", "", root)
	v.Origin = &types.Origin{Root: root, Object: "the object", Type: v.Type}
	v.Variants = all
	return v
}

// objects returns the list of the objects of an entry.
func objects(name string, item *types.Value) *types.Value {
	v := types.ListOf(item)
	if item.Type != nil {
		v.Origin = &types.Origin{Root: name, Object: name, Type: &openapi.Type{Kinds: openapi.List, Items: item.Type}}
	}
	return v
}

// labeled returns the steps to labels that parents and related objects always have, because their selectors
// require them.
func labeled(spec *v1.TemplateControllerSpec) map[string]bool {
	all := map[string]bool{}
	addLabels(all, "", spec.Watch.LabelSelector)
	for i := range spec.Related {
		addLabels(all, ".related."+spec.Related[i].Name+"[]", spec.Related[i].LabelSelector)
	}
	return all
}

// addLabels adds the steps to the labels of an object at root that the selector requires. The selector can be nil.
func addLabels(all map[string]bool, root string, selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	keys := slices.Collect(maps.Keys(selector.MatchLabels))
	for _, each := range selector.MatchExpressions {
		if each.Operator == metav1.LabelSelectorOpIn || each.Operator == metav1.LabelSelectorOpExists {
			keys = append(keys, each.Key)
		}
	}
	addKeys(all, root, keys)
}

// addKeys adds the steps to labels of an object at root.
func addKeys(all map[string]bool, root string, keys []string) {
	at := root + ".metadata.labels"
	for _, key := range keys {
		all[at], all[at+"."+key] = true, true
	}
}
