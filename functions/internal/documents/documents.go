// Package documents reads the documents of a deployment's bucket that were made of archives. It
// asks by presigned URLs, so the function that uses it links no client of S3.
package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/blob/s3presign"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// lifetime is how long a URL works. Each is used at once.
	lifetime = time.Minute

	// attempts is how often the bucket is asked at most, and attemptTimeout how long an
	// attempt may take: all of them end before the function does.
	attempts       = 2
	attemptTimeout = 3 * time.Second

	// maxError is how much of an error of S3 is read, in bytes.
	maxError = 4 << 10
)

// Reader reads objects. It is safe for concurrent use.
type Reader struct {
	links  *s3presign.Presigner
	client *http.Client
	wait   time.Duration // before another attempt
}

// New makes a reader of the bucket. It sends no request.
func New(v variables.Values) (*Reader, error) {
	links, err := s3presign.New(s3presign.Config{
		Bucket: v.Bucket, Region: v.Region, Credentials: v.Credentials,
		Endpoint: v.S3Endpoint, PathStyle: v.S3Endpoint != "", Lifetime: lifetime,
	})
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: attemptTimeout, KeepAlive: 30 * time.Second}
	return &Reader{links: links, wait: 100 * time.Millisecond, client: &http.Client{
		Timeout:       attemptTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: attemptTimeout,
			MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		},
	}}, nil
}

// Get is at most length bytes of an object, from an offset on; fewer if it ends before. No error
// has the URL, which would let its reader read.
//
// Errors: [registry.ErrNotFound].
func (r *Reader) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if offset < 0 || length <= 0 {
		return nil, fmt.Errorf("get %s: %d bytes at %d cannot be read", key, length, offset)
	}
	for attempt := 1; ; attempt++ {
		body, again, err := r.ask(ctx, key, offset, length)
		if err == nil || !again || attempt == attempts || ctx.Err() != nil {
			return body, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(r.wait):
		}
	}
}

// ask sends one request. It says whether another one may help.
func (r *Reader) ask(ctx context.Context, key string, offset, length int64) (body []byte, again bool, _ error) {
	address, err := r.links.PresignGet(ctx, key)
	if err != nil {
		return nil, false, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, false, fmt.Errorf("get %s: %w", key, withoutURL(err))
	}
	request.Header.Set("Range", "bytes="+strconv.FormatInt(offset, 10)+"-"+strconv.FormatInt(offset+length-1, 10))
	response, err := r.client.Do(request)
	if err != nil {
		return nil, true, fmt.Errorf("get %s: %w", key, withoutURL(err))
	}
	defer response.Body.Close() //nolint:errcheck // read only
	switch {
	case response.StatusCode == http.StatusPartialContent, response.StatusCode == http.StatusOK && offset == 0:
		body, err := io.ReadAll(io.LimitReader(response.Body, length))
		if err != nil {
			return nil, true, fmt.Errorf("get %s: %w", key, withoutURL(err))
		}
		return body, false, nil
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable: // it ends before
		return nil, false, nil
	}
	err, again = refused(response)
	return nil, again, fmt.Errorf("get %s: %w", key, err)
}

// refused is the error of an answer, and whether another attempt may help. Who may not list a
// bucket is told AccessDenied of an object that is not there.
func refused(response *http.Response) (_ error, again bool) {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxError)) // what cannot be read says nothing
	code := between(string(text), "<Code>", "</Code>")
	switch {
	case response.StatusCode == http.StatusNotFound && code != "NoSuchBucket",
		response.StatusCode == http.StatusForbidden && code == "AccessDenied":
		return registry.ErrNotFound, false
	default:
		return fmt.Errorf("S3 answers %d %.64s", response.StatusCode, code), response.StatusCode >= http.StatusInternalServerError
	}
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, ok := strings.Cut(text, after)
	if !ok {
		return ""
	}
	return text
}

// withoutURL is an error of an HTTP client without the URL in it.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
