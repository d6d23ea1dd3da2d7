package render

import (
	"errors"
	"strings"
	"testing"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// TestYAMLErrorsHaveHints tells when an error is about printed text that lacks indentation, and when it is not.
func TestYAMLErrorsHaveHints(t *testing.T) {
	const hint = "without indentation: write {{- … | nindent "
	for text, want := range map[string]string{
		"a:\n  b: {{ toYaml .spec.map }}\n c: d: e":       hint + "4",
		"a:\n    {{ toYaml .spec.map }}\n c: d: e":        hint + "4",
		"a: {{ toYaml .spec.map | nindent 2 }}\n c: d: e": "",
		"a: {{ toYaml .spec.one }}\n c: d: e":             "",
		"a: b\nc: d\n e: f: g":                            "",
		"a:\n  b: c\n  {{- toYaml .spec.map }}":           hint + "2",
		"a:\n- b: c\n  {{- toYaml .spec.map }}":           hint + "2",
		"a:\n  b:\n  {{- toYaml .spec.map }}\n c: d: e":   hint + "4",
		"{{ toYaml .spec.map }}\n c: d: e":                "",
	} {
		p := programOf(t, text)
		_, err := p.Child("x", &Input{Parent: map[string]any{"spec": map[string]any{"one": "a", "map": map[string]any{"k": "v", "l": "w"}}}})
		e, ok := errors.AsType[*syntax.Error](err)
		if !ok || strings.Contains(e.Message, "write {{-") != (want != "") || !strings.Contains(e.Message, want) {
			t.Errorf("%s\n%v, want %s", text, err, want)
		}
	}
}

func TestOriginOfOutputBytes(t *testing.T) {
	src := syntax.NewText("a", "0123456789")
	o := &output{buf: []byte("abcdef"), pieces: []piece{{at: 0, pos: 1, src: src, literal: true}, {at: 2, pos: 5, src: src}, {at: 4, pos: 8, src: src, literal: true}}}
	for offset, want := range map[int]int{-1: 0, 0: 1, 1: 2, 2: 5, 3: 5, 4: 8, 5: 9} {
		if from, pos := o.origin(offset); pos != want || (from == nil) != (offset < 0) {
			t.Errorf("byte %d: %v, %d, want %d", offset, from, pos, want)
		}
	}
}

// TestErrorPositionsOfNodes points at the beginning of what the author wrote.
func TestErrorPositionsOfNodes(t *testing.T) {
	for text, want := range map[string]string{
		`{{ .a }}`: "status:1:4: ", `{{ .spec.x }}`: "status:1:4: ", `{{ $x := .spec }}{{ $x.y }}`: "status:1:21: ", `{{ $x := .spec.y }}{{ $x }}`: "status:1:23: ", `{{ (.spec).y.z }}`: "status:1:4: ", `{{ ((.spec).y).z }}`: "status:1:4: ",
	} {
		p, err := Compile(Source{Status: text})
		if err == nil {
			_, err = p.Status(&Input{Parent: map[string]any{"spec": map[string]any{}}})
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestNonJSONRootIsRejected meets a value that no decoder of JSON makes at the root.
func TestNonJSONRootIsRejected(t *testing.T) {
	for _, action := range []string{
		`{{ . }}`, `{{ .spec }}`, `{{ toYaml . }}`, `{{ toJson . }}`, `{{ range . }}{{ end }}`, `{{ keys . }}`, `{{ deepEqual . . }}`, `{{ deepEqual 1 . }}`, `{{ get . "spec" }}`, `{{ dig "spec" 1 . }}`,
		`{{ collect "spec" (list .) }}`, `{{ index . "spec" }}`, `{{ $x := . }}{{ $x.spec }}`, `{{ hasKey . "a" }}`, `{{ merge . . }}`, `{{ ready . }}`,
	} {
		p := programOf(t, "a: "+action)
		_, err := p.Child("x", &Input{Parent: map[string]any{"spec": uint64(1)}, Ready: running})
		e, ok := errors.AsType[*syntax.Error](err)
		if !ok || e.Message != "data has a uint64, which is not JSON" {
			t.Errorf("%s: %v", action, err)
		}
	}
}

// TestMisindentedIncludeIsKept includes text whose second line stands further left than the place.
func TestMisindentedIncludeIsKept(t *testing.T) {
	p, err := Compile(Source{Helpers: "{{ define \"two\" }}b: 1\nc: {{ .spec.a }}{{ end }}", Status: "a:\n  {{ include \"two\" . }}\n"})
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"a": "x"}}})
	if err != nil || encodeJSON(t, status) != encodeJSON(t, map[string]any{"a": map[string]any{"b": 1}, "c": "x"}) {
		t.Errorf("got %v, %v", status, err)
	}
}

func TestTextIsChargedAsOutput(t *testing.T) {
	x, o := &exec{Execution: data.Execution{Table: token.Table{Meter: budget.Meter{Output: 1}}}, src: syntax.NewText("a", "")}, &output{}
	for text, want := range map[string]error{"ab": budget.ErrOutput} {
		if err := o.text(x, &parse.TextNode{Text: []byte(text)}); !errors.Is(err, want) || len(o.buf) > 0 {
			t.Errorf("%d of 1 byte: %v, %d are written", len(text), err, len(o.buf))
		}
	}
}
