package admission

import (
	"errors"
	"io"
	"slices"
	"sync"
)

const (
	// bodyLimit is room for two TemplateControllers, before and after, as large as objects may be: 1.5 MiB each.
	bodyLimit = 4 << 20 // bytes
	// firstBytes is what a request takes as soon as it begins to arrive: most TemplateControllers fit in it, with what the API
	// server says of them.
	firstBytes = 16 << 10
	// inboxLimit is the memory of all requests that are being received, or wait for a review.
	inboxLimit = 32 << 20 // bytes
)

// inbox receives requests. They do not wait while they arrive, and take memory for what has arrived, not for their Content-Length. If the
// memory does not suffice, the request that has been arriving for longest is dropped: an honest one arrives within milliseconds. So requests
// that are sent slowly, or never completed, do not block others, however many they are. It is safe for concurrent use.
type inbox struct {
	most int // bytes

	mu       sync.Mutex
	held     int        // bytes
	arriving []*arrival // what has been arriving for longest is first
}

// arrival is a request in the inbox: it has to be read, and then ended.
type arrival struct {
	in     *inbox
	cut    func() // ends what waits for more of it; called at most once, and not after read
	held   int    // bytes
	missed bool   // it is given up
}

var errGivenUp = errors.New("given up")

// begin begins to receive a request.
func (in *inbox) begin(cut func()) *arrival {
	a := &arrival{in: in, cut: cut}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.arriving = append(in.arriving, a)
	return a
}

// read reads the request, which is at most bodyLimit long. The error is errGivenUp, or that of r.
func (a *arrival) read(r io.Reader) ([]byte, error) {
	defer a.finish()
	var body []byte
	for {
		if len(body) == cap(body) {
			room := min(max(firstBytes, 2*cap(body)), bodyLimit+1) // 1 is for the end to show
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

// take takes memory for the request, and reports whether there was some.
func (a *arrival) take(bytes int) bool {
	in := a.in
	in.mu.Lock()
	defer in.mu.Unlock()
	for !a.missed && in.held+bytes > in.most {
		oldest := in.arriving[0] // a is among them
		in.arriving = in.arriving[1:]
		oldest.missed = true
		in.held -= oldest.held
		oldest.held = 0
		if oldest != a {
			oldest.cut()
		}
	}
	if a.missed {
		return false
	}
	in.held, a.held = in.held+bytes, a.held+bytes
	return true
}

func (a *arrival) givenUp() bool {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	return a.missed
}

// finish says that the request arrives no more: it is not given up from now on.
func (a *arrival) finish() {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	if i := slices.Index(a.in.arriving, a); i >= 0 {
		a.in.arriving = slices.Delete(a.in.arriving, i, i+1)
	}
}

// end gives back what the request has taken.
func (a *arrival) end() {
	a.in.mu.Lock()
	defer a.in.mu.Unlock()
	a.in.held, a.held = a.in.held-a.held, 0
}
