package spec

import (
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
)

func TestTooLargeSpecsAreRejected(t *testing.T) {
	const most = maxOperands / 5 // number of actions below
	actions := func(n int) string { return strings.Repeat("{{.a.b.c}}", n) }
	for name, c := range map[string]struct {
		change func(*v1.TemplateControllerSpec)
		want   string
	}{
		"as many operands as may be": {func(s *v1.TemplateControllerSpec) {
			s.Helpers = `{{define "x"}}{{1}}` + actions(most-2) + "{{end}}"
		}, ""},
		"one template with more": {func(s *v1.TemplateControllerSpec) {
			s.Children[0].Template = `{{with .parent}}` + actions(most) + "{{end}}"
		}, "children[a]: the templates have 50007 actions and operands in total, most of them here; the limit is 50000: split the TemplateController"},
		"several with more in all": {func(s *v1.TemplateControllerSpec) {
			s.Helpers, s.Status = actions(most/2), &v1.ParentStatus{Template: actions(most/2 + 1)}
		}, "status: the templates have 50005 actions and operands in total, most of them here; the limit is 50000: split the TemplateController"},
		"a select template with more": {func(s *v1.TemplateControllerSpec) {
			s.Related = []v1.Related{{Name: "b", Select: actions(most + 1)}}
		}, "related[b].select: the templates have 50005 actions and operands in total, most of them here; the limit is 50000: split the TemplateController"},
		"an expression with more": {func(s *v1.TemplateControllerSpec) {
			s.Children[0].ReadyWhen = strings.Repeat(".a", maxOperands)
		}, "children[a].readyWhen: the templates have 50002 actions and operands in total, most of them here; the limit is 50000: split the TemplateController"},
		"other delimiters": {func(s *v1.TemplateControllerSpec) {
			s.Delimiters.Left, s.Delimiters.Right = "<", ">"
			s.Children[0].Template = strings.Repeat("<1>", maxOperands/3+1)
		}, "children[a]: the templates have 50001 actions and operands in total, most of them here; the limit is 50000: split the TemplateController"},
		"as many values as may be": {func(s *v1.TemplateControllerSpec) {
			s.Values.Raw = []byte(`{"a": "` + strings.Repeat(`[{,\"`, maxValues) + `", "b": [` + strings.Repeat("1,", maxValues-3) + `1]}`)
		}, ""},
		"more values": {func(s *v1.TemplateControllerSpec) {
			s.Values.Raw = []byte(`{"b": [` + strings.Repeat("1,", maxValues-1) + `1]}`)
		}, "spec.values: there are 50001 keys and items; the limit is 50000: split the TemplateController"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specWith(`{}`, "a: b")
			c.change(spec)
			compiled, r := Compile("tc", spec)
			got := ""
			if r != nil {
				got = r.Message
				if len(r.Findings) != 1 || r.Findings[0].Code != finding.TooMuch {
					t.Errorf("findings %v, want one of %s", r.Findings, finding.TooMuch)
				}
			}
			if got != c.want {
				t.Errorf("refused for %q, want %q", got, c.want)
			}
			if compiled == nil || compiled.GVK.Kind != "ConfigMap" || compiled.Program == nil {
				t.Errorf("compiled to %+v, want what identifies the parents", compiled)
			}
		})
	}
}

// TestTooLargeSpecsAreNotCompiled counts allocations: compilation would need several for each operand.
func TestTooLargeSpecsAreNotCompiled(t *testing.T) {
	spec := specWith(`{"a": [`+strings.Repeat(`{"":1},`, maxValues)+`1]}`, strings.Repeat("{{1}}", maxOperands))
	spec.Watch.Filter = "true"
	if allocations := testing.AllocsPerRun(1, func() {
		compiled, r, partial := CompileWith(nil, "tc", spec)
		if r == nil || compiled.Program.HasFilter() {
			t.Errorf("refused for %v; the filter is not compiled", r)
		}
		if size, most := Size(spec), leastBytes+(4<<10); size > most {
			t.Errorf("it takes %d bytes, want at most %d", size, most)
		}
		if partial.Program != nil {
			t.Error("a part of it is compiled")
		}
	}); allocations > 2000 {
		t.Errorf("%.0f allocations, want a few", allocations)
	}
}
