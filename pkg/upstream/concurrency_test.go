package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// witness remembers every request and body of another transport.
type witness struct {
	http.RoundTripper
	lock     sync.Mutex
	contexts []context.Context
	open     int
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := w.RoundTripper.RoundTrip(r)
	w.lock.Lock()
	defer w.lock.Unlock()
	w.contexts = append(w.contexts, r.Context())
	if err == nil {
		w.open++
		response.Body = &witnessed{ReadCloser: response.Body, w: w}
	}
	return response, err
}

type witnessed struct {
	io.ReadCloser
	w    *witness
	once sync.Once
}

func (b *witnessed) Close() error {
	b.once.Do(func() {
		b.w.lock.Lock()
		defer b.w.lock.Unlock()
		b.w.open--
	})
	return b.ReadCloser.Close()
}

func TestNothingIsLeft(t *testing.T) {
	o := newOrigin(t)
	o.at(providerURL+"2.0.0/download/linux/amd64", status(http.StatusInternalServerError))
	c := o.client()
	w := &witness{RoundTripper: c.http.Transport}
	c = New(Config{Transport: w})
	if _, err := everything(t, c); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"2.0.0", "3.0.0"} { // broken, and missing
		if _, err := c.Packages(t.Context(), widget, registrytest.Version(t, v), []registry.Platform{linux}); err == nil {
			t.Errorf("there is a version %s", v)
		}
	}
	missing := o.pkg()
	missing.URL += "x"
	if _, err := c.Download(t.Context(), missing, io.Discard); err == nil {
		t.Error("a missing archive was downloaded")
	}
	if w.open != 0 {
		t.Errorf("%d bodies are open", w.open)
	}
	for i, ctx := range w.contexts {
		if ctx.Err() == nil {
			t.Errorf("the context of request %d still lives", i)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	o := newOrigin(t)
	c := o.client()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := everything(t, c); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			for i := range 2 * maxBases {
				host := fmt.Sprintf("host%d.example.com", i)
				c.bases.Put(host, &url.URL{Host: host}, time.Now(), time.Hour)
				if base, ok := c.bases.Get(host, time.Now()); ok && base.Host != host {
					t.Errorf("%s has the base URL %s", host, base)
				}
			}
		})
	}
	all.Wait()
}
