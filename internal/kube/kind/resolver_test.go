package kind

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/object"
)

const loadTests = `
metadata: {name: loadtests.example.org, uid: u, generation: 3}
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
		if Defined(o) == kind {
			out = append(out, o)
		}
	}
	return out
}

func (d definitions) EverDefined(kind schema.GroupKind) bool { return len(d.Definitions(kind)) > 0 }

func definition(t *testing.T, text string, change func(map[string]any)) *object.Object {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(content)
	}
	return pack(t, content)
}

// rootOf returns the schema of version v1.
func rootOf(content map[string]any) map[string]any {
	versions, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "versions")
	version, _ := versions.([]any)[0].(map[string]any)
	return inner(inner(version, "schema"), "openAPIV3Schema")
}

// schemaOf returns the schema of .status in version v1.
func schemaOf(content map[string]any) map[string]any {
	return inner(inner(rootOf(content), "properties"), "status")
}

func TestCustomKindsResolveFromCRD(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "LoadTest"}
	want := Kind{
		Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "loadtests"},
		Kind:     "LoadTest", Namespaced: true, Custom: true, Revision: "u/3", Status: &StatusSchema{},
	}
	with := func(conditions string, observed bool) Kind {
		k := want
		k.Status = &StatusSchema{Conditions: conditions, ObservedGeneration: observed}
		return k
	}
	atomic := func(generations bool) Kind {
		next := with("", generations)
		next.Status.Atomic = true
		return next
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
			want:    atomic(false),
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
		"conditions are told apart by more than their type": {
			version: "v1",
			want:    with("the schema does not declare .status.conditions as a list of type map with the key type: add x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", false),
			change: func(m map[string]any) {
				inner(inner(schemaOf(m), "properties"), "conditions")["x-kubernetes-list-map-keys"] = []any{"type", "status"}
			},
		},
		"conditions are told apart by something else": {
			version: "v1",
			want:    with("the schema does not declare .status.conditions as a list of type map with the key type: add x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", false),
			change: func(m map[string]any) {
				inner(inner(schemaOf(m), "properties"), "conditions")["x-kubernetes-list-map-keys"] = []any{"status"}
			},
		},
		"the status is open, but for conditions": {version: "v1", want: want, change: func(m map[string]any) {
			schemaOf(m)["x-kubernetes-preserve-unknown-fields"] = true
		}},
		"the object is open, but for the status": {version: "v1", want: want, change: func(m map[string]any) {
			rootOf(m)["x-kubernetes-preserve-unknown-fields"] = true
		}},
		"the object is open": {
			version: "v1",
			want:    atomic(true),
			change: func(m map[string]any) {
				rootOf(m)["x-kubernetes-preserve-unknown-fields"] = true
				delete(rootOf(m), "properties")
			},
		},
		"there is no schema of the status": {
			version: "v1",
			want:    with("the schema has no list .status.conditions: add one, with x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", false),
			change:  func(m map[string]any) { delete(rootOf(m), "properties") },
		},
		"there is no list of conditions": {
			version: "v1",
			want:    with("the schema has no list .status.conditions: add one, with x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]", false),
			change:  func(m map[string]any) { delete(inner(schemaOf(m), "properties"), "conditions") },
		},
		"the status is open": {
			version: "v1",
			want:    atomic(true),
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
			kinds := NewResolver(definitions{definition(t, loadTests, row.change)}, nil, time.Now)
			gvk.Version = row.version
			got, err := kinds.Resolve(gvk)
			var missing *NotFoundError
			if errors.As(err, &missing) != row.missing {
				t.Fatalf("err = %v, want missing %v", err, row.missing)
			}
			if diff := cmp.Diff(row.want, got, cmpopts.IgnoreFields(StatusSchema{}, "Fields")); diff != "" { // see TestDropUnknownFields
				t.Errorf("kind (-want +got):\n%s", diff)
			}
		})
	}
}

// fakeDiscovery is a fake of Discovery that counts requests.
type fakeDiscovery struct {
	known         map[schema.GroupKind]bool
	learns        schema.GroupKind // known after a reset
	only          string           // the served version, "" = all
	asked, resets int
	err           error
}

func (d *fakeDiscovery) Reset() {
	d.resets++
	if d.learns.Kind != "" {
		d.known[d.learns] = true
	}
}

func (d *fakeDiscovery) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	d.asked++
	if d.err != nil {
		return nil, d.err
	}
	if !d.known[gk] || len(versions) > 0 && d.only != "" && versions[0] != d.only {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	if len(versions) == 0 {
		versions = []string{d.only}
	}
	return &meta.RESTMapping{
		Resource:         schema.GroupVersionResource{Group: gk.Group, Version: versions[0], Resource: "things"},
		GroupVersionKind: gk.WithVersion(versions[0]), Scope: meta.RESTScopeNamespace,
	}, nil
}

func TestBuiltInKindsAreDiscoveredOnce(t *testing.T) {
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{pod.GroupKind(): true}}
	kinds := NewResolver(definitions{}, d, time.Now)
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

// oldDeployment is a version of a built-in kind that a control plane upgrade removes.
var oldDeployment = schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "Deployment"}

// resolvedOnce returns a Resolver that has resolved oldDeployment, its discovery and its clock. Setting discovery.only to v1
// simulates the upgrade.
func resolvedOnce(t *testing.T) (kinds *Resolver, discovery *fakeDiscovery, found Kind, now *time.Time) {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now, discovery = &start, &fakeDiscovery{known: map[schema.GroupKind]bool{oldDeployment.GroupKind(): true}}
	kinds = NewResolver(definitions{}, discovery, func() time.Time { return *now })
	found, err := kinds.Resolve(oldDeployment)
	if err != nil {
		t.Fatal(err)
	}
	return kinds, discovery, found, now
}

func wantServedInV1(t *testing.T, kinds *Resolver) {
	t.Helper()
	var missing *NotFoundError
	if _, err := kinds.Resolve(oldDeployment); !errors.As(err, &missing) || missing.Served != "v1" {
		t.Errorf("err = %v, want that the kind is served in v1", err)
	}
}

func TestDiscoveryIsRefreshedForRemovedVersion(t *testing.T) {
	kinds, d, found, now := resolvedOnce(t)
	d.only = "v1"
	if !kinds.Doubt(found.Resource) || d.resets != 1 {
		t.Errorf("discovery was reset %d times, want once", d.resets)
	}
	if kinds.Doubt(found.Resource) || d.resets != 1 {
		t.Errorf("discovery was reset %d times within 30 seconds, want once", d.resets)
	}
	wantServedInV1(t, kinds)
	*now = now.Add(31 * time.Second)
	if !kinds.Doubt(found.Resource) {
		t.Error("discovery is not asked again after 30 seconds")
	}
}

func TestNotFoundResourcesShareOneDiscovery(t *testing.T) {
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kinds := NewResolver(definitions{}, d, func() time.Time { return now })
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	for range 150 { // 150 TemplateControllers call it every 30 seconds, for five minutes
		for range 10 {
			kinds.Doubt(pods)
		}
		now = now.Add(2 * time.Second)
	}
	if d.resets != 10 {
		t.Errorf("discovery was asked anew %d times in five minutes, want every 30 seconds", d.resets)
	}
}

// A refresh caused by another missing kind is sufficient.
func TestRefreshReusesDiscoveryOfAnotherKind(t *testing.T) {
	kinds, d, found, _ := resolvedOnce(t)
	d.only = "v1"
	if _, err := kinds.Resolve(schema.GroupVersionKind{Group: "metrics.example.org", Version: "v1", Kind: "Metric"}); err == nil || d.resets != 1 {
		t.Fatalf("err = %v after %d resets, want that the kind is missing after one", err, d.resets)
	}
	if !kinds.Doubt(found.Resource) || d.resets != 1 {
		t.Errorf("Resolve answers as before, or discovery was reset %d times, want once", d.resets)
	}
	wantServedInV1(t, kinds)
	if kinds.Doubt(found.Resource) {
		t.Error("Resolve may answer differently, though discovery was not asked anew")
	}
}

func TestMissingKindResetsDiscoveryEveryTenSeconds(t *testing.T) {
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	kinds := NewResolver(definitions{}, d, func() time.Time { return now })
	gvk := schema.GroupVersionKind{Group: "metrics.example.org", Version: "v1", Kind: "Metric"}
	for range 5 {
		if _, err := kinds.Resolve(gvk); err == nil || err.Error() != "the cluster does not serve kind Metric in metrics.example.org/v1" {
			t.Fatalf("err = %v", err)
		}
	}
	if d.resets != 1 {
		t.Errorf("%d resets, want 1", d.resets)
	}
	now = now.Add(10 * time.Second)
	if _, err := kinds.Resolve(gvk); err == nil || d.resets != 1 {
		t.Fatalf("err = %v, %d resets after ten seconds, want 1", err, d.resets)
	}
	now = now.Add(1)
	if _, err := kinds.Resolve(gvk); err == nil {
		t.Fatal("a missing kind is found")
	}
	if d.resets != 2 {
		t.Errorf("%d resets after more than ten seconds, want 2", d.resets)
	}
}

func TestNewlyDiscoveredKindResolvesImmediately(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "metrics.example.org", Version: "v1", Kind: "Metric"}
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{}, learns: gvk.GroupKind()}
	if kind, err := NewResolver(definitions{}, d, time.Now).Resolve(gvk); err != nil || kind.Resource.Resource != "things" {
		t.Errorf("kind %+v, err %v, want that which discovery has now", kind, err)
	}
}

func TestAggregatedKindsAreDiscoveredEachTime(t *testing.T) {
	for group, want := range map[string]int{"apps": 1, "storage.k8s.io": 1, "metrics.example.org": 2} {
		gvk := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}
		d := &fakeDiscovery{known: map[schema.GroupKind]bool{gvk.GroupKind(): true}}
		kinds := NewResolver(definitions{}, d, time.Now)
		for range 2 {
			if _, err := kinds.Resolve(gvk); err != nil {
				t.Fatal(err)
			}
		}
		if d.asked != want {
			t.Errorf("%s: discovery was asked %d times, want %d", group, d.asked, want)
		}
	}
}

func TestCustomKindIsMissingAfterCRDDeletion(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "LoadTest"}
	there := &changing{definitions{definition(t, loadTests, func(map[string]any) {})}}
	kinds := NewResolver(there, &fakeDiscovery{known: map[schema.GroupKind]bool{gvk.GroupKind(): true}}, time.Now)
	if kind, err := kinds.Resolve(gvk); err != nil || !kind.Custom {
		t.Fatalf("kind %+v, err %v", kind, err)
	}
	if _, err := kinds.Resolve(gvk); err != nil || kinds.read[gvk].definition != there.definitions[0] {
		t.Errorf("err = %v; a definition is read once only", err)
	}
	there.definitions = nil
	var missing *NotFoundError
	if kind, err := kinds.Resolve(gvk); !errors.As(err, &missing) {
		t.Errorf("kind %+v, err %v, want it missing", kind, err)
	}
	if len(kinds.read) > 0 {
		t.Error("something is remembered of a definition that is gone")
	}
}

// changing has kinds that all had a definition at some time.
type changing struct{ definitions }

func (changing) EverDefined(schema.GroupKind) bool { return true }

func TestUnresolvedCustomKindIsMissingWithoutCRD(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "LoadTest"}
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{gvk.GroupKind(): true}} // refreshed for another kind
	if kind, err := NewResolver(&changing{}, d, time.Now).Resolve(gvk); !Gone(err) || d.asked > 0 {
		t.Errorf("kind %+v, err %v, and discovery was asked %d times; want it gone", kind, err, d.asked)
	}
}

func TestFailedDiscoveryDoesNotReportKindMissing(t *testing.T) {
	failure := errors.New("no answer")
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	d := &fakeDiscovery{err: failure, known: map[schema.GroupKind]bool{pod.GroupKind(): true}}
	kinds := NewResolver(definitions{}, d, time.Now)
	if _, err := kinds.Resolve(pod); !errors.Is(err, failure) {
		t.Errorf("err = %v, want that of discovery", err)
	}
	d.err = nil
	if kind, err := kinds.Resolve(pod); err != nil || kind.Resource.Resource != "things" {
		t.Errorf("kind %+v, err %v when discovery answers again", kind, err)
	}
}

func TestMissingKindErrorSuggestsServedVersions(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "LoadTest"}
	setVersions := func(versions ...any) func(map[string]any) {
		return func(m map[string]any) { m["spec"].(map[string]any)["versions"] = versions }
	}
	served := func(name string, served, storage bool) any {
		return map[string]any{"name": name, "served": served, "storage": storage}
	}
	unaccepted := func(m map[string]any) {
		m["metadata"].(map[string]any)["name"] = "loadtestz.example.org"
		m["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "False"}}}
	}
	for why, row := range map[string]struct {
		definitions []func(map[string]any)
		want        string
		gone        bool
		ending      bool
	}{
		"no definition": {want: "the cluster does not serve kind LoadTest in example.org/v1", gone: true},
		"another version is served": {
			definitions: []func(map[string]any){setVersions(served("v1", false, true), served("v2", true, false))},
			want:        "the cluster does not serve kind LoadTest in example.org/v1; it is served in version v2",
		},
		"of several versions, that is named which is stored": {
			definitions: []func(map[string]any){setVersions(served("v2", true, false), served("v3", true, true), served("v4", true, false))},
			want:        "the cluster does not serve kind LoadTest in example.org/v1; it is served in version v3",
		},
		"no version is served": {
			definitions: []func(map[string]any){setVersions(served("v1", false, true))},
			want:        "the cluster does not serve kind LoadTest in example.org/v1: CustomResourceDefinition loadtests.example.org exists, but does not serve it (kubectl describe crd loadtests.example.org)",
		},
		"a version would be served, if the server had accepted the definition": {
			definitions: []func(map[string]any){func(m map[string]any) {
				setVersions(served("v2", true, true))(m)
				unaccepted(m)
			}},
			want: "the cluster does not serve kind LoadTest in example.org/v1: CustomResourceDefinition loadtestz.example.org exists, but does not serve it (kubectl describe crd loadtestz.example.org)",
		},
		"of two definitions that do not serve it, that is named which stays": {
			definitions: []func(map[string]any){
				func(m map[string]any) {
					m["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
				}, unaccepted,
			},
			want:   "the cluster does not serve kind LoadTest in example.org/v1: CustomResourceDefinition loadtestz.example.org exists, but does not serve it (kubectl describe crd loadtestz.example.org)",
			ending: true,
		},
		"of two definitions that do not serve it, that is named which stays, in whatever order": {
			definitions: []func(map[string]any){unaccepted, func(m map[string]any) {
				m["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			}},
			want:   "the cluster does not serve kind LoadTest in example.org/v1: CustomResourceDefinition loadtestz.example.org exists, but does not serve it (kubectl describe crd loadtestz.example.org)",
			ending: true,
		},
		"it is being deleted": {
			definitions: []func(map[string]any){func(m map[string]any) {
				m["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
			}},
			want:   "the cluster does not serve kind LoadTest in example.org/v1: CustomResourceDefinition loadtests.example.org is being deleted",
			ending: true,
		},
		"a second definition fights for the name": {definitions: []func(map[string]any){unaccepted, nil}},
		"a definition is there before another":    {definitions: []func(map[string]any){nil, unaccepted}},
	} {
		t.Run(why, func(t *testing.T) {
			var all definitions
			for _, change := range row.definitions {
				all = append(all, definition(t, loadTests, change))
			}
			_, err := NewResolver(all, &fakeDiscovery{}, time.Now).Resolve(gvk)
			if row.want == "" {
				if err != nil {
					t.Errorf("err = %v, want none", err)
				}
				return
			}
			var missing *NotFoundError
			if !errors.As(err, &missing) || err.Error() != row.want || missing.Gone() != row.gone {
				t.Errorf("err = %v, want %s; gone: %v", err, row.want, row.gone)
			}
			if is := TerminatingKind(err); (is != nil) != row.ending || row.ending && is.Resource != gvk.GroupVersion().WithResource("loadtests") {
				t.Errorf("it is served still as %v", is)
			}
		})
	}
}

func TestUndiscoveredVersionReportsServedVersion(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "autoscaling", Version: "v2beta2", Kind: "HorizontalPodAutoscaler"}
	kinds := NewResolver(definitions{}, &fakeDiscovery{known: map[schema.GroupKind]bool{gvk.GroupKind(): true}, only: "v2"}, time.Now)
	_, err := kinds.Resolve(gvk)
	var missing *NotFoundError
	if !errors.As(err, &missing) || missing.Served != "v2" || missing.Gone() {
		t.Errorf("err = %v, want that it is there in v2", err)
	}
}

func TestRenamedKindResolvesByAcceptedName(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "LoadTest"}
	renaming := definition(t, loadTests, func(m map[string]any) {
		inner(inner(m, "spec"), "names")["kind"] = "Taken" // the name is used by another definition
		inner(m, "status")["acceptedNames"] = map[string]any{"kind": "LoadTest", "plural": "loadtests"}
	})
	kind, err := NewResolver(definitions{renaming}, &fakeDiscovery{}, time.Now).Resolve(gvk)
	if err != nil || kind.Kind != "LoadTest" {
		t.Errorf("kind %+v, err %v, want the kind that is served", kind, err)
	}
}

func TestUnservedKindErrorMentionsAPIService(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "metrics.example.org", Version: "v1", Kind: "Metric"}
	d := &fakeDiscovery{known: map[schema.GroupKind]bool{gvk.GroupKind(): true}}
	kinds := NewResolver(definitions{}, d, time.Now)
	if _, err := kinds.Resolve(gvk); err != nil {
		t.Fatal(err)
	}
	clear(d.known)
	_, err := kinds.Resolve(gvk)
	const want = "the cluster does not serve kind Metric in metrics.example.org/v1 at the moment: check its APIService (kubectl get apiservices)"
	if err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
}
