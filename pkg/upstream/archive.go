package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"time"
)

// download writes an archive to w and compares its checksum.
func (c *Client) download(ctx context.Context, p Package, w io.Writer) (int64, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return 0, newFault("the archive's URL cannot be read", err)
	}
	body, err := c.open(ctx, u)
	if err != nil {
		return 0, err
	}
	defer body.close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(body, c.limits.archive+1))
	switch {
	case err != nil:
		return size, err
	case size > c.limits.archive:
		return size, newFaultf("%s has more than %d bytes, which an archive may have at most", where(u), c.limits.archive)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != p.SHA256 {
		return size, untrusted(nil, "the archive at %s has the checksum %s, and %s is signed", where(u), sum, p.SHA256)
	}
	return size, nil
}

// paced is the body of an answer that must not be too slow: it waits for each stretch of
// limits.pace bytes for at most limits.stretch.
type paced struct {
	url    *url.URL
	body   io.ReadCloser
	limits limits
	ctx    context.Context // of the request
	stop   context.CancelCauseFunc

	waited time.Duration // in this stretch
	got    int64         // in this stretch
}

// open asks for an archive. It waits for the first byte as long as for a stretch.
func (c *Client) open(ctx context.Context, u *url.URL) (*paced, error) {
	ctx, stop := context.WithCancelCause(ctx)
	p := &paced{url: u, limits: c.limits, ctx: ctx, stop: stop}
	alarm := p.alarm()
	defer alarm.Stop()
	response, err := c.send(ctx, u, typeAny)
	if err != nil {
		stop(nil)
		return nil, err
	}
	p.body = response.Body
	return p, nil
}

// alarm ends the request when it has waited for the stretch long enough.
func (p *paced) alarm() *time.Timer {
	return time.AfterFunc(p.limits.stretch-p.waited, func() {
		p.stop(fmt.Errorf("too slow: less than %d bytes within %v", p.limits.pace, p.limits.stretch))
	})
}

// Read reads. Its errors have the URL.
func (p *paced) Read(b []byte) (int, error) {
	alarm, began := p.alarm(), time.Now()
	n, err := p.body.Read(b)
	alarm.Stop()
	p.waited += time.Since(began)
	p.got += int64(n)
	if p.got >= p.limits.pace {
		p.waited, p.got = 0, 0
	}
	if err = causeOf(p.ctx, err); err != nil && err != io.EOF {
		err = newFault("read "+where(p.url), err)
	}
	return n, err
}

func (p *paced) close() {
	_ = p.body.Close() // read only
	p.stop(nil)
}
