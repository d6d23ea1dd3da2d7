package serve

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

// crowded is a server of at most so many connections.
func crowded(t *testing.T, most int, secure bool) (*httptest.Server, *connections) {
	t.Helper()
	c := newConnections(most)
	server := httptest.NewUnstartedServer(http.HandlerFunc(hello))
	server.Config.ConnState = c.changed
	if secure {
		server.TLS = NewCertificate("", logr.Discard()).Config()
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server, c
}

// connect returns a connection on which a request was answered.
func connect(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	var conn net.Conn
	var err error
	if server.TLS == nil {
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	} else {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // of the test itself
		conn, err = dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if !answers(conn) {
		t.Fatal("no answer")
	}
	return conn
}

// answers reports whether the server answers on a connection. It may be asked again then.
func answers(conn net.Conn) bool {
	if _, err := io.WriteString(conn, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return false
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	one := make([]byte, 4096)
	_, err := conn.Read(one)
	return err == nil
}

// closed reports whether the server has closed a connection.
func closed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	var timeout net.Error
	return err != nil && (!errors.As(err, &timeout) || !timeout.Timeout())
}

func TestTheConnectionThatRestsForLongestMakesRoom(t *testing.T) {
	c := newConnections(3)
	var ours, theirs []net.Conn
	come := func() {
		a, b := net.Pipe()
		ours, theirs = append(ours, a), append(theirs, b)
		c.changed(a, http.StateNew)
	}
	for range 3 {
		come()
	}
	c.changed(ours[0], http.StateActive) // now the second one rests for longest
	come()
	if !closed(theirs[1]) {
		t.Error("it is open")
	}
	c.changed(ours[1], http.StateIdle) // it does not know yet
	c.changed(ours[1], http.StateClosed)
	c.changed(ours[3], http.StateClosed)
	come()
	if got := len(c.at); got != 3 || c.order.Len() != 3 {
		t.Errorf("%d connections are known, and %d in order", got, c.order.Len())
	}
	for _, i := range []int{0, 2, 4} {
		if c.at[ours[i]] == nil {
			t.Errorf("connection %d has made room", i)
		}
	}
}

func TestAServerHangsUpAtOnce(t *testing.T) {
	for _, secure := range []bool{false, true} {
		server, _ := crowded(t, 1, secure)
		first, second := connect(t, server), connect(t, server)
		if !closed(first) {
			t.Errorf("TLS %v: the first is open", secure)
		}
		if !answers(second) {
			t.Errorf("TLS %v: the second is closed", secure)
		}
	}
}

// Those that never end their request, or never begin one, keep nobody out.
func TestConnectionsThatComeToNothingMakeRoom(t *testing.T) {
	server, _ := crowded(t, 3, false)
	for i := range 30 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "HEAD / HTTP") // it may be closed already
		}
	}
	connect(t, server)
}

func TestConnectionsThatAreClosedAreForgotten(t *testing.T) {
	server, c := crowded(t, 3, false)
	for range 3 {
		connect(t, server).Close()
	}
	server.Close() // which waits for them
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.order.Len() != 0 || len(c.at) != 0 {
		t.Errorf("%d connections are known, and %d", c.order.Len(), len(c.at))
	}
}
