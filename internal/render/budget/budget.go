package budget

// Budget is the budget of all templates of one reconciliation: work, which limits time, and memory. It is passed to each call of Child
// and Status of the reconciliation. Call Begin first. It is not safe for concurrent use.
type Budget struct {
	granted int  // units that may be used
	left    int  // units that may still be granted
	kept    int  // see Kept
	used    bool // see UsedUp
	over    Error
	from    Memory
	pausing func() error // of the execution
	err     error        // the error that from returned
}

// Memory is where a reconciliation reserves its memory.
type Memory interface {
	// Grow is called before a reconciliation uses more memory than it has reserved, with the number of additional
	// bytes. It may wait. An error ends the reconciliation.
	Grow(bytes int) error
}

// Begin initializes the budget for a reconciliation. FreeBytes of its memory are free; the rest, at most MaxBytes in all, is reserved
// with from. If from is nil, no memory is reserved.
func (b *Budget) Begin(from Memory) {
	*b = Budget{granted: grant, left: MaxWork - grant, over: ErrWork, from: from}
}

// BeginFilter initializes the budget for spec.watch.filter, which is FreeBytes in all, because the filter is evaluated without
// reserving memory and without pauses.
func (b *Budget) BeginFilter() { *b = Budget{granted: grant, over: ErrFilter} }

// Kept returns the maximum size in bytes of the rendered objects of the reconciliation.
func (b *Budget) Kept() int { return b.kept }

// Left returns the number of units of work that are left.
func (b *Budget) Left() int { return b.granted + b.left }

// UsedUp reports whether the templates have exceeded the budget. After that, no template can be rendered.
func (b *Budget) UsedUp() bool { return b.used }

// Spend charges for other work of the reconciliation, in bytes of memory, before it is done. An error ends the reconciliation.
func (b *Budget) Spend(bytes int) error {
	units := bytes / unitBytes
	if units > b.granted {
		if err := b.extend(units - b.granted); err != nil {
			return err
		}
	}
	b.granted -= units
	return nil
}

// extend grants at least this many more units.
func (b *Budget) extend(units int) error {
	if b.err != nil {
		return b.err
	}
	if units < 0 || units > b.left {
		b.granted, b.left, b.used = 0, 0, true
		return b.over
	}
	units = min(max(units, grant), b.left)
	if b.from != nil {
		if err := b.from.Grow(units * unitBytes); err != nil {
			b.granted, b.err = 0, &InterruptedError{err}
			return b.err
		}
	}
	b.granted, b.left = b.granted+units, b.left-units
	return b.pause()
}

// pause lets other goroutines run.
func (b *Budget) pause() error {
	if b.pausing == nil {
		return nil
	}
	if err := b.pausing(); err != nil {
		b.granted, b.err = 0, &InterruptedError{err}
	}
	return b.err
}

// Draw returns a Meter for one execution, which uses the budget until GiveBack. pausing is called about once per millisecond of work;
// an error stops the work. nil = no pauses.
func (b *Budget) Draw(pausing func() error) Meter {
	work := b.granted
	b.granted, b.pausing = 0, pausing
	return Meter{Work: work, Output: maxOutput, Nodes: maxNodes, of: b}
}
