// Package wire sends DynamoDB the requests that package dynamocatalog needs, by net/http. It
// takes the place of the AWS SDK's client, which spends more time on a read than all the
// rest of an answer takes: see decision 33.
//
// # Requests
//
// A request is a POST of JSON (application/x-amz-json-1.0), and X-Amz-Target names the
// operation. It has a Signature Version 4, whose key is kept for its day.
//
// # When a request is sent again
//
// A request is sent up to [MaxAttempts] times. An attempt may take five seconds, but no
// more than a third of the time that the context leaves, or a second if that is longer.
// Between two attempts there is a random pause, up to 100 ms at first and up to a second
// later. It is sent again
//
//   - if there is no answer, but not if the endpoint's name does not exist;
//   - if the answer is cut off, is not JSON, lacks what every answer to the operation has,
//     or does not have the CRC32 that it says;
//   - if DynamoDB answers 500, 502, 503 or 504, or that there are too many requests;
//   - once more, with DynamoDB's time, if the signature is refused, and the answer's Date
//     and the clock differ by more than four minutes.
//
// So DynamoDB may do twice what a request asks for. Only a transaction has a token against
// that. If many requests fail, no more of them are sent again: see quota. The context
// ends everything at once, a pause too.
//
// # Answers
//
// An answer is read whole, and an [Item] is parts of its text. Bytes stay base64 until
// somebody asks for them. If DynamoDB refuses a request, the error is an [*Error].
package wire

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/larder-registry/larder/internal/awssignature"
)

// Config says where DynamoDB is, and as whom to use it.
type Config struct {
	Region      string                  // required
	Credentials aws.CredentialsProvider // required
	Endpoint    string                  // a URL; empty for Amazon's
	Transport   http.RoundTripper       // nil for one of its own
}

// Client sends requests. It is safe for concurrent use.
type Client struct {
	region      string
	credentials aws.CredentialsProvider
	endpoint    *url.URL
	request     *http.Request // what all requests have in common
	path        string        // as it is signed
	transport   http.RoundTripper
	timeout     time.Duration // the longest of an attempt
	quota       *quota
	skew        atomic.Int64               // how far DynamoDB's clock is ahead of ours, a time.Duration
	key         atomic.Pointer[signingKey] // of the last request
}

// New makes a client. It sends no request.
func New(cfg Config) (*Client, error) {
	to, err := endpoint(cfg.Endpoint, cfg.Region)
	if err != nil {
		return nil, err
	}
	if cfg.Transport == nil {
		cfg.Transport = newTransport()
	}
	return &Client{
		region:      cfg.Region,
		credentials: aws.NewCredentialsCache(cfg.Credentials),
		endpoint:    to,
		path:        string(awssignature.AppendEscaped(nil, to.EscapedPath(), true)),
		request:     &http.Request{Method: http.MethodPost, URL: to, Host: awssignature.Host(to), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1},
		transport:   cfg.Transport,
		timeout:     attemptTimeout,
		quota:       newQuota(),
	}, nil
}

// newTransport keeps many connections, since one that is new costs more than a request.
// DynamoDB speaks HTTP/1.1.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: attemptTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: attemptTimeout,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(0)},
		MaxIdleConns:        100,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}
}

// GetItem is an item, or nil if it does not exist.
func (c *Client) GetItem(ctx context.Context, r Get) (Item, error) {
	a, err := c.send(ctx, "GetItem", r)
	return a.item, err
}

// BatchGetItem is the items that exist, in any order, and the keys that DynamoDB did not
// get to.
func (c *Client) BatchGetItem(ctx context.Context, r Batch) (found, rest []Item, err error) {
	a, err := c.send(ctx, "BatchGetItem", r)
	return a.items, a.rest, err
}

// Query is a page of a partition.
func (c *Client) Query(ctx context.Context, r Query) (Page, error) {
	a, err := c.send(ctx, "Query", r)
	return Page{a.items, a.last}, err
}

// Scan is a page of a table.
func (c *Client) Scan(ctx context.Context, r Scan) (Page, error) {
	a, err := c.send(ctx, "Scan", r)
	return Page{a.items, a.last}, err
}

// PutItem writes an item.
func (c *Client) PutItem(ctx context.Context, r Put) error {
	_, err := c.send(ctx, "PutItem", r)
	return err
}

// UpdateItem changes an item.
func (c *Client) UpdateItem(ctx context.Context, r Update) error {
	_, err := c.send(ctx, "UpdateItem", r)
	return err
}

// DeleteItem deletes an item, and returns it if the request says so.
func (c *Client) DeleteItem(ctx context.Context, r Delete) (Item, error) {
	a, err := c.send(ctx, "DeleteItem", r)
	return a.item, err
}

// TransactWriteItems makes all writes, or nothing.
func (c *Client) TransactWriteItems(ctx context.Context, writes []Write) error {
	_, err := c.send(ctx, "TransactWriteItems", transaction{writes, rand.Text()})
	return err
}
