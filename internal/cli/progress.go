package cli

import (
	"fmt"
	"io"
	"sync"
)

// Progress shows the progress of a command on one line of a terminal, and nothing without a terminal. It is safe for concurrent use.
type Progress struct {
	out io.Writer // nil = none

	mu    sync.Mutex
	shown bool
}

// NewProgress returns a Progress for a terminal, usually standard error.
func NewProgress(out io.Writer) *Progress {
	if !IsTerminal(out) {
		return &Progress{}
	}
	return &Progress{out: out}
}

// Say replaces the line.
func (p *Progress) Say(format string, args ...any) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	fmt.Fprintf(p.out, clearLine+format, args...)
}

// Clear removes the line. Call it before printing anything else, and at the end.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		p.shown = false
		fmt.Fprint(p.out, clearLine)
	}
}

// clearLine moves to the start of the line and clears it (ECMA-48: EL).
const clearLine = "\r\x1b[K"
