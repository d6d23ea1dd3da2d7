package child

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
)

func TestNamespacesOfChildren(t *testing.T) {
	const away = "the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace, or set scope: Cluster in this entry"
	for why, row := range map[string]struct {
		parent, child bool // whether the kind has namespaces
		scope         v1.ChildScope
		namespace     string
		want, fault   string
	}{
		"the parent's":                               {true, true, v1.ScopeNamespaced, "", "ns", ""},
		"the parent's, as it says":                   {true, true, v1.ScopeNamespaced, "ns", "ns", ""},
		"another one":                                {true, true, v1.ScopeNamespaced, "other", "other", away},
		"one of a parent without":                    {false, true, v1.ScopeNamespaced, "other", "other", ""},
		"none, of a parent without":                  {false, true, v1.ScopeNamespaced, "", "", "a Child is namespaced and its parent is not: set metadata.namespace"},
		"none, of two kinds without":                 {false, false, v1.ScopeNamespaced, "", "", ""},
		"one, of two kinds without":                  {false, false, v1.ScopeNamespaced, "other", "other", "a Child is cluster-scoped: remove metadata.namespace"},
		"a kind without, of a parent in a namespace": {true, false, v1.ScopeNamespaced, "", "", "a Child is cluster-scoped and cannot belong to the namespaced Parent: owner references do not cross that line; set scope: Cluster in this entry, or watch a cluster-scoped kind"},

		"of scope Cluster: the parent's":       {true, true, v1.ScopeCluster, "", "ns", ""},
		"of scope Cluster: another one":        {true, true, v1.ScopeCluster, "other", "other", ""},
		"of scope Cluster: none":               {true, false, v1.ScopeCluster, "", "", ""},
		"of scope Cluster: one that is no use": {true, false, v1.ScopeCluster, "other", "other", "a Child is cluster-scoped: remove metadata.namespace"},
	} {
		metadata := map[string]any{"name": "a"}
		if row.namespace != "" {
			metadata["namespace"] = row.namespace
		}
		content := map[string]any{"metadata": metadata}
		f := &Factory{ParentKind: kind.Kind{Kind: "Parent", Namespaced: row.parent}}
		fault := f.place(content, kind.Kind{Kind: "Child", Namespaced: row.child}, row.scope, packed(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns}}"))
		if got := nameOf(content).Namespace; fault != row.fault || got != row.want {
			t.Errorf("%s: namespace %q and fault %q, want %q and %q", why, got, fault, row.want, row.fault)
		}
	}
}
