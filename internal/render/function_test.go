package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestMissingArgumentsAreRejected calls each function with one missing argument at a time: only
// the functions that say so may take it.
func TestMissingArgumentsAreRejected(t *testing.T) {
	published := strings.Fields("default required empty coalesce ternary eq ne not and or has mustHas first mustFirst index dict list tuple " +
		"toYaml toJson mustToJson toRawJson mustToRawJson toPrettyJson mustToPrettyJson " +
		"where whereNot collect sortBy named condition since ready logs")
	for _, f := range funcs.All() {
		if f.Refused != "" {
			continue
		}
		if f.Nil != slices.Contains(published, f.Name) {
			t.Errorf("%s: takes missing values: %v, which is not what is published", f.Name, f.Nil)
		}
		if f.Nil || funcs.Lookup(f.Name).Min == 0 && funcs.Lookup(f.Name).Max == 0 {
			continue
		}
		text := fmt.Sprintf("{{ %s%s }}", f.Name, strings.Repeat(" .spec.missing", max(funcs.Lookup(f.Name).Min, 1)))
		_, err := executeText(text, nil)
		if err == nil || !strings.Contains(err.Error(), f.Name+": argument 1, .spec.missing, has no value") {
			t.Errorf("%s: got error %v", text, err)
		}
	}
}

// TestUnsupportedFunctionsHaveReasons checks that each is a compile error with its reason.
func TestUnsupportedFunctionsHaveReasons(t *testing.T) {
	for _, f := range syntax.Refused() {
		_, err := Compile(Source{Children: []syntax.Template{{Name: "a", Text: "x: {{ " + f.Name + " }}"}}})
		want := "children[a]:1:7: unsupported function " + f.Name + ": " + f.Refused
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestFunctionsTreatRenderedTextAsPlainText gives rendered text to every function, as each of its
// arguments. What comes out must be the same as for the plain characters that
// the text stands for: no function may take a token for characters.
func TestFunctionsTreatRenderedTextAsPlainText(t *testing.T) {
	parent := map[string]any{"s": "a: 'b\"\n- c", "m": map[string]any{"k": "v: \n w"}}
	calls := 0
	for _, f := range funcs.All() {
		if f.Refused != "" || f.Rendered == syntax.Parses {
			continue
		}
		for _, arg := range []string{`(toYaml .spec.m)`, `(toJson .spec.m)`, `(quote .spec.s)`, `(include "t" .spec.s)`} {
			plain, err := executeText(withDefine(arg), map[string]any{"spec": parent})
			if err != nil {
				t.Fatal(err)
			}
			parent["plain"] = plain
			for _, call := range callsOf(funcs.Lookup(f.Name)) {
				want, err := executeText(withDefine("toJson ("+fmt.Sprintf(call, ".spec.plain")+")"), map[string]any{"spec": parent})
				if err != nil {
					continue // it does not take text there
				}
				calls++
				got, err := executeText(withDefine("toJson ("+fmt.Sprintf(call, arg)+")"), map[string]any{"spec": parent})
				if err != nil || got != want {
					t.Errorf(call+": got %q, %v; want %q", arg, got, err, want)
				}
			}
		}
	}
	if calls < 500 {
		t.Errorf("only %d calls succeeded; the test does not test much", calls)
	}
}

func withDefine(expression string) string {
	return `{{ define "t" }}x {{ . }}{{ end }}{{ ` + expression + ` }}`
}

// callsOf returns calls with %s in the place of one argument and something
// harmless in those of the others.
func callsOf(f *data.Function) []string {
	var calls []string
	for n := max(f.Min, 1); n <= max(f.Min, 3) && (f.Max < 0 || n <= f.Max); n++ {
		for at := range n {
			for _, other := range []string{"1", `"t"`, `(list "t")`, `(dict "t" "u")`} {
				for _, form := range []string{"%s", "(list %s)", "(dict %s 1)", `(dict "t" %s)`} {
					args := slices.Repeat([]string{other}, n)
					args[at] = form
					calls = append(calls, f.Name+" "+strings.Join(args, " "))
				}
			}
		}
	}
	return calls
}

// TestAfterIsRejectedWhereNothingWaits has the expressions that are only evaluated when objects change, also if a helper calls the function.
func TestAfterIsRejectedWhereNothingWaits(t *testing.T) {
	const call = `after "1h" .metadata.creationTimestamp`
	helpers := `{{ define "late" }}{{ ` + call + ` }}{{ end }}`
	for where, src := range map[string]Source{
		"filter":             {Filter: call},
		"select":             {Related: []syntax.Template{{Name: "a", Text: `name: "{{ ` + call + ` }}"`}}},
		"filter by a helper": {Filter: `include "late" .`, Helpers: helpers},
	} {
		if _, err := Compile(src); err == nil || !strings.Contains(err.Error(), "unsupported function after: spec.watch.filter and select are evaluated when objects change") {
			t.Errorf("%s: %v", where, err)
		}
	}
	ok := Source{Helpers: helpers, Status: `a: {{ include "late" . }}`, Children: []syntax.Template{{Name: "a", Text: `{{ if ` + call + ` }}{{ end }}`}}, ReadyWhen: []syntax.Template{{Name: "a", Text: call}}}
	if _, err := Compile(ok); err != nil {
		t.Error(err)
	}
}
