package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
)

// The largest documents that are read, in bytes. Signed ones have the limits of packages
// shasums and signing.
const (
	maxDiscovery        = 1 << 20 // the clients' limit
	maxVersions         = 10 << 20
	maxDownloadDocument = 1 << 20
)

// The media types of requests.
const (
	typeJSON = "application/json"
	typeAny  = "*/*"
)

// maxAtOnce is how many requests of one call go out at once.
const maxAtOnce = 4

// MaxArchive is the largest archive that is downloaded, in bytes: as large as
// the registry publishes.
const MaxArchive = blob.MaxCopy

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// limits are the limits that tests make smaller, so as not to wait.
type limits struct {
	document  time.Duration // for a request and its whole answer, as in the clients
	discovery time.Duration // how long a discovery document is remembered

	// stretch is the longest wait for an archive to begin, and then for each
	// further pace bytes of it.
	stretch time.Duration
	pace    int64

	archive int64 // the largest, in bytes
}

var productionLimits = limits{
	document:  10 * time.Second,
	discovery: 10 * time.Minute,
	stretch:   30 * time.Second,
	pace:      1 << 20,
	archive:   MaxArchive,
}

// checkRedirect says whether a redirect may be followed.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	// It has the query of the previous URL, perhaps with the right to download.
	r.Header.Del("Referer")
	return checkURL(r.URL)
}

// checkURL says why no request may be sent to a URL.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%s is not an absolute https URL", where(u))
	case u.User != nil:
		return fmt.Errorf("%s comes with a user name", where(u))
	}
	return nil
}

// resolve reads a reference in a document that was found at base.
func resolve(base *url.URL, reference string) (*url.URL, error) {
	u, err := base.Parse(reference)
	if err != nil || reference == "" {
		return nil, errors.New("it is not a URL")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, checkURL(u)
}

// errMissing is the cause of the fault for a status of 404.
var errMissing = errors.New("status 404")

// send sends a request and returns its answer, whose status is 200.
func (c *Client) send(ctx context.Context, u *url.URL, accept string) (*http.Response, error) {
	if err := checkURL(u); err != nil {
		return nil, newFault("refused to ask", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, newFault("ask "+where(u), err)
	}
	request.Header.Set("User-Agent", "larder")
	request.Header.Set("Accept", accept)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, newFault("ask "+where(u), causeOf(ctx, err))
	}
	switch err = causeOf(ctx, nil); {
	case err != nil:
	case response.StatusCode == http.StatusOK:
		return response, nil
	case response.StatusCode == http.StatusNotFound:
		err = errMissing
	default:
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	_ = response.Body.Close() // not read
	return nil, newFault("ask "+where(u), err)
}

// causeOf is why a request failed: the reason why its context ended, even if err is nil, or
// err. An answer that arrives while the connection is closed may look complete although it
// is not.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// answer is a whole answer of an origin.
type answer struct {
	url    *url.URL // where it was found, after redirects
	header http.Header
	body   []byte
}

// get gets a whole answer, of at most limit bytes.
func (c *Client) get(ctx context.Context, u *url.URL, accept string, limit int64) (answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.limits.document, fmt.Errorf("no whole answer within %v", c.limits.document))
	defer cancel()
	response, err := c.send(ctx, u, accept)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err = causeOf(ctx, err); err != nil {
		return answer{}, newFault("read "+where(u), err)
	}
	if int64(len(body)) > limit {
		return answer{}, newFaultf("%s has more than %d bytes, which such a document may have at most", where(u), limit)
	}
	return answer{response.Request.URL, response.Header, body}, nil
}
