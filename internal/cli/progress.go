package cli

import (
	"fmt"
	"io"
	"sync"
)

// Progress tells on one line of a terminal how far a command is, and says nothing elsewhere. It is safe for concurrent use.
type Progress struct {
	out io.Writer // nil = none

	mu    sync.Mutex
	shown bool
}

// NewProgress returns the progress on a terminal, which is the standard error as a rule.
func NewProgress(out io.Writer) *Progress {
	if !IsTerminal(out) {
		return &Progress{}
	}
	return &Progress{out: out}
}

// Say shows a line in place of the last one.
func (p *Progress) Say(format string, args ...any) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	fmt.Fprintf(p.out, clearLine+format, args...)
}

// Clear takes the line away: call it before anything else is printed, and at the end.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, clearLine)
	}
}

// clearLine goes to the begin of a line and clears it (ECMA-48: EL).
const clearLine = "\r\x1b[K"
