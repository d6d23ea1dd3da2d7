package budget

// Pass is the budget of all templates of one reconciliation: work, which takes time, and with it memory.
// It is passed to each call of Child and Status of the reconciliation. Begin must be called before. It is not safe for concurrent use.
type Pass struct {
	granted int  // units that may be used
	left    int  // units that may still be granted
	kept    int  // see Kept
	used    bool // see UsedUp
	over    Error
	from    Memory
	pausing func() error // of the execution
	err     error        // what from has returned
}

// Memory is where a reconciliation reserves its memory.
type Memory interface {
	// Grow is called before a reconciliation uses more memory than it has reserved, with the number of additional
	// bytes. It may wait. An error ends the reconciliation.
	Grow(bytes int) error
}

// Begin initializes the budget for a reconciliation. Of the memory that it uses, FreeBytes are free, and the rest is reserved,
// which is at most MaxBytes. nil means that no memory is reserved.
func (b *Pass) Begin(from Memory) {
	*b = Pass{granted: grant, left: MaxWork - grant, over: ErrWork, from: from}
}

// BeginFilter initializes the budget for the filter of parents, which has FreeBytes in all: it is evaluated where no memory is reserved, and
// without pauses.
func (b *Pass) BeginFilter() { *b = Pass{granted: grant, over: ErrFilter} }

// Kept returns how many bytes the results of the templates of the reconciliation take at most.
func (b *Pass) Kept() int { return b.kept }

// Left returns how many units of work may still be used.
func (b *Pass) Left() int { return b.granted + b.left }

// UsedUp reports whether the templates have exceeded the budget. Then none can be rendered any more.
func (b *Pass) UsedUp() bool { return b.used }

// Spend charges other work of the reconciliation, in bytes of memory, before it is done. An error ends the reconciliation.
func (b *Pass) Spend(bytes int) error {
	units := bytes / unitBytes
	if units > b.granted {
		if err := b.extend(units - b.granted); err != nil {
			return err
		}
	}
	b.granted -= units
	return nil
}

// extend has at least so many units more granted.
func (b *Pass) extend(units int) error {
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

// pause lets others have their turn.
func (b *Pass) pause() error {
	if b.pausing == nil {
		return nil
	}
	if err := b.pausing(); err != nil {
		b.granted, b.err = 0, &InterruptedError{err}
	}
	return b.err
}

// Draw returns what one execution may use of the budget, until it gives it back. pausing is called about every
// millisecond of work; an error ends the work. nil means that there are no pauses.
func (b *Pass) Draw(pausing func() error) Meter {
	work := b.granted
	b.granted, b.pausing = 0, pausing
	return Meter{Work: work, Output: maxOutput, Nodes: maxNodes, pass: b}
}
