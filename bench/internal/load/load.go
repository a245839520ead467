// Package load asks a server as Terraform and OpenTofu do, as often and by as many at a time
// as is wanted. It does little for a request, since it shares the machine with the server.
package load

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/larder-registry/larder/bench/internal/measure"
)

// timeout bounds a request.
const timeout = 30 * time.Second

// Server is where to ask.
type Server struct {
	Addr  string      // host:port
	TLS   *tls.Config // nil: plain HTTP
	Token string      // empty: none is sent
	PID   int         // of the server; its processor's time is measured
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// request is what is sent for a path, as OpenTofu sends it.
func (s Server) request(path string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: OpenTofu/1.12.6\r\n", path, s.Addr)
	if s.Token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", s.Token)
	}
	b.WriteString("X-Terraform-Version: 1.12.6\r\nAccept-Encoding: gzip\r\n\r\n")
	return b.Bytes()
}

// connection is a connection that is kept.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

func (s Server) dial(ctx context.Context) (*connection, error) {
	var dialer interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	} = &net.Dialer{Timeout: timeout}
	if s.TLS != nil {
		dialer = &tls.Dialer{Config: s.TLS}
	}
	conn, err := dialer.DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, err
	}
	return &connection{conn, bufio.NewReaderSize(conn, 64<<10)}, nil
}

// get sends a request and copies the body of the answer to a writer.
func (c *connection) get(request []byte, to io.Writer) (*http.Response, int64, error) {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, 0, err
	}
	if _, err := c.Write(request); err != nil {
		return nil, 0, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	n, err := io.Copy(to, response.Body)
	return response, n, err
}

// Get asks once. The answer's body is not compressed.
func (s Server) Get(ctx context.Context, path string) (Answer, error) {
	c, err := s.dial(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer c.Close()
	var body bytes.Buffer
	response, _, err := c.get(s.request(path), &body)
	if err != nil {
		return Answer{}, fmt.Errorf("GET %s: %w", path, err)
	}
	answer := Answer{response.StatusCode, response.Header, body.Bytes()}
	if err := answer.Unpack(); err != nil {
		return Answer{}, fmt.Errorf("GET %s: %w", path, err)
	}
	return answer, nil
}

// Unpack replaces a body in gzip by what is in it.
func (a *Answer) Unpack() error {
	if !strings.EqualFold(a.Header.Get("Content-Encoding"), "gzip") {
		return nil
	}
	r, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err == nil {
		a.Body, err = io.ReadAll(r)
	}
	return err
}

// Task is what is asked, and how it must be answered.
type Task struct {
	Paths   []string                          // asked for in turn
	Status  int                               // of every answer
	Correct func(path string, a Answer) error // what is wrong with an answer
}

// maxChecked is how many of the paths are asked for before the load begins.
const maxChecked = 20

// CheckAnswers asks for some of the paths, and says what is wrong with an answer.
func (t Task) CheckAnswers(ctx context.Context, get func(ctx context.Context, path string) (Answer, error)) error {
	for _, path := range t.Paths[:min(len(t.Paths), maxChecked)] {
		answer, err := get(ctx, path)
		if err == nil && answer.Status != t.Status {
			err = fmt.Errorf("status %d: %.100q", answer.Status, answer.Body)
		}
		if err == nil {
			err = t.Correct(path, answer)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// Load is some clients that ask a server for the same paths in turn. It is a
// [measure.Subject].
type Load struct {
	Task
	Server  Server
	Clients int

	requests    [][]byte
	connections []*connection
	next        atomic.Int64
}

// Check implements [measure.Subject].
func (l *Load) Check(ctx context.Context) error { return l.CheckAnswers(ctx, l.Server.Get) }

// open connects all clients.
func (l *Load) open(ctx context.Context) error {
	for len(l.requests) < len(l.Paths) {
		l.requests = append(l.requests, l.Server.request(l.Paths[len(l.requests)]))
	}
	for len(l.connections) < l.Clients {
		c, err := l.Server.dial(ctx)
		if err != nil {
			return err
		}
		l.connections = append(l.connections, c)
	}
	return nil
}

// Close closes the connections.
func (l *Load) Close() {
	for _, c := range l.connections {
		c.Close()
	}
	l.connections = nil
}

// Turn implements [measure.Subject].
func (l *Load) Turn(ctx context.Context, requests int) (measure.Turn, error) {
	if err := l.open(ctx); err != nil {
		return measure.Turn{}, err
	}
	parts := make([]part, l.Clients)
	var left atomic.Int64
	left.Store(int64(requests))
	var running sync.WaitGroup
	cpu, start := measure.CPU(l.Server.PID), time.Now()
	for n, c := range l.connections {
		running.Go(func() { parts[n] = l.ask(ctx, c, &left) })
	}
	running.Wait()
	turn := measure.Turn{Requests: requests, Took: time.Since(start), CPU: measure.CPU(l.Server.PID) - cpu}
	var err error
	for _, p := range parts {
		turn.Bytes += p.bytes
		turn.Latencies = append(turn.Latencies, p.latencies...)
		err = cmp.Or(err, p.err)
	}
	return turn, err
}

// part is what one client did in a turn.
type part struct {
	bytes     int64
	latencies []time.Duration
	err       error
}

// ask sends requests until none is left.
func (l *Load) ask(ctx context.Context, c *connection, left *atomic.Int64) (p part) {
	for left.Add(-1) >= 0 {
		n := int(l.next.Add(1)-1) % len(l.requests)
		start := time.Now()
		response, bytes, err := c.get(l.requests[n], io.Discard)
		p.latencies, p.bytes = append(p.latencies, time.Since(start)), p.bytes+bytes
		if err == nil && response.StatusCode != l.Status {
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			p.err = fmt.Errorf("%s: %w", l.Paths[n], err)
			return p
		}
	}
	return p
}
