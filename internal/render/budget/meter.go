package budget

// Meter counts what is left for one execution of a template. The zero Meter has nothing left.
type Meter struct {
	Work   int // in units, as far as they are granted: see Pass
	Output int // in bytes
	Nodes  int // scalars, maps and lists
	// pass is where more is granted, a little at a time, with a pause each time. nil is for nowhere.
	pass *Pass
}

// GiveBack returns what is left to the reconciliation.
func (m *Meter) GiveBack() {
	if m.pass != nil {
		m.Lend()
		m.pass.kept += nodeBytes*(maxNodes-m.Nodes) + maxOutput - m.Output
	}
	*m = Meter{}
}

// Lend lets the reconciliation use what is granted, until it is taken back.
func (m *Meter) Lend() {
	if m.pass != nil {
		m.pass.granted, m.Work = m.Work, 0
	}
}

// TakeBack takes what the reconciliation has left.
func (m *Meter) TakeBack() {
	if m.pass != nil {
		m.Work, m.pass.granted = m.pass.granted, 0
	}
}

// Charge takes units from the work that is left. It must come before the
// work, or before the allocation, that it pays for.
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

// over is the error that ends work beyond the budget.
func (m *Meter) over() Error {
	if m.pass == nil {
		return ErrWork
	}
	return m.pass.over
}

// extend is Charge where more is needed than is granted.
func (m *Meter) extend(units int) error {
	if m.pass == nil || units < 0 {
		m.Work = 0
		return m.over()
	}
	if err := m.pass.extend(units - m.Work); err != nil {
		m.Work = 0
		return err
	}
	m.Work += m.pass.granted - units
	m.pass.granted = 0
	return nil
}

// Write takes bytes from the output that is left.
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

// Pause lets other work have its turn. The error is that of the pause, which ends the reconciliation.
func (m *Meter) Pause() error {
	if m.pass == nil {
		return nil
	}
	return m.pass.pause()
}
