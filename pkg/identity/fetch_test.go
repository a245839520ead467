package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// closes counts the bodies of answers that were opened and closed.
type closes struct {
	transport      http.RoundTripper
	opened, closed int
}

func (c *closes) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.transport.RoundTrip(r)
	if err == nil {
		c.opened++
		response.Body = &closing{response.Body, c}
	}
	return response, err
}

type closing struct {
	io.ReadCloser
	of *closes
}

func (c *closing) Close() error {
	c.of.closed++
	return c.ReadCloser.Close()
}

// An issuer is told who asks and for what, and no connection stays open.
func TestRequests(t *testing.T) {
	issuer := newTestIssuer(t)
	issuer.serve(keysPath, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.UserAgent() != "larder" || r.Header.Get("Accept") != "application/json" {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	transport := &closes{transport: issuer.Client().Transport}
	v := NewVerifier(Config{Transport: transport, Now: issuer.clock})
	unusable(t, issuer, v, "status 500")
	if transport.opened != 2 || transport.closed != 2 {
		t.Errorf("%d of %d answers were closed", transport.closed, transport.opened)
	}
	if _, err := v.get(t.Context(), issuer.URL, "https://a b"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("what is no URL: %v", err)
	}
}

// As it is in production, a client reads no more than a few headers.
func TestHeadersAreBounded(t *testing.T) {
	for kib, says := range map[int]string{40: "status 404", 80: "no connection"} {
		issuer := newTestIssuer(t)
		issuer.serve(discoveryPath, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Much", strings.Repeat("x", kib<<10))
			http.NotFound(w, r)
		})
		v := NewVerifier(Config{Now: issuer.clock})
		v.http.Transport.(bounded).transport.(*http.Transport).TLSClientConfig = issuer.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		err := issuer.verify(v, issuer.good(jose.RS256, rsaKey(), "rsa"))
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%d KiB of headers: %v", kib, err)
		}
	}
}

// Errors for users say what is wrong, and nothing about the registry's network.
func TestBecause(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&http.MaxBytesError{}, "its answer has more than 1048576 bytes"},
		{&net.DNSError{Name: "secret", IsTimeout: true}, "its host name cannot be resolved"},
		{context.DeadlineExceeded, "there is no whole answer in time"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "there is no whole answer in time"},
		{&net.OpError{Op: "dial", Err: errors.New("secret")}, "there is no connection to it, or none that lasts"},
		{context.Canceled, "nobody waits for the answer"},
		{errors.New("secret"), "there is no connection to it, or none that lasts"},
	} {
		if got := explain(fmt.Errorf("get: %w", c.err)); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
	for code, redirect := range map[int]bool{204: false, 299: false, 300: true, 399: true, 400: false, 500: false} {
		if got := status(code); strings.Contains(got, "redirect") != redirect || !strings.Contains(got, fmt.Sprint("status ", code)) {
			t.Errorf("%d: %s", code, got)
		}
	}
}
