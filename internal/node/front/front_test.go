package front

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestSource(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80":                 "192.0.2.1/32",
		"[::ffff:192.0.2.1]:80":        "192.0.2.1/32",
		"[2001:db8:1:2:3:4:5:6]:80":    "2001:db8:1:2::/64",
		"[fe80::1%eth0]:80":            "fe80::/64",
		"@":                            "invalid Prefix",
		"192.0.2.1":                    "invalid Prefix",
		"[2001:db8:1:2:ffff::]:443":    "2001:db8:1:2::/64",
		"[2001:db8:1:3:ffff::]:443":    "2001:db8:1:3::/64",
		"[::ffff:192.0.2.1%eth0]:8443": "192.0.2.1/32",
	} {
		if got := Source(remote).String(); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

func TestSlots(t *testing.T) {
	s := NewSlots(3, 2)
	never := func() { t.Error("a slot was taken back") }
	one, two := "192.0.2.1:1", "192.0.2.2:1"
	first := s.Take(one, never)
	if first == nil || s.Take("192.0.2.1:2", never) == nil {
		t.Fatal("a source does not get its two")
	}
	if s.Take(one, never) != nil {
		t.Error("a source got a third")
	}
	if s.Take(two, never) == nil {
		t.Error("another source got none")
	}
	if s.Take(two, never) != nil {
		t.Error("there is a fourth")
	}
	first()
	first() // counts once
	if s.Take(two, never) == nil {
		t.Error("what was given back is not there")
	}
	if s.Take(one, never) != nil {
		t.Error("and again")
	}
}

// What can best be spared makes room, and nothing that cannot.
func TestShares(t *testing.T) {
	states := map[rune]state{'.': idle, '+': fresh, '!': busy}
	for _, tt := range []struct {
		name string
		has  string // who has what, in order
		come string
		ends string // which of them, by its number
	}{
		{"room", "A!A!B!", "B", "room"},
		{"a source's limit", "A!A!A!A!", "A", "none"},
		{"a source's limit, and something is fresh", "A!A!A+A!", "A", "2"},
		{"a source's limit, and something is idle", "A!A+A.A!", "A", "2"},
		{"a source's limit, and the one that was fresh first", "A!A+A+A!", "A", "1"},
		{"a source's limit, and another's is idle", "A!A!A!A!B.", "A", "none"},
		{"two have all", "B!A!A!A!A!B!B!B!", "C", "0 or 1"},
		{"who has half as many by it", "B!A!A!A!A!B!B!C!", "C", "1"},
		{"who would have more than half as many", "B!B!B!A!A!A!C!C!", "C", "none"},
		{"who has half as many by it, not the smaller one's", "D!B!A!A!A!A!B!C!", "D", "2"},
		{"all have one", "A!B!C!D!E!F!G!H!", "I", "none"},
		{"one has two", "A!B!C!D!E!F!G!G!", "I", "6"},
		{"one has two, and comes again", "A!B!C!D!E!F!G!G!", "G", "none"},
		{"one has two, and who has one comes again", "A!B!C!D!E!F!G!G!", "A", "none"},
		{"something is idle, of one who has little", "B.A!A!A!A!C!C!C!", "A", "none"},
		{"something is idle, and fresh of one who has more", "B.A!A!A!C!C!C!C+", "A", "7"},
		{"something is idle, and fresh of one who has as much", "B.A!A!A!D!C!C!C+", "A", "0"},
		{"most is idle of one who has little", "A!A!A!A.B!D!C.C.", "E", "6"},
		{"as much is idle of one who has more", "C.A!A!A!A.B!B!D!", "E", "4"},
		{"something is fresh, of one who has more", "B!A!A+A!A!B!B!C!", "C", "2"},
		{"something is fresh, of one who has less", "B!A!A!A!C+B!B!A!", "B", "none"},
		{"something is fresh, of one who has as much", "B!A!A!A+C!B!B!D!", "B", "none"},
		{"something is fresh, of who comes", "B+A!A!A!C+B!B!A!", "B", "0"},
		{"something is fresh, and idle, of the same", "B!B!B!A!A+A.C+C!", "D", "5"},
		{"more is fresh than another has idle", "B!B!B!A!A+A+C.C!", "D", "4"},
		{"more is fresh than another has idle, of one who has less", "B!B!B!A!A!A.C+C+", "B", "5"},
		{"most is fresh of one who has less", "B!B!B!A!A!A+C+C+", "D", "6"},
		{"most is fresh of one who has as much", "B!B!B!A!A!A+C+C+", "C", "6"},
		{"all is fresh", "A+B+C+D+E+F+G+G+", "H", "6"},
		{"all is fresh, of everybody one", "A+B+C+D+E+F+G+H+", "G", "6"},
	} {
		s := newShares(8, 4)
		ended := "room"
		of := func(c byte) netip.Prefix { return Source(fmt.Sprintf("192.0.2.%d:1", c)) }
		for i := 0; i < len(tt.has); i += 2 {
			s.take(of(tt.has[i]), states[rune(tt.has[i+1])], func() { ended = strconv.Itoa(i / 2) })
		}
		if s.take(of(tt.come[0]), busy, func() {}) == nil {
			ended = "none"
		}
		if !slices.Contains(strings.Split(tt.ends, " or "), ended) {
			t.Errorf("%s: %s, want %s", tt.name, ended, tt.ends)
		}
		want := len(tt.has) / 2
		if ended == "room" {
			want++
		}
		if s.taken != want {
			t.Errorf("%s: %d are taken, want %d", tt.name, s.taken, want)
		}
	}
}

// Whoever takes all there is, by however few sources, leaves others a share.
func TestSharesAreFairInTheEnd(t *testing.T) {
	const most = 768
	s := newShares(most, most/2)
	has := map[int]int{}
	come := func(who int) {
		if s.take(Source(fmt.Sprintf("192.0.2.%d:1", who)), busy, func() { has[who]-- }) != nil {
			has[who]++
		}
	}
	for who := range 3 {
		for range most {
			come(who)
		}
	}
	for range most {
		come(3)
		for who := range 3 { // who take back whatever is free
			come(who)
		}
	}
	if has[3] < most/8 {
		t.Errorf("who came last has %d of %d", has[3], most)
	}
	for who, n := range has {
		if n < most/8 || n > most/2 {
			t.Errorf("%d has %d of %d", who, n, most)
		}
	}
}

// peer is a connection that has come from an address.
type peer struct {
	net.Conn
	from   string
	closed bool
}

func (p *peer) RemoteAddr() net.Addr {
	addr, err := net.ResolveTCPAddr("tcp", p.from)
	if err != nil {
		panic(err)
	}
	return addr
}

func (p *peer) Close() error {
	p.closed = true
	return nil
}

// What waits for a request makes room: of the source that has too many, or of the
// one that has most.
func TestConnectionsMakeRoom(t *testing.T) {
	c := newConnections(nil, 4, 2, log.New(io.Discard, "", 0))
	come := func(from string) (*peer, net.Conn) {
		p := &peer{from: from + ":1"}
		conn := c.admit(p)
		return p, conn
	}
	wantClosed := func(what string, want bool, p *peer) {
		t.Helper()
		if p.closed != want {
			t.Errorf("%s: closed: %v, want %v", what, p.closed, want)
		}
	}
	a1, conn1 := come("192.0.2.1")
	a2, conn2 := come("192.0.2.1")
	c.changed(conn1, http.StateActive)
	a3, conn3 := come("192.0.2.1")
	wantClosed("a connection with a request", false, a1)
	wantClosed("the one that waits for its first", true, a2)
	wantClosed("the new one", false, a3)
	if c.changed(conn2, http.StateClosed); c.shares.taken != 2 {
		t.Errorf("%d are open, want 2", c.shares.taken)
	}
	c.changed(conn1, http.StateIdle)
	b1, connB := come("192.0.2.2")
	c.changed(connB, http.StateActive)
	d1, connD := come("192.0.2.3") // all four are there
	wantClosed("within the limits", false, a3)
	e1, _ := come("192.0.2.4")
	wantClosed("one of the largest source that waits for its next", true, a1)
	wantClosed("one of a source that has one", false, d1)
	c.changed(conn1, http.StateActive) // too late
	c.changed(conn3, http.StateActive)
	c.changed(connD, http.StateActive)
	f1, connF := come("192.0.2.5")
	wantClosed("the last one that waits", true, e1)
	c.changed(connF, http.StateActive)
	if p, conn := come("192.0.2.6"); conn != nil {
		t.Errorf("a fifth was taken, closed: %v", p.closed)
	}
	for what, p := range map[string]*peer{"a3": a3, "b1": b1, "d1": d1, "f1": f1} {
		wantClosed(what, false, p)
	}
	_ = conn3.Close()
	_ = conn3.Close() // counts once
	if p, conn := come("192.0.2.6"); conn == nil || p.closed || c.shares.taken != 4 {
		t.Errorf("no room where one has gone: %d are open", c.shares.taken)
	}
}

// A connection is one request at a time, whatever its client would rather have:
// what all of them together can hold follows from how many there may be.
func TestConnectionsHaveOneRequest(t *testing.T) {
	const requests = 5
	var connections atomic.Int64
	var arrived sync.WaitGroup
	arrived.Add(requests)
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	defer certificates.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Open(Options{
		Name: "the test", Listener: listener, TLS: &tls.Config{Certificates: certificates.TLS.Certificates},
		Logger: slog.New(slog.DiscardHandler),
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				arrived.Done()
				arrived.Wait()
			}
		}),
	})
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connections.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	get := func(path string) {
		response, err := client.Get("https://" + listener.Addr().String() + path)
		if err != nil {
			t.Error(err)
			return
		}
		_ = response.Body.Close()
	}
	get("/first") // by HTTP/2 all others would come by the connection of this one
	var sent sync.WaitGroup
	for range requests {
		sent.Go(func() { get("/wait") })
	}
	sent.Wait()
	client.CloseIdleConnections()
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if got := connections.Load(); got < requests {
		t.Errorf("%d requests at once came by %d connections", requests, got)
	}
}

// pipes is a listener of connections in memory, which synctest can wait for.
type pipes struct {
	come chan net.Conn
	once sync.Once
	done chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.come:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// from is a connection that has come from an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return (&peer{from: f.address}).RemoteAddr() }

// serve has a handler serve in a bubble, and returns what connects to it.
func serve(t *testing.T, o Options) (dial func() net.Conn) {
	dialFrom := serveMany(t, o, MaxConnections, MaxPerSource)
	return func() net.Conn { return dialFrom("192.0.2.1") }
}

// serveMany is serve for who comes from several addresses, and for fewer.
func serveMany(t *testing.T, o Options, most, perSource int) (dial func(address string) net.Conn) {
	t.Helper()
	certificates := httptest.NewUnstartedServer(nil)
	certificates.StartTLS()
	config := certificates.TLS.Clone()
	certificates.Close()
	listener := &pipes{come: make(chan net.Conn), done: make(chan struct{})}
	o.Listener, o.TLS, o.Name = listener, config, "the test"
	o.TLS.NextProtos = nil
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	server := open(o, most, perSource)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Err(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return func(address string) net.Conn {
		client, end := net.Pipe()
		listener.come <- from{end, address + ":1"}
		return client
	}
}

func overTLS(t *testing.T, conn net.Conn) net.Conn {
	t.Helper()
	over := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	t.Cleanup(func() { _ = conn.Close() })
	if err := over.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return over
}

// ends reports how long the peer of a connection takes to end it, as the client
// goes on to send a byte every so often, if that is not zero.
func ends(conn net.Conn, text string, every time.Duration) time.Duration {
	begun := time.Now()
	var sender sync.WaitGroup
	sender.Go(func() {
		for i := 0; every > 0; i++ {
			time.Sleep(every)
			if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
				return
			}
		}
	})
	_, _ = io.Copy(io.Discard, conn)
	took := time.Since(begun)
	_ = conn.Close()
	sender.Wait()
	return took
}

// halfHello is the beginning of a handshake that does not go on.
const halfHello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

// Slow clients are cut off in time.
func TestWhoDawdles(t *testing.T) {
	for name, dawdle := range map[string]func(t *testing.T, conn net.Conn) time.Duration{
		"at the handshake": func(_ *testing.T, conn net.Conn) time.Duration { return ends(conn, "", 0) },
		"in the handshake": func(_ *testing.T, conn net.Conn) time.Duration {
			return ends(conn, "\x16\x03\x01\x02\x00\x01", time.Second)
		},
		"before a request": func(t *testing.T, conn net.Conn) time.Duration { return ends(overTLS(t, conn), "", 0) },
		"in the headers": func(t *testing.T, conn net.Conn) time.Duration {
			return ends(overTLS(t, conn), "GET / HTTP/1.1\r\nHost: h\r\nX: "+strings.Repeat("x", 100), time.Second)
		},
		"in the handshake, and stops": func(t *testing.T, conn net.Conn) time.Duration {
			if _, err := io.WriteString(conn, halfHello); err != nil {
				t.Fatal(err)
			}
			return ends(conn, "", 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := serve(t, Options{Handler: http.NotFoundHandler()})
				if took := dawdle(t, dial()); took > 2*HeaderTimeout {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// One source's connections that stop in the handshake are its own: they end for
// each other, for whoever else comes, and of themselves.
func TestHalfHandshakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		var ending sync.WaitGroup
		dial := serveMany(t, Options{Handler: http.NotFoundHandler()}, 8, 6)
		open := func(number int) {
			for range number {
				conn := dial("192.0.2.1")
				if _, err := io.WriteString(conn, halfHello); err != nil {
					t.Error(err)
				}
				ending.Go(func() {
					_, _ = io.Copy(io.Discard, conn)
					_ = conn.Close()
					ended.Add(1)
				})
			}
			synctest.Wait()
		}
		want := func(what string, number int64) {
			t.Helper()
			if got := ended.Load(); got != number {
				t.Errorf("%s: %d have ended, want %d", what, got, number)
			}
		}
		open(6)
		want("as many as one source may have", 0)
		open(100)
		want("a hundred more", 100)
		for i := range 6 {
			conn := overTLS(t, dial(fmt.Sprintf("192.0.2.%d", i+2)))
			if answer := ask(t, conn); answer != "404 Not Found" {
				t.Errorf("another: %s", answer)
			}
			t.Cleanup(func() { conn.Close() })
		}
		synctest.Wait()
		want("six others", 104)
		time.Sleep(HeaderTimeout)
		ending.Wait()
		want("in the end", 106)
	})
}

// ask sends a request, and returns the status of its answer.
func ask(t *testing.T, conn net.Conn) string {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.Status
}

// Where a few sources have all connections, and requests under way on each, who
// comes gets one; whom it was taken from learns of it, and so does its handler.
func TestBusyConnectionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed atomic.Int64
		dial := serveMany(t, Options{Handler: Paced(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				failed.Add(1)
			}
		}))}, 4, 2)
		var busy []net.Conn
		for i := range 4 {
			conn := overTLS(t, dial(fmt.Sprintf("192.0.2.%d", i/2)))
			if _, err := io.WriteString(conn, "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nx"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			busy = append(busy, conn)
		}
		other := overTLS(t, dial("192.0.2.9"))
		if answer := ask(t, other); answer != "200 OK" {
			t.Errorf("who has none: %s", answer)
		}
		synctest.Wait()
		if got := failed.Load(); got != 1 {
			t.Errorf("%d handlers lost their clients, want 1", got)
		}
		ended := 0
		for _, conn := range busy {
			_ = conn.SetReadDeadline(time.Now())
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				ended++
			}
			_ = conn.Close()
		}
		if ended != 1 {
			t.Errorf("%d connections have ended, want 1", ended)
		}
		_ = other.Close()
	})
}

// A body may take as long as it needs, and no longer.
func TestPacedBodies(t *testing.T) {
	const size = 4 << 20
	reads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err == nil && n == size {
			_, _ = io.WriteString(w, "whole")
		}
	})
	for _, tt := range []struct {
		name  string
		chunk int
		every time.Duration
		whole bool
		most  time.Duration
	}{
		{"steadily over a slow line", 20 << 10, 10 * time.Second, true, time.Hour},
		{"with a long break, once in a while", 1 << 20, 50 * time.Second, true, time.Hour},
		{"a byte at a time", 1, 10 * time.Second, false, 70 * time.Second},
		{"half as fast as one must", 512, time.Second, false, 130 * time.Second},
		{"and stops", 1 << 20, 70 * time.Second, false, 140 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := serve(t, Options{Handler: Paced(reads)})
				conn := overTLS(t, dial())
				if _, err := io.WriteString(conn, "PUT / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 4194304\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				var sender sync.WaitGroup
				sender.Go(func() {
					for sent := 0; sent < size; sent += tt.chunk {
						time.Sleep(tt.every)
						if _, err := conn.Write(make([]byte, min(tt.chunk, size-sent))); err != nil {
							return
						}
					}
				})
				begun := time.Now()
				answer, _ := io.ReadAll(conn)
				if whole := strings.HasSuffix(string(answer), "whole"); whole != tt.whole || time.Since(begun) > tt.most {
					t.Errorf("whole: %v, after %v", whole, time.Since(begun))
				}
				_ = conn.Close()
				sender.Wait()
			})
		})
	}
}

func TestPacedAnswers(t *testing.T) {
	const size = 4 << 20
	for _, tt := range []struct {
		name  string
		chunk int
		every time.Duration
		whole bool
		most  time.Duration
	}{
		{"steadily over a slow line", 20 << 10, 10 * time.Second, true, time.Hour},
		{"nothing", 1, time.Hour, false, 2 * time.Hour},
		{"half as fast as one must", 512, time.Second, false, 4 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				var ended time.Duration
				var failed error
				dial := serve(t, Options{Handler: Paced(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Length", "4194304")
					for sent := 0; sent < size && failed == nil; sent += 32 << 10 {
						_, failed = w.Write(make([]byte, 32<<10))
					}
					ended = time.Since(begun)
				}))})
				conn := overTLS(t, dial())
				if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				var err error
				for err == nil {
					time.Sleep(tt.every)
					_, err = io.ReadFull(conn, make([]byte, tt.chunk))
				}
				_ = conn.Close()
				synctest.Wait()
				if whole := failed == nil; whole != tt.whole || ended > tt.most {
					t.Errorf("whole: %v (%v), after %v", whole, failed, ended)
				}
			})
		})
	}
}

// A connection takes one request after another, with bodies and pauses.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serve(t, Options{Handler: Paced(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(w, r.Body); err != nil {
				t.Error(err)
			}
			if err := r.Context().Err(); err != nil {
				t.Error(err)
			}
			time.Sleep(10 * time.Minute) // as the server may take
			if err := r.Context().Err(); err != nil {
				t.Errorf("the client is gone: %v", err)
			}
		}))})
		dials := 0
		transport := &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return overTLS(t, dial()), nil
		}}
		defer transport.CloseIdleConnections()
		for range 3 {
			response, err := (&http.Client{Transport: transport}).Post("https://h/", "text/plain", strings.NewReader("a body"))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			if err != nil || string(body) != "a body" {
				t.Fatalf("%q, %v", body, err)
			}
			time.Sleep(idleTimeout - time.Second)
		}
		if dials != 1 {
			t.Errorf("%d connections, want one", dials)
		}
	})
}

func TestErrorLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		errorLog := newErrorLog(slog.New(slog.NewTextHandler(&b, nil)), "")
		lines := func() int {
			for range 1000 {
				errorLog.Print("http: Accept error")
			}
			return strings.Count(b.String(), "\n")
		}
		if got := lines(); got != linesAtOnce {
			t.Errorf("%d lines at once, want %d", got, linesAtOnce)
		}
		time.Sleep(10 * time.Second)
		if got := lines(); got != linesAtOnce+10*linesPerSecond {
			t.Errorf("%d lines after ten seconds", got)
		}
	})
}

func TestErr(t *testing.T) {
	broken := errors.New("broken")
	s := Open(Options{Name: "the test", Listener: failing{broken}, TLS: &tls.Config{}, Handler: http.NotFoundHandler(), Logger: slog.New(slog.DiscardHandler)})
	<-s.Done()
	if err := s.Err(); err == nil {
		t.Error("no reason")
	}
}

type failing struct{ err error }

func (f failing) Accept() (net.Conn, error) { return nil, f.err }
func (f failing) Close() error              { return nil }
func (f failing) Addr() net.Addr            { return &net.UnixAddr{} }
