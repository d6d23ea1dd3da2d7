package render

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// workInput has data of known sizes.
func workInput() *Input {
	var list, texts, objects []any
	entries := map[string]any{}
	for i := range 50 {
		list = append(list, int64(50-i))
		texts = append(texts, fmt.Sprintf("text-%02d", 50-i))
		entries[fmt.Sprintf("key-%02d", i)] = int64(i)
		objects = append(objects, map[string]any{"metadata": map[string]any{"name": fmt.Sprintf("name-%02d", 50-i)}, "status": map[string]any{
			"n": int64(50 - i), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
		}})
	}
	return &Input{
		Parent: map[string]any{"spec": map[string]any{
			"s": strings.Repeat("ab ", 100), "lines": strings.Repeat("a\n", 100), "quotes": strings.Repeat(`'"`, 50), "wide": strings.Repeat("é\x01\x7f", 50),
			"list": list, "texts": texts, "map": entries, "objects": objects, "json": strings.Repeat("[", 50) + strings.Repeat("]", 50), "url": "https://example.org/" + strings.Repeat("a", 100),
			"path": strings.Repeat("a.", 50) + "a",
		}},
		Ready: func(map[string]any) bool { return true },
	}
}

// spend renders the child x as a program does, but with another budget, and returns what is left of it.
func spend(p *Program, in *Input, b budget.Meter) (budget.Meter, error) {
	x := p.start(p.children["x"], in)
	x.Meter = b
	err := x.invoke("", &x.view.Root)
	if err == nil {
		err = x.unit.shapes.Read(&x.Table, x.out.buf, func(d document.Document) error { _, err := d.Object(); return err })
	}
	return x.Meter, err
}

// TestCallCostsMatchTestdata shows what calls cost, which are in testdata/work.txt, each behind its units of work: a template that has
// enough today is to have enough tomorrow. With -update, the numbers are written anew.
func TestCallCostsMatchTestdata(t *testing.T) {
	const file = "testdata/work.txt"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	work := func(call string) int {
		left, err := spend(programOf(t, "{{ $x := "+call+" }}"), workInput(), newBudget())
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
		return budget.MaxWork - left.Work
	}
	nothing := work("1")
	var after strings.Builder
	for line := range strings.Lines(string(before)) {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		fmt.Fprintf(&after, "%d %s\n", work(call)-nothing, call)
	}
	if *update {
		if err := os.WriteFile(file, []byte(after.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(before), after.String()); diff != "" {
		t.Errorf("work (-want +got):\n%s", diff)
	}
}

// needy are templates that need some of everything. They begin as the YAML of an object, and share helpers.
var needy = []string{
	`a: {{ printf "%s %d" .spec.url 1 | upper | trunc 9 }}`,
	`a: {{ range $i, $v := .spec.list }}{{ if gt $v 48 }}{{ continue }}{{ end }}{{ if lt $v 40 }}{{ break }}{{ end }}{{ $i }}{{ end }}`,
	`a: [{{ range $k, $v := .spec.map }}{{ $k }},{{ end }}]`,
	`a: {{ template "t" .spec.url }}{{ define "t" }}{{ with . }}{{ . }}{{ else }}b{{ end }}{{ end }}`,
	`a: {{ include "t" (dict "x" .spec.url) | quote }}{{ define "t" }}{{ .x }}{{ .x | squote }}{{ end }}`,
	"a: |\n  {{ .spec.lines }}\nb: &x !!str |-\n  {{ .spec.s }}\nc: [*x, *x]\n",
	"a: &x {k: 1, l: [1, 2]}\nb: {<<: *x, m: 3}\nc: {<<: [*x, {n: 4}]}\n",
	"a:\n  {{- toYaml .spec.map | nindent 2 }}\nb: {{ toJson .spec.texts }}\nc: {{ toPrettyJson .spec.map | quote }}\nd: {{ .spec.map }}",
	"a: {{ fromJson .spec.json }}\nb: {{ fromYaml .spec.json }}\nc: {{ fromYaml (toYaml .spec.map) }}\nd: {{ fromJson (toJson .spec.list) }}",
	"a: {{ sortBy \"status.n\" .spec.objects | collect \"metadata.name\" | join \",\" }}\nb: {{ where \"status.n\" 5 .spec.objects | len }}",
	"a: {{ merge (dict \"a\" .spec.map) (dict \"a\" .spec.map) | keys | len }}\nb: {{ deepEqual .spec.objects .spec.objects }}",
	"a: {{ range .spec.objects }}{{ ready . }}{{ condition \"Ready\" . }}{{ end }}",
	"a: {{ regexReplaceAll \"(a|b)(.*c)?\" .spec.path \"$1\" }}\nb: {{ regexFindAll \"a(.*c)?\" .spec.path 5 }}\nc: {{ regexSplit \"a\" .spec.s -1 }}\nd: {{ regexMatch \"a\" .spec.s }}{{ regexFind \"a\" .spec.s }}",
	"a: {{ chunk 3 .spec.list }}\nb: {{ split \"a\" .spec.s | values }}\nc: {{ without (uniq .spec.list) 3 | compact | reverse | rest | initial }}",
	"a: {{ and 1 .spec.s | len }}{{ or 0 .spec.s | len }}{{ $x := 1 }}{{ $x = add $x 2 }}{{ $x }}{{ (index .spec.objects 0).metadata.name }}",
	"a: {{ wrapWith 5 \"|\" .spec.s | b64enc }}{{ print (shellQuote .spec.quotes) }}\nb: {{ untilStep 1 9 2 }}\nd: {{ seq 5 }}\nc: {{ add 1 2 | divf 3 }}{{ mulf 1e300 2 }}",
	"a: {{ tuple 1 2 | first }}{{ pick .spec.map \"key-01\" | keys }}\nb: {{ semver \"1.2.3\" | values | toStrings | len }}{{ semverCompare \"1\" \"1\" }}{{ urlParse .spec.url | urlJoin }}",
	"a: 'hi! {{ .spec.url }}'\nb: &x [1, {c: 2}]\nd: [*x, e]\n",
	"{{ .spec.url }}: 1\nb-{{ .spec.s }}: 2\nc: {d:, e: }\n",
}

// ranOut reports whether err says that a part of the budget is used up.
func ranOut(err error, part budget.Error) bool {
	e, isError := errors.AsType[*syntax.Error](err)
	return errors.Is(err, part) || isError && e.Message == part.Error() && e.Reason == syntax.Budget
}

// TestRenderingEndsWhenBudgetRunsOut renders with less and less of one part of the budget than it takes. Wherever that runs out, rendering
// ends with the error of that part, whether its output was seen before or not.
func TestRenderingEndsWhenBudgetRunsOut(t *testing.T) {
	in := workInput()
	for _, text := range needy {
		p := programOf(t, "apiVersion: v1\nkind: A\n"+text)
		full := newBudget()
		left, err := spend(p, in, full)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for work := 0; work < full.Work-left.Work; work += max(3, (full.Work-left.Work)/200|1) {
			if work%2 == 0 {
				p.children["x"].shapes = document.Shapes{}
			}
			if _, err := spend(p, in, budget.Meter{Work: work, Output: full.Output, Nodes: full.Nodes}); !ranOut(err, budget.ErrWork) {
				t.Errorf("%s\nwith %d of %d units: %v", text, work, full.Work-left.Work, err)
				break
			}
		}
		for output := 0; output < full.Output-left.Output; output += 1 + output/50 {
			if _, err := spend(p, in, budget.Meter{Work: full.Work, Output: output, Nodes: full.Nodes}); !ranOut(err, budget.ErrOutput) {
				t.Errorf("%s\nwith %d of %d bytes: %v", text, output, full.Output-left.Output, err)
				break
			}
		}
		for nodes := range full.Nodes - left.Nodes {
			p.children["x"].shapes = document.Shapes{}
			if _, err := spend(p, in, budget.Meter{Work: full.Work, Output: full.Output, Nodes: nodes}); !ranOut(err, budget.ErrNodes) {
				t.Errorf("%s\nwith %d of %d nodes: %v", text, nodes, full.Nodes-left.Nodes, err)
				break
			}
		}
		if exact, err := spend(p, in, budget.Meter{Work: full.Work - left.Work, Output: full.Output - left.Output, Nodes: full.Nodes - left.Nodes}); err != nil || exact != (budget.Meter{}) {
			t.Errorf("%s\nwith just enough: %v, %v left", text, err, exact)
		}
	}
}

// newBudget is all that one execution may use, without a reconciliation.
func newBudget() budget.Meter {
	return budget.Meter{Work: budget.MaxWork, Output: maxOutput, Nodes: maxNodes}
}

const (
	// unitBytes is how many bytes a unit of work may allocate.
	unitBytes = budget.MaxBytes / budget.MaxWork
	maxOutput = 4 << 20
	maxNodes  = 100_000
)
