package render

import (
	"strings"
	"testing"
)

// TestTokensInDataAreNotExpanded reads data that looks like tokens, which it is not.
func TestTokensInDataAreNotExpanded(t *testing.T) {
	p := programOf(t, "apiVersion: v1\nkind: A\nv: {{ fromYaml .spec.a }}")
	text := "{" + p.marker + "0x: " + p.marker + "0x, b: 'a" + p.marker + "0x', templater.dev/a: 1}"
	objects, err := p.Child("x", &Input{Parent: map[string]any{"spec": map[string]any{"a": strings.Replace(text, ", templater.dev/a: 1", "", 1)}}})
	want := `{"b":"a` + p.marker + `0x","` + p.marker + `0x":"` + p.marker + `0x"}`
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.NewReplacer("\n", "", " ", "").Replace(encodeJSON(t, objects[0].Content["v"])); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := p.Child("x", &Input{Parent: map[string]any{"spec": map[string]any{"a": text}}}); err == nil {
		t.Error("a reserved key from data: no error")
	}
}

// TestKeysFromDataAreChargedAsOutput takes the characters of keys from the output that is left.
func TestKeysFromDataAreChargedAsOutput(t *testing.T) {
	p := programOf(t, "{{ $x := fromYaml .spec.a }}")
	left, err := spend(p, &Input{Parent: map[string]any{"spec": map[string]any{"a": strings.Repeat("k", 1000) + ": 1"}}}, newBudget())
	if err != nil || maxOutput-left.Output != 1001 {
		t.Errorf("%d bytes are paid for, %v", maxOutput-left.Output, err)
	}
}

func TestLineOfMissingOutputIsZero(t *testing.T) {
	if got := (&exec{out: &output{}}).line(-1); got != 0 {
		t.Errorf("line %d, want none", got)
	}
}
