package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
)

func TestCheckKindFindsFirstClusterScopeChild(t *testing.T) {
	for _, spec := range []*v1.TemplateControllerSpec{
		{Children: []v1.Child{{Name: "a", Scope: v1.ScopeCluster}}}, {Finalize: &v1.Finalize{Children: []v1.Child{{Name: "a", Scope: v1.ScopeCluster}}}},
	} {
		if r := CheckKind("tc", spec, kind.Kind{Kind: "Team"}); r == nil {
			t.Errorf("%+v is accepted", spec)
		}
	}
}

func TestClusterScopeRequiresNamespacedParents(t *testing.T) {
	for why, row := range map[string]struct {
		scopes []v1.ChildScope
		crosses,
		rejected bool // if the parents are cluster-scoped
	}{
		"none is said":              {[]v1.ChildScope{""}, false, false},
		"the default":               {[]v1.ChildScope{v1.ScopeNamespaced}, false, false},
		"one entry may be anywhere": {[]v1.ChildScope{v1.ScopeNamespaced, v1.ScopeCluster}, true, true},
	} {
		spec := &v1.TemplateControllerSpec{ServiceAccountRef: &v1.ServiceAccountRef{}, Watch: v1.Watch{Namespaces: []string{"a"}}}
		for i, scope := range row.scopes {
			spec.Children = append(spec.Children, v1.Child{Name: string(rune('a' + i)), Scope: scope})
		}
		if got := CrossScope(spec); got != row.crosses {
			t.Errorf("%s: children may be in other namespaces: %v", why, got)
		}
		if everywhere := ChildNamespaces(spec) == nil; everywhere != row.crosses {
			t.Errorf("%s: they are read in %v", why, ChildNamespaces(spec))
		}
		spec.Watch.Namespaces = nil
		if r := CheckKind("tc", spec, kind.Kind{Kind: "App", Namespaced: true}); r != nil {
			t.Errorf("%s: %s", why, r.Message)
		}
		want := (*Rejection)(nil)
		if row.rejected {
			want = &Rejection{Reason: v1.ReasonInvalidSpec, Message: "spec.children[b].scope: Team is cluster-scoped, so its children can be in any namespace without it: remove scope"}
		}
		final := &v1.TemplateControllerSpec{Finalize: &v1.Finalize{Children: spec.Children}}
		if got := CrossScope(final); got != row.crosses {
			t.Errorf("%s, in spec.finalize: children may be in other namespaces: %v", why, got)
		}
		if r := CheckKind("tc", final, kind.Kind{Kind: "Team"}); row.rejected && (r == nil || r.Message != "spec.finalize.children[b].scope: Team is cluster-scoped, so its children can be in any namespace without it: remove scope") {
			t.Errorf("%s, in spec.finalize, and the parents are cluster-scoped: %v", why, r)
		}
		if diff := cmp.Diff(want, CheckKind("tc", spec, kind.Kind{Kind: "Team"}), cmpopts.IgnoreFields(Rejection{}, "Findings")); diff != "" {
			t.Errorf("%s, and the parents are cluster-scoped (-want +got):\n%s", why, diff)
		}
	}
}

func TestUserAndNamespacesOfSpec(t *testing.T) {
	account := &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}
	for why, row := range map[string]struct {
		account    *v1.ServiceAccountRef
		namespaces []string
		user       string
		children   []string
	}{
		"the operator":                               {nil, nil, "", nil},
		"the operator, in some namespaces":           {nil, []string{"a"}, "", nil},
		"an account":                                 {account, nil, "system:serviceaccount:team:robot", nil},
		"an account, in no namespace, which are all": {account, []string{}, "system:serviceaccount:team:robot", nil},
		"an account, in some namespaces":             {account, []string{"a", "b"}, "system:serviceaccount:team:robot", []string{"a", "b"}},
	} {
		spec := &v1.TemplateControllerSpec{ServiceAccountRef: row.account, Watch: v1.Watch{Namespaces: row.namespaces}}
		if got := User(spec); got != row.user {
			t.Errorf("%s: user %q, want %q", why, got, row.user)
		}
		if diff := cmp.Diff(row.children, ChildNamespaces(spec)); diff != "" {
			t.Errorf("%s: namespaces of children (-want +got):\n%s", why, diff)
		}
	}
	if namespace, name := Account("system:serviceaccount:team:robot"); namespace != "team" || name != "robot" {
		t.Errorf("account %q in %q", name, namespace)
	}
}
