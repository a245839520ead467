package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/larder-registry/larder/internal/httperror"
	"github.com/larder-registry/larder/pkg/blob"
)

const (
	// documentTimeout bounds the time for one document, as in the clients.
	documentTimeout = 10 * time.Second

	// archiveTimeout bounds the time for one archive. The clients wait for ever.
	archiveTimeout = 10 * time.Minute

	// maxDocument is the largest document that is read, in bytes.
	maxDocument = 16 << 20

	// maxArchive is the largest archive that is downloaded, in bytes, as for the registry.
	maxArchive = blob.MaxCopy

	userAgent = "larder doctor"

	// clientVersion is the version that both clients name beside that. A registry may give
	// other programs other answers.
	clientVersion = "1.12.6"
)

// client sends requests as Terraform and OpenTofu do. Like them, it does not cache documents.
type client struct {
	host      string
	transport *http.Transport
	now       func() time.Time
}

func newClient(o Options) *client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: o.Roots}
	return &client{o.Host, transport, o.Now}
}

// answer is the answer to a request for a document.
type answer struct {
	url    *url.URL
	status int
	header http.Header
	body   []byte // without its Content-Encoding
	length int64  // as the answer states it; -1 if it does not
	took   time.Duration
}

// ask sends a request for a document and follows no redirect. The headers are pairs of name and
// value.
func (c *client) ask(ctx context.Context, method string, u *url.URL, headers ...string) (answer, error) {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c.read(ctx, &http.Client{Transport: c.transport, CheckRedirect: stay}, method, u, headers)
}

// follow gets a document from an address that the registry gave, and follows all redirects.
func (c *client) follow(ctx context.Context, u *url.URL) (answer, error) {
	return c.read(ctx, &http.Client{Transport: c.transport}, http.MethodGet, u, nil)
}

func (c *client) read(ctx context.Context, hc *http.Client, method string, u *url.URL, headers []string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	start := c.now()
	resp, err := send(ctx, hc, method, u, headers)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return answer{}, fmt.Errorf("the answer breaks off: %w", httperror.WithoutURL(err))
	}
	if len(body) > maxDocument {
		return answer{}, fmt.Errorf("the answer has more than %d bytes", maxDocument)
	}
	return answer{resp.Request.URL, resp.StatusCode, resp.Header, body, resp.ContentLength, c.now().Sub(start)}, nil
}

func send(ctx context.Context, hc *http.Client, method string, u *url.URL, headers []string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", userAgent)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, &noAnswerError{httperror.WithoutURL(err)}
	}
	return resp, nil
}

// noAnswerError says that an address gave no answer.
type noAnswerError struct{ err error }

func (e *noAnswerError) Error() string { return e.err.Error() }

func (e *noAnswerError) Unwrap() error { return e.err }

// askFirst gets a document as ask does, and also returns the registry's certificates, trusted
// or not. They come with a request: a registry takes a connection that ends in its handshake
// for a client that does not trust it, and logs that.
func (c *client) askFirst(ctx context.Context, u *url.URL, headers ...string) (got answer, chain []*x509.Certificate, err error) {
	var connected atomic.Pointer[tls.ConnectionState]
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(state tls.ConnectionState, err error) {
		if err == nil {
			connected.Store(&state)
		}
	}})
	got, err = c.ask(ctx, http.MethodGet, u, headers...)
	if distrusted, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return got, distrusted.UnverifiedCertificates, err
	}
	if state := connected.Load(); state != nil {
		chain = state.PeerCertificates
	}
	return got, chain, err
}

// serverName returns the name that a certificate must have.
func (c *client) serverName() string {
	if name, _, err := net.SplitHostPort(c.host); err == nil {
		return name
	}
	return c.host
}
