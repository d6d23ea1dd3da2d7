package data

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestReadyWhenObjectIsReadOnce pays for it from the budget of the reconciliation.
func TestReadyWhenObjectIsReadOnce(t *testing.T) {
	const paid = 1000 // units
	var b budget.Budget
	b.Begin(nil)
	m := b.Draw(nil)
	if err := m.Charge(5); err != nil { // so that what is left differs from what a reconciliation is granted at a time
		t.Fatal(err)
	}
	before, asked := m.Work, 0
	v := &View{}
	v.Open(&Fixed{}, Input{}, syntax.ForReadyWhen, &m)
	v.Object = func() (map[string]any, error) {
		if asked++; asked == 1 {
			return nil, budget.ErrWork
		}
		return map[string]any{"a": "b", "metadata": map[string]any{"name": "x", "resourceVersion": "1"}}, b.Spend(paid * budget.MaxBytes / budget.MaxWork)
	}
	if got, err := v.Root.Get("object"); got != nil || !errors.Is(err, budget.ErrWork) {
		t.Errorf("an object that cannot be paid for: %v, %v", got, err)
	}
	for range 2 {
		got, err := v.Root.Get("object")
		if diff := cmp.Diff(map[string]any{"a": "b", "metadata": map[string]any{"name": "x"}}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	if asked != 2 || before-m.Work != paid {
		t.Errorf("asked %d times, %d units are paid for, want %d", asked, before-m.Work, paid)
	}
}

// TestObservedObjectsAreCharged reads a list with just enough work left, and with less.
func TestObservedObjectsAreCharged(t *testing.T) {
	for work, want := range map[int]error{2 * budget.CostItem: nil, 2*budget.CostItem - 1: budget.ErrWork} {
		m := budget.Meter{Work: work}
		v := &View{}
		v.Open(&Fixed{Children: []string{"a"}}, Input{Observed: func(string) ([]map[string]any, error) { return make([]map[string]any, 2), nil }}, syntax.ForStatus, &m)
		observed, err := v.Root.Get("observed")
		if err != nil {
			t.Fatal(err)
		}
		got, err := observed.(*Closed).Get("a")
		if list, _ := got.([]any); !errors.Is(err, want) || (len(list) == 2) != (want == nil) {
			t.Errorf("with %d units: %v, %v", work, got, err)
		}
	}
}
