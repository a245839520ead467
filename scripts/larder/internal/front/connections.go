package front

import (
	"container/list"
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections is a listener that keeps count of what it has accepted.
type connections struct {
	net.Listener
	max, perSource int
	log            *log.Logger

	mu      sync.Mutex
	open    int
	sources map[netip.Prefix]*source
}

// source is whoever connects from one address.
type source struct {
	open int
	// waiting are the connections, the longest first, of which no request is
	// being answered.
	waiting *list.List
}

func newConnections(listener net.Listener, most, perSource int, log *log.Logger) *connections {
	return &connections{Listener: listener, max: most, perSource: perSource, log: log, sources: map[netip.Prefix]*source{}}
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
	c.mu.Lock()
	closing, ok := c.makeRoom(from)
	var admitted *connection
	if ok {
		admitted = c.add(conn, from)
	}
	c.mu.Unlock()
	if closing != nil {
		_ = closing.Close() // its client learns of it by that
	}
	if !ok {
		c.log.Printf("no room for a connection of %s: all that there are have requests under way", from.Addr())
		return nil
	}
	return admitted
}

// makeRoom takes one connection out of the count where there is no room for
// another of a source. It says whether there is room then.
func (c *connections) makeRoom(from netip.Prefix) (*connection, bool) {
	own := c.sources[from]
	if own == nil || own.open < c.perSource {
		if c.open < c.max {
			return nil, true
		}
		own = c.largest()
	}
	longest := own.waiting.Front()
	if longest == nil {
		return nil, false
	}
	closing := longest.Value.(*connection)
	c.remove(closing)
	return closing, true
}

// largest is the source with the most connections that wait.
func (c *connections) largest() *source {
	most := &source{waiting: list.New()}
	for _, s := range c.sources {
		if s.waiting.Len() >= most.waiting.Len() {
			most = s
		}
	}
	return most
}

func (c *connections) add(conn net.Conn, from netip.Prefix) *connection {
	s := c.sources[from]
	if s == nil {
		s = &source{waiting: list.New()}
		c.sources[from] = s
	}
	added := &connection{Conn: conn, of: c, from: from}
	added.place = s.waiting.PushBack(added)
	s.open++
	c.open++
	return added
}

// remove takes a connection out of the count, once.
func (c *connections) remove(conn *connection) {
	if conn.removed {
		return
	}
	conn.removed = true
	s := c.sources[conn.from]
	if conn.place != nil {
		s.waiting.Remove(conn.place)
		conn.place = nil
	}
	s.open--
	c.open--
	if s.open == 0 {
		delete(c.sources, conn.from)
	}
}

// changed is told by the HTTP server what it does with a connection.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if over, ok := conn.(*tls.Conn); ok {
		conn = over.NetConn()
	}
	counted, ok := conn.(*connection)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if counted.removed {
		return
	}
	s := c.sources[counted.from]
	switch {
	case state == http.StateIdle && counted.place == nil:
		counted.place = s.waiting.PushBack(counted)
	case state == http.StateActive && counted.place != nil:
		s.waiting.Remove(counted.place)
		counted.place = nil
	}
}

// closeWaiting closes the connections of which no request is being answered.
func (c *connections) closeWaiting() {
	c.mu.Lock()
	var waiting []*connection
	for _, s := range c.sources {
		for e := s.waiting.Front(); e != nil; e = e.Next() {
			waiting = append(waiting, e.Value.(*connection))
		}
	}
	c.mu.Unlock()
	for _, conn := range waiting {
		_ = conn.Close() // its client learns of it by that
	}
}

// connection is one that is counted until it is closed.
type connection struct {
	net.Conn
	of   *connections
	from netip.Prefix

	place   *list.Element // among those that wait; guarded by of.mu
	removed bool          // guarded by of.mu
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
