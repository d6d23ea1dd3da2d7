package funcs

import (
	"errors"
	"math"
	"testing"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/token"
)

// begun returns a function call with that much work left after the cost of the call itself.
func begun(t *testing.T, name string, work int, args ...any) *data.Call {
	t.Helper()
	x := &data.Execution{Table: token.Table{Meter: budget.Meter{Work: budget.MaxWork}}}
	c, err := Lookup(name).Begin(x, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.Work = work
	return &c
}

// TestResultsAreChargedToBudget builds results without any work left.
func TestResultsAreChargedToBudget(t *testing.T) {
	for _, do := range []func(c *data.Call) int{
		func(c *data.Call) int { return cap(listOf(c, make([]any, 1), nil)) },
		func(c *data.Call) int { return len(texts(c, 1)) },
		func(c *data.Call) int { return len(numbers(c, 0, 10, 1)) },
	} {
		c := begun(t, "list", 0, map[string]any{"a": 1}, []any{"a"})
		if got := do(c); got != 0 || !errors.Is(c.Err, budget.ErrWork) {
			t.Errorf("without any work left: %d, %v", got, c.Err)
		}
	}
}

func TestNonFiniteResultsAreErrors(t *testing.T) {
	for f, isFinite := range map[float64]bool{0: true, -1.5: true, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false} {
		c := begun(t, "round", budget.MaxWork, f, int64(0))
		if got := finite(c, f); (c.Err == nil) != isFinite || isFinite && got != f {
			t.Errorf("%v: %v, %v", f, got, c.Err)
		}
	}
}
