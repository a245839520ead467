// Package registryclient asks a registry over HTTP what it has, as any reader does.
package registryclient

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/httperror"
	"github.com/larder-registry/larder/internal/printable"
)

// timeout is for a request and its answer.
const timeout = 30 * time.Second

// maxAnswer is the longest answer that is read, in bytes. A function answers with at most 6 MB.
const maxAnswer = 16 << 20

// Client asks one registry. It is safe for concurrent use.
type Client struct {
	host, token string
	http        *http.Client
}

// New makes a client for a host with its port, unless that is 443. The token may be empty. It
// goes to this host alone: redirects are not followed.
func New(host, token string) *Client {
	return &Client{host, token, &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// AnswerError is an answer that is not the one that was asked for, in the registry's words.
type AnswerError struct {
	Host    string
	Status  int
	Message string
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("%s answers: %s", e.Host, e.Message)
}

// get reads a document.
//
// Errors: [*AnswerError].
func (c *Client) get(ctx context.Context, path string, query url.Values, accept string) ([]byte, error) {
	target := url.URL{Scheme: "https", Host: c.host, Path: path, RawQuery: query.Encode()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	return c.do(request)
}

// Post sends a JSON document, and returns the status and the body of the answer. The caller
// may add headers.
//
// Errors: [*AnswerError] for every status that is not of success.
func (c *Client) Post(ctx context.Context, path string, body []byte, header http.Header) ([]byte, error) {
	target := url.URL{Scheme: "https", Host: c.host, Path: path}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	request.Header.Set("Content-Type", "application/json")
	return c.do(request)
}

func (c *Client) do(request *http.Request) ([]byte, error) {
	request.Header.Set("User-Agent", "larder")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.explain(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, c.explain(err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%s answers with more than %d MiB", c.host, maxAnswer>>20)
	}
	if response.StatusCode/100 != 2 {
		return nil, &AnswerError{c.host, response.StatusCode, reason(response, body)}
	}
	return body, nil
}

// reason is why a registry refuses, in its words if it has some.
func reason(response *http.Response, body []byte) string {
	var document struct {
		Errors []string `json:"errors"`
	}
	if json.Unmarshal(body, &document) == nil && len(document.Errors) > 0 {
		return shortened(printable.Text(strings.Join(document.Errors, "; ")), 2000)
	}
	if location := response.Header.Get("Location"); location != "" {
		return fmt.Sprintf("%s, to another address: is it a registry?", response.Status)
	}
	return printable.Text(response.Status) + ": is it a registry?"
}

// explain says what to do about an error of the connection.
func (c *Client) explain(err error) error {
	err = httperror.WithoutURL(err)
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return fmt.Errorf("%s: %w: trust its certificate (SSL_CERT_FILE, or the system's store)", c.host, err)
	}
	return fmt.Errorf("%s: %w", c.host, err)
}

// decoded is a document as a T.
func decoded[T any](host string, body []byte, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	value := new(T)
	if err := json.Unmarshal(body, value); err != nil {
		return nil, fmt.Errorf("%s answers with what is not such a document: %w", host, err)
	}
	return value, nil
}

// shortened is at most so many characters of a text.
func shortened(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Query is what is looked for. The zero one is everything.
type Query struct {
	Text      string
	Namespace string
	Name      string // with Namespace, of modules
	Offset    int
	Limit     int // 1 to 100
}

// List is a part of what there is.
type List struct {
	Entries []Entry
	Total   int // as far as the registry says how many there are
	More    bool
}

// Entry is a module or a provider.
type Entry struct {
	ID          string `json:"id"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Provider    string `json:"provider,omitempty"` // a module's system
	Version     string `json:"version"`
	Description string `json:"description"`
	Source      string `json:"source"`
	Published   string `json:"published_at,omitempty"`
	Larder      struct {
		Status   string `json:"status"`
		Message  string `json:"message,omitempty"`
		Versions int    `json:"versions"`
	} `json:"larder"`
}

// Address is the address of the entry.
func (e Entry) Address() string {
	if e.Provider == "" {
		return e.Namespace + "/" + e.Name
	}
	return e.Namespace + "/" + e.Name + "/" + e.Provider
}

type listDocument struct {
	Meta struct {
		Next *int `json:"next_offset"`
	} `json:"meta"`
	Modules   []Entry `json:"modules"`
	Providers []Entry `json:"providers"`
	Larder    struct {
		Total int `json:"total"`
	} `json:"larder"`
}

// Modules lists or finds modules.
//
// Errors: [*AnswerError].
func (c *Client) Modules(ctx context.Context, q Query) (List, error) {
	return c.list(ctx, "/v1/modules", q)
}

// Providers lists or finds providers.
//
// Errors: [*AnswerError].
func (c *Client) Providers(ctx context.Context, q Query) (List, error) {
	return c.list(ctx, "/v1/providers", q)
}

func (c *Client) list(ctx context.Context, path string, q Query) (List, error) {
	values := url.Values{"offset": {strconv.Itoa(q.Offset)}, "limit": {strconv.Itoa(q.Limit)}}
	if q.Text != "" {
		values.Set("q", q.Text)
	}
	if q.Namespace != "" {
		path += "/" + q.Namespace
		if q.Name != "" {
			path += "/" + q.Name
		}
	}
	body, err := c.get(ctx, path, values, "application/json")
	document, err := decoded[listDocument](c.host, body, err)
	if err != nil {
		return List{}, err
	}
	return List{append(document.Modules, document.Providers...), document.Larder.Total, document.Meta.Next != nil}, nil
}

// Details is what a version of a module or a provider says of itself.
type Details struct {
	Entry
	Root       Part     `json:"root"`
	Submodules []Part   `json:"submodules"`
	Examples   []Part   `json:"examples"`
	Versions   []string `json:"versions"`
	Docs       []Page   `json:"docs"`
	Larder     Extras   `json:"larder"`
}

// Extras is what only Larder says of a version.
type Extras struct {
	Status   string   `json:"status"`
	Message  string   `json:"message"`
	Signer   string   `json:"signer"`
	Keys     []string `json:"keys"`
	Problems []string `json:"problems"`
	// DeprecatedVersions are those of the versions that can be chosen.
	DeprecatedVersions []string `json:"deprecated_versions"`
	Packages           []struct {
		OS   string `json:"os"`
		Arch string `json:"arch"`
	} `json:"packages"`
}

// Marks is what one must know of an input or an output before one uses it.
type Marks struct {
	Sensitive  bool   `json:"sensitive"`
	Ephemeral  bool   `json:"ephemeral"`
	Deprecated string `json:"deprecated"` // the message
}

// Part is the root of a module, a submodule or an example.
type Part struct {
	Path   string `json:"path"`
	Inputs []struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Description string `json:"description"`
		Default     string `json:"default"`
		Required    bool   `json:"required"`
		Larder      Marks  `json:"larder"`
	} `json:"inputs"`
	Outputs []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Larder      Marks  `json:"larder"`
	} `json:"outputs"`
	Dependencies []struct {
		Name    string `json:"name"`
		Source  string `json:"source"`
		Version string `json:"version"`
	} `json:"dependencies"`
	Providers []struct {
		Name    string `json:"name"`
		Source  string `json:"source"`
		Version string `json:"version"`
	} `json:"provider_dependencies"`
	Resources []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"resources"`
}

// Page is a page of a provider's documentation.
type Page struct {
	ID    string `json:"id"` // category/slug
	Title string `json:"title"`
}

// Show is a version of a module or a provider, the newest without one, and the document that
// says so. The versions in the details begin with the newest, unlike those of the document.
//
// Errors: [*AnswerError].
func (c *Client) Show(ctx context.Context, address, version string) (*Details, json.RawMessage, error) {
	body, err := c.get(ctx, path(address, version), nil, "application/json")
	details, err := decoded[Details](c.host, body, err)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(details.Versions)
	return details, body, nil
}

// Markdown is the page of a version of a module or a provider.
//
// Errors: [*AnswerError].
func (c *Client) Markdown(ctx context.Context, address, version string) (string, error) {
	body, err := c.get(ctx, path(address, version)+".md", nil, "text/markdown")
	return string(body), err
}

// Page is a page of a provider's documentation, as Markdown. It is named as in [Page].
//
// Errors: [*AnswerError].
func (c *Client) Page(ctx context.Context, address, version, id string) (string, error) {
	body, err := c.get(ctx, path(address, version)+"/docs/"+id+".md", nil, "text/markdown")
	return string(body), err
}

// path is where a version is: that of a module has three parts.
func path(address, version string) string {
	folder := "/v1/providers/"
	if strings.Count(address, "/") == 2 {
		folder = "/v1/modules/"
	}
	path := folder + address
	if version != "" {
		path += "/" + version
	}
	return path
}
