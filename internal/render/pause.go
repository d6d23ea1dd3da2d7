package render

import "strings"

// pause lets others have their turn.
func (b *PassBudget) pause() error {
	if b.pausing == nil {
		return nil
	}
	if err := b.pausing(); err != nil {
		b.granted, b.err = 0, &interruption{err}
	}
	return b.err
}

// reading is text with a pause before each piece that a parser reads of it, which is half a KiB.
type reading struct {
	strings.Reader
	x      *exec
	failed error // what the last pause ended with
}

// Read reads the next piece.
func (r *reading) Read(p []byte) (int, error) {
	if pass := r.x.pass; pass != nil {
		if r.failed = pass.pause(); r.failed != nil {
			return 0, r.failed
		}
	}
	return r.Reader.Read(p)
}
