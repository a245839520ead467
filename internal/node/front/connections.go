package front

import (
	"crypto/tls"
	"log"
	"net"
	"net/http"
)

// connections is a listener that counts its connections. A connection is fresh until its
// first request arrives, busy while a request is being answered, and idle between two.
type connections struct {
	net.Listener
	shares *shares
	log    *log.Logger
}

func newConnections(listener net.Listener, most, perSource int, log *log.Logger) *connections {
	return &connections{Listener: listener, shares: newShares(most, perSource), log: log}
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := c.admit(conn); admitted != nil {
			return admitted, nil
		}
		_ = conn.Close() // nothing was sent
	}
}

// admit counts a connection. To make room for it, it may close another one. It returns nil
// if there is no room.
func (c *connections) admit(conn net.Conn) net.Conn {
	from := Source(conn.RemoteAddr().String())
	counted := c.shares.take(from, fresh, func() { _ = conn.Close() }) // so its client notices
	if counted == nil {
		c.log.Printf("no room for a connection of %s: all that there are have requests under way", from.Addr())
		return nil
	}
	return &connection{Conn: conn, counted: counted}
}

// changed follows the state of a connection in the HTTP server.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	admitted, ok := conn.(*connection)
	if !ok {
		return
	}
	switch state {
	case http.StateIdle:
		admitted.counted.becomes(idle)
	case http.StateActive:
		admitted.counted.becomes(busy)
	}
}

// closeWaiting closes the connections on which no request is being answered.
func (c *connections) closeWaiting() { c.shares.endUnused() }

// connection is counted until it is closed.
type connection struct {
	net.Conn
	counted *part
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.counted.giveBack()
	return c.Conn.Close()
}
