package gateway

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
)

// countingConn counts writes.
type countingConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c countingConn) Write(data []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(data)
}

// An answer whose length is not said is sent in three writes by a copy of the transport: its
// headers, the body, and the end.
func TestSendWhole(t *testing.T) {
	before := http.DefaultTransport.(*http.Transport).WriteBufferSize
	t.Cleanup(func() { http.DefaultTransport.(*http.Transport).WriteBufferSize = before })
	var got int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(server.Close)
	sendWhole()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	var writes atomic.Int32
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return countingConn{conn, &writes}, err
	}
	const size = 20_000
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, io.MultiReader(strings.NewReader(strings.Repeat("x", size))))
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got != size || writes.Load() != 3 {
		t.Errorf("%d bytes of %d arrived, in %d writes", got, size, writes.Load())
	}
}

func TestCollectLess(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	type settings struct {
		percent int
		limit   int64
	}
	for memory, want := range map[string]settings{
		"512": {400, 384 << 20}, "128": {400, 96 << 20}, "": {100, math.MaxInt64}, "0": {100, math.MaxInt64}, "-1": {100, math.MaxInt64}, "much": {100, math.MaxInt64},
	} {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
		collectLess(func(name string) string { return map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": memory}[name] })
		if got := (settings{debug.SetGCPercent(100), debug.SetMemoryLimit(-1)}); got != want {
			t.Errorf("with %q MB: %+v, want %+v", memory, got, want)
		}
	}
}
