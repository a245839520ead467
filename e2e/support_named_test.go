package e2e

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// byName is a registry as on the Internet: at a name, on the usual port. Programs reach it through a proxy, which
// leads nowhere else. They ask addresses of this machine directly.
func (r *registry) byName(t testing.TB, name string) *registry {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodConnect || request.Host != name+":443" {
			http.Error(w, "there is no "+request.Host+" here", http.StatusBadGateway)
			return
		}
		tunnel(w, r.listen)
	}))
	t.Cleanup(proxy.Close)
	named := *r
	named.host = name
	named.vars = maps.Clone(r.vars)
	named.vars["LARDER_HOST"] = name
	named.vars["HTTPS_PROXY"], named.vars["NO_PROXY"] = proxy.URL, "127.0.0.1"
	transport := r.http.Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == name+":443" {
			addr = r.listen
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	t.Cleanup(transport.CloseIdleConnections)
	client := *r.http
	client.Transport = transport
	named.http = &client
	return &named
}

// tunnel passes on what a client and a server say, until either ends.
func tunnel(w http.ResponseWriter, to string) {
	server, err := net.DialTimeout("tcp", to, time.Second)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	go func() {
		_, _ = io.Copy(server, buffered)
		_ = server.Close() // which ends the other way, too
	}()
	_, _ = io.Copy(client, server)
}
