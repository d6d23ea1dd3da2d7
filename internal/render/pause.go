package render

import "strings"

// stride is the work between two pauses: about a millisecond.
const stride = 128 << 10

// rest makes a pause when it is time for one.
func (x *exec) rest() error {
	if x.work > x.resume {
		return nil
	}
	return x.pause()
}

func (x *exec) pause() error {
	if x.in.Pause == nil {
		x.resume = -1
		return nil
	}
	x.resume = x.work - stride
	return x.in.Pause()
}

// reading is text with a pause before each piece that a parser reads of it, which is half a KiB.
type reading struct {
	strings.Reader
	x      *exec
	failed error // what the last pause ended with
}

// Read reads the next piece.
func (r *reading) Read(p []byte) (int, error) {
	if r.failed = r.x.pause(); r.failed != nil {
		return 0, r.failed
	}
	return r.Reader.Read(p)
}
