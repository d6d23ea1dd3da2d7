package render

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// yield renders calls of functions. Each must yield the JSON, or fail with the message behind "error: ".
func yield(t *testing.T, want map[string]string) {
	t.Helper()
	for call, want := range want {
		got, err := renderValue(t, "{{ "+call+" }}")
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			got = "error: " + e.Message
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", call, got, want)
		}
	}
}

func TestPayingForMany(t *testing.T) {
	for why, row := range map[string]struct {
		n, units, paid int
		fails          bool
	}{
		"nothing": {}, "many for nothing": {n: math.MaxInt}, "all there is": {n: budget.MaxWork, units: 1, paid: budget.MaxWork}, "all there is, in parts": {n: budget.MaxWork / 4, units: 4, paid: budget.MaxWork},
		"less than nothing": {n: -1, fails: true}, "less than nothing, each": {n: -1, units: -1, fails: true}, "more than there is": {n: budget.MaxWork + 1, units: 1, fails: true}, "what overflows": {n: 1 << 62, units: 4, fails: true},
	} {
		c := &call{x: &exec{Table: token.Table{Meter: newBudget()}}}
		ok := c.payFor(row.n, row.units)
		if ok == row.fails || errors.Is(c.err, budget.ErrWork) != row.fails || ok && budget.MaxWork-c.x.Work != row.paid {
			t.Errorf("%s: %v, %v, %d left", why, ok, c.err, c.x.Work)
		}
	}
	for _, do := range []func(c *call) int{
		func(c *call) int { return cap(c.newList(math.MaxInt)) },
		func(c *call) int { return len(c.cloneDict(1)) },
		func(c *call) int { return cap(c.concat(make([]any, 1), nil)) },
		func(c *call) int { return len(c.texts(1)) },
		func(c *call) int { return len(c.numbers(0, 10, 1)) },
	} {
		c := &call{x: &exec{}, args: []any{map[string]any{"a": 1}, []any{"a"}}, f: functions["list"]}
		if got := do(c); got != 0 || !errors.Is(c.err, budget.ErrWork) {
			t.Errorf("without any work left: %d, %v", got, c.err)
		}
		if c.pay(0) {
			t.Error("a call that has failed can pay")
		}
	}
}

// TestWhatIsNotPaidForIsNotMade calls functions with an argument that can be paid for, and a result that cannot.
func TestWhatIsNotPaidForIsNotMade(t *testing.T) {
	const size = 1 << 20
	list := slices.Repeat([]any{"a"}, size/16)
	m := map[string]any{}
	for i := range size / 64 {
		m[strings.Repeat("k", 1+i%7)+string(rune('a'+i))] = "v"
	}
	in := &Input{Parent: map[string]any{"spec": map[string]any{"s": strings.Repeat("a b\n", size/4), "list": list, "map": m}}, Ready: running}
	for call, work := range map[string]int{
		`upper .spec.s`: size, `html .spec.s`: size, `trimAll .spec.s .spec.s`: 2 * size, `replace "a" "bcdefgh" .spec.s`: 2 * size, `repeat 1000000000 "abc"`: size, `dnsLabel .spec.s`: size,
		`shellQuote .spec.s`: size, `indent 9 .spec.s`: size, `wrapWith 1 "abcdefgh" .spec.s`: size, `cat .spec.s .spec.s`: 2 * size, `print .spec.s .spec.s`: 2 * size, `printf "%q" .spec.s`: size, `urlParse .spec.s`: size,
		`fromJson .spec.s`: size, `regexFindAll "a" .spec.s -1`: size, `regexSplit "a" .spec.s -1`: size, `regexReplaceAll "a" .spec.s "b"`: size, `splitList "a" .spec.s`: size, `split "" .spec.s`: size, `regexFind "a" .spec.s`: size,
		`append .spec.list 1`: size / 4, `reverse .spec.list`: size / 4, `compact .spec.list`: size / 4, `uniq .spec.list`: size / 4, `slice .spec.list 1`: size / 4, `chunk 1 .spec.list`: size / 4, `sortAlpha .spec.list`: size / 4, `collect "a" .spec.list`: size / 4,
		`sortBy "a" .spec.list`: size / 4, `where "a" 1 .spec.list`: size / 4, `concat .spec.list .spec.list`: size / 2, `until 1000000`: size, `untilStep 0 1000000 1`: size, `seq 1000000`: size, `toStrings .spec.list`: size / 4, `join "," .spec.list`: size / 4,
		`keys .spec.map`: size / 4, `values .spec.map`: size / 4, `set .spec.map "a" 1`: size / 4, `merge .spec.map .spec.map`: size / 4, `omit .spec.map "a"`: size / 4, `deepEqual .spec.map .spec.map`: size / 4, `toJson .spec.map`: size / 4, `urlJoin .spec.map`: size / 4,
	} {
		p := programOf(t, "{{ $x := "+call+" }}")
		var err error
		bytes := allocated(func() { _, err = spend(p, in, budget.Meter{Work: work + 1000, Output: maxOutput, Nodes: maxNodes}) })
		if !ranOut(err, budget.ErrWork) || bytes > size/8 {
			t.Errorf("%s: %d bytes are allocated, %v", call, bytes, err)
		}
	}
}

// TestLinesThatAreComputed has text of several lines, from data and from rendered text.
func TestLinesThatAreComputed(t *testing.T) {
	const refused = "error: nindent: text of several lines that was computed from rendered text cannot be indented; put the text in a define block and indent what include yields"
	yield(t, map[string]string{
		`upper (include "map" .) | nindent 2`:          refused,
		`(split "x" (include "map" .))._0 | nindent 2`: refused,
		`(split "x" "a\nbxc")._0 | nindent 2`:          `"a\nb"`,
		`upper "a\nb" | nindent 2`:                     `"A\nB"`,
	})
}

// TestArgumentsAreCounted has a call that the compiler refuses, too.
func TestArgumentsAreCounted(t *testing.T) {
	x := &exec{Table: token.Table{Meter: newBudget()}}
	if v, err := x.call(functions["upper"], nil, nil); err == nil || err.Error() != "upper needs 1 argument, not 0" {
		t.Errorf("got %v, %v", v, err)
	}
}
