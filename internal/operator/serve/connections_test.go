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

// crowded returns a server with at most most connections.
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

// connect returns a connection on which a request was served.
func connect(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	var conn net.Conn
	var err error
	if server.TLS == nil {
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	} else {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the server of the test
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

// answers reports whether the server responds on a connection. It can be called again after true.
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

func TestLongestIdleConnectionIsClosed(t *testing.T) {
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
	c.changed(ours[0], http.StateActive) // now the second one has been idle for longest
	come()
	if !closed(theirs[1]) {
		t.Error("it is open")
	}
	c.changed(ours[1], http.StateIdle) // a late callback for a closed connection
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

func TestConnectionLimitClosesOldestImmediately(t *testing.T) {
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

// Connections that never complete or never send a request do not block others.
func TestIncompleteRequestsDoNotExhaustConnections(t *testing.T) {
	server, _ := crowded(t, 3, false)
	for i := range 30 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "HEAD / HTTP") // it may already be closed
		}
	}
	connect(t, server)
}

func TestClosedConnectionsAreUntracked(t *testing.T) {
	server, c := crowded(t, 3, false)
	for range 3 {
		connect(t, server).Close()
	}
	server.Close() // waits for them
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.order.Len() != 0 || len(c.at) != 0 {
		t.Errorf("%d connections are known, and %d", c.order.Len(), len(c.at))
	}
}
