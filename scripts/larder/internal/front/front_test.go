package front

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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
	one, two := "192.0.2.1:1", "192.0.2.2:1"
	first := s.Take(one)
	if first == nil || s.Take("192.0.2.1:2") == nil {
		t.Fatal("a source does not get its two")
	}
	if s.Take(one) != nil {
		t.Error("a source got a third")
	}
	if s.Take(two) == nil {
		t.Error("another source got none")
	}
	if s.Take(two) != nil {
		t.Error("there is a fourth")
	}
	first()
	if s.Take(two) == nil {
		t.Error("what was given back is not there")
	}
	if s.Take(one) != nil {
		t.Error("and again")
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

// Whoever waits longest makes room: of the source that has too many, or of the
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
	a3, _ := come("192.0.2.1")
	wantClosed("a connection with a request", false, a1)
	wantClosed("the one that waits longest", true, a2)
	wantClosed("the new one", false, a3)
	if c.changed(conn2, http.StateClosed); c.open != 2 {
		t.Errorf("%d are open, want 2", c.open)
	}
	c.changed(conn1, http.StateIdle) // has waited less than a3
	b1, connB := come("192.0.2.2")
	c.changed(connB, http.StateActive)
	d1, connD := come("192.0.2.3") // all four are there
	wantClosed("within the limits", false, a3)
	e1, _ := come("192.0.2.4")
	wantClosed("the longest of the largest source", true, a3)
	wantClosed("one of a source that has one", false, d1)
	c.changed(conn1, http.StateActive)
	c.changed(connD, http.StateActive)
	f1, _ := come("192.0.2.5")
	wantClosed("the last one that waits", true, e1)
	for _, conn := range c.sources[Source("192.0.2.5:1")].waitingNow() {
		c.changed(conn, http.StateActive)
	}
	if p, conn := come("192.0.2.6"); conn != nil {
		t.Errorf("a fifth was taken, closed: %v", p.closed)
	}
	for what, p := range map[string]*peer{"a1": a1, "b1": b1, "d1": d1, "f1": f1} {
		wantClosed(what, false, p)
	}
	_ = conn1.Close()
	_ = conn1.Close() // counts once
	if p, conn := come("192.0.2.6"); conn == nil || p.closed || c.open != 4 {
		t.Errorf("no room where one has gone: %d are open", c.open)
	}
}

func (s *source) waitingNow() (all []net.Conn) {
	for e := s.waiting.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*connection))
	}
	return all
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

// serve has a handler serve in a bubble, and returns what connects to it.
func serve(t *testing.T, o Options) (dial func() net.Conn) {
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
	server := Open(o)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Err(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	return func() net.Conn {
		client, end := net.Pipe()
		listener.come <- end
		return client
	}
}

func overTLS(t *testing.T, conn net.Conn) net.Conn {
	t.Helper()
	over := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
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

// Whoever does not come to the point is cut off in time, whatever they do.
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
		errorLog := newErrorLog(slog.New(slog.NewTextHandler(&b, nil)))
		lines := func() int {
			for range 1000 {
				errorLog.Print("http: TLS handshake error")
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
