package playground

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReusedSessionMatchesNewSession asks one Session one thing after the other.
func TestReusedSessionMatchesNewSession(t *testing.T) {
	type step struct {
		why    string
		change func(*Request)
	}
	var s Session
	for _, name := range samples {
		r := sample(t, name)
		good := r
		for _, step := range []step{
			{"as it is", func(*Request) {}},
			{"the same", func(*Request) {}},
			{"another name", func(r *Request) { r.Parents = strings.Replace(r.Parents, "  name: ", "  name: x", 1) }},
			{"no YAML", func(r *Request) { r.Parents += "\na: [" }},
			{"repaired", func(r *Request) { r.Parents = good.Parents }},
			{"all are ready", func(r *Request) { r.AllReady = true }},
			{"with the places of lines", func(r *Request) { r.Explain = true }},
			{"without", func(r *Request) { r.Explain, r.AllReady = false, false }},
			{"a mistake", func(r *Request) { r.Controllers = strings.Replace(r.Controllers, ".spec.", ".spce.", 1) }},
			{"an unknown field", func(r *Request) { r.Controllers = strings.Replace(good.Controllers, "watch:", "wacth:", 1) }},
			{"mended", func(r *Request) { r.Controllers = good.Controllers }},
			{"no definition", func(r *Request) { r.Definitions = "" }},
			{"the definition beside the parent", func(r *Request) { r.Parents = good.Definitions + "\n---\n" + good.Parents }},
			{"one that cannot be read", func(r *Request) { r.Parents = strings.Replace(r.Parents, "versions:", "versions: x #", 1) }},
			{"and at its place again", func(r *Request) { *r = good }},
			{"another scope", func(r *Request) {
				r.Definitions = strings.Replace(r.Definitions, "scope: Namespaced", "scope: Cluster", 1)
			}},
		} {
			step.change(&r)
			if diff := cmp.Diff(new(Session).Answer(r), s.Answer(r)); diff != "" {
				t.Fatalf("%s: %s: -new +this:\n%s", name, step.why, diff)
			}
		}
	}
}

// TestUnchangedTextsAreNotParsedAgain types into one text after the other.
func TestUnchangedTextsAreNotParsedAgain(t *testing.T) {
	var s Session
	r := sample(t, "webshop")
	s.Answer(r)
	simulator, parents := s.checked.controllers[0].simulator, s.texts[Parents].set
	r.Parents += "# a comment\n"
	s.Answer(r)
	if s.checked.controllers[0].simulator != simulator {
		t.Error("another parent has the TemplateController compiled again")
	}
	if s.texts[Parents].set == parents {
		t.Fatal("the other text is not read")
	}
	parents = s.texts[Parents].set
	r.Controllers += "# a comment\n"
	s.Answer(r)
	if s.checked.controllers[0].simulator == simulator {
		t.Error("another TemplateController is not compiled")
	}
	if s.texts[Parents].set != parents {
		t.Error("another TemplateController has the parent read again")
	}
}

// TestSessionRecoversFromInternalError has what is kept be what cannot be.
func TestSessionRecoversFromInternalError(t *testing.T) {
	var s Session
	r := sample(t, "loadtest")
	s.Answer(r)
	s.checked.controllers[0].compiled = nil
	if a := s.Answer(r); len(a.Problems) != 1 || !strings.Contains(a.Problems[0].Message, "internal error") {
		t.Fatalf("%+v", a.Problems)
	}
	if a := s.Answer(r); len(a.Problems) != 0 || len(a.Results) != 1 {
		t.Errorf("%+v", a.Problems)
	}
}

// BenchmarkAnswerPerKeystroke types one key after the other: a comment below the parent, another value in it, and a comment below the TemplateController.
func BenchmarkAnswerPerKeystroke(b *testing.B) {
	for _, name := range samples {
		for what, key := range map[string]func(r *Request, n int){
			"comment": func(r *Request, n int) { r.Parents += strings.Repeat("#", n) },
			"parent": func(r *Request, n int) {
				r.Parents = strings.Replace(r.Parents, "  name: ", fmt.Sprintf("  name: a%d", n), 1)
			},
			"controller": func(r *Request, n int) { r.Controllers += strings.Repeat("#", n) },
		} {
			for _, ready := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/%s/ready=%v", name, what, ready), func(b *testing.B) {
					var s Session
					first := sample(b, name)
					first.AllReady = ready
					s.Answer(first)
					n := 0
					for b.Loop() {
						r := first
						n++
						key(&r, n%100)
						s.Answer(r)
					}
				})
			}
		}
	}
}
