package typed

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// noErrorIn fails if there is an error in templates that render, and returns the warnings.
func noErrorIn(t *testing.T, name string, source render.Source, set openapi.Set) (warnings int) {
	t.Helper()
	program, err := render.Compile(source)
	if err != nil {
		return 0
	}
	for _, f := range Check(nil, &v1.TemplateController{Spec: v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Chart"}}}, program, set) {
		if strings.HasPrefix(f.Message, "spec.values has no") && source.Values == nil {
			continue // they stand elsewhere in the test
		}
		if f.Code == finding.NoYAML && isPart(program, source) {
			continue // a test puts something before it or behind it
		}
		if f.Severity == finding.Error {
			t.Errorf("%s renders, but: %s %s", name, f.Code, f)
		} else {
			warnings++
			t.Logf("%s: %s %s", name, f.Code, f)
		}
	}
	return warnings
}

// isPart reports whether what templates print is no YAML, with data that lacks everything.
func isPart(program *render.Program, source render.Source) bool {
	in := &render.Input{Parent: map[string]any{"metadata": map[string]any{"name": "a"}}}
	for _, child := range source.Children {
		if _, err := program.Child(child.Name, in); err != nil {
			return true
		}
	}
	_, err := program.Status(in)
	return err != nil
}

func TestHelmSnippetsHaveNoFalsePositives(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "internal/render/helmtest/testdata/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no snippets: %v", err)
	}
	n := 0
	for _, file := range files {
		var snippets []struct {
			Name, Helpers, Template string
			Values                  json.RawMessage
			Whole                   bool
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &snippets); err != nil {
			t.Fatal(err)
		}
		for _, s := range snippets {
			text := s.Template
			if !s.Whole {
				text = "apiVersion: example.org/v1\nkind: Snippet\nmetadata: {name: snippet}\n" + strings.Replace(text, "metadata:\n", "metadata:\n  name: x\n", 1)
			}
			var values map[string]any
			if len(s.Values) > 0 {
				if values, err = data.ReadValues("values", s.Values); err != nil {
					t.Fatal(err)
				}
			}
			inValues := func(text string) string { return strings.ReplaceAll(text, ".Values", ".values") }
			source := render.Source{Values: values, Helpers: inValues(s.Helpers), Children: []syntax.Template{{Name: "snippet", Text: inValues(text)}}}
			program, err := render.Compile(source)
			if err != nil {
				continue
			}
			if _, err = program.Child("snippet", &render.Input{Parent: map[string]any{"metadata": map[string]any{"name": "chart"}}}); err != nil {
				continue
			}
			n++
			noErrorIn(t, s.Name, source, openapi.BuiltIn())
		}
	}
	t.Logf("%d snippets render", n)
}

func TestGoldenFilesHaveNoFalsePositives(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "internal/render/testdata/golden/*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source, fails, want := render.Source{}, false, ""
		for _, f := range archive.Files {
			name := strings.TrimSuffix(filepath.Base(f.Name), ".json")
			switch {
			case strings.HasPrefix(f.Name, "children/"):
				source.Children = append(source.Children, syntax.Template{Name: name, Text: string(f.Data)})
			case f.Name == "status":
				source.Status = string(f.Data)
			case f.Name == "helpers":
				source.Helpers = string(f.Data)
			case f.Name == "values.json":
				if source.Values, err = data.ReadValues("values", f.Data); err != nil {
					t.Fatal(err)
				}
			case f.Name == "delimiters":
				source.LeftDelim, source.RightDelim, _ = strings.Cut(strings.TrimSpace(string(f.Data)), " ")
			case f.Name == "want":
				want = string(f.Data)
				fails = strings.Contains(want, "error")
			}
		}
		source.Children = slices.DeleteFunc(source.Children, func(c syntax.Template) bool { return strings.Contains(want, "== child "+c.Name+": Invalid\n") })
		if !fails {
			noErrorIn(t, file, source, openapi.BuiltIn())
		}
	}
}

// TestReconciliationTestsHaveNoFalsePositives takes each text of the tests of whole reconciliations that looks like a template. They are for
// parents of which nothing is known.
func TestReconciliationTestsHaveNoFalsePositives(t *testing.T) {
	n := 0
	for _, pattern := range []string{"e2e/*_test.go", "e2e/*/*.go", "internal/operator/controllers/*_test.go", "internal/cli/simulate/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				lit, isLiteral := node.(*ast.BasicLit)
				if !isLiteral || lit.Kind != token.STRING || !strings.Contains(lit.Value, "{{") && !strings.Contains(lit.Value, "apiVersion:") {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					return true
				}
				source := render.Source{Status: text}
				if strings.Contains(text, "kind:") {
					source = render.Source{Children: []syntax.Template{{Name: "a", Text: text}}}
				}
				n++
				noErrorIn(t, filepath.Base(file)+": "+text[:min(len(text), 60)], source, openapi.BuiltIn())
				return true
			})
		}
	}
	t.Logf("%d texts", n)
}
