package diff

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/snapshot"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// cluster stands for an API server.
type cluster struct {
	t       *testing.T
	objects map[schema.GroupResource][]*object.Object
	missing []schema.GroupKind
	// answer is what the server says of a write that is tried; without one, it takes what is sent.
	answer  func(at request.Location, body *object.Object) (*object.Object, error)
	allowed bool
	lax     bool             // whether lists hold what no selector lets through
	refused error            // of questions about permissions
	broken  map[string]error // by resource: reading it fails; by kind and group: it cannot be found out where it is

	mu    sync.Mutex
	tried []string
	asked int
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{t: t, objects: map[schema.GroupResource][]*object.Object{}, allowed: true}
}

func resourceOf(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	return kind.Guess(gvk).Resource
}

// add adds objects, as YAML or as JSON data.
func (c *cluster) add(contents ...map[string]any) {
	c.t.Helper()
	for _, content := range contents {
		o, err := object.From(content)
		if err != nil {
			c.t.Fatal(err)
		}
		gr := resourceOf(child.GVKOf(content)).GroupResource()
		c.objects[gr] = append(c.objects[gr], o)
	}
}

func (c *cluster) Get(_ context.Context, at request.Location) (*object.Object, error) {
	if err := c.broken[at.Resource.Resource]; err != nil {
		return nil, err
	}
	for _, o := range c.objects[at.Resource.GroupResource()] {
		if o.Namespace() == at.Namespace && o.Name() == at.Name {
			return o, nil
		}
	}
	return nil, apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
}

func (c *cluster) List(_ context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (runtime.Object, error) {
	if err := c.broken[resource.Resource]; err != nil {
		return nil, err
	}
	selector, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	list := &object.List{}
	for _, one := range c.objects[resource.GroupResource()] {
		if (namespace == "" || one.Namespace() == namespace) && (c.lax || selector.Matches(one)) {
			list.Items = append(list.Items, one)
		}
	}
	return list, nil
}

func (c *cluster) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if err := c.broken[gk.String()]; err != nil {
		return nil, err
	}
	if slices.Contains(c.missing, gk) {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	gvk := gk.WithVersion(versions[0])
	return &meta.RESTMapping{Resource: resourceOf(gvk), GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}, nil
}

func (c *cluster) KindFor(schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	panic("unexpected request")
}

func (c *cluster) TryApply(_ context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	o, err := object.Decode(body)
	if err != nil || manager != "templater/apps" {
		c.t.Errorf("applied by %s: %v", manager, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	how := "create"
	if o.UID() != "" {
		how = "update"
	}
	c.tried = append(c.tried, how+" "+at.Resource.Resource+" "+at.Namespace+"/"+at.Name)
	slices.Sort(c.tried)
	if c.answer != nil {
		return c.answer(at, o)
	}
	return o, nil
}

func (c *cluster) Allowed(context.Context, request.Permission) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.allowed, c.refused
}

func controllerFrom(t *testing.T, text string) *v1.TemplateController {
	t.Helper()
	set, err := manifest.Load([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return set.Controllers[0].TemplateController
}

func contents(t *testing.T, text string) []map[string]any {
	t.Helper()
	set, err := manifest.Load([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, o := range set.Objects {
		out = append(out, o.Content)
	}
	return out
}

// serve adds a TemplateController and its parents, with what the operator has made of them. The contents of children are as change
// leaves them; nil changes nothing.
func (c *cluster) serve(controller string, change func(map[string]any), parents ...string) {
	c.t.Helper()
	tc := controllerFrom(c.t, controller)
	checked := lint.Check(tc, nil)
	if checked.Rejection != nil {
		c.t.Fatal(checked.Rejection.Message)
	}
	s, rejection := simulate.New(tc, checked.Compiled, nil, nil)
	if rejection != nil {
		c.t.Fatal(rejection.Message)
	}
	for _, source := range parents {
		parent := contents(c.t, source)[0]
		metadata := simulate.Map(parent["metadata"])
		metadata["namespace"], metadata["uid"], metadata["generation"] = "default", "uid-"+simulate.Text(metadata["name"]), int64(1)
		_, end, err := s.SettleReady(simulate.State{Parent: parent, Now: noon.Add(-time.Hour)}, func(string) bool { return true })
		if err != nil {
			c.t.Fatal(err)
		}
		c.add(end.Parent)
		for _, o := range end.Objects {
			simulate.Map(o["metadata"])["uid"] = "live-" + metadataText(o, "name")
			if change != nil {
				change(o)
			}
			c.add(o)
		}
	}
	var content map[string]any
	raw, err := json.Marshal(tc)
	if err == nil {
		err = json.Unmarshal(raw, &content)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	content["apiVersion"], content["kind"] = v1.GroupVersion.String(), "TemplateController"
	c.add(content)
}

// compare compares, and tells what is reported in short lines.
func (c *cluster) compare(edited string) (*Report, []string) {
	c.t.Helper()
	comparer := &Comparer{Source: &snapshot.Source{Client: c, Kinds: c}, Server: c, Now: noon}
	report, err := comparer.Compare(c.t.Context(), controllerFrom(c.t, edited))
	if err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, p := range report.Parents {
		line := p.Name
		if p.Watched != "" {
			line += " " + p.Watched
		}
		if p.Status != "" {
			line += " status"
		}
		for _, fault := range p.Errors {
			line += " fault: " + fault
		}
		out = append(out, line)
		for _, change := range p.Changes {
			line := "  " + string(change.Verb) + " " + change.Kind + " " + change.Name + " of " + change.Entry
			if change.Refused != "" {
				line += ": " + change.Refused
			}
			out = append(out, line)
		}
	}
	return report, out
}
