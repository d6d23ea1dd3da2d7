package serve

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// maxConnections is the maximum number of connections of a server. Each uses about 50 KiB with TLS.
const maxConnections = 500

// connections limits the connections of a server. When the limit is exceeded, the connection is closed whose state has
// not changed for the longest time, whether it is in a handshake, a request or idle: serving a client is fast. Clients
// that keep connections open thus cannot block others. It is safe for concurrent use.
type connections struct {
	most int

	mu    sync.Mutex
	order list.List // of net.Conn; the one with the oldest state change is first
	at    map[net.Conn]*list.Element
}

func newConnections(most int) *connections {
	return &connections{most: most, at: map[net.Conn]*list.Element{}}
}

// changed is called by http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.at[conn]
	switch {
	case state == http.StateClosed || state == http.StateHijacked:
		c.forget(known)
	case known != nil:
		c.order.MoveToBack(known)
	case state == http.StateNew: // other unknown connections were already closed
		c.at[conn] = c.order.PushBack(conn)
		if c.order.Len() > c.most {
			hangUp(c.forget(c.order.Front()))
		}
	}
}

// forget removes a connection, if known is not nil. The caller holds the lock.
func (c *connections) forget(known *list.Element) net.Conn {
	if known == nil {
		return nil
	}
	conn, _ := c.order.Remove(known).(net.Conn)
	delete(c.at, conn)
	return conn
}

// hangUp closes a connection immediately, without the TLS closing handshake, which could block.
func hangUp(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	_ = conn.Close() // without a response
}
