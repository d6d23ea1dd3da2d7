package data

import (
	"errors"
	"math"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// newExecution has work left for so many units.
func newExecution(work int) *Execution {
	return &Execution{Table: token.Table{Meter: budget.Meter{Work: work}, Marker: "\ue000"}}
}

func TestPayForMultipliesUnits(t *testing.T) {
	for why, row := range map[string]struct {
		n, units, paid int
		fails          bool
	}{
		"nothing": {}, "many for nothing": {n: math.MaxInt}, "all there is": {n: budget.MaxWork, units: 1, paid: budget.MaxWork}, "all there is, in parts": {n: budget.MaxWork / 4, units: 4, paid: budget.MaxWork},
		"less than nothing": {n: -1, fails: true}, "less than nothing, each": {n: -1, units: -1, fails: true}, "more than there is": {n: budget.MaxWork + 1, units: 1, fails: true}, "what overflows": {n: 1 << 62, units: 4, fails: true},
	} {
		c := &Call{Execution: newExecution(budget.MaxWork)}
		ok := c.PayFor(row.n, row.units)
		if ok == row.fails || errors.Is(c.Err, budget.ErrWork) != row.fails || ok && budget.MaxWork-c.Work != row.paid {
			t.Errorf("%s: %v, %v, %d left", why, ok, c.Err, c.Work)
		}
	}
}

// TestResultsAreChargedToBudget makes what cannot be paid for.
func TestResultsAreChargedToBudget(t *testing.T) {
	for _, do := range []func(c *Call) int{
		func(c *Call) int { return cap(c.NewList(math.MaxInt)) },
		func(c *Call) int { return len(c.CloneDict(1)) },
	} {
		c := &Call{Execution: newExecution(0), Args: []any{map[string]any{"a": 1}, []any{"a"}}}
		if got := do(c); got != 0 || !errors.Is(c.Err, budget.ErrWork) {
			t.Errorf("without any work left: %d, %v", got, c.Err)
		}
		if c.Pay(0) {
			t.Error("a call that has failed can pay")
		}
	}
}

// TestCallsAreChargedAndChecked are paid for, have as many arguments as their function needs, and none without a value.
func TestCallsAreChargedAndChecked(t *testing.T) {
	upper := &Function{Function: syntax.Function{Name: "upper", Min: 1, Max: 1, Rendered: syntax.Expands}, Do: func(c *Call) any {
		if c.Str(0) == "fail" {
			return c.Fail("argument %d is bad", 1)
		}
		return c.Str(0)
	}}
	for why, row := range map[string]struct {
		args      []any
		work      int
		want, err any
	}{
		"a string":                   {args: []any{"a"}, work: costCall + 3, want: "a"},
		"too few arguments":          {work: costCall, err: "upper needs 1 argument, not 0"},
		"too many arguments":         {args: []any{"a", "b"}, work: costCall, err: "upper needs 1 argument, not 2"},
		"no value":                   {args: []any{nil}, work: costCall, err: "upper: argument 1, the value before the |, has no value; set it, or use default, required or if"},
		"failing":                    {args: []any{"fail"}, work: 2 * costCall, err: "upper: argument 1 is bad"},
		"no work left":               {args: []any{"a"}, work: costCall - 1, err: budget.ErrWork.Error()},
		"no work for reading":        {args: []any{"a"}, work: costCall, err: budget.ErrWork.Error()},
		"no work for what it yields": {args: []any{"a"}, work: costCall + 2, err: budget.ErrWork.Error()},
	} {
		got, err := upper.Call(newExecution(row.work), row.args, nil)
		if got != row.want || (err == nil) != (row.err == nil) || err != nil && err.Error() != row.err {
			t.Errorf("%s: got %v, %v; want %v, %v", why, got, err, row.want, row.err)
		}
	}
}

// TestFirstErrorOfCallWins fails in each way, twice.
func TestFirstErrorOfCallWins(t *testing.T) {
	other := errors.New("other")
	for want, do := range map[string]func(c *Call){
		"f: bad 1":             func(c *Call) { c.Fail("bad %d", 1) },
		"other":                func(c *Call) { c.FailWith(other) },
		"f: other":             func(c *Call) { c.FailBecause(other) },
		budget.ErrDeep.Error(): func(c *Call) { c.FailBecause(budget.ErrDeep) },
	} {
		c, err := (&Function{Function: syntax.Function{Name: "f", Nil: true}}).Begin(newExecution(costCall), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.FailWith(nil)
		c.FailBecause(nil)
		if c.Err != nil {
			t.Errorf("no error fails: %v", c.Err)
		}
		do(&c)
		c.Fail("later")
		c.FailWith(errors.New("later"))
		if v, err := c.End("a"); v != nil || err == nil || err.Error() != want {
			t.Errorf("got %v, %v; want %s", v, err, want)
		}
	}
}

// TestTextDerivedFromRenderedTextIsMarked is marked where it has several lines.
func TestTextDerivedFromRenderedTextIsMarked(t *testing.T) {
	for treatment, want := range map[syntax.Treatment]any{
		syntax.Expands: token.Derived("a\nb"), syntax.Keeps: token.Derived("a\nb"), syntax.Passes: "a\nb",
	} {
		f := &Function{Function: syntax.Function{Name: "f", Min: 1, Max: 1, Rendered: treatment}, Do: func(c *Call) any { return c.Str(0) }}
		if got, err := f.Call(newExecution(1000), []any{token.Rendered("a\nb")}, nil); err != nil || got != want {
			t.Errorf("%s: got %#v, %v; want %#v", treatment, got, err, want)
		}
		if got, err := f.Call(newExecution(1000), []any{"a\nb"}, nil); err != nil || got != "a\nb" {
			t.Errorf("%s, of plain text: got %#v, %v", treatment, got, err)
		}
	}
}
