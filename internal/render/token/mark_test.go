package token

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommentStart(t *testing.T) {
	for text, want := range map[string]int{
		"": -1, "a": -1, "#": 0, "a: b # c": 5, "# a # b": 4, "# a\n": -1, "# a\nb # c": 6, "C#": -1, "# C#": 0, "é#": 2, "1#": 1, "# a\rb": -1, "# a\u0085b": -1, "# a\u2028b": -1, "# a\u2029b": -1, "a#\n#": 3,
	} {
		if got := CommentStart([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestMarksAreFound puts marks into text, and finds them again.
func TestMarksAreFound(t *testing.T) {
	table := &Table{Marker: "M"}
	if text := "aMc0xb"; table.HasMarks() || table.Unmarked(text) != text {
		t.Errorf("no marks: %q", table.Unmarked(text))
	}
	one, two := table.NewMark(), table.NewMark()
	if one != "Mc0x" || two != "Mc1x" || !table.HasMarks() {
		t.Errorf("got %q and %q", one, two)
	}
	for text, want := range map[string]struct {
		unmarked string
		marks    []int
	}{
		"":                             {},
		"a":                            {unmarked: "a"},
		"aM0xb":                        {unmarked: "aM0xb"},
		one:                            {marks: []int{0}},
		"a" + two + "b" + one + "M0xc": {unmarked: "abM0xc", marks: []int{1, 0}},
	} {
		if got := table.Unmarked(text); got != want.unmarked {
			t.Errorf("%q without marks: %q, want %q", text, got, want.unmarked)
		}
		if diff := cmp.Diff(want.marks, table.Marks(text)); diff != "" {
			t.Errorf("marks of %q (-want +got):\n%s", text, diff)
		}
	}
	if _, _, _, ok := table.NextMark("Mcyx"); ok {
		t.Error("a mark without a number")
	}
}

// TestTokensAreNumbered adds two, and fills text with them.
func TestTokensAreNumbered(t *testing.T) {
	table := &Table{Meter: newMeter(), Marker: "M"}
	text := table.Add(table.Add([]byte("a "), "one", AsIs), int64(2), AsIs)
	if string(text) != "a M0xM1x" {
		t.Errorf("got %q", text)
	}
	mark := table.NewMark()
	if got, err := table.Expand(Rendered(string(text) + mark + "!")); got != "a one2!" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
