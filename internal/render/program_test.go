package render

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestRenderingDoesNotModifyInput renders with functions that elsewhere change their
// arguments.
func TestRenderingDoesNotModifyInput(t *testing.T) {
	p, err := Compile(Source{Status: `
a: {{ set .spec "x" 1 }}
b: {{ merge .spec.m (dict "k" (dict "deep" 1)) }}
c: {{ mergeOverwrite .spec (dict "m" (dict "k" 2)) }}
d: {{ reverse .spec.l }}
e: {{ append .spec.l 3 }}
f: {{ unset .spec "m" }}
g: {{ sortBy "a" (list (dict "a" 2) (dict "a" 1)) }}
h: {{ sortAlpha .spec.t }}
i: {{ index .spec.t 0 | splitList "," }}
`})
	if err != nil {
		t.Fatal(err)
	}
	parent := func() map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": "x", "resourceVersion": "1", "managedFields": []any{}},
			"spec": map[string]any{"m": map[string]any{"k": map[string]any{"v": int64(1)}}, "l": []any{int64(2), int64(1)},
				"t": []any{"b,c", "a"}},
		}
	}
	in := &Input{Parent: parent()}
	first, err := p.Status(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parent(), in.Parent); diff != "" {
		t.Errorf("the parent changed (-was +is):\n%s", diff)
	}
	first["d"].([]any)[0] = "changed"
	second, err := p.Status(in)
	if err != nil || second["d"].([]any)[0] != int64(1) {
		t.Errorf("results share memory: %v, %v", second["d"], err)
	}
}

// TestObservedIsReadOnce reads live children in every way there is.
func TestObservedIsReadOnce(t *testing.T) {
	p, err := Compile(Source{
		Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: A\nn: {{ len .observed.b }}{{ len .observed.b }}\n"}, {Name: "b", Text: ""}, {Name: "c", Text: ""}},
		Status:   `a: {{ len .children.a }}{{ len .observed.a }}{{ index .children "a" | len }}{{ if .children }}{{ .controller.name }}{{ end }}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	in := &Input{Observed: func(name string) ([]map[string]any, error) {
		asked = append(asked, name)
		return []map[string]any{{"metadata": map[string]any{"name": name}}}, nil
	}}
	if _, err := p.Child("a", in); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Status(in); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "a"}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// TestProgramIsSafeForConcurrentUse renders with one program from many goroutines, each with
// its own data, among them some that fail.
func TestProgramIsSafeForConcurrentUse(t *testing.T) {
	p, err := Compile(Source{Helpers: `{{ define "n" }}{{ .spec.n }}{{ end }}`, Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: A\nn: {{ include \"n\" . | quote }}\nx: {{ required \"no x\" .spec.x }}\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				name := fmt.Sprintf("%d-%d", g, i)
				spec := map[string]any{"n": name}
				if i%3 > 0 {
					spec["x"] = name
				}
				objects, err := p.Child("a", &Input{Parent: map[string]any{"spec": spec}})
				if (err == nil) != (i%3 > 0) || err == nil && objects[0].Content["n"] != name {
					t.Errorf("%s: got %v, %v", name, objects, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestPanicsBecomeErrors makes the only code that is not ours panic.
func TestPanicsBecomeErrors(t *testing.T) {
	p, err := Compile(Source{Status: "a: 1\nb: {{ ready . }}"})
	if err != nil {
		t.Fatal(err)
	}
	in := &Input{Ready: func(map[string]any) bool { panic("secret") }}
	for range 2 {
		_, err = p.Status(in)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.HasPrefix(err.Error(), "status:2:7: internal error: the renderer panicked at ") {
			t.Errorf("got %v", err)
		}
	}
}

// TestMissingStatusTemplateYieldsNil distinguishes a program without a status template from one
// whose template yields nothing.
func TestMissingStatusTemplateYieldsNil(t *testing.T) {
	for text, want := range map[string]map[string]any{"": nil, "# nothing": {}} {
		p, err := Compile(Source{Status: text})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Status(&Input{})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v, %v", text, diff, err)
		}
	}
}

// TestUnknownChildIsRejected asks for a child that the source does not have.
func TestUnknownChildIsRejected(t *testing.T) {
	p, err := Compile(Source{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Child("x", &Input{}); err == nil || err.Error() != "children[x]: this child has no template" {
		t.Errorf("got %v", err)
	}
}

// TestMarkerCharactersInInputAreKept uses the characters that tokens are made of in templates and
// data.
func TestMarkerCharactersInInputAreKept(t *testing.T) {
	for _, marker := range []string{"\ue000", "\ue000\ue001", "\ue0000x", "\ue0000x\ue001\ue0021x"} {
		p, err := Compile(Source{Status: "a: {{ .spec.a }}" + marker + "{{ .spec.b }}\nb: " + marker + "{{ quote .spec.a | print }}\nc: {{ .spec.c }}"})
		if err != nil {
			t.Fatal(err)
		}
		status, err := p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"a": marker + "1x", "b": "b", "c": p.marker + "0x" + p.marker}}})
		want := map[string]any{"a": marker + "1x" + marker + "b", "b": marker + `"` + marker + `1x"`, "c": p.marker + "0x" + p.marker}
		if diff := cmp.Diff(want, status); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", marker, err, diff)
		}
	}
}

// TestEscapedMarkerIsLiteral writes the characters of a token as escapes of YAML.
func TestEscapedMarkerIsLiteral(t *testing.T) {
	for _, escape := range []string{`\ue000`, `\uE000`, `\U0000e000`} {
		p, err := Compile(Source{Status: `a: "` + escape + `0x {{ .spec.a }}"`})
		if err != nil {
			t.Fatal(err)
		}
		status, err := p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"a": "b"}}})
		if err != nil || status["a"] != "\ue0000x b" {
			t.Errorf("%s: %q, %v", escape, status["a"], err)
		}
	}
}

// TestRenderingIsDeterministic looks for messages and answers that depend on the order in
// which Go walks through a map.
func TestRenderingIsDeterministic(t *testing.T) {
	for _, text := range []string{
		`a: {{ urlJoin (dict "host" (list 1) "path" (dict)) }}`,
		`{{ $l := list }}{{ range 120 }}{{ $l = list $l }}{{ end }}a: {{ deepEqual (dict "a" 1 "b" $l) (dict "a" 2 "b" $l) }}`,
	} {
		p, err := Compile(Source{Status: text})
		if err != nil {
			t.Fatal(err)
		}
		first := ""
		for i := range 50 {
			status, err := p.Status(&Input{})
			if got := fmt.Sprint(status, err); i == 0 {
				first = got
			} else if got != first {
				t.Errorf("%s\nfirst %s\nthen  %s", text, first, got)
				break
			}
		}
	}
}

// TestCompileFailsWithoutFreeMarker has no character left for tokens.
func TestCompileFailsWithoutFreeMarker(t *testing.T) {
	var all strings.Builder
	for r := '\ue000'; r <= '\uf8ff'; r++ {
		all.WriteRune(r)
	}
	if _, err := Compile(Source{Status: "# " + all.String()}); err == nil {
		t.Error("no error")
	}
}

// TestLineEndings renders templates with every line end that YAML knows, before
// a block scalar whose header is looked up by line and column.
func TestLineEndings(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", "\t\n", " # é\n"} {
		p, err := Compile(Source{Status: "é: x" + end + "b: |+" + strings.TrimLeft(end, "\t") + "  {{ .spec.s }}" + end})
		if err != nil {
			t.Fatal(err)
		}
		status, err := p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"s": "v\n\n"}}})
		if s, _ := status["b"].(string); err != nil || !strings.HasPrefix(s, "v\n\n") || len(s) < 4 {
			t.Errorf("%q: %q, %v", end, status, err)
		}
	}
}

// TestByteOrderMarkIsIgnored has one where editors leave it.
func TestByteOrderMarkIsIgnored(t *testing.T) {
	p, err := Compile(Source{Status: "\ufeffa: |-\n  {{ .spec.s }}\n"})
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"s": "v\n"}}})
	if err != nil || status["a"] != "v" {
		t.Errorf("%q, %v", status, err)
	}
}

// TestThousandPodsFitBudget stays within the budget.
func TestThousandPodsFitBudget(t *testing.T) {
	text := "{{ range $i := until 1000 }}---\n" + strings.ReplaceAll(strings.ReplaceAll(benchPod, "{{ .", "{{ $."), "{{ index .", "{{ index $.") + "{{ end }}"
	p, err := Compile(Source{Children: []syntax.Template{{Name: "pods", Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	if objects, err := p.Child("pods", benchInput()); err != nil || len(objects) != 1000 {
		t.Errorf("%d objects, %v", len(objects), err)
	}
}

func TestStatusMustBeMap(t *testing.T) {
	for text, want := range map[string]string{"[a]": "a list", "a": "a string", "5": "a number"} {
		p, err := Compile(Source{Status: text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Status(&Input{}); err == nil || err.Error() != "status:1:1: the status template must render a map, not "+want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestVolatileMetadataIsHidden, and stay where they are.
func TestVolatileMetadataIsHidden(t *testing.T) {
	p, err := Compile(Source{Children: []syntax.Template{{Name: "a"}}, Status: `
a: {{ keys .metadata | sortAlpha }}
b: {{ keys .parent.metadata | sortAlpha }}
c: {{ range .observed.a }}{{ keys .metadata | sortAlpha }}{{ end }}
d: {{ keys .metadata | sortAlpha }}
`})
	if err != nil {
		t.Fatal(err)
	}
	object := func() map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "x", "resourceVersion": "1", "managedFields": []any{}}}
	}
	parent, child := object(), object()
	delete(child["metadata"].(map[string]any), "resourceVersion")
	status, err := p.Status(&Input{Parent: parent, Observed: func(string) ([]map[string]any, error) { return []map[string]any{child}, nil }})
	names := []any{"name"}
	if diff := cmp.Diff(map[string]any{"a": names, "b": names, "c": names, "d": names}, status); diff != "" || err != nil {
		t.Errorf("%v; status (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]int{3, 2}, []int{len(parent["metadata"].(map[string]any)), len(child["metadata"].(map[string]any))}); diff != "" {
		t.Errorf("the objects have changed (-want +got):\n%s", diff)
	}
}

func TestObjectCountIsLimited(t *testing.T) {
	for n, want := range map[int]string{maxDocuments: "", maxDocuments + 1: "the template renders more than 2000 objects"} {
		_, err := programOf(t, fmt.Sprintf("{{ range until %d }}\n---\napiVersion: v1\nkind: A\n{{ end }}", n)).Child("x", &Input{})
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%d objects: %v, want %q", n, err, want)
		}
	}
}

func TestErrorsWithPositionAreKept(t *testing.T) {
	x, at := &exec{out: &output{}, unit: &unit{Unit: &syntax.Unit{Text: syntax.NewText("a", "")}}}, &syntax.Error{Template: "b", Line: 3, Column: 5}
	if got := x.mapped(at); !errors.Is(got, at) {
		t.Errorf("got %v", got)
	}
}
