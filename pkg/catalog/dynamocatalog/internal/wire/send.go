package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	// targetPrefix stands before the name of an operation.
	targetPrefix = "DynamoDB_20120810."

	// maxAnswer is the longest answer that is read, in bytes: 16 MiB of items, which
	// is the most that DynamoDB sends, are a third longer in base64.
	maxAnswer = 32 << 20

	// maxSkew is how far the clock may be wrong before a refused signature is blamed
	// on it. DynamoDB refuses requests from five minutes on.
	maxSkew = 4 * time.Minute
)

// send sends a request until it succeeds, fails for good, or was sent often enough.
func (c *Client) send(ctx context.Context, operation string, r request) (answer, error) {
	call := call{client: c, operation: operation, body: encode(r)}
	hash := sha256.Sum256(call.body)
	call.hash = hex.EncodeToString(hash[:])
	cost := 0 // of the attempt
	for attempt := 1; ; attempt++ {
		a, err := call.try(ctx)
		switch {
		case err == nil:
			c.quota.giveBack(cost)
			return a, nil
		case ctx.Err() != nil:
			return answer{}, fmt.Errorf("%w (%w)", ctx.Err(), err)
		case !canPass(err) && !call.correctClock(err):
			return answer{}, err
		case attempt == MaxAttempts:
			return answer{}, fmt.Errorf("%w (it was sent %d times)", err, attempt)
		}
		if cost = c.quota.take(err); cost == 0 {
			return answer{}, fmt.Errorf("%w (%w)", err, errQuota)
		}
		if ended := Pause(ctx, attempt+1); ended != nil {
			return answer{}, fmt.Errorf("%w (%w)", ended, err)
		}
	}
}

// call is a request with what its attempts have in common.
type call struct {
	client    *Client
	operation string
	body      []byte
	hash      string // the body's sha256, in hex

	skew time.Duration // by which the last attempt's time was corrected
	sent time.Time     // by our clock
	date string        // when it was answered, by DynamoDB's clock
}

// try sends the request once.
func (c *call) try(ctx context.Context) (answer, error) {
	credentials, err := c.client.credentials.Retrieve(ctx)
	if err != nil {
		return answer{}, fmt.Errorf("DynamoDB %s: there are no credentials to sign it with: %w", c.operation, err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.client.timeoutWithin(ctx))
	defer cancel()
	response, err := c.client.transport.RoundTrip(c.request(ctx, credentials))
	if err != nil {
		return answer{}, c.broken(err)
	}
	text, err := read(response)
	if err != nil {
		return answer{}, c.broken(err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		if response.Header.Get("Age") == "" { // not out of a cache
			c.date = response.Header.Get("Date")
		}
		return answer{}, failure(c.operation, response.StatusCode, response.Header, text)
	}
	a, err := decode(c.operation, text)
	if err != nil {
		return answer{}, c.broken(err)
	}
	return a, nil
}

func (c *call) broken(err error) error {
	return &brokenError{c.operation, c.client.endpoint.Host, err}
}

// Headers that all requests have. Nobody changes them.
var (
	contentType    = []string{"application/x-amz-json-1.0"}
	acceptEncoding = []string{"identity"} // the CRC32 is of the body as it is sent
	userAgent      = []string{"larder"}
)

// request is the request of an attempt, with its signature.
func (c *call) request(ctx context.Context, credentials aws.Credentials) *http.Request {
	r := c.client.request.WithContext(ctx)
	r.Header = http.Header{
		"Accept-Encoding": acceptEncoding,
		"Content-Type":    contentType,
		"User-Agent":      userAgent,
		"X-Amz-Target":    {targetPrefix + c.operation},
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.body)), nil }
	r.Body, _ = r.GetBody()
	r.ContentLength = int64(len(c.body))
	c.skew, c.sent = time.Duration(c.client.skew.Load()), time.Now()
	c.client.sign(r, credentials, c.hash, c.sent.Add(c.skew))
	return r
}

// correctClock says whether a signature was refused because of the clock. Then the next
// ones get DynamoDB's time.
func (c *call) correctClock(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	if !ok || !clockCodes[refused.Code] {
		return false
	}
	theirs, err := http.ParseTime(c.date)
	if err != nil {
		return false
	}
	skew := theirs.Sub(c.sent)
	if (skew - c.skew).Abs() <= maxSkew {
		return false
	}
	c.client.skew.Store(int64(skew))
	return true
}

// buffers are what answers are read into before they become strings. Few are longer than
// longBuffer, and such a buffer is not kept.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const longBuffer = 64 << 10

// read is the body of an answer. The connection can be used again if all of it was read.
func read(response *http.Response) (text string, err error) {
	defer response.Body.Close()
	if response.ContentLength > maxAnswer {
		return "", errLong
	}
	buffer := buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer func() {
		if buffer.Cap() <= longBuffer {
			buffers.Put(buffer)
		}
	}()
	if response.ContentLength > 0 {
		buffer.Grow(int(response.ContentLength) + bytes.MinRead)
	}
	if _, err := buffer.ReadFrom(io.LimitReader(response.Body, maxAnswer+1)); err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	if buffer.Len() > maxAnswer {
		return "", errLong
	}
	return buffer.String(), checkCRC32(response.Header.Get("X-Amz-Crc32"), buffer.Bytes())
}

var errLong = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)

// checkCRC32 compares a body with the checksum that the answer has for it, if it has one.
func checkCRC32(header string, body []byte) error {
	if header == "" {
		return nil
	}
	if got := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10); got != header {
		return fmt.Errorf("the answer of %d bytes has the CRC32 %s, and should have %.20q", len(body), got, header)
	}
	return nil
}
