package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// slowAnswer answers a request with this context, in its time.
type slowAnswer func(context.Context) (*http.Response, error)

// slowPages are slow answers by URL.
type slowPages map[string]slowAnswer

// bubble reaches an origin without a network, and so on synctest's clock. Some
// of its answers are slow.
type bubble struct {
	*origin
	slow slowPages
}

func (b bubble) RoundTrip(r *http.Request) (*http.Response, error) {
	if answer := b.slow[r.URL.String()]; answer != nil {
		response, err := answer(r.Context())
		if err == nil {
			response.Request = r
		}
		return response, err
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

// hang never answers.
func hang(ctx context.Context) (*http.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// drip answers with a byte each second, for ever.
func drip(ctx context.Context) (*http.Response, error) {
	return dripping(ctx, &tap{size: 1 << 60, cup: 1, pause: time.Second}), nil
}

func dripping(ctx context.Context, t *tap) *http.Response {
	t.ctx = ctx
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {typeJSON}}, Body: io.NopCloser(t)}
}

// tap is size spaces, at most cup of them in each pause.
type tap struct {
	ctx       context.Context
	size, cup int
	pause     time.Duration
	polite    bool // ends in good order when it is hung up on
}

func (t *tap) Read(b []byte) (int, error) {
	if t.size <= 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(t.pause):
	case <-t.ctx.Done():
		if t.polite {
			return 0, io.EOF
		}
		return 0, t.ctx.Err()
	}
	n := copy(b, bytes.Repeat([]byte(" "), min(t.cup, t.size)))
	t.size -= n
	return n, nil
}

func TestSlowDocuments(t *testing.T) {
	for _, url := range []string{discoveryURL, listURL, documentURL(linux), sumsURL, signatureURL} {
		for name, answer := range map[string]slowAnswer{"hang": hang, "drip": drip} {
			t.Run(name+" "+url, func(t *testing.T) {
				o := newOrigin(t)
				synctest.Test(t, func(t *testing.T) {
					c := New(Config{Transport: bubble{o, slowPages{url: answer}}})
					began := time.Now()
					_, err := c.Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{linux})
					if url == listURL {
						_, err = c.Versions(t.Context(), widget)
					}
					says(t, err, url, "no whole answer within 10s")
					if took := time.Since(began); took != 10*time.Second {
						t.Errorf("it took %v", took)
					}
				})
			})
		}
	}
}

func TestSlowArchives(t *testing.T) {
	second := time.Second
	for name, test := range map[string]struct {
		answer slowAnswer
		took   time.Duration // until it is given up; 0: it is not
	}{
		"no answer":        {hang, 30 * second},
		"a byte a second":  {drip, 30 * second},
		"a long way ahead": {tapped(tap{size: 64 << 20, cup: 32 << 10, pause: second / 2}), 0},
		"too slow a bit":   {tapped(tap{size: 64 << 20, cup: 32 << 10, pause: second - 1}), 30 * second},
		"just in time":     {tapped(tap{size: 2 << 20, cup: 32 << 10, pause: 30*second/32 - 1}), 0},
		"small and slow":   {tapped(tap{size: 29, cup: 1, pause: second}), 0},
		"in one late gush": {tapped(tap{size: 10, cup: 10, pause: 29 * second}), 0},
		"in slow gushes":   {tapped(tap{size: 640 << 10, cup: 32 << 10, pause: 29 * second}), 30 * second},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			synctest.Test(t, func(t *testing.T) {
				p := o.pkg()
				c := New(Config{Transport: bubble{o, slowPages{p.URL: test.answer}}})
				began := time.Now()
				_, err := c.Download(t.Context(), p, io.Discard)
				if test.took == 0 {
					says(t, err, "has the checksum") // the whole was read, and was spaces
					return
				}
				says(t, err, p.URL, "too slow: less than 1048576 bytes within 30s")
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
			})
		})
	}
}

// An origin that is hung up on may finish what it says in good order.
func TestAnswersToNobody(t *testing.T) {
	whole := func(ctx context.Context) (*http.Response, error) {
		<-ctx.Done()
		return dripping(context.Background(), &tap{}), nil
	}
	missing := func(ctx context.Context) (*http.Response, error) {
		<-ctx.Done()
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}, nil
	}
	part := func(ctx context.Context) (*http.Response, error) {
		return dripping(ctx, &tap{size: 1 << 60, cup: 1, pause: time.Second, polite: true}), nil
	}
	for name, answer := range map[string]slowAnswer{"whole": whole, "missing": missing, "part": part} {
		for _, url := range []string{listURL, sumsURL, filesURL + filename(linux)} {
			t.Run(name+" "+url, func(t *testing.T) {
				o := newOrigin(t)
				synctest.Test(t, func(t *testing.T) {
					c := New(Config{Transport: bubble{o, slowPages{url: answer}}})
					_, err := everything(t, c)
					says(t, err, url, " within ")
					if _, lies := errors.AsType[*Untrusted](err); lies || errors.Is(err, registry.ErrNotFound) {
						t.Errorf("the error is %v", err)
					}
				})
			})
		}
	}
}

func tapped(t tap) slowAnswer {
	return func(ctx context.Context) (*http.Response, error) { return dripping(ctx, &t), nil }
}

// slowly is a writer that takes a minute for whatever it gets.
type slowly struct{}

func (slowly) Write(b []byte) (int, error) {
	time.Sleep(time.Minute)
	return len(b), nil
}

func TestSlowWriters(t *testing.T) {
	o := newOrigin(t)
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Transport: bubble{origin: o}})
		if _, err := c.Download(t.Context(), o.pkg(), slowly{}); err != nil {
			t.Error(err)
		}
	})
}

// The same over a real connection, with less patience.
func TestSlowConnections(t *testing.T) {
	o := newOrigin(t)
	page := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	}
	o.at(listURL, page)
	o.at(filesURL+filename(linux), page)
	c := o.client()
	c.limits.document, c.limits.stretch = 100*time.Millisecond, 100*time.Millisecond
	_, err := c.Versions(t.Context(), widget)
	says(t, err, "no whole answer within 100ms")
	_, err = c.Download(t.Context(), o.pkg(), io.Discard)
	says(t, err, "too slow: less than 1048576 bytes within 100ms")
}

// crowd answers each request after a second, and counts those that wait.
type crowd struct {
	lock      sync.Mutex
	now, most int
}

func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	c.enter(1)
	defer c.enter(-1)
	time.Sleep(time.Second)
	response := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {typeJSON}}, Body: http.NoBody, Request: r}
	if r.URL.String() == discoveryURL {
		response.StatusCode, response.Body = http.StatusOK, io.NopCloser(strings.NewReader(`{"providers.v1":"/"}`))
	}
	return response, nil
}

func (c *crowd) enter(n int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

func TestFewRequestsAtOnce(t *testing.T) {
	var asked []registry.Platform
	for i := range 3 * maxAtOnce {
		asked = append(asked, registry.Platform{OS: fmt.Sprintf("os%d", i), Arch: "arm64"})
	}
	synctest.Test(t, func(t *testing.T) {
		var all crowd
		_, err := New(Config{Transport: &all}).Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), asked)
		if !errors.Is(err, registry.ErrNotFound) || all.most != maxAtOnce {
			t.Errorf("%d requests at once, want %d; error %v", all.most, maxAtOnce, err)
		}
	})
}
