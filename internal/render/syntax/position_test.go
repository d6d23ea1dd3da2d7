package syntax

import (
	"strings"
	"testing"
	"text/template/parse"
)

func TestPositionOfOffset(t *testing.T) {
	text := NewText("a", "\ufeffé\nb\n")
	for offset, want := range map[int][2]int{-5: {1, 1}, 0: {1, 1}, 2: {1, 2}, 3: {2, 1}, 4: {2, 2}, 5: {3, 1}, 99: {3, 1}} {
		if line, column := text.Position(offset); line != want[0] || column != want[1] {
			t.Errorf("byte %d: %d:%d, want %v", offset, line, column, want)
		}
	}
}

func TestOffsetOfPosition(t *testing.T) {
	text := NewText("a", "\ufeffé\r\nb\n")
	for place, want := range map[[2]int]int{{1, 1}: 0, {1, 2}: 2, {2, 1}: 4, {2, 9}: 6, {3, 1}: 6, {0, 1}: 6, {9, 1}: 6} {
		if got := text.Offset(place[0], place[1]); got != want {
			t.Errorf("%v: byte %d, want %d", place, got, want)
		}
	}
	for n, want := range []string{"", "é", "b", "", ""} {
		if got := text.Line(n); got != want {
			t.Errorf("line %d: %q, want %q", n, got, want)
		}
	}
}

func TestPositionsOfManyOffsetsMatchPosition(t *testing.T) {
	text := NewText("a", "éab\ncdé\n\nef")
	all := Positions{}
	for _, offset := range []int{3, 0, 2, 1, 4, 1, 0, 99, 7, 8, 6, 8, 5, -1, 10, 9, 2} {
		line, column := text.Position(offset)
		if l, c := all.Of(text, offset); l != line || c != column {
			t.Errorf("byte %d: %d:%d, want %d:%d", offset, l, c, line, column)
		}
	}
}

func TestExcerptsAreTruncated(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("a", 58):       `"` + strings.Repeat("a", 58) + `"`,
		strings.Repeat("a", 59):       `"` + strings.Repeat("a", 59) + `…`,
		strings.Repeat("é", 40):       `"` + strings.Repeat("é", 29) + `…`,
		"a" + strings.Repeat("é", 40): `"a` + strings.Repeat("é", 29) + `…`,
	} {
		tree, err := parse.Parse("t", "{{ \""+text+"\" }}", "", "")
		if err != nil {
			t.Fatal(err)
		}
		if got := Excerpt(tree["t"].Root.Nodes[0].(*parse.ActionNode).Pipe); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestStartOfVariable(t *testing.T) {
	for want, n := range map[int]parse.Node{7: &parse.VariableNode{Pos: 7, Ident: []string{"$x"}}, 5: &parse.VariableNode{Pos: 7, Ident: []string{"$x", "a"}}} {
		if got := Start(n); got != want {
			t.Errorf("%s: %d, want %d", n, got, want)
		}
	}
}

func TestCutAtInvalidUTF8ReturnsValidPrefix(t *testing.T) {
	for text, want := range map[string]string{"é": "", "\xa9": "", "aé": "a"} {
		if got := Cut(text, len(text)-1); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
