package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/templater-dev/templater/internal/render/syntax"
)

var update = flag.Bool("update", false, "rewrite the want sections of golden files")

// TestGolden renders each archive of testdata/golden. Its files are
//
//	children/NAME   the template of a child
//	status          the status template
//	helpers, values.json, parent.json
//	observed/NAME.json   a list of live children
//	delimiters      left and right, on one line
//	want            what all of it yields
//
// and the comment above them says what the case is about.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := renderArchive(t, archive)
	last := len(archive.Files) - 1
	if *update {
		if last < 0 || archive.Files[last].Name != "want" {
			archive.Files = append(archive.Files, txtar.File{Name: "want"})
			last++
		}
		archive.Files[last].Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if last < 0 || archive.Files[last].Name != "want" {
		t.Fatal("the archive does not end with a file named want; run the test with -update")
	}
	if diff := cmp.Diff(string(archive.Files[last].Data), got); diff != "" {
		t.Errorf("rendered (-want +got):\n%s", diff)
	}
}

// renderArchive compiles and renders everything in an archive and describes
// the result.
func renderArchive(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	src := Source{Controller: "golden"}
	observed := map[string][]map[string]any{}
	in := &Input{Observed: from(observed), Ready: running}
	for _, f := range archive.Files {
		name := strings.TrimSuffix(filepath.Base(f.Name), ".json")
		switch {
		case strings.HasPrefix(f.Name, "children/"):
			src.Children = append(src.Children, syntax.Template{Name: name, Text: string(f.Data)})
		case f.Name == "status":
			src.Status = string(f.Data)
		case f.Name == "helpers":
			src.Helpers = string(f.Data)
		case f.Name == "values.json":
			decodeJSON(t, f.Data, &src.Values)
		case f.Name == "parent.json":
			decodeJSON(t, f.Data, &in.Parent)
		case f.Name == "delimiters":
			left, right, _ := strings.Cut(strings.TrimSpace(string(f.Data)), " ")
			src.LeftDelim, src.RightDelim = left, right
		case strings.HasPrefix(f.Name, "observed/"):
			var list []map[string]any
			decodeJSON(t, f.Data, &list)
			observed[name] = list
		case f.Name != "want":
			t.Fatalf("file %q is none that the test knows", f.Name)
		}
	}
	var out strings.Builder
	program, err := Compile(src)
	if err != nil {
		for _, e := range err.(syntax.Errors) { //nolint:errorlint // exactly what is documented
			fmt.Fprintf(&out, "compile error: %v\n", e)
		}
		return out.String()
	}
	for _, child := range src.Children {
		objects, err := program.Child(child.Name, in)
		describe(t, &out, "child "+child.Name, err)
		for _, o := range objects {
			fmt.Fprintf(&out, "line %d: %s\n", o.Line, encodeJSON(t, o.Content))
		}
	}
	if src.Status != "" {
		status, err := program.Status(in)
		describe(t, &out, "status", err)
		if err == nil {
			fmt.Fprintf(&out, "%s\n", encodeJSON(t, status))
		}
	}
	return out.String()
}

// describe writes a heading and, if there is one, the error.
func describe(t *testing.T, out *strings.Builder, heading string, err error) {
	t.Helper()
	if err == nil {
		fmt.Fprintf(out, "== %s\n", heading)
		return
	}
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		t.Fatalf("error of %s is a %T", heading, err)
	}
	fmt.Fprintf(out, "== %s: %s\n%v\n", heading, e.Reason, e)
}

// from makes an Input's Observed of a map.
func from(observed map[string][]map[string]any) func(string) ([]map[string]any, error) {
	return func(name string) ([]map[string]any, error) { return observed[name], nil }
}

// running is what stands in for readiness: phase Running.
func running(object map[string]any) bool {
	status, _ := object["status"].(map[string]any)
	return status["phase"] == "Running"
}

// decodeJSON decodes numbers as json.Number, which keeps integers apart.
func decodeJSON(t testing.TB, data []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func encodeJSON(t testing.TB, v any) string {
	t.Helper()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
