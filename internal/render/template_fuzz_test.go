package render

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// canary is what all strings of the parent contain in FuzzTemplate.
const canary = "c4n4ry"

// FuzzTemplate renders arbitrary templates, as their authors may write them.
// None may panic, and no error may quote data. Seeds are few and quick: all are
// executed before the first that is made of them.
func FuzzTemplate(f *testing.F) {
	for _, text := range wholeTemplates(f) {
		f.Add(text)
	}
	for _, name := range slices.Sorted(maps.Keys(funcs.Allowed())) {
		f.Add("a: {{ " + name + strings.Repeat(" .spec.a", funcs.Lookup(name).Min) + " }}")
	}
	f.Fuzz(func(t *testing.T, text string) { checkTemplate(t, text) })
}

// TestErrorsContainNoData renders templates that are wrong in many ways.
func TestErrorsContainNoData(t *testing.T) {
	for _, text := range seedTemplates(t) {
		checkTemplate(t, text)
		for i := range len(text) {
			if i%37 == 0 {
				checkTemplate(t, text[:i]+text[min(i+3, len(text)):])
			}
		}
	}
}

// seedTemplates returns the templates of the other tests, and calls of all
// functions.
func seedTemplates(t testing.TB) []string {
	texts := wholeTemplates(t)
	for _, f := range funcs.All() {
		for _, args := range []string{"", ".spec.a", ".spec.a .spec.b", ".spec.a .spec.b .spec.map", "1 .spec.list", ".spec.map .spec.a", "2 3 .spec.a", "(toYaml .spec) 1 .spec.a"} {
			texts = append(texts, "a: {{ "+f.Name+" "+args+" }}")
		}
	}
	return texts
}

// wholeTemplates returns the templates of the other tests.
func wholeTemplates(t testing.TB) []string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(injectable)) {
		texts = append(texts, injectable[name])
	}
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			if strings.HasPrefix(part.Name, "children/") {
				texts = append(texts, string(part.Data))
			}
		}
	}
	return texts
}

// checkTemplate renders a template as a child and as a status.
func checkTemplate(t *testing.T, text string) {
	p, err := Compile(Source{Helpers: injectableHelpers, Children: []syntax.Template{{Name: "x", Text: text}}, Status: text})
	if err != nil {
		var all syntax.Errors
		if !errors.As(err, &all) || len(all) == 0 {
			t.Errorf("%q: compile error is %T: %v", text, err, err)
		}
		return
	}
	in := &Input{Parent: parentWith([4]string{canary + ": a\n- b", canary + "'\"", canary + "/k", canary + "l"})}
	if _, err = p.Child("x", in); err != nil {
		checkMessage(t, text, err)
	}
	if _, err = p.Status(in); err != nil {
		checkMessage(t, text, err)
	}
}

func checkMessage(t *testing.T, text string, err error) {
	t.Helper()
	e, ok := errors.AsType[*syntax.Error](err)
	switch {
	case !ok || e.Message == "":
		t.Errorf("%q: error is %T: %v", text, err, err)
	case strings.Contains(e.Message, "internal:"):
		t.Errorf("%q: %v", text, err)
	case e.Reason == syntax.Fail || e.Reason == syntax.Wait: // the author's own words
	case strings.Contains(e.Message, canary) && !strings.Contains(text, canary):
		t.Errorf("%q: the error quotes data: %v", text, err)
	case strings.ContainsAny(e.Message, "\n\ue000"):
		t.Errorf("%q: the error has a line end or a token in it: %q", text, e.Message)
	}
}
