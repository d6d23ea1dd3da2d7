package snapshot

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// server answers with objects, two at a time, and notes what it is asked.
type server struct {
	objects map[string][]*object.Object // by resource
	failure error
	denied  map[string]bool // resources that may not be listed
	asked   []string
}

func (s *server) Get(_ context.Context, at request.Location) (*object.Object, error) {
	s.asked = append(s.asked, "get "+at.Resource.Resource+" "+at.Name)
	if s.failure != nil {
		return nil, s.failure
	}
	return nil, apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
}

func (s *server) List(_ context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions) (runtime.Object, error) {
	s.asked = append(s.asked, fmt.Sprintf("list %s in %q by %q and %q from %q", resource.Resource, namespace, o.LabelSelector, o.FieldSelector, o.Continue))
	if s.failure != nil {
		return nil, s.failure
	}
	if s.denied[resource.Resource] {
		return nil, apierrors.NewForbidden(resource.GroupResource(), "", errors.New("no"))
	}
	all := s.objects[resource.Resource]
	list := &object.List{}
	if o.Continue == "" && len(all) > 2 {
		list.Continue = "2"
		all = all[:2]
	} else if o.Continue != "" {
		all = all[2:]
	}
	for _, one := range all {
		list.Items = append(list.Items, one)
	}
	return list, nil
}

func (s *server) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if gk.Kind == "Absent" {
		return nil, &meta.NoKindMatchError{GroupKind: gk}
	}
	gvk := gk.WithVersion(versions[0])
	return &meta.RESTMapping{Resource: kind.Guess(gvk).Resource, GroupVersionKind: gvk, Scope: meta.RESTScopeRoot}, nil
}

func (s *server) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	if resource.Resource == "app" || resource.Resource == "apps" && resource.Group == "example.org" {
		return schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}, nil
	}
	return schema.GroupVersionKind{}, &meta.NoResourceMatchError{PartialResource: resource}
}

func named(t *testing.T, namespace, name, label string) *object.Object {
	t.Helper()
	o, err := object.From(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"namespace": namespace, "name": name, "labels": map[string]any{"l": label, v1.LabelParentUID: label},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func compiled(t *testing.T, of v1.TemplateControllerSpec) *spec.Compiled {
	t.Helper()
	of.Watch.APIVersion, of.Watch.Kind = "example.org/v1", "App"
	of.Children = []v1.Child{{Name: "a", Template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}}
	c, rejection := spec.Compile("apps", &of)
	if rejection != nil {
		t.Fatal(rejection.Message)
	}
	return c
}

func TestParentsAreSelectedAndSorted(t *testing.T) {
	in := &server{objects: map[string][]*object.Object{
		"apps":       {named(t, "b", "x", ""), named(t, "a", "p-10", ""), named(t, "a", "p-2", "")},
		"namespaces": {named(t, "", "a", "")},
	}}
	tc := &v1.TemplateController{}
	tc.Spec.Watch = v1.Watch{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}, FieldSelector: "metadata.name!=y",
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}},
	}
	got, err := (&Source{Client: in, Kinds: in}).Parents(t.Context(), tc, compiled(t, tc.Spec))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range got {
		names = append(names, o.Namespace()+"/"+o.Name())
	}
	if diff := cmp.Diff([]string{"a/p-2", "a/p-10"}, names); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	want := []string{
		`list apps in "" by "tier=web" and "metadata.name!=y" from ""`, `list apps in "" by "tier=web" and "metadata.name!=y" from "2"`,
		`list namespaces in "" by "team=red" and "" from ""`,
	}
	if diff := cmp.Diff(want, in.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestRelatedObjectsMatchSelection also has a kind that the cluster does not have.
func TestRelatedObjectsMatchSelection(t *testing.T) {
	in := &server{objects: map[string][]*object.Object{"configmaps": {named(t, "a", "x", "1"), named(t, "a", "y", "2"), named(t, "b", "x", "1")}}}
	c := compiled(t, v1.TemplateControllerSpec{Related: []v1.Related{
		{Name: "maps", APIVersion: "v1", Kind: "ConfigMap"}, {Name: "none", APIVersion: "example.org/v1", Kind: "Absent"},
	}})
	reader, err := (&Source{Client: in, Kinds: in}).Related(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"none"}, reader.Missing); diff != "" || reader.Read("none", nil) != nil {
		t.Errorf("entries without a kind (-want +got):\n%s", diff)
	}
	for why, row := range map[string]struct {
		yielded []map[string]any
		want    int
	}{
		"all":              {[]map[string]any{{"allNamespaces": true}}, 3},
		"a namespace":      {[]map[string]any{{"namespace": "a"}}, 2},
		"a name":           {[]map[string]any{{"name": "x"}}, 1},
		"a label":          {[]map[string]any{{"allNamespaces": true, "labelSelector": map[string]any{"matchLabels": map[string]any{"l": "1"}}}}, 2},
		"one of two, once": {[]map[string]any{{"name": "x"}, {"labelSelector": map[string]any{"matchLabels": map[string]any{"l": "1"}}}}, 1},
		"nothing":          {nil, 0},
	} {
		chosen, fault := related.CompileSelection(row.yielded, related.Scope{Namespace: "a", Namespaced: true})
		if fault != "" {
			t.Fatal(fault)
		}
		if got := reader.Read("maps", chosen); len(got) != row.want {
			t.Errorf("%s: %d objects, want %d", why, len(got), row.want)
		}
	}
}

func TestChildren(t *testing.T) {
	in := &server{objects: map[string][]*object.Object{"configmaps": {named(t, "a", "x", "1"), named(t, "a", "y", "2")}}}
	kinds := []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Group: "example.org", Version: "v1", Kind: "Absent"}, {Version: "v2", Kind: "ConfigMap"}}
	got, err := (&Source{Client: in, Kinds: in}).Children(t.Context(), Labels{Controller: "apps", Kinds: kinds})
	if err != nil || len(got) != 2 || len(got["1"]) != 1 {
		t.Errorf("got %v and %v, want an object of each parent", got, err)
	}
	if want := []string{`list configmaps in "" by "templater.dev/controller=apps" and "" from ""`}; !cmp.Equal(want, in.asked) {
		t.Errorf("asked %q, want %q", in.asked, want)
	}
}

func TestControllersIncludeThoseOfTheNamespace(t *testing.T) {
	const cluster, namespaced = "templatecontrollers", "namespacedtemplatecontrollers"
	all := map[string][]*object.Object{cluster: {named(t, "", "apps", "")}, namespaced: {named(t, "ns", "apps", "")}}
	for why, row := range map[string]struct {
		objects   map[string][]*object.Object
		denied    map[string]bool
		namespace string
		want      []string
		fails     bool
	}{
		"both":                    {all, nil, "ns", []string{"apps", "ns/apps"}, false},
		"a cluster-scoped parent": {all, nil, "", []string{"apps"}, false},
		"only those of the namespace may be read":        {all, map[string]bool{cluster: true}, "ns", []string{"ns/apps"}, false},
		"only the others may be read":                    {all, map[string]bool{namespaced: true}, "ns", []string{"apps"}, false},
		"none may be read":                               {all, map[string]bool{cluster: true, namespaced: true}, "ns", nil, true},
		"only those of the namespace, and there is none": {nil, map[string]bool{cluster: true}, "ns", nil, true},
	} {
		t.Run(why, func(t *testing.T) {
			s := &server{objects: row.objects, denied: row.denied}
			found, err := (&Source{Client: s, Kinds: s}).Controllers(t.Context(), row.namespace)
			var got []string
			for _, tc := range found {
				got = append(got, tc.Key())
			}
			if diff := cmp.Diff(row.want, got); diff != "" || (err != nil) != row.fails {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestForbiddenCRDIsSubstituted of a kind whose CustomResourceDefinition may not be read.
func TestForbiddenCRDIsSubstituted(t *testing.T) {
	in := &server{failure: apierrors.NewForbidden(schema.GroupResource{}, "x", nil)}
	app := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}
	got, err := (&Source{Client: in, Kinds: in}).Definitions(t.Context(), []schema.GroupVersionKind{app, app, {Version: "v1", Kind: "Pod"}, {Group: "example.org", Version: "v1", Kind: "Absent"}})
	if err != nil || len(got) != 1 {
		t.Fatalf("got %v and %v", got, err)
	}
	k, err := kind.Declared(got).Resolve(app)
	if err != nil || k.Namespaced || k.Status == nil || k.Status.Conditions != "" {
		t.Errorf("the kind is %+v, and the error %v", k, err)
	}
}

func TestRequestErrorsAreReported(t *testing.T) {
	in := &server{failure: &url.Error{Op: "Get", URL: "https://127.0.0.1:1/apis", Err: errors.New("refused")}}
	source := &Source{Client: in, Kinds: in}
	tc := &v1.TemplateController{}
	c := compiled(t, v1.TemplateControllerSpec{Related: []v1.Related{{Name: "maps", APIVersion: "v1", Kind: "ConfigMap"}}})
	pod := []schema.GroupVersionKind{{Version: "v1", Kind: "Pod"}}
	app := []schema.GroupVersionKind{{Group: "example.org", Version: "v1", Kind: "App"}}
	for want, call := range map[string]func() error{
		"read TemplateController apps":             func() error { _, err := source.Controller(t.Context(), "apps"); return err },
		"list apps.example.org":                    func() error { _, err := source.Parents(t.Context(), tc, c); return err },
		"list pods":                                func() error { _, err := source.Children(t.Context(), Labels{Kinds: pod}); return err },
		"list configmaps for related[maps]":        func() error { _, err := source.Related(t.Context(), c); return err },
		"read the CustomResourceDefinition of App": func() error { _, err := source.Definitions(t.Context(), app); return err },
	} {
		if err := call(); err == nil || err.Error() != want+": the API server does not respond: refused" {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

func TestChildNamespaces(t *testing.T) {
	in := func(namespaces ...string) *v1.TemplateControllerSpec {
		return &v1.TemplateControllerSpec{Watch: v1.Watch{Namespaces: namespaces}}
	}
	far := in("a")
	far.Children = []v1.Child{{Scope: v1.ScopeCluster}}
	for why, row := range map[string]struct{ got, want []string }{
		"one":               {ChildNamespaces(in("a")), []string{"a"}},
		"before and after":  {ChildNamespaces(in("a"), in("b")), []string{"a", "b"}},
		"all":               {ChildNamespaces(in("a"), in()), nil},
		"objects elsewhere": {ChildNamespaces(far), nil},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}

func TestFindResolvesKindsAndResources(t *testing.T) {
	in := &server{}
	source := &Source{Client: in, Kinds: in}
	for _, word := range []string{"app", "App", "apps.example.org"} {
		if got, err := source.Find(word); err != nil || got.Resource.Resource != "apps" {
			t.Errorf("%s: got %v and %v", word, got, err)
		}
	}
	if _, err := source.Find("nothing"); err == nil || err.Error() != "the cluster does not serve kind nothing: use a kind or a resource, such as Pod or pods; kubectl api-resources lists them, but short names are not supported" {
		t.Errorf("the error is %v", err)
	}
}

// TestSnapshotRejectsNonParents also has an object that is no parent.
func TestSnapshotRejectsNonParents(t *testing.T) {
	parent := named(t, "a", "x", "1")
	in := &server{objects: map[string][]*object.Object{"apps": {parent}, "configmaps": {named(t, "a", "m", "")}}}
	tc := &v1.TemplateController{}
	tc.Name = "apps"
	tc.Spec.Watch = v1.Watch{APIVersion: "example.org/v1", Kind: "App", Namespaces: []string{"a", "b"}, FieldSelector: "metadata.name!=y"}
	tc.Spec.Children = []v1.Child{{Name: "a", Template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"}}
	compiled, rejection := spec.Compile(tc.Name, &tc.Spec)
	if rejection != nil {
		t.Fatal(rejection.Message)
	}
	got, err := (&Source{Client: in, Kinds: in}).Around(t.Context(), tc, compiled, parent)
	if err != nil || got == nil || len(got.Definitions) != 1 {
		t.Fatalf("got %v and %v", got, err)
	}
	want := []string{
		`list apps in "a" by "" and "metadata.name=x,metadata.name!=y" from ""`,
		`list configmaps in "" by "templater.dev/controller=apps" and "" from ""`, // the kind has no namespace here, and the parent no UID
		"get customresourcedefinitions apps.example.org",
	}
	if diff := cmp.Diff(want, in.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	in.objects["apps"] = nil
	if got, err := (&Source{Client: in, Kinds: in}).Around(t.Context(), tc, compiled, parent); got != nil || err != nil {
		t.Errorf("an object that is not a parent: got %v and %v", got, err)
	}
}
