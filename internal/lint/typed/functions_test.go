package typed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// samples are values as templates write them.
var samples = []string{
	`nil`, `"a"`, `""`, `"3"`, `0`, `2`, `1.5`, `true`, `false`, `(list)`, `(list "a" "b")`, `(list 1 2)`, `(list (dict "a" 1 "metadata" (dict "name" "x")))`, `(dict)`, `(dict "a" 1)`, `(dict "a" (dict "b" "c"))`,
}

// TestFunctionSignaturesMatchBehavior calls each function with arguments of all kinds: what is said to fail does, and what comes out is as said.
func TestFunctionSignaturesMatchBehavior(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	calls, failing, found := 0, 0, 0
	for _, f := range funcs.All() {
		if f.Refused != "" || f.Name == "fail" || f.Name == "wait" {
			continue
		}
		for range 25 {
			n := f.Min + random.IntN(3)
			if f.Max >= 0 {
				n = min(n, f.Max)
			}
			words := []string{f.Name}
			for range n {
				words = append(words, samples[random.IntN(len(samples))])
			}
			if f.Name == "include" {
				words[1] = `"h"`
			}
			expression := strings.Join(words, " ")
			kind, err := outcome(t, expression)
			if e, ok := errors.AsType[*syntax.Error](err); ok && e.Reason != syntax.Invalid {
				continue
			}
			calls++
			v, errs := typeOf(t, expression)
			if err != nil {
				failing++
			}
			if len(errs) > 0 {
				found++
			}
			if err == nil && len(errs) > 0 {
				t.Errorf("%s yields %s, but is said to fail: %s", expression, kind, errs[0])
			}
			if err == nil && !v.May(kindNamed[kind]) {
				t.Errorf("%s yields %s, not %s", expression, kind, v.Kinds.Words())
			}
			if err == nil && v.Literal != nil && kindNamed[kind] != types.KindOf(v.Literal) {
				t.Errorf("%s yields %s, not %v", expression, kind, v.Literal)
			}
		}
	}
	t.Logf("%d calls, of which %d fail, and %d are known to", calls, failing, found)
}

var kindNamed = map[string]openapi.JSONTypes{"invalid": openapi.Null, "string": openapi.String, "bool": openapi.Boolean, "int64": openapi.Integer, "float64": openapi.Number, "slice": openapi.List, "map": openapi.Map}

// outcome returns the kind of what an expression yields.
func outcome(t *testing.T, expression string) (string, error) {
	t.Helper()
	p, err := render.Compile(render.Source{
		Logs:    true,
		Helpers: `{{ define "h" }}x{{ end }}`,
		Status:  fmt.Sprintf(`{{ $x := (%s) }}kind: {{ if has nil (list $x) }}invalid{{ else }}{{ kindOf $x }}{{ end }}`, expression),
	})
	if err != nil {
		t.Fatalf("%s: %s", expression, err)
	}
	status, err := p.Status(&render.Input{Parent: map[string]any{}})
	if err != nil {
		return "", err
	}
	kind, _ := status["kind"].(string)
	return kind, nil
}

// typeOf returns what is known of an expression, and the errors that are found in it.
func typeOf(t *testing.T, expression string) (*types.Value, []string) {
	t.Helper()
	c, u := checkerOf(t, "{{ "+expression+" }}")
	root := c.roots.of(u)
	c.walk.enter(u, root)
	v := c.walk.pipe(u.Expression(), root)
	var errs []string
	for _, f := range c.notes.Findings() {
		if f.Severity == "error" {
			errs = append(errs, f.String())
		}
	}
	return v, errs
}
