package budget

// Meter counts the budget that is left for one execution of a template. The zero Meter has nothing left.
type Meter struct {
	Work   int // granted units: see Budget
	Output int // in bytes
	Nodes  int // scalars, maps and lists
	// of grants more work, with a pause each time. nil = no more is granted.
	of *Budget
}

// GiveBack returns the remaining work to the budget of the reconciliation.
func (m *Meter) GiveBack() {
	if m.of != nil {
		m.Lend()
		m.of.kept += nodeBytes*(maxNodes-m.Nodes) + maxOutput - m.Output
	}
	*m = Meter{}
}

// Lend lets the reconciliation use the granted work until TakeBack.
func (m *Meter) Lend() {
	if m.of != nil {
		m.of.granted, m.Work = m.Work, 0
	}
}

// TakeBack takes back the work that the reconciliation has not used.
func (m *Meter) TakeBack() {
	if m.of != nil {
		m.Work, m.of.granted = m.of.granted, 0
	}
}

// Charge subtracts units from the work that is left. Call it before the work or allocation that it pays for.
func (m *Meter) Charge(units int) error {
	if units < 0 || units > m.Work {
		return m.extend(units)
	}
	m.Work -= units
	return nil
}

// ChargeFor is Charge for n times a number of units.
func (m *Meter) ChargeFor(n, units int) error {
	if n < 0 || units > 0 && n > MaxWork/units {
		return m.over()
	}
	return m.Charge(n * units)
}

// over returns the error for work that exceeds the budget.
func (m *Meter) over() Error {
	if m.of == nil {
		return ErrWork
	}
	return m.of.over
}

// extend is Charge if more work is needed than granted.
func (m *Meter) extend(units int) error {
	if m.of == nil || units < 0 {
		m.Work = 0
		return m.over()
	}
	if err := m.of.extend(units - m.Work); err != nil {
		m.Work = 0
		return err
	}
	m.Work += m.of.granted - units
	m.of.granted = 0
	return nil
}

// Write subtracts bytes from the output that is left.
func (m *Meter) Write(bytes int) error {
	if bytes < 0 || bytes > m.Output {
		m.Output = 0
		return ErrOutput
	}
	m.Output -= bytes
	return nil
}

// Keep pays for a scalar of the result.
func (m *Meter) Keep(bytes int) error {
	if err := m.Write(bytes); err != nil {
		return err
	}
	return m.Charge(costKept * bytes)
}

// Node pays for a scalar, map or list of the output.
func (m *Meter) Node() error {
	if m.Nodes == 0 {
		return ErrNodes
	}
	m.Nodes--
	return m.Charge(CostItem)
}

// Pause lets other goroutines run. Its error, which is that of the pause, ends the reconciliation.
func (m *Meter) Pause() error {
	if m.of == nil {
		return nil
	}
	return m.of.pause()
}
