package token

import (
	"errors"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
)

// TestFillReplacesTokens puts values into text in which letters stand for tokens.
func TestFillReplacesTokens(t *testing.T) {
	tokensOf := func() *Table {
		return &Table{Meter: newMeter(), Marker: "\ue000", all: []Token{
			{"1\n2", AsIs}, {"1\n2\n", Verbatim}, {`"`, DoubleQuoted}, {int64(5), AsIs}, {"1\n", AsIs}, {"\xff", AsIs}, {"1\n\n2", AsIs}, {"1\n\n", AsIs},
		}}
	}
	const lines, word, quote, number, line, bytes, gap, gaps = "\ue0000x", "\ue0001x", "\ue0002x", "\ue0003x", "\ue0004x", "\ue0005x", "\ue0006x", "\ue0007x"
	for text, row := range map[string]struct {
		indent bool
		want   string
		units  int // besides two for each byte of the text
		err    error
	}{
		"a\nb":                          {want: "a\nb"},
		"a " + lines:                    {want: "a 1\n2", units: 3 + 5},
		"  " + lines:                    {want: "  1\n2", units: 3 + 5},
		"  " + lines + " ":              {indent: true, want: "  1\n  2 ", units: 3 + 2 + 3 + 3},
		"a\n  b " + lines:               {indent: true, want: "a\n  b 1\n  2", units: 3 + 6 + 3 + 2},
		" a" + lines + number:           {indent: true, want: " a1\n 25", units: 3 + 32 + 2 + 4 + 32},
		" a" + number + lines:           {indent: true, want: " a51\n 2", units: 3 + 32 + 2 + 32 + 4},
		" a" + number + "\n" + lines:    {indent: true, want: " a5\n1\n2", units: 3 + 32 + 3 + 32 + 3},
		"\t" + lines:                    {indent: true, want: "\t1\n\t2", units: 3 + 1 + 4},
		"  " + word + "a":               {indent: true, want: "  1\n2\na", units: 4 + 3 + 4},
		"  " + quote:                    {indent: true, want: `  \"`, units: 4 + 2 + 4},
		"  " + line:                     {indent: true, want: "  1\n", units: 2 + 2 + 4},
		"  " + line + "a":               {indent: true, want: "  1\n  a", units: 2 + 3 + 4},
		"  " + line + "\n":              {indent: true, want: "  1\n\n", units: 2 + 3 + 4},
		"  " + gap:                      {indent: true, want: "  1\n\n  2", units: 4 + 2 + 8},
		"  " + gaps + "a":               {indent: true, want: "  1\n\n  a", units: 3 + 3 + 7},
		lines + "a":                     {indent: true, want: "1\n2a", units: 3 + 4},
		"a" + bytes:                     {err: ErrEncoding, units: 1 + 2},
		"\ue000":                        {err: errToken},
		"\ue0000":                       {err: errToken},
		"\ue0008x":                      {err: errToken},
		"\ue000-1x":                     {err: errToken},
		"\ue000ax":                      {err: errToken},
		"a" + number + "b\ue000" + "cx": {err: errToken, units: 32},
	} {
		x := tokensOf()
		got, err := x.Fill(text, row.indent)
		if got != row.want || !errors.Is(err, row.err) || budget.MaxWork-x.Work != 2*len(text)+row.units {
			t.Errorf("%q: %q, %v, %d units, want %q, %v, %d", text, got, err, budget.MaxWork-x.Work-2*len(text), row.want, row.err, row.units)
		}
		if row.err != nil {
			continue
		}
		for units := range 2*len(text) + row.units {
			x.Work = units
			if _, err := x.Fill(text, row.indent); !errors.Is(err, budget.ErrWork) {
				t.Errorf("%q with %d units: %v", text, units, err)
			}
		}
	}
}

func TestWholeDetectsSingleToken(t *testing.T) {
	x := &Table{Marker: "\ue000", all: []Token{{"a", AsIs}}}
	for text, want := range map[string]bool{"\ue0000x": true, "a\ue0000x": false, "\ue0000xa": false, "\ue0001x": false, "a": false, "": false} {
		if got := x.Whole(text) != nil; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestBlankRenderedText asks whether rendered text stands for no characters at all.
func TestBlankRenderedText(t *testing.T) {
	x := &Table{Marker: "\ue000", all: []Token{{"", AsIs}, {"", YAMLScalar}, {"a", AsIs}, {int64(0), AsIs}}}
	for text, want := range map[string]bool{
		"": true, "\ue0000x": true, "\ue0000x\ue0000x": true, "\ue0001x": false, "\ue0002x": false, "\ue0003x": false,
		"a": false, "\ue0000xa": false, "a\ue0000x": false, "\ue0009x": false, "\ue0000x\ue0002x": false,
	} {
		if got := x.Blank(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// newMeter has much left.
func newMeter() budget.Meter {
	return budget.Meter{Work: budget.MaxWork, Output: 4 << 20, Nodes: 100_000}
}

func TestMarginAfterLastLine(t *testing.T) {
	for _, row := range []struct {
		margin, text string
		first        bool
		want         string
	}{
		{"  ", "x", false, "  "},
		{"", "  x", true, "  "},
		{"  ", "\nx", false, ""},
		{"", "a\n\t b", false, "\t "},
	} {
		if got := marginAfter(row.margin, row.text, row.first); got != row.want {
			t.Errorf("%q after %q: %q, want %q", row.text, row.margin, got, row.want)
		}
	}
}
