package admission

import (
	"errors"
	"io"
	"slices"
	"sync"
)

const (
	// bodyLimit is enough for two TemplateControllers (old and new) of the maximum object size, 1.5 MiB each.
	bodyLimit = 4 << 20 // bytes
	// firstBytes is the initial buffer of a request. Most reviews fit into it.
	firstBytes = 16 << 10
	// inboxLimit is the memory for all requests that are being received, or wait for a review.
	inboxLimit = 32 << 20 // bytes
)

// inbox receives requests. Requests do not wait for memory, and use memory for the bytes received so far, not for their
// Content-Length. If the memory limit is exceeded, the oldest incomplete request is dropped: genuine requests arrive
// within milliseconds. Any number of slow or incomplete requests thus cannot block others. It is safe for concurrent
// use.
type inbox struct {
	most int // bytes

	mu       sync.Mutex
	held     int        // bytes
	arriving []*arrival // oldest first
}

// arrival is a request in the inbox. The caller must call read, then end.
type arrival struct {
	in      *inbox
	cut     func() // aborts the reads of r; called at most once, and not after read has returned
	held    int    // bytes
	dropped bool
}

var errGivenUp = errors.New("given up")

// begin adds a request to the inbox.
func (in *inbox) begin(cut func()) *arrival {
	a := &arrival{in: in, cut: cut}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.arriving = append(in.arriving, a)
	return a
}

// read reads the request from r, at most bodyLimit bytes. It returns errGivenUp, or the error of r.
func (a *arrival) read(r io.Reader) ([]byte, error) {
	defer a.finish()
	var body []byte
	for {
		if len(body) == cap(body) {
			room := min(max(firstBytes, 2*cap(body)), bodyLimit+1) // one more byte, to read the EOF
			if !a.take(room - cap(body)) {
				return nil, errGivenUp
			}
			body = append(make([]byte, 0, room), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil && a.givenUp():
			return nil, errGivenUp
		case err != nil:
			return nil, err
		}
	}
}

// take reserves memory for the request, and drops older ones if needed. It returns false if the request itself was
// dropped.
func (a *arrival) take(bytes int) bool {
	in := a.in
	in.mu.Lock()
	defer in.mu.Unlock()
	for !a.dropped && in.held+bytes > in.most {
		oldest := in.arriving[0] // possibly a itself
		in.arriving = in.arriving[1:]
		oldest.dropped = true
		in.held -= oldest.held
		oldest.held = 0
		if oldest != a {
			oldest.cut()
		}
	}
	if a.dropped {
		return false
	}
	in.held, a.held = in.held+bytes, a.held+bytes
	return true
}

func (a *arrival) givenUp() bool {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	return a.dropped
}

// finish marks the request as received: it is no longer dropped.
func (a *arrival) finish() {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	if i := slices.Index(a.in.arriving, a); i >= 0 {
		a.in.arriving = slices.Delete(a.in.arriving, i, i+1)
	}
}

// end releases the memory of the request.
func (a *arrival) end() {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	a.in.held, a.held = a.in.held-a.held, 0
}
