package front

import (
	"crypto/tls"
	"log"
	"net"
	"net/http"
)

// connections is a listener that keeps count of what it has accepted. A connection
// is fresh until its first request is there, busy while one is being answered, and
// idle between two.
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

// admit returns the connection as one of those that are counted, having closed
// another where that makes the room for it, and nil if there is none.
func (c *connections) admit(conn net.Conn) net.Conn {
	from := Source(conn.RemoteAddr().String())
	counted := c.shares.take(from, fresh, func() { _ = conn.Close() }) // its client learns of it by that
	if counted == nil {
		c.log.Printf("no room for a connection of %s: all that there are have requests under way", from.Addr())
		return nil
	}
	return &connection{Conn: conn, counted: counted}
}

// changed is told by the HTTP server what it does with a connection.
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

// closeWaiting closes the connections of which no request is being answered.
func (c *connections) closeWaiting() { c.shares.endUnused() }

// connection is one that is counted until it is closed.
type connection struct {
	net.Conn
	counted *part
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.counted.giveBack()
	return c.Conn.Close()
}
