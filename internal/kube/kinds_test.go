package kube

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/watch"
)

const loadTests = `
metadata: {name: loadtests.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: LoadTest, plural: loadtests}
  versions:
  - name: v1
    served: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        properties:
          status:
            type: object
            properties:
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  properties: {type: {}, status: {}, reason: {}, message: {}, lastTransitionTime: {}}
  - {name: v2, served: false}
status:
  conditions: [{type: Established, status: "True"}]
`

// definitions is a fake of Definitions.
type definitions []*object.Object

func (d definitions) Definitions(kind schema.GroupKind) []*object.Object {
	var out []*object.Object
	for _, o := range d {
		if watch.DefinedKind(o) == kind {
			out = append(out, o)
		}
	}
	return out
}

func definition(t *testing.T, text string, change func(map[string]any)) *object.Object {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(content)
	}
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// schemaOf returns the schema of .status in version v1.
func schemaOf(content map[string]any) map[string]any {
	versions, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "versions")
	version, _ := versions.([]any)[0].(map[string]any)
	root := inner(inner(version, "schema"), "openAPIV3Schema")
	return inner(inner(root, "properties"), "status")
}

func TestCustomKinds(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "LoadTest"}
	want := Kind{
		Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "loadtests"},
		Kind:     "LoadTest", Namespaced: true, Custom: true, Status: &StatusSchema{},
	}
	with := func(conditions string, observed bool) Kind {
		k := want
		k.Status = &StatusSchema{Conditions: conditions, ObservedGeneration: observed}
		return k
	}
	for why, row := range map[string]struct {
		version string
		change  func(map[string]any)
		want    Kind
		missing bool
	}{
		"it is there":                    {version: "v1", want: want},
		"it is there in another version": {version: "v3", missing: true},
		"the version is not served":      {version: "v2", missing: true},
		"it is not established yet": {version: "v1", missing: true, change: func(m map[string]any) {
			delete(m, "status")
		}},
		"it is being deleted": {version: "v1", missing: true, change: func(m map[string]any) {
			m["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		}},
		"conditions can hold observedGeneration": {version: "v1", want: with("", true), change: func(m map[string]any) {
			inner(inner(inner(schemaOf(m), "properties"), "conditions"), "items")["x-kubernetes-preserve-unknown-fields"] = true
		}},
		"conditions is an atomic list": {
			version: "v1",
			want:    with(".status.conditions is not a map list in the schema: add x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", false),
			change: func(m map[string]any) {
				delete(inner(inner(schemaOf(m), "properties"), "conditions"), "x-kubernetes-list-type")
			},
		},
		"conditions have no room": {
			version: "v1",
			want:    with("the items of .status.conditions have no field reason in the schema: add it", false),
			change: func(m map[string]any) {
				delete(inner(inner(inner(inner(schemaOf(m), "properties"), "conditions"), "items"), "properties"), "reason")
			},
		},
		"there is no list of conditions": {
			version: "v1",
			want:    with("the schema has no list .status.conditions: add one, with x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", false),
			change:  func(m map[string]any) { delete(inner(schemaOf(m), "properties"), "conditions") },
		},
		"the status is open": {
			version: "v1",
			want:    with("the schema leaves .status open, so .status.conditions would be one atomic list: declare it as a list with x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", false),
			change: func(m map[string]any) {
				delete(schemaOf(m), "properties")
				schemaOf(m)["x-kubernetes-preserve-unknown-fields"] = true
			},
		},
		"there is no status subresource": {
			version: "v1",
			want:    func() Kind { k := want; k.Status = nil; return k }(),
			change: func(m map[string]any) {
				versions, _, _ := unstructured.NestedFieldNoCopy(m, "spec", "versions")
				delete(versions.([]any)[0].(map[string]any), "subresources")
			},
		},
	} {
		t.Run(why, func(t *testing.T) {
			kinds := NewKinds(definitions{definition(t, loadTests, row.change)}, nil, time.Now)
			gvk.Version = row.version
			got, err := kinds.Resolve(gvk)
			var missing *NotFoundError
			if errors.As(err, &missing) != row.missing {
				t.Fatalf("err = %v, want missing %v", err, row.missing)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("kind (-want +got):\n%s", diff)
			}
		})
	}
}

// discovery is a fake of Discovery that counts.
type fakeDiscovery struct {
	known         map[schema.GroupKind]bool
	asked, resets int
	err           error
}

func (d *fakeDiscovery) Reset() { d.resets++ }

func (d *fakeDiscovery) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	d.asked++
	if d.err != nil {
		return nil, d.err
	}
	if !d.known[gk] {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return &meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Group: gk.Group, Version: versions[0], Resource: "things"},
		GroupVersionKind: gk.WithVersion(versions[0]), Scope: meta.RESTScopeNamespace,
	}, nil
}

func TestBuiltInKindsAreAskedForOnce(t *testing.T) {
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{pod.GroupKind(): true}}
	kinds := NewKinds(definitions{}, d, time.Now)
	for range 3 {
		kind, err := kinds.Resolve(pod)
		if err != nil || !kind.Namespaced || kind.Custom {
			t.Fatalf("kind %+v, err %v", kind, err)
		}
	}
	if d.asked != 1 {
		t.Errorf("discovery was asked %d times, want 1", d.asked)
	}
}

func TestMissingKindsResetDiscoveryAtMostEveryTenSeconds(t *testing.T) {
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kinds := NewKinds(definitions{}, d, func() time.Time { return now })
	gvk := schema.GroupVersionKind{Group: "metrics.example.org", Version: "v1", Kind: "Metric"}
	for range 5 {
		if _, err := kinds.Resolve(gvk); err == nil || err.Error() != "the cluster has no kind Metric in metrics.example.org/v1" {
			t.Fatalf("err = %v", err)
		}
	}
	if d.resets != 1 {
		t.Errorf("%d resets, want 1", d.resets)
	}
	now = now.Add(11 * time.Second)
	if _, err := kinds.Resolve(gvk); err == nil {
		t.Fatal("a missing kind is found")
	}
	if d.resets != 2 {
		t.Errorf("%d resets after ten seconds, want 2", d.resets)
	}
}

func TestKindIsGoneWithItsDefinitionWhateverDiscoverySays(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "LoadTest"}
	there := &changing{definitions{definition(t, loadTests, func(map[string]any) {})}}
	kinds := NewKinds(there, &fakeDiscovery{known: map[schema.GroupKind]bool{gvk.GroupKind(): true}}, time.Now)
	if kind, err := kinds.Resolve(gvk); err != nil || !kind.Custom {
		t.Fatalf("kind %+v, err %v", kind, err)
	}
	there.definitions = nil
	var missing *NotFoundError
	if kind, err := kinds.Resolve(gvk); !errors.As(err, &missing) {
		t.Errorf("kind %+v, err %v, want it missing", kind, err)
	}
}

// changing are definitions that come and go.
type changing struct{ definitions }

func TestFailedDiscoveryIsNoMissingKind(t *testing.T) {
	failure := errors.New("no answer")
	kinds := NewKinds(definitions{}, &fakeDiscovery{err: failure}, time.Now)
	_, err := kinds.Resolve(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if !errors.Is(err, failure) {
		t.Errorf("err = %v, want that of discovery", err)
	}
}
