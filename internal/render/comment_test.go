package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestOriginsAroundInsertedMarks puts text at each place of an output. Whatever was there comes from where it came from, and the text from
// the place before which it stands, or from the action that has printed what it stands in.
func TestOriginsAroundInsertedMarks(t *testing.T) {
	const before, mark = "ab# de# hi", "MARK"
	src := syntax.NewText("a", strings.Repeat(".", 99))
	pieces := []piece{{at: 0, pos: 10, src: src, literal: true}, {at: 4, pos: 50, src: src}, {at: 7, pos: 20, src: src, literal: true}}
	old := &output{buf: []byte(before), pieces: pieces}
	for at := range len(before) + 1 {
		o := &output{buf: []byte(before), pieces: slices.Clone(pieces)}
		o.insert(at, mark)
		if got, want := string(o.buf), before[:at]+mark+before[at:]; got != want {
			t.Errorf("at %d: %q, want %q", at, got, want)
		}
		for i := range len(o.buf) {
			_, want := old.origin(i)
			switch {
			case i >= at+len(mark):
				_, want = old.origin(i - len(mark))
			case i >= at && at == 0:
				want = 0
			case i >= at && (at <= 4 || at > 7): // in literal text, or right behind it
				_, want = old.origin(at - 1)
				want++
			case i >= at:
				want = 50
			}
			if _, got := o.origin(i); got != want {
				t.Errorf("at %d: byte %d is from %d, want %d", at, i, got, want)
			}
		}
	}
}

// TestMarkersInDataAreKept reads data that looks like a mark, which it is not.
func TestMarkersInDataAreKept(t *testing.T) {
	p, err := Compile(Source{Helpers: "{{ define \"lines\" }}{{ .spec.s }}\n{{ .spec.s }}{{ end }}", Status: "a: {{ fromYaml .spec.a }}\nb: |\n  # {{ include \"lines\" . | nindent 2 }}\nc: {{ .spec.a }}"})
	if err != nil {
		t.Fatal(err)
	}
	text := "{x: '#" + p.marker + "c0x'}"
	status, err := p.Status(&Input{Parent: map[string]any{"spec": map[string]any{"s": "#" + p.marker + "c0x", "a": text}}})
	if err != nil {
		t.Fatal(err)
	}
	inner, _ := status["a"].(map[string]any)
	if mark := "#" + p.marker + "c0x"; inner["x"] != mark || status["b"] != "# \n"+mark+"\n"+mark+"\n" || status["c"] != text {
		t.Errorf("got %q", status)
	}
}
