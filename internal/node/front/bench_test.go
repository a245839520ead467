package front

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// BenchmarkCounting measures what a request costs beside its handler: its connection is
// busy and idle again, and its source is known, as one of those of a proxy or not.
func BenchmarkCounting(b *testing.B) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for name, remote := range map[string]string{"direct": "192.0.2.1:4711", "proxy": "10.1.2.3:4711"} {
		s := newShares(MaxConnections, MaxPerSource)
		for range MaxPerSource - 1 {
			s.take(Source("192.0.2.1:1"), busy, func() {})
		}
		connection := s.take(Source(remote), fresh, func() {})
		serve := behind(proxies, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		request := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/", nil)
		request.Header.Set(forwardedFor, "198.51.100.7, 10.9.9.9")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				connection.becomes(busy)
				request.RemoteAddr = remote
				serve.ServeHTTP(nil, request)
				connection.becomes(idle)
			}
		})
	}
}
