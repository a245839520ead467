// Package netmirror asks a provider network mirror, such as a registry's own, which versions of
// a provider it has, and downloads their packages.
//
// It sends a token only to the mirror, over verified TLS, and never to the URL of an archive.
// Documents are bounded in size and in time, archives in size; an archive that stalls is given
// up. The caller must compare an archive with the hashes that the mirror names.
package netmirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/httperror"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// documentTimeout bounds the time for one document.
	documentTimeout = 30 * time.Second

	// stallTimeout is how long a download may stall.
	stallTimeout = time.Minute

	// maxDocument is the largest document that is read, in bytes.
	maxDocument = 16 << 20

	// maxArchive is the largest archive that is downloaded, in bytes, as for a registry.
	maxArchive = blob.MaxCopy

	userAgent = "larder mirror"
)

// Options say which mirror to ask.
type Options struct {
	Base      *url.URL          // of the mirror, as [ParseBase] returns it. Required.
	Token     string            // for the mirror. Empty: none.
	Transport http.RoundTripper // Nil: [http.DefaultTransport].
}

// Client asks a mirror. It is safe for concurrent use.
type Client struct {
	options             Options
	documents, archives *http.Client
}

// New makes a client. It sends no request.
func New(o Options) *Client {
	return &Client{
		options:   o,
		documents: &http.Client{Transport: o.Transport, CheckRedirect: stayPrivate},
		archives:  &http.Client{Transport: o.Transport},
	}
}

// stayPrivate follows redirects of a document to https only, and sends the token to no other
// host.
func stayPrivate(request *http.Request, via []*http.Request) error {
	const most = 10
	if request.URL.Scheme != "https" {
		return errors.New("it redirects away from https")
	}
	if len(via) >= most {
		return fmt.Errorf("it redirects more than %d times", most)
	}
	if request.URL.Host != via[0].URL.Host {
		request.Header.Del("Authorization")
	}
	return nil
}

// Archive is a package that a mirror has.
type Archive struct {
	Platform registry.Platform
	Hashes   []string // as the mirror names them: "h1:…", "zh:…", perhaps others
	url      *url.URL
}

// Versions returns the versions of a provider in the mirror, in ascending order, without those
// that Larder could not publish.
//
// Errors: [registry.ErrNotFound].
func (c *Client) Versions(ctx context.Context, a registry.ProviderAddress) ([]registry.Version, error) {
	var document struct {
		Versions map[string]any `json:"versions"`
	}
	if _, err := c.read(ctx, a, "index.json", &document); err != nil {
		return nil, err
	}
	var versions []registry.Version
	for text := range document.Versions {
		if v, err := registry.ParseVersion(text); err == nil {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, func(v, w registry.Version) int {
		return cmp.Or(v.Compare(w), strings.Compare(v.String(), w.String()))
	})
	return versions, nil
}

// Archives returns the packages of a version, in the order of their platforms, without
// platforms for which Larder could not publish.
//
// Errors: [registry.ErrNotFound].
func (c *Client) Archives(ctx context.Context, a registry.ProviderAddress, v registry.Version) ([]Archive, error) {
	var document struct {
		Archives map[string]struct {
			URL    string   `json:"url"`
			Hashes []string `json:"hashes"`
		} `json:"archives"`
	}
	base, err := c.read(ctx, a, v.String()+".json", &document)
	if err != nil {
		return nil, err
	}
	var archives []Archive
	for platform, found := range document.Archives {
		archive := Archive{Hashes: found.Hashes}
		if archive.Platform.UnmarshalText([]byte(platform)) != nil {
			continue
		}
		archive.url, err = base.Parse(found.URL)
		if found.URL == "" || err != nil || !isHost(archive.url.Host) || archive.url.Scheme != "https" && archive.url.Scheme != "http" {
			return nil, fmt.Errorf("%s %s %s: the mirror gives no URL for the archive", a, v, platform)
		}
		archives = append(archives, archive)
	}
	slices.SortFunc(archives, func(a, b Archive) int { return strings.Compare(a.Platform.String(), b.Platform.String()) })
	return archives, nil
}

// isHost says whether a host is one of URLs, in ASCII: errors print it unchanged.
func isHost(host string) bool {
	return host != "" && !strings.ContainsFunc(host, func(c rune) bool { return c <= ' ' || c > '~' })
}

// read reads a document, and returns its URL after all redirects.
func (c *Client) read(ctx context.Context, a registry.ProviderAddress, name string, into any) (*url.URL, error) {
	u := c.options.Base.JoinPath(a.Hostname, a.Namespace, a.Type, name)
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	response, err := get(ctx, c.documents, u, c.options.Token)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer breaks off: %w", u, httperror.WithoutURL(err))
	case len(data) > maxDocument:
		return nil, fmt.Errorf("%s: the answer has more than %d bytes", u, maxDocument)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("%s: it is not a document of a provider network mirror: %w", u, err)
	}
	return response.Request.URL, nil
}

// Download writes an archive to w, and returns its SHA-256 in lower-case hex and its size in
// bytes. Before that it calls begin with the size, or -1 if it is unknown, and then also writes
// the bytes to the writer that begin returns.
func (c *Client) Download(ctx context.Context, a Archive, w io.Writer, begin func(size int64) io.Writer) (hash string, size int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTimeout, func() { cancel(fmt.Errorf("nothing comes for %v", stallTimeout)) })
	defer stall.Stop()
	defer func() {
		if ended := context.Cause(ctx); err != nil && ended != nil {
			err = ended
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", place(a.url), err)
		}
	}()
	response, err := get(ctx, c.archives, a.url, "")
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	seen, sum := begin(response.ContentLength), sha256.New()
	moving := writer(func(p []byte) (int, error) { stall.Reset(stallTimeout); return len(p), nil })
	size, err = io.Copy(io.MultiWriter(moving, sum, w, seen), io.LimitReader(response.Body, maxArchive+1))
	if err != nil {
		return "", 0, fmt.Errorf("it breaks off after %d bytes: %w", size, httperror.WithoutURL(err))
	}
	if size > maxArchive {
		return "", 0, fmt.Errorf("it has more than %d bytes", int64(maxArchive))
	}
	return hex.EncodeToString(sum.Sum(nil)), size, nil
}

// writer is a function that writes.
type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// get sends a request for a URL. Every status but 200 is an error.
func get(ctx context.Context, client *http.Client, u *url.URL, token string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, httperror.WithoutURL(err)
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept-Encoding", "identity") // the hash is that of the archive itself
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, httperror.WithoutURL(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	response.Body.Close() //nolint:errcheck // read only
	switch response.StatusCode {
	case http.StatusNotFound:
		return nil, registry.ErrNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fmt.Errorf("it answers %s: %w", status(response.StatusCode), errRefused)
	default:
		return nil, fmt.Errorf("it answers %s", status(response.StatusCode))
	}
}

// status returns the standard's text for a status. The text of the answer could have escape
// sequences for the user's terminal.
func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// errRefused reports that the mirror has refused the request.
var errRefused = errors.New("a token may be missing, or have no right to it")

// place returns a URL without its query.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }
