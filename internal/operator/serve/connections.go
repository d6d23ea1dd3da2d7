package serve

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// mostConnections is how many connections a server has at a time. Each takes some 50 KiB with TLS.
const mostConnections = 500

// connections are those of a server. Where there is one too many, the one is closed that has been at the same thing for
// longest, be it a handshake, a request or nothing: a client that is served takes moments. So those that keep connections open do not
// keep others out. It is safe for concurrent use.
type connections struct {
	most int

	mu    sync.Mutex
	order list.List // of net.Conn; which has been at the same thing for longest is first
	at    map[net.Conn]*list.Element
}

func newConnections(most int) *connections {
	return &connections{most: most, at: map[net.Conn]*list.Element{}}
}

// changed is for http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.at[conn]
	switch {
	case state == http.StateClosed || state == http.StateHijacked:
		c.forget(known)
	case known != nil:
		c.order.MoveToBack(known)
	case state == http.StateNew: // all others have been asked to close
		c.at[conn] = c.order.PushBack(conn)
		if c.order.Len() > c.most {
			hangUp(c.forget(c.order.Front()))
		}
	}
}

// forget takes a connection off the list, if it is there; the lock is held.
func (c *connections) forget(known *list.Element) net.Conn {
	if known == nil {
		return nil
	}
	conn, _ := c.order.Remove(known).(net.Conn)
	delete(c.at, conn)
	return conn
}

// hangUp closes a connection at once: taking leave, as TLS does, could take time.
func hangUp(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	_ = conn.Close() // without a response
}
