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

// TestParts takes what is left of each part of a budget, and more.
func TestParts(t *testing.T) {
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

// TestSpending takes work that is done outside of templates.
func TestSpending(t *testing.T) {
	from := &source{most: MaxBytes}
	var b Pass
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
