package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestWhoWorksAndWhere(t *testing.T) {
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
