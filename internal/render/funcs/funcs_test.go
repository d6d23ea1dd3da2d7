package funcs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// builtins are the functions of text/template, from its documentation; the
// package does not export them.
var builtins = []string{
	"and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf", "println", "urlquery",
	"eq", "ge", "gt", "le", "lt", "ne",
}

// TestEveryFunctionIsClassified fails when sprig or text/template has a
// function that is neither allowed nor refused, so that an upgrade cannot add
// one unnoticed.
func TestEveryFunctionIsClassified(t *testing.T) {
	for _, name := range append(slices.Sorted(maps.Keys(sprig.GenericFuncMap())), builtins...) {
		_, allowed := functions[name]
		isRefused := slices.ContainsFunc(syntax.Refused(), func(f syntax.Function) bool { return f.Name == name })
		if allowed == isRefused {
			t.Errorf("%s: allowed is %v, refused is %v; it must be on exactly one list", name, allowed, isRefused)
		}
	}
	if diff := len(All()) - len(functions) - len(syntax.Refused()); diff != 0 {
		t.Errorf("All() has %d entries too many", diff)
	}
}

// TestFunctionDefinitionsAreConsistent checks the source and the docs of each function.
func TestFunctionDefinitionsAreConsistent(t *testing.T) {
	known := sprig.GenericFuncMap()
	for _, f := range All() {
		_, isSprig := known[f.Name]
		switch {
		case f.Source == "sprig" && !isSprig:
			t.Errorf("%s is not sprig's", f.Name)
		case f.Source == "text/template" && !slices.Contains(builtins, f.Name):
			t.Errorf("%s is not of text/template", f.Name)
		case f.Source == "templater" && (isSprig || slices.Contains(builtins, f.Name)):
			t.Errorf("%s is from elsewhere", f.Name)
		}
		if f.Refused == "" && (f.Doc == "" || f.Rendered == "") {
			t.Errorf("%s has no doc or no rule for rendered text", f.Name)
		}
		if f.Refused != "" && !strings.ContainsAny(f.Refused, ";,") {
			t.Errorf("%s is refused without saying what to use", f.Name)
		}
	}
}

// TestFunctionTableHasUniqueNamesAndKnownTypes checks that each name has one row and that all types are known.
func TestFunctionTableHasUniqueNamesAndKnownTypes(t *testing.T) {
	const types = "atinfblmsco"
	rows := map[string]bool{}
	for _, r := range table {
		for name := range strings.FieldsSeq(r.names) {
			if rows[name] {
				t.Errorf("%s has two rows", name)
			}
			rows[name] = true
		}
		if strings.Trim(strings.ToLower(r.takes), types+"?*+") != "" || strings.Trim(r.yields, types) != "" {
			t.Errorf("%s: %q and %q have a letter that is no type", r.names, r.takes, r.yields)
		}
	}
}

// TestHelmFunctionsAreListed checks the functions that only Helm has.
func TestHelmFunctionsAreListed(t *testing.T) {
	var got []string
	for _, f := range All() {
		if f.Source == "helm" {
			got = append(got, f.Name)
		}
	}
	want := []string{"Files", "fromJsonArray", "fromToml", "fromYamlArray", "lookup", "toToml", "tpl"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in order (-want +got):\n%s", diff)
	}
	if f := functions["include"]; f.Rendered != syntax.Keeps {
		t.Errorf("include %s rendered text", f.Rendered)
	}
}

// TestFunctionsImplementedByExecutor checks which functions are listed here but implemented by package render.
func TestFunctionsImplementedByExecutor(t *testing.T) {
	var got []string
	for _, f := range All() {
		if known := Lookup(f.Name); known != nil && known.Do == nil {
			got = append(got, f.Name)
		}
	}
	if diff := cmp.Diff([]string{"and", "include", "or"}, got); diff != "" {
		t.Errorf("in order (-want +got):\n%s", diff)
	}
}
