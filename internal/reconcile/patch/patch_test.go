package patch_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clock "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/patch"
)

var (
	manager = v1.PatchManager("teams", "uid-of-parent")
	shop    = request.Location{Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, Name: "shop"}
)

func content(t *testing.T, text string) map[string]any {
	t.Helper()
	return memserver.Parse(t, text).Object
}

func namespace(t *testing.T, metadata string) map[string]any {
	t.Helper()
	return content(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop, "+metadata+"}}")
}

func TestFaultsOfPatches(t *testing.T) {
	selects := func(labels ...string) *metav1.LabelSelector {
		s := &metav1.LabelSelector{}
		for _, key := range labels {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists})
		}
		return s
	}
	byTier := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	for why, row := range map[string]struct {
		metadata string
		watch    v1.Watch
		check    func(content map[string]any, watch *v1.Watch) string
		want     string // part of the message; "" = accepted
	}{
		"a label":                                     {"labels: {team: a}", v1.Watch{}, nil, ""},
		"finalizers block deletion":                   {"finalizers: [a/b]", v1.Watch{}, nil, "metadata.finalizers must not be set"},
		"owner references delete":                     {"ownerReferences: []", v1.Watch{}, nil, "metadata.ownerReferences must not be set"},
		"templater's labels identify children":        {"labels: {templater.dev/controller: x}", v1.Watch{}, nil, "templater.dev/"},
		"templater's annotations, too":                {"annotations: {templater.dev/seal: x}", v1.Watch{}, nil, "templater.dev/"},
		"another label of the parent":                 {"labels: {team: a}", v1.Watch{LabelSelector: byTier}, patch.ParentFault, ""},
		"a label that selects the parent":             {"labels: {tier: a}", v1.Watch{LabelSelector: byTier}, patch.ParentFault, "spec.watch.labelSelector"},
		"a label in an expression":                    {"labels: {tier: a}", v1.Watch{LabelSelector: selects("x", "tier")}, patch.ParentFault, "spec.watch.labelSelector"},
		"a field of the field selector":               {"annotations: {a: b}", v1.Watch{FieldSelector: "metadata.annotations=x"}, patch.ParentFault, "spec.watch.fieldSelector"},
		"another field than that of the selector":     {"annotations: {a: b}", v1.Watch{FieldSelector: "spec.phase!=x,metadata.name=shop"}, patch.ParentFault, ""},
		"a filter can read everything":                {"labels: {team: a}", v1.Watch{Filter: "true"}, patch.ParentFault, "spec.watch.filter"},
		"another label of its Namespace":              {"labels: {team: a}", v1.Watch{NamespaceSelector: byTier}, patch.NamespaceFault, ""},
		"a label of its Namespace that selects it":    {"labels: {tier: a}", v1.Watch{NamespaceSelector: byTier}, patch.NamespaceFault, "spec.watch.namespaceSelector"},
		"annotations are not read by label selectors": {"annotations: {tier: a}", v1.Watch{LabelSelector: byTier}, patch.ParentFault, ""},
	} {
		t.Run(why, func(t *testing.T) {
			c := namespace(t, row.metadata)
			got := patch.Fault(c)
			if got == "" && row.check != nil {
				got = row.check(c, &row.watch)
			}
			if (got == "") != (row.want == "") || !strings.Contains(got, row.want) || strings.Contains(got, "tier") {
				t.Errorf("fault %q, want %q", got, row.want)
			}
		})
	}
}

func server(t *testing.T, metadata string) *memserver.Server {
	t.Helper()
	s := memserver.New(clock.NewFakePassiveClock(metav1.Now().Time), func(schema.GroupResource) kind.Kind { return kind.Kind{Kind: "Namespace"} })
	given := namespace(t, metadata)
	o := s.NewObject(shop, given)
	for name, value := range given["metadata"].(map[string]any) { //nolint:forcetypeassert // every object has metadata
		o.Object["metadata"].(map[string]any)[name] = value //nolint:forcetypeassert // every object has metadata
	}
	s.Store(shop, o)
	return s
}

func live(t *testing.T, s *memserver.Server) *object.Object {
	t.Helper()
	o, err := s.Get(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestConflictsWithTargets(t *testing.T) {
	patched := func(parents int) func(*testing.T, *memserver.Server) {
		return func(t *testing.T, s *memserver.Server) {
			for i := range parents {
				uid := types.UID(strings.Repeat("x", i+1))
				body := patch.Body(namespace(t, "labels: {of-"+string(uid)+": a}"), live(t, s).UID())
				if _, err := s.ApplyFields(t.Context(), shop, body, v1.PatchManager("teams", uid)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for why, row := range map[string]struct {
		metadata string
		prepare  func(*testing.T, *memserver.Server)
		want     string
	}{
		"no owner":                       {"", nil, ""},
		"an owner that does not control": {"ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: x}]", nil, ""},
		"a controller":                   {"ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: x, controller: true}]", nil, "Namespace shop belongs to Deployment web, which controls it: change that object instead"},
		"being deleted":                  {"deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a/b]", nil, "Namespace shop is being deleted"},
		"patched by 15 others":           {"", patched(15), ""},
		"patched by 16 others":           {"", patched(16), "Namespace shop is already patched by 16 parents, which is the limit: remove a patch of this object"},
		"applied by the TemplateController": {"", func(t *testing.T, s *memserver.Server) {
			if _, err := s.Apply(t.Context(), shop, patch.Body(namespace(t, "labels: {a: b}"), live(t, s).UID()), v1.FieldManager("teams")); err != nil {
				t.Fatal(err)
			}
		}, ""},
	} {
		t.Run(why, func(t *testing.T) {
			s := server(t, row.metadata)
			if row.prepare != nil {
				row.prepare(t, s)
			}
			got := ""
			if p := patch.Conflict(live(t, s), "Namespace shop", manager); p != nil {
				got = p.Message
			}
			if got != row.want {
				t.Errorf("conflict %q, want %q", got, row.want)
			}
		})
	}
}

// fieldsOf returns the field managers of an object, and its content without metadata that every write changes.
func fieldsOf(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	metadata := maps.Clone(out["metadata"].(map[string]any)) //nolint:forcetypeassert // every object has metadata
	delete(metadata, "resourceVersion")
	out["metadata"] = metadata
	return out
}

func TestReleaseLeavesObjectAsBefore(t *testing.T) {
	s := server(t, "labels: {kept: a}")
	if _, err := s.Apply(t.Context(), shop, []byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"shared": "x"}}}`), "helm"); err != nil {
		t.Fatal(err)
	}
	before, uid := s.Objects[shop].DeepCopy(), live(t, s).UID()
	desired := namespace(t, "labels: {team: a, shared: x}, annotations: {note: b}")
	if patch.Current(live(t, s), desired, manager, false) || patch.Owns(live(t, s), manager) {
		t.Error("current before the patch")
	}
	if _, err := s.ApplyFields(t.Context(), shop, patch.Body(desired, uid), manager); err != nil {
		t.Fatal(err)
	}
	if !patch.Current(live(t, s), desired, manager, false) || !patch.Owns(live(t, s), manager) {
		t.Error("not current after the patch")
	}
	for why, other := range map[string]string{"another value": "labels: {team: b, shared: x}, annotations: {note: b}", "a field less": "labels: {team: a}, annotations: {note: b}", "a field more": "labels: {team: a, shared: x, more: y}, annotations: {note: b}"} {
		if patch.Current(live(t, s), namespace(t, other), manager, false) {
			t.Errorf("current with %s", why)
		}
	}
	target := patch.Target{APIVersion: "v1", Kind: "Namespace", Name: "shop", UID: uid}
	if _, err := s.ApplyFields(t.Context(), shop, target.Release(), manager); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fieldsOf(before), fieldsOf(s.Objects[shop])); diff != "" {
		t.Errorf("the object differs after the release (-before +after):\n%s", diff)
	}
}

func TestChangedByOthersIsNotCurrent(t *testing.T) {
	s := server(t, "")
	desired := namespace(t, "labels: {team: a}")
	if _, err := s.ApplyFields(t.Context(), shop, patch.Body(desired, live(t, s).UID()), manager); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Merge(t.Context(), shop, map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "b"}}}, "kubectl-edit"); err != nil {
		t.Fatal(err)
	}
	if patch.Current(live(t, s), desired, manager, false) {
		t.Error("current, but another client changed the value")
	}
}

func TestRequestsCreateAndTakeNothing(t *testing.T) {
	desired := namespace(t, "labels: {team: a}")
	apply := func(s *memserver.Server, body []byte) error {
		_, err := s.ApplyFields(t.Context(), shop, body, manager)
		return err
	}
	s := server(t, "")
	if err := apply(s, patch.Body(desired, "another")); !apierrors.IsInvalid(err) {
		t.Errorf("an object with another UID: %v", err)
	}
	if _, err := s.Apply(t.Context(), shop, []byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "theirs"}}}`), "helm"); err != nil {
		t.Fatal(err)
	}
	err := apply(s, patch.Body(desired, live(t, s).UID()))
	if got := request.OwnedFields(err); request.Code(err) != http.StatusConflict || !slices.Equal(got, []string{".metadata.labels.team"}) {
		t.Errorf("a field of another manager: %v, fields %q", err, got)
	}
	uid := live(t, s).UID()
	s.Remove(shop)
	target := patch.Target{APIVersion: "v1", Kind: "Namespace", Name: "shop", UID: uid}
	for _, body := range [][]byte{patch.Body(desired, uid), target.Release()} {
		if err := apply(s, body); !apierrors.IsConflict(err) || s.Objects[shop] != nil {
			t.Errorf("a missing object: %v", err)
		}
	}
}

func TestNotesRoundTrip(t *testing.T) {
	targets := []patch.Target{{"apps/v1", "Deployment", "ns", "web", "2"}, {"v1", "Namespace", "", "shop", "1"}}
	note := patch.Note("parent", append(slices.Clone(targets), targets[0]))
	if diff := cmp.Diff(targets, patch.Noted("parent", note)); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	for why, text := range map[string]string{
		"empty": "", "of another parent": strings.Replace(note, "parent", "other", 1), "without UID": "parent\nv1 Namespace  shop ", "not a note": "parent\nhello",
	} {
		if got := patch.Noted("parent", text); got != nil {
			t.Errorf("%s: %v", why, got)
		}
	}
}
