package spec

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestTemplateByNameInFinding(t *testing.T) {
	spec := &v1.TemplateControllerSpec{
		Helpers: "a", Status: &v1.ParentStatus{Template: "b"}, Related: []v1.Related{{Name: "x", Select: "c"}},
		Children: []v1.Child{{Name: "x", Template: "d", ReadyWhen: "e"}}, Finalize: &v1.Finalize{Children: []v1.Child{{Name: "y", Template: "f"}, {Name: "w", Template: "g"}}},
	}
	for name, want := range map[string]string{
		"helpers": "a", "status": "b", "related[x].select": "c", "children[x]": "d", "children[x].readyWhen": "e", "children[y]": "f", "children[w]": "g", "children[z]": "", "spec.watch": "",
	} {
		if got := Template(spec, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := Template(&v1.TemplateControllerSpec{}, "status"); got != "" {
		t.Errorf("status of nothing is %q", got)
	}
}
