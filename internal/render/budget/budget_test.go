package budget

import (
	"errors"
	"testing"
)

// source grants most bytes at most.
type source struct{ most, granted, asked int }

func (s *source) Grow(bytes int) error {
	s.asked++
	if s.granted+bytes > s.most {
		return errors.New("enough")
	}
	s.granted += bytes
	return nil
}

// TestMeterLimitsEachResource takes what is left of each part of a budget, and more.
func TestMeterLimitsEachResource(t *testing.T) {
	for part, row := range map[error]struct {
		take func(m *Meter, n int) error
		left func(m *Meter) int
	}{
		ErrWork:   {(*Meter).Charge, func(m *Meter) int { return m.Work }},
		ErrOutput: {(*Meter).Write, func(m *Meter) int { return m.Output }},
	} {
		for _, n := range []int{11, -1} {
			m := Meter{Work: 10, Output: 10, Nodes: 1}
			if err := row.take(&m, n); !errors.Is(err, part) || row.left(&m) != 0 {
				t.Errorf("%d of 10: %v, %d left", n, err, row.left(&m))
			}
		}
		m := Meter{Work: 10, Output: 10, Nodes: 1}
		if err := row.take(&m, 10); err != nil || row.left(&m) != 0 {
			t.Errorf("10 of 10: %v, %d left", err, row.left(&m))
		}
	}
	m := Meter{Work: CostItem, Output: 10, Nodes: 1}
	if err := m.Node(); err != nil || m != (Meter{Output: 10}) {
		t.Errorf("a node: %v, %v", err, m)
	}
	if err := m.Node(); !errors.Is(err, ErrNodes) {
		t.Errorf("a node too many: %v", err)
	}
}

// TestChargeForMultipliesUnits takes a number of units several times.
func TestChargeForMultipliesUnits(t *testing.T) {
	for _, row := range []struct {
		n, units, left int
		fails          bool
	}{{0, 5, 10, false}, {2, 5, 0, false}, {1, 0, 10, false}, {3, 5, 0, true}, {-1, 5, 10, true}, {1 << 62, 4, 10, true}, {MaxWork, 2, 10, true}} {
		m := Meter{Work: 10}
		if err := m.ChargeFor(row.n, row.units); errors.Is(err, ErrWork) != row.fails || m.Work != row.left {
			t.Errorf("%d times %d: %v, %d units are left, want %d", row.n, row.units, err, m.Work, row.left)
		}
	}
}

// TestSpendChargesWorkOutsideTemplates takes work that is done outside of templates.
func TestSpendChargesWorkOutsideTemplates(t *testing.T) {
	from := &source{most: MaxBytes}
	var b Budget
	b.Begin(from)
	for _, row := range []struct {
		spend, asked, granted int
		fails                 bool
	}{{FreeBytes, 0, 0, false}, {unitBytes, 1, grant - 1, false}, {MaxBytes, 1, 0, true}, {unitBytes, 1, 0, true}} {
		if err := b.Spend(row.spend); (err != nil) != row.fails || row.fails && !errors.Is(err, ErrWork) || from.asked != row.asked || b.granted != row.granted {
			t.Errorf("%d bytes: %v, asked %d times, %d units are left", row.spend, err, from.asked, b.granted)
		}
	}
}

// TestDrawGrantsWorkInSteps takes more than a reconciliation has granted, a little at a time, with a pause each time.
func TestDrawGrantsWorkInSteps(t *testing.T) {
	from, pauses := &source{most: MaxBytes}, 0
	var b Budget
	b.Begin(from)
	if b.Left() != MaxWork || b.Kept() != 0 || b.UsedUp() {
		t.Errorf("a fresh reconciliation: %+v", b)
	}
	m := b.Draw(func() error { pauses++; return nil })
	if m.Work != grant || m.Output != maxOutput || m.Nodes != maxNodes || b.Left() != MaxWork-grant {
		t.Errorf("drawn is %+v of %+v", m, b)
	}
	if err := m.Charge(0); err != nil || m.Work != grant || from.asked != 0 {
		t.Errorf("nothing: %v, %d are left", err, m.Work)
	}
	for _, row := range []struct{ charge, work, left, asked, pauses int }{
		{grant, 0, MaxWork - grant, 0, 0},
		{1, grant - 1, MaxWork - 2*grant, 1, 1},
		{3 * grant, 0, MaxWork - 4*grant - 1, 2, 2},
		{MaxWork - 4*grant - 1, 0, 0, 3, 3},
	} {
		if err := m.Charge(row.charge); err != nil || m.Work != row.work || b.Left() != row.left || from.asked != row.asked || pauses != row.pauses {
			t.Errorf("%d units: %v, %d are left and %d of the reconciliation; asked %d times, %d pauses", row.charge, err, m.Work, b.Left(), from.asked, pauses)
		}
	}
	if b.UsedUp() {
		t.Error("exhausted too early")
	}
	if err := m.Charge(1); !errors.Is(err, ErrWork) || !Ended(err) || !b.UsedUp() || m.Work != 0 {
		t.Errorf("one more: %v, %+v", err, b)
	}
	must(t, m.Charge(0), m.Write(0), m.Write(maxOutput), m.Write(0))
	if err := m.Charge(-1); !errors.Is(err, ErrWork) {
		t.Errorf("less than nothing: %v", err)
	}
}

// TestLendReturnsWorkToBudget has an execution and the reconciliation take turns.
func TestLendReturnsWorkToBudget(t *testing.T) {
	var b Budget
	b.Begin(nil)
	m := b.Draw(nil)
	m.Lend()
	if err := b.Spend(10 * unitBytes); err != nil || m.Work != 0 || b.Left() != MaxWork-10 {
		t.Errorf("%v, %d are left and %d of the reconciliation", err, m.Work, b.Left())
	}
	m.TakeBack()
	if m.Work != grant-10 || b.Left() != MaxWork-grant {
		t.Errorf("%d are left and %d of the reconciliation", m.Work, b.Left())
	}
	must(t, m.Node(), m.Keep(5), m.Pause())
	if want := grant - 10 - CostItem - 5*costKept; m.Work != want || m.Output != maxOutput-5 {
		t.Errorf("%d units are left, want %d; %d bytes", m.Work, want, m.Output)
	}
	for range 2 {
		m.GiveBack()
		if kept := nodeBytes + 5; b.Kept() != kept || b.Left() != MaxWork-10-CostItem-5*costKept || m != (Meter{}) {
			t.Errorf("%d are kept, want %d; %d are left of the reconciliation", b.Kept(), kept, b.Left())
		}
	}
	if err := m.Keep(1); !errors.Is(err, ErrOutput) {
		t.Errorf("no output is left: %v", err)
	}
	m.Lend()
	m.TakeBack()
	must(t, m.Pause())
}

// TestInterruptedBudgetStaysEnded has the memory or a pause end a reconciliation, for good.
func TestInterruptedBudgetStaysEnded(t *testing.T) {
	stop := errors.New("stop")
	for why, row := range map[string]struct {
		most  int
		pause error
	}{"no memory": {}, "a pause": {most: MaxBytes, pause: stop}} {
		from := &source{most: row.most}
		var b Budget
		b.Begin(from)
		m := b.Draw(func() error { return row.pause })
		err := m.Charge(grant + 1)
		if b.granted != 0 {
			t.Errorf("%s: %d units are granted all the same", why, b.granted)
		}
		var ended *InterruptedError
		if !errors.As(err, &ended) || !Ended(err) || ended.Unwrap() == nil || m.Work != 0 || err.Error() != "the reconciliation was interrupted and will be repeated" {
			t.Errorf("%s: %v, %d are left", why, err, m.Work)
		}
		if row.pause != nil && (!errors.Is(err, stop) || m.Pause() == nil) {
			t.Errorf("%s: %v", why, err)
		}
		for range 2 {
			if again := b.Spend(MaxBytes); !Ended(again) || errors.Is(again, ErrWork) || from.asked != 1 || b.UsedUp() {
				t.Errorf("%s, again: %v, asked %d times", why, again, from.asked)
			}
		}
	}
}

// TestExtendByZeroOrLessGrantsNothing asks for nothing, and for less.
func TestExtendByZeroOrLessGrantsNothing(t *testing.T) {
	var b Budget
	b.Begin(nil)
	must(t, b.extend(0))
	if err := b.extend(-1); !errors.Is(err, ErrWork) || !b.UsedUp() || b.Left() != 0 {
		t.Errorf("%v, %d are left", err, b.Left())
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}
