package identity

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	maxAnswer  = 1 << 20          // the largest answer of an issuer, in bytes
	maxWaiting = 10 * time.Second // for a whole answer
)

// newClient is a client with the limits of the package comment.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		production := http.DefaultTransport.(*http.Transport).Clone()
		production.MaxResponseHeaderBytes = 64 << 10
		transport = production
	}
	return &http.Client{
		Transport:     bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       maxWaiting,
	}
}

// bounded sends requests by https alone, and reads at most maxAnswer of an answer.
type bounded struct{ transport http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, errors.New("only https is spoken")
	}
	response, err := b.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	return response, nil
}

// get gets a document of an issuer.
func (v *Verifier) get(ctx context.Context, issuer, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, unavailable(issuer, "what it names is not a URL")
	}
	request.Header.Set("User-Agent", "larder")
	request.Header.Set("Accept", "application/json")
	response, err := v.http.Do(request)
	if err != nil {
		return nil, unavailable(issuer, "%s", explain(err))
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		return nil, unavailable(issuer, "%s", status(response.StatusCode))
	}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, unavailable(issuer, "%s", explain(err))
	}
	return data, nil
}

// status describes a status other than 200 to users.
func status(code int) string {
	if code >= 300 && code < 400 {
		return fmt.Sprintf("it answers with a redirect (status %d), which the registry does not follow", code)
	}
	return fmt.Sprintf("it answers with status %d", code)
}

// explain says to users why there is no answer. It leaves out addresses and the other
// details of connection errors.
func explain(err error) string {
	var (
		tooLarge    *http.MaxBytesError
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		network     net.Error
	)
	switch {
	case errors.As(err, &tooLarge):
		return fmt.Sprintf("its answer has more than %d bytes", maxAnswer)
	case errors.As(err, &name):
		return "its host name cannot be resolved"
	case errors.As(err, &certificate):
		return "its certificate is not one that the registry trusts"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "there is no whole answer in time"
	case errors.Is(err, context.Canceled):
		return "nobody waits for the answer"
	default:
		return "there is no connection to it, or none that lasts"
	}
}
