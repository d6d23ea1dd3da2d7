// Package link is an unreliable connection between the operator and the API server: a reverse proxy on loopback that
// cuts and stalls connections, answers instead of the server, and drops responses.
package link

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Fault is a kind of fault.
type Fault int

// The faults. Those for requests affect a random half of them.
const (
	Cut         Fault = iota // connections are closed, new ones refused
	Stall                    // connections stay open without traffic
	TooMany                  // requests are answered 429
	ServerError              // requests are answered 500
	DropAnswers              // writes are executed, and their connection is closed
	SlowAnswers              // responses are delayed
	LateAnswers              // responses are delayed so much that they are useless for setting a clock
	faults
)

// Link is a running proxy. It is safe for concurrent use.
type Link struct {
	address string
	server  *http.Server
	done    chan error
	over    chan struct{} // closed by Close

	mu     sync.Mutex
	active [faults]int
	hits   [faults]int
	conns  map[*conn]struct{}
	// watches are the watches by resource.
	watches map[string]*watches
	gate    chan struct{} // closed unless connections are stalled
	// dates are offsets for the Date header of responses; the last one applies.
	dates []time.Duration
}

// Start returns a link to the API server at target, which it reaches via upstream; upstream must authenticate as the
// operator's user. It serves TLS with certificate.
func Start(target string, upstream http.RoundTripper, certificate tls.Certificate) (*Link, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	l := &Link{address: listener.Addr().String(), done: make(chan error, 1), over: make(chan struct{}), conns: map[*conn]struct{}{}, watches: map[string]*watches{}, gate: make(chan struct{})}
	close(l.gate)
	quiet := log.New(io.Discard, "", 0) // otherwise every fault would be logged
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:      upstream,
		FlushInterval:  -1, // watches
		ErrorLog:       quiet,
		ModifyResponse: l.modify,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // as without a proxy
	}
	l.server = &http.Server{ //nolint:gosec // its only client is the operator
		Handler: whole(l.handler(proxy)), ErrorLog: quiet,
		ConnContext: withConn,
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { l.done <- l.server.ServeTLS(&gated{listener, l}, "", "") }()
	return l, nil
}

// URL is the address of the API server for the operator.
func (l *Link) URL() string { return "https://" + l.address }

// Close ends the link and all its connections, including stalled ones. It must be called once.
func (l *Link) Close() error {
	close(l.over)
	err := l.server.Close()
	if served := <-l.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Begin activates a fault until end is called. Errors may overlap.
func (l *Link) Begin(f Fault) (end func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[f]++
	switch {
	case f == Stall && l.active[f] == 1:
		l.gate = make(chan struct{})
	case f == Cut:
		for c := range l.conns {
			_ = c.Conn.Close() // its users will notice
		}
	}
	return sync.OnceFunc(func() { l.end(f) })
}

func (l *Link) end(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[f]--
	if f == Stall && l.active[f] == 0 {
		close(l.gate)
	}
}

// Hits returns how many requests a fault has affected so far.
func (l *Link) Hits(f Fault) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hits[f]
}

// gated is a listener whose connections are subject to the link's faults.
type gated struct {
	net.Listener
	link *Link
}

// Accept returns the next connection that is not refused.
func (g *gated) Accept() (net.Conn, error) {
	for {
		accepted, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := g.link.admit(accepted); c != nil {
			return c, nil
		}
	}
}

func (l *Link) admit(accepted net.Conn) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[Cut] > 0 {
		_ = accepted.Close() // refused
		return nil
	}
	c := &conn{Conn: accepted, link: l, closed: make(chan struct{})}
	l.conns[c] = struct{}{}
	return c
}

// conn is a connection that can be stalled.
type conn struct {
	net.Conn
	link   *Link
	once   sync.Once
	closed chan struct{}
	caught atomic.Pointer[time.Time] // end of a long stall that delayed something on this connection
}

func (c *conn) wait() error {
	c.link.mu.Lock()
	gate := c.link.gate
	c.link.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-c.link.over:
		return net.ErrClosed
	case <-c.closed:
		return net.ErrClosed
	}
}

// Read returns received data, unless the link is stalled.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	came := time.Now()
	if stalled := c.wait(); stalled != nil {
		return 0, stalled
	}
	if now := time.Now(); now.Sub(came) > travel {
		c.caught.Store(&now)
	}
	return n, err
}

// Write sends data once the link is not stalled.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.wait(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close closes the connection, stalled or not.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.link.mu.Lock()
		delete(c.link.conns, c)
		c.link.mu.Unlock()
	})
	return c.Conn.Close()
}

// String returns the name of the fault for reports.
func (f Fault) String() string {
	names := [faults]string{"cut", "stall", "429", "500", "dropped answers", "slow answers", "late answers"}
	if f < 0 || f >= faults {
		return fmt.Sprintf("fault %d", int(f))
	}
	return names[f]
}
