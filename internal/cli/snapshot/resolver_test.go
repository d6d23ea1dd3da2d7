package snapshot

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
)

// TestResolverSources has a kind of a file, a built-in one, one that only the cluster has, and one that nobody has.
func TestResolverSources(t *testing.T) {
	in := &server{}
	file := map[string]any{"spec": map[string]any{
		"group": "example.org", "scope": "Cluster", "names": map[string]any{"kind": "Filed", "plural": "fileds"},
		"versions": []any{map[string]any{"name": "v1", "served": true}},
	}}
	r := (&Source{Client: in, Kinds: in}).Resolver(t.Context(), kind.Declared{file})
	for _, row := range []struct {
		gvk       schema.GroupVersionKind
		resource  string
		notThere  bool
		nowAsked  int
		namespace bool
	}{
		{gvk: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Filed"}, resource: "fileds"},
		{gvk: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, resource: "pods", namespace: true},
		{gvk: schema.GroupVersionKind{Group: "example.org", Version: "v2", Kind: "Filed"}, notThere: true},
		{gvk: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}, resource: "apps", nowAsked: 1},
		{gvk: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}, resource: "apps", nowAsked: 1},
	} {
		got, err := r.Resolve(row.gvk)
		if _, missing := errors.AsType[*kind.NotFoundError](err); missing != row.notThere || got.Resource.Resource != row.resource || got.Namespaced != row.namespace {
			t.Errorf("%s: got %s (namespaced %t) and %v", row.gvk, got.Resource, got.Namespaced, err)
		}
		if len(in.asked) != row.nowAsked {
			t.Errorf("%s: %d requests, want %d:%s", row.gvk, len(in.asked), row.nowAsked, cmp.Diff(nil, in.asked))
		}
	}
}
