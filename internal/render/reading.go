package render

import "strings"

// reading is text with a pause before each piece that a parser reads of it, which is half a KiB.
type reading struct {
	strings.Reader
	x      *exec
	failed error // what the last pause ended with
}

// Read reads the next piece.
func (r *reading) Read(p []byte) (int, error) {
	if r.failed = r.x.Pause(); r.failed != nil {
		return 0, r.failed
	}
	return r.Reader.Read(p)
}
