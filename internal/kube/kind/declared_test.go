package kind

import (
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestDeclaredKindsResolveWithoutServer(t *testing.T) {
	files := Declared{{"spec": map[string]any{
		"group": "example.org", "scope": "Cluster", "names": map[string]any{"kind": "Shop", "plural": "shopz"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "subresources": map[string]any{"status": map[string]any{}}}, map[string]any{"name": "v2", "served": false}},
	}}}
	for why, row := range map[string]struct {
		apiVersion, kind, resource string
		namespaced, status         bool
		fault                      string
	}{
		"of a definition":            {"example.org/v1", "Shop", "shopz.example.org", false, true, ""},
		"another version":            {"example.org/v2", "Shop", "", false, false, "the cluster does not serve kind Shop in example.org/v2; it is served in version v1"},
		"another kind":               {"example.org/v1", "Shops", "", false, false, "the cluster does not serve kind Shops in example.org/v1"},
		"built in, with namespaces":  {"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies.networking.k8s.io", true, false, ""},
		"built in, without":          {"v1", "Namespace", "namespaces", false, false, ""},
		"of no regular plural":       {"v1", "Endpoints", "endpoints", true, false, ""},
		"of templater itself, alike": {"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions.apiextensions.k8s.io", false, false, ""},
	} {
		t.Run(why, func(t *testing.T) {
			gv, err := schema.ParseGroupVersion(row.apiVersion)
			if err != nil {
				t.Fatal(err)
			}
			got, err := files.Resolve(gv.WithKind(row.kind))
			if row.fault != "" {
				if err == nil || err.Error() != row.fault {
					t.Errorf("got error %v, want %s", err, row.fault)
				}
				return
			}
			if err != nil || got.Resource.GroupResource().String() != row.resource || got.Namespaced != row.namespaced || (got.Status != nil) != row.status {
				t.Errorf("got %+v and error %v", got, err)
			}
		})
	}
}

func TestSchemaMatchesKindAndVersion(t *testing.T) {
	version := func(name, title string) map[string]any {
		return map[string]any{"name": name, "schema": map[string]any{"openAPIV3Schema": map[string]any{"title": title}}}
	}
	definition := func(group, kind string, versions ...any) map[string]any {
		return map[string]any{"spec": map[string]any{"group": group, "names": map[string]any{"kind": kind}, "versions": versions}}
	}
	definitions := Declared{
		definition("other.org", "App", version("v1", "another group")),
		definition("example.org", "Widget", version("v1", "another kind")),
		definition("example.org", "App", map[string]any{"name": "v1beta1"}, version("v1", "this")),
	}
	for name, want := range map[string]any{"v1": "this", "v1beta1": nil, "v2": nil} {
		t.Run(name, func(t *testing.T) {
			if got := definitions.Schema(schema.GroupVersionKind{Group: "example.org", Version: name, Kind: "App"}); got["title"] != want {
				t.Errorf("got the schema %v, want %v", got, want)
			}
		})
	}
}

func TestPluralOfKind(t *testing.T) {
	for kind, want := range map[string]string{
		"Mailbox": "mailboxes", "Batch": "batches", "Dish": "dishes", "Ingress": "ingresses", "Policy": "policies", "Shop": "shops",
	} {
		if got := Plural(kind); got != want {
			t.Errorf("%s: got %s, want %s", kind, got, want)
		}
		if got := Guess(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: kind}).Resource; got.String() != "example.org/v1, Resource="+want {
			t.Errorf("%s: got %s", kind, got)
		}
	}
}

// TestBuiltInKindsMatchClientGoScheme compares the built-in kinds with the stored kinds that client-go knows.
func TestBuiltInKindsMatchClientGoScheme(t *testing.T) {
	sent := []string{ // kinds that are not stored, or no longer served
		"Binding", "RangeAllocation", "Scale", "Eviction", "TokenRequest", "TokenReview", "SelfSubjectReview",
		"LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview",
	}
	known := BuiltIn()
	for gvk, of := range scheme.Scheme.AllKnownTypes() {
		_, isObject := reflect.New(of).Interface().(metav1.Object)
		if gvk.Version == "__internal" || !isObject || gvk.Group == "extensions" || slices.Contains(sent, gvk.Kind) {
			continue
		}
		if !slices.Contains(known, gvk.GroupKind()) {
			t.Errorf("%s is not listed", gvk.GroupKind())
		}
	}
}
