package front

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// Who a request comes from is what trusted proxies say, and nobody else.
func TestBehindProxies(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}
	for _, tt := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"a client", "192.0.2.1:5000", nil, "192.0.2.1:5000"},
		{"a client that says it is another", "192.0.2.1:5000", []string{"198.51.100.1"}, "192.0.2.1:5000"},
		{"a proxy", "10.1.2.3:5000", []string{"192.0.2.1"}, "192.0.2.1:0"},
		{"a proxy by IPv6", "[2001:db8::1]:5000", []string{"2001:db8:f::1"}, "[2001:db8:f::1]:0"},
		{"its neighbour", "[2001:db8::2]:5000", []string{"192.0.2.1"}, "[2001:db8::2]:5000"},
		{"a proxy, mapped", "[::ffff:10.1.2.3]:5000", []string{"::ffff:192.0.2.1"}, "192.0.2.1:0"},
		{"a proxy that names nobody", "10.1.2.3:5000", nil, "10.1.2.3:0"},
		{"a proxy that names nobody in words", "10.1.2.3:5000", []string{"192.0.2.1, unknown"}, "10.1.2.3:0"},
		{"a proxy behind a proxy", "10.1.2.3:5000", []string{"192.0.2.1, 10.9.9.9"}, "192.0.2.1:0"},
		{"in two headers", "10.1.2.3:5000", []string{"192.0.2.1", "10.9.9.9"}, "192.0.2.1:0"},
		{"a client that says it is another, at a proxy", "10.1.2.3:5000", []string{"198.51.100.1, 192.0.2.1"}, "192.0.2.1:0"},
		{"a client that says it is a proxy, at a proxy", "10.1.2.3:5000", []string{"198.51.100.1, 10.9.9.9, 192.0.2.1"}, "192.0.2.1:0"},
		{"only proxies", "10.1.2.3:5000", []string{"10.0.0.1,10.0.0.2"}, "10.0.0.1:0"},
		{"with a port", "10.1.2.3:5000", []string{"192.0.2.1:4711"}, "192.0.2.1:0"},
		{"IPv6 with a port", "10.1.2.3:5000", []string{"[2001:db8:f::1]:4711"}, "[2001:db8:f::1]:0"},
		{"IPv6 in brackets", "10.1.2.3:5000", []string{"[2001:db8:f::1]"}, "[2001:db8:f::1]:0"},
		{"no address of TCP", "@", []string{"192.0.2.1"}, "@"},
	} {
		var got string
		handler := behind(proxies, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }))
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		for _, value := range tt.forwarded {
			r.Header.Add("X-Forwarded-For", value)
		}
		if handler.ServeHTTP(httptest.NewRecorder(), r); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
