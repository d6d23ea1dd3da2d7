package document

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// tableOf returns a table with a token for each value, in mode AsIs.
func tableOf(values ...any) *token.Table {
	x := &token.Table{Meter: newMeter(), Marker: "\ue000"}
	for _, v := range values {
		x.Add(nil, v, token.AsIs)
	}
	return x
}

// valuesOf returns the documents that read passes to do, as JSON on one line.
func valuesOf(t *testing.T, read func(do func(Document) error) error) (string, error) {
	t.Helper()
	var all []string
	err := read(func(d Document) error {
		v, err := d.Value()
		if err != nil {
			return err
		}
		out, err := json.Marshal(v)
		all = append(all, string(out))
		return err
	})
	return strings.Join(all, " "), err
}

// TestReadOutputAndData reads text as output twice, the second time from the cache, and then as data.
func TestReadOutputAndData(t *testing.T) {
	const first, second, third = "\ue0000x", "\ue0001x", "\ue0002x"
	for text, want := range map[string]struct{ output, data string }{
		"":                                {},
		"a: 1\n---\n---\nb: 2":            {`{"a":1} {"b":2}`, `{"a":1} {"b":2}`},
		"a: " + first:                     {`{"a":"x\n0777"}`, `{"a":"` + first + `"}`},
		"a: '" + first + "'":              {`{"a":"x\n0777"}`, `{"a":"` + first + `"}`},
		"a: b" + second:                   {`{"a":"b5"}`, `{"a":"b` + second + `"}`},
		"a: " + second:                    {`{"a":5}`, `{"a":"` + second + `"}`},
		second + ": 1":                    {`{"5":1}`, `{"` + second + `":1}`},
		"a: |\n  " + first + "\n":         {`{"a":"x\n0777\n"}`, `{"a":"` + first + `\n"}`},
		"a: |-\n  " + first + "\n":        {`{"a":"x\n0777"}`, `{"a":"` + first + `"}`},
		"a: |+\n  " + first + "\n\n":      {`{"a":"x\n0777\n\n"}`, `{"a":"` + first + `\n\n"}`},
		"a: &a {b: 1}\nc: {<<: *a, d: 2}": {`{"a":{"b":1},"c":{"b":1,"d":2}}`, `{"a":{"b":1},"c":{"b":1,"d":2}}`},
		"[a]: 1":                          {"error: a key must be a string; if this is a value in braces, quote it", "error: a key must be a string; if this is a value in braces, quote it"},
		": 1":                             {"error: a key is empty", "error: a key is empty"},
		"a: " + third:                     {"error: a value is not valid UTF-8; encode it with b64enc", `{"a":"` + third + `"}`},
		"a: |\n  " + third:                {"error: a value is not valid UTF-8; encode it with b64enc", `{"a":"` + third + `"}`},
		"a: " + first + "\na: 1":          {`error: duplicate key "a"`, "error: duplicate key (printed from a value)"},
		"a: b: c":                         {"error: the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)", "error: the value contains a colon followed by a space: quote the value (YAML: mapping values are not allowed in this context)"},
		"a: " + strings.Repeat("[", budget.MaxDepth+1) + strings.Repeat("]", budget.MaxDepth+1): {"error: data is nested more than 100 levels deep", "error: data is nested more than 100 levels deep"},
	} {
		shapes := &Shapes{}
		for i := range 3 {
			x := tableOf("x\n0777", int64(5), "\xff")
			got, err := valuesOf(t, func(do func(Document) error) error {
				if i == 2 {
					return Read(x, text, false, do)
				}
				return shapes.Read(x, []byte(text), do)
			})
			want := []string{want.output, want.output, want.data}[i]
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != want {
				t.Errorf("%q, %d:\ngot  %s\nwant %s", text, i, got, want)
			}
		}
	}
	if err := Read(&token.Table{}, "a", false, nil); !errors.Is(err, budget.ErrWork) {
		t.Errorf("no work is left: %v", err)
	}
	if err := new(Shapes).Read(&token.Table{}, []byte("a"), nil); !errors.Is(err, budget.ErrWork) {
		t.Errorf("no work is left for output: %v", err)
	}
}

// TestTokenModesInQuotedScalars covers tokens of each mode that are whole scalars, with and without quotes.
func TestTokenModesInQuotedScalars(t *testing.T) {
	x := &token.Table{Meter: newMeter(), Marker: "\ue000"}
	for _, m := range []token.Mode{token.AsIs, token.Verbatim, token.YAMLScalar, token.DoubleQuoted, token.SingleQuoted} {
		x.Add(nil, `"5'`, m)
	}
	text := "a: [\ue0000x, \ue0001x, \ue0002x, \ue0003x, \ue0004x]\nb: [\"\ue0003x\", '\ue0003x', \"\ue0004x\", '\ue0004x', '\ue0002x']"
	got, err := valuesOf(t, func(do func(Document) error) error { return Read(x, text, true, do) })
	want := `{"a":["\"5'","\"5'","\"5'","\\\"5'","\"5''"],"b":["\"5'","\\\"5'","\"5''","\"5'","\"\\\"5'\""]}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestMarksInCommentsAreReported has marks in comments, the first of which is reported, and elsewhere.
func TestMarksInCommentsAreReported(t *testing.T) {
	for text, want := range map[string]int{
		"a: b # M\nc: d": 0, "a: '# M'": -1, "a: |\n  # M\n": -1, "a: '# M' # N": 1, "a: b # M\nc: d: e": 0, "a: '# M'\nb: c: d": -2, "a: '# M' # N\nb: c: d": 1, "a: b\n# M\n# N": 0, "[ # M": -2,
	} {
		x := tableOf()
		marks := []string{x.NewMark(), x.NewMark()}
		text = strings.NewReplacer("M", marks[0], "N", marks[1]).Replace(text)
		got, err := valuesOf(t, func(do func(Document) error) error { return new(Shapes).Read(x, []byte(text), do) })
		hidden, told := errors.AsType[*CommentError](err)
		switch {
		case want >= 0 && (!told || hidden.Mark != want), want == -1 && err != nil, want == -2 && (err == nil || told):
			t.Errorf("%q: %v, want mark %d", text, err, want)
		case err == nil && strings.Contains(got, x.Marker):
			t.Errorf("%q: %s", text, got)
		}
		if got, err = valuesOf(t, func(do func(Document) error) error { return Read(x, "a: b # "+marks[0], false, do) }); got != `{"a":"b"}` || err != nil {
			t.Errorf("data has no marks: %s, %v", got, err)
		}
	}
}

// TestRecentSmallShapesAreCached checks that the last few outputs are cached, if they are small and without error.
func TestRecentSmallShapesAreCached(t *testing.T) {
	s := &Shapes{}
	read := func(text string) {
		_ = s.Read(tableOf("x"), []byte(text), func(d Document) error { _, err := d.Value(); return err })
	}
	for _, text := range []string{"a: 1", "b: 1", "a: 1", "a: 0777", "a: b: c", "a: " + strings.Repeat("x", maxShapeText), "[" + strings.Repeat("[],", maxShapeCost/(costBracket+costClosing+costInFlow)) + "]"} {
		read(text)
	}
	if got := slices.Sorted(slices.Values(s.Outputs())); !slices.Equal(got, []string{"a: 1", "b: 1"}) {
		t.Errorf("known are %.200q", got)
	}
	for _, text := range []string{"c: 1", "d: 1", "e: 1"} {
		read(text)
	}
	if got := slices.Sorted(slices.Values(s.Outputs())); !slices.Equal(got, []string{"b: 1", "c: 1", "d: 1", "e: 1"}) {
		t.Errorf("then known are %.200q", got)
	}
	stop := errors.New("stop")
	if err := s.Read(tableOf(), []byte("e: 1"), func(Document) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("unexpected error: %v", err)
	}
}

// TestPauseErrorEndsReading stops the parser in a pause.
func TestPauseErrorEndsReading(t *testing.T) {
	stop := errors.New("stop")
	var pass budget.Budget
	pass.Begin(nil)
	x := &token.Table{Meter: pass.Draw(func() error { return stop }), Marker: "\ue000"}
	if err := Read(x, "a: 1", true, nil); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// TestReadingStopsWhenWorkIsUsedUp reads with every amount of work that is too little.
func TestReadingStopsWhenWorkIsUsedUp(t *testing.T) {
	const value = "\ue0000x"
	for _, text := range []string{
		"a: b\nc: &x {d: [e, '" + value + "']}\nf:\n  <<: *x\n  g: &y !!str |-\n    " + value + "\nh: [*y]\n", "a: " + value + "\n" + value + ": |\n  b" + value + "\nc: {d:, e: \"hi! \"}", "a: '# MARK'\nb: [c]",
	} {
		read := func(work int) (*token.Table, error) {
			x := tableOf("1\n\n")
			text := strings.ReplaceAll(text, "MARK", x.NewMark())
			x.Work = work
			_, err := valuesOf(t, func(do func(Document) error) error { return Read(x, text, true, do) })
			return x, err
		}
		x, err := read(budget.MaxWork)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for work := costParser; work < budget.MaxWork-x.Work; work++ {
			if _, err := read(work); !errors.Is(err, budget.ErrWork) {
				t.Errorf("%s\nwith %d of %d units: %v", text, work, budget.MaxWork-x.Work, err)
				break
			}
		}
	}
}

// TestBlockScalarsAreChomped chomps the line ends of values, too.
func TestBlockScalarsAreChomped(t *testing.T) {
	for header, want := range map[string]string{"|": `{"a":"1\n"}`, "|-": `{"a":"1"}`, "|+": `{"a":"1\n\n\n"}`} {
		got, err := valuesOf(t, func(do func(Document) error) error {
			return Read(tableOf("1\n\n"), "a: "+header+"\n  \ue0000x\n", true, do)
		})
		if got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", header, got, err, want)
		}
	}
	deep := strings.Repeat("[", budget.MaxDepth) + strings.Repeat("]", budget.MaxDepth)
	if err := Read(tableOf(), "a: "+deep, true, func(d Document) error { _, err := d.Value(); return err }); err != nil {
		t.Errorf("as deep as data may be: %v", err)
	}
}

// TestParserErrorsAfterMarksAreReported expects an error, however little work is left to look for its cause.
func TestParserErrorsAfterMarksAreReported(t *testing.T) {
	for work := costParser; work < 3*costParser; work += 100 {
		x := tableOf()
		text := "a: '# " + x.NewMark() + "'\nb: c: d"
		x.Work = work
		if err := Read(x, text, true, func(Document) error { return nil }); err == nil {
			t.Errorf("with %d units: no error", work)
		}
	}
}

// TestKeysOfDataAreCharged checks that the characters of keys are charged to the output budget.
func TestKeysOfDataAreCharged(t *testing.T) {
	x := tableOf()
	before := x.Output
	if got, err := valuesOf(t, func(do func(Document) error) error { return Read(x, "abc: d", false, do) }); err != nil || before-x.Output != 4 {
		t.Errorf("%s, %v: %d bytes are paid for", got, err, before-x.Output)
	}
}
