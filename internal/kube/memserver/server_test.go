package memserver

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/controller"
)

// newServer returns a server for ConfigMaps and Apps.
func newServer() *Server {
	apps := kind.Kind{Kind: "App", Namespaced: true, Custom: true, Status: &kind.StatusSchema{}}
	return New(clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), func(resource schema.GroupResource) kind.Kind {
		if resource == app.Resource.GroupResource() {
			return apps
		}
		return kind.Kind{Kind: "ConfigMap", Namespaced: true}
	})
}

var (
	configMap = request.Location{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "ns", Name: "a"}
	app       = request.Location{Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "apps"}, Namespace: "ns", Name: "one"}
)

const configMapText = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}, "data": `

func TestAppliesAreMergedByManager(t *testing.T) {
	type write struct{ manager, data string }
	for why, row := range map[string]struct {
		writes []write
		data   string
		holds  map[string]string // by manager
	}{
		"each has fields of its own": {
			[]write{{"x", `{"one": "1"}`}, {"y", `{"two": "2"}`}}, `{"one": "1", "two": "2"}`,
			map[string]string{"x": `{"f:one": {}}`, "y": `{"f:two": {}}`},
		},
		"what a manager sets no more is gone": {
			[]write{{"x", `{"one": "1", "two": "2"}`}, {"x", `{"two": "2"}`}}, `{"two": "2"}`, map[string]string{"x": `{"f:two": {}}`},
		},
		"unless somebody else holds it, too": {
			[]write{{"x", `{"one": "1"}`}, {"y", `{"one": "1"}`}, {"x", `{"two": "2"}`}}, `{"one": "1", "two": "2"}`,
			map[string]string{"x": `{"f:two": {}}`, "y": `{"f:one": {}}`},
		},
		"who sets another value takes the field": {
			[]write{{"x", `{"one": "1", "two": "2"}`}, {"y", `{"one": "other"}`}}, `{"one": "other", "two": "2"}`,
			map[string]string{"x": `{"f:two": {}}`, "y": `{"f:one": {}}`},
		},
	} {
		t.Run(why, func(t *testing.T) {
			s := newServer()
			for _, w := range row.writes {
				if _, err := s.Apply(t.Context(), configMap, []byte(configMapText+w.data+"}"), w.manager); err != nil {
					t.Fatal(err)
				}
			}
			o := s.Objects[configMap]
			if diff := cmp.Diff(decoded(t, row.data), o.Object["data"]); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			for manager, want := range row.holds {
				set, _ := Holdings(o, manager, "")
				if diff := cmp.Diff(decoded(t, want), set["f:data"]); diff != "" {
					t.Errorf("%s holds (-want +got):\n%s", manager, diff)
				}
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var out any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestConditionsAreMergedByType(t *testing.T) {
	s := newServer()
	s.Store(app, Parse(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns}}"))
	const ready, other = `{"type": "Ready", "status": "True"}`, `{"type": "Other", "status": "True"}`
	for _, w := range [][2]string{{"x", ready + "," + other}, {"y", `{"type": "Other", "status": "False"}`}, {"x", ready}} {
		body := `{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"name": "one", "namespace": "ns"}, "status": {"conditions": [` + w[1] + `]}}`
		if _, err := s.ApplyStatus(t.Context(), app, []byte(body), w[0], true); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Objects[app].Object["status"]
	if diff := cmp.Diff(decoded(t, `{"conditions": [`+ready+`, {"type": "Other", "status": "False"}]}`), got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestApplyWithoutForceReportsConflicts applies fields of other managers. There is no conflict if the values are the same.
func TestApplyWithoutForceReportsConflicts(t *testing.T) {
	const theirs = `{"count": 1, "more": {"a": 1}, "conditions": [{"type": "Ready", "status": "True"}]}`
	for why, row := range map[string]struct {
		status string
		atomic bool
		want   []string
	}{
		"other fields":                   {`{"own": 1, "more": {"b": 1}}`, false, nil},
		"the same values":                {`{"count": 1, "conditions": [{"type": "Ready", "status": "True"}]}`, false, nil},
		"other values":                   {`{"count": 2, "more": {"a": 2}, "own": 1}`, false, []string{".status.count", ".status.more.a"}},
		"an item of a list":              {`{"conditions": [{"type": "Ready", "status": "False"}]}`, false, []string{".status.conditions[type=Ready].status"}},
		"another item":                   {`{"conditions": [{"type": "Other", "status": "False"}]}`, false, nil},
		"another item of an atomic list": {`{"conditions": [{"type": "Other", "status": "False"}]}`, true, []string{".status.conditions"}},
	} {
		t.Run(why, func(t *testing.T) {
			s := newServer()
			of := s.Kind
			s.Kind = func(resource schema.GroupResource) kind.Kind {
				k := of(resource)
				k.Status = &kind.StatusSchema{Atomic: row.atomic}
				return k
			}
			s.Store(app, Parse(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns}}"))
			body := func(status string) []byte {
				return []byte(`{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"name": "one", "namespace": "ns"}, "status": ` + status + `}`)
			}
			if _, err := s.ApplyStatus(t.Context(), app, body(theirs), "x", false); err != nil {
				t.Fatal(err)
			}
			version := s.Version
			_, err := s.ApplyStatus(t.Context(), app, body(row.status), "y", false)
			if diff := cmp.Diff(row.want, request.OwnedFields(err)); diff != "" || (err == nil) != (row.want == nil) {
				t.Errorf("answer %v; owned fields (-want +got):\n%s", err, diff)
			}
			if err != nil && s.Version != version {
				t.Error("a refused apply has changed the object")
			}
			if _, err := s.ApplyStatus(t.Context(), app, body(row.status), "y", true); err != nil {
				t.Errorf("with force: %v", err)
			}
		})
	}
}

func TestRequestsWithMismatchedObjectAreRejected(t *testing.T) {
	body := func(more string) []byte {
		return []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns", ` + more + `}}`)
	}
	there := func(s *Server) {
		s.Store(configMap, s.NewObject(configMap, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}))
	}
	nothing := func(*Server) {}
	for why, row := range map[string]struct {
		prepare func(*Server)
		do      func(*Server) error
		is      func(error) bool
	}{
		"a create of what is there": {there, func(s *Server) error {
			_, err := s.Apply(t.Context(), configMap, body(`"resourceVersion": "1"`), "x")
			return err
		}, apierrors.IsConflict},
		"an update of what is another object by now": {there, func(s *Server) error {
			_, err := s.Apply(t.Context(), configMap, body(`"uid": "other"`), "x")
			return err
		}, func(err error) bool { return apierrors.IsInvalid(err) && controller.Stale(err) }},
		"an update of what is gone": {nothing, func(s *Server) error {
			_, err := s.Apply(t.Context(), configMap, body(`"uid": "other"`), "x")
			return err
		}, apierrors.IsConflict},
		"a deletion of what is another object by now": {there, func(s *Server) error {
			return s.Delete(t.Context(), configMap, request.Deletion{UID: "other", Propagation: metav1.DeletePropagationBackground})
		}, apierrors.IsConflict},
		"a deletion of what has changed": {there, func(s *Server) error {
			o := s.Objects[configMap]
			return s.Delete(t.Context(), configMap, request.Deletion{UID: o.GetUID(), Version: o.GetResourceVersion() + "0", Propagation: metav1.DeletePropagationBackground})
		}, controller.Stale},
		"labels for what is another object by now": {there, func(s *Server) error {
			_, err := s.SetMetadata(t.Context(), configMap, request.Metadata{UID: "other"}, "x")
			return err
		}, controller.Stale},
	} {
		t.Run(why, func(t *testing.T) {
			s := newServer()
			row.prepare(s)
			if err := row.do(s); !row.is(err) {
				t.Errorf("the answer is %v", err)
			}
		})
	}
}

func TestDryRunsStoreNothing(t *testing.T) {
	for why, row := range map[string]struct {
		do      func(*Server) (*object.Object, error)
		version string // of the result
		request string
	}{
		"create": {func(s *Server) (*object.Object, error) {
			return s.Apply(t.Context(), request.Location{Resource: configMap.Resource, Namespace: "ns", Name: "b"}, []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "ns", "resourceVersion": "1"}}`), "x")
		}, "", "dry-run create"},
		"update": {func(s *Server) (*object.Object, error) {
			return s.Apply(t.Context(), configMap, []byte(configMapText+`{"one": "2"}}`), "x")
		}, "2", "dry-run update"},
		"status": {func(s *Server) (*object.Object, error) {
			return s.ApplyStatus(t.Context(), app, []byte(`{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"name": "one", "namespace": "ns"}, "status": {"count": 1}}`), "x", true)
		}, "3", "dry-run status"},
		"metadata": {func(s *Server) (*object.Object, error) {
			return s.SetMetadata(t.Context(), configMap, request.Metadata{UID: s.Objects[configMap].GetUID(), Labels: map[string]any{"a": "b"}}, "x")
		}, "2", "dry-run mark"},
		"merge": {func(s *Server) (*object.Object, error) {
			return s.Merge(t.Context(), configMap, map[string]any{"data": nil}, "x")
		}, "2", "dry-run patch"},
		"finalizers": {func(s *Server) (*object.Object, error) {
			return s.SetFinalizers(t.Context(), configMap, "2", []string{"a/b"})
		}, "2", "dry-run finalizers[a/b]"},
		"delete": {func(s *Server) (*object.Object, error) {
			return nil, s.Delete(t.Context(), configMap, request.Deletion{UID: s.Objects[configMap].GetUID(), Propagation: metav1.DeletePropagationBackground})
		}, "", "dry-run delete"},
		"read": {func(s *Server) (*object.Object, error) { return s.Get(t.Context(), configMap) }, "2", "get"},
	} {
		t.Run(why, func(t *testing.T) {
			s, requests := newServer(), []string{}
			if _, err := s.Apply(t.Context(), configMap, []byte(configMapText+`{"one": "1"}}`), "x"); err != nil {
				t.Fatal(err)
			}
			s.Store(app, Parse(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns}}"))
			s.Before = func(verb string, _ request.Location) error {
				requests = append(requests, verb)
				return nil
			}
			before, version, writes := s.Objects[configMap].DeepCopy(), s.Version, len(s.log)
			got, err := row.do(s.DryRun())
			if err != nil {
				t.Fatal(err)
			}
			if got != nil && got.ResourceVersion() != row.version {
				t.Errorf("resource version %q of the result, want %q", got.ResourceVersion(), row.version)
			}
			if diff := cmp.Diff([]string{row.request}, requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if s.Version != version || len(s.log) != writes || len(s.Objects) != 2 {
				t.Errorf("version %d, %d writes and %d objects, want %d, %d and 2", s.Version, len(s.log), len(s.Objects), version, writes)
			}
			if diff := cmp.Diff(before.Object, s.Objects[configMap].Object); diff != "" {
				t.Errorf("stored object (-want +got):\n%s", diff)
			}
		})
	}
}
