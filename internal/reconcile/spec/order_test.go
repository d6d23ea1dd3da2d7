package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
)

// entries returns child templates from lines such as "web: db cache /api"; the template reads names after a slash.
func entries(lines ...string) (children []v1.Child, awaits func(string) []string) {
	read := map[string][]string{}
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, ":")
		c := v1.Child{Name: name}
		for _, word := range strings.Fields(rest) {
			if of, isRead := strings.CutPrefix(word, "/"); isRead {
				read[name] = append(read[name], of)
			} else {
				c.DependsOn = append(c.DependsOn, word)
			}
		}
		children = append(children, c)
	}
	return children, func(name string) []string { return read[name] }
}

func TestOrder(t *testing.T) {
	o, r := inChildren.order(entries("web: /migrate db", "page: /web", "migrate: /db", "db", "lone", "cache"))
	if r != nil {
		t.Fatal(r.Message)
	}
	for entry, want := range map[string][]string{"db": nil, "lone": nil, "migrate": {"db"}, "web": {"migrate", "db"}, "page": {"web"}} {
		if got := o.DependsOn(entry); !slices.Equal(got, want) {
			t.Errorf("%s: waits for %v, want %v", entry, got, want)
		}
	}
	if diff := cmp.Diff(map[string]int{"migrate": 1, "web": 2, "page": 3}, o.Levels()); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if o.Level("page") != 3 || o.Level("db") != 0 || o.Level("gone") != 0 {
		t.Errorf("levels %d, %d and %d, want 3, 0 and 0", o.Level("page"), o.Level("db"), o.Level("gone"))
	}
	if got, want := o.Waiting(), []string{"migrate", "web", "page"}; !slices.Equal(got, want) {
		t.Errorf("waiting are %v, want %v", got, want)
	}
	for pair, want := range map[[2]string]bool{{"page", "db"}: true, {"page", "web"}: true, {"db", "page"}: false, {"web", "lone"}: false, {"web", "web"}: false, {"gone", "db"}: false, {"page", ""}: false} {
		if got := o.After(pair[0], pair[1]); got != want {
			t.Errorf("%s waits for %s: %v, want %v", pair[0], pair[1], got, want)
		}
	}
}

func TestOrderWithoutDependenciesIsNil(t *testing.T) {
	o, r := inChildren.order(entries("web", "db"))
	if r != nil || o != nil {
		t.Fatalf("got %v, %v, want none", o, r)
	}
	if o.DependsOn("web") != nil || o.Levels() != nil || o.Waiting() != nil || o.After("web", "db") {
		t.Error("somebody waits")
	}
}

func TestInvalidOrdersAreRejected(t *testing.T) {
	const cycle, remedy = "spec.children: dependency cycle: ", ", so none of these child templates can start; read .observed (which does not wait) instead of .children in one of them, or remove a name from dependsOn"
	for lines, want := range map[string]string{
		"web: job|db|jobs":            "spec.children[web].dependsOn names no child template in spec.children: unknown name job; did you mean jobs?; known: db jobs",
		"web: db":                     "spec.children[web].dependsOn names no child template in spec.children: unknown name db; none are defined",
		"web: web|db":                 "spec.children[web].dependsOn: a child template cannot wait for itself: remove web",
		"web: /db|db: web":            cycle + "the template of web reads .children.db, db lists web in dependsOn" + remedy,
		"a: b|b: c|c: /d|d: b":        cycle + "b lists c in dependsOn, the template of c reads .children.d, d lists b in dependsOn" + remedy,
		"x: /a|a: /b|b: /a":           cycle + "the template of a reads .children.b, the template of b reads .children.a" + remedy,
		"web: /db db|db: /web":        cycle + "the template of web reads .children.db, the template of db reads .children.web" + remedy,
		"a: b c d|b: c d|c: d|d: e|e": "",
		"a: b c|b|c: a":               cycle + "a lists c in dependsOn, c lists a in dependsOn" + remedy,
	} {
		_, r := inChildren.order(entries(strings.Split(lines, "|")...))
		switch {
		case want == "" && r != nil:
			t.Errorf("%s: %s", lines, r.Message)
		case want != "" && (r == nil || r.Message != want || r.Reason != v1.ReasonInvalidSpec):
			t.Errorf("%s: got %+v, want %s", lines, r, want)
		}
	}
}

// TestTemplateReadsAndDependsOnDefineOrder compiles a whole spec.
func TestTemplateReadsAndDependsOnDefineOrder(t *testing.T) {
	s := specWith("{}", "a: {{ len .children.db }}")
	s.Children = append(s.Children, v1.Child{Name: "db", Template: "a: b"}, v1.Child{Name: "last", Template: "a: {{ len .observed.db }}", DependsOn: []string{"a"}})
	c, r := Compile("tc", s)
	if r != nil {
		t.Fatal(r.Message)
	}
	if got := c.Order.Waiting(); !slices.Equal(got, []string{"a", "last"}) || c.Order.Levels()["last"] != 2 {
		t.Errorf("waiting are %v", got)
	}
	s.Children[1].DependsOn = []string{"last"}
	if _, r = Compile("tc", s); r == nil || !strings.Contains(r.Message, "the template of a reads .children.db, db lists last in dependsOn, last lists a in dependsOn") {
		t.Errorf("got %+v", r)
	}
}
