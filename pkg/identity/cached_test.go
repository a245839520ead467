package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func text(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestIssuerOfNoUse(t *testing.T) {
	pages := map[string]struct {
		page http.HandlerFunc
		says string
	}{
		"500":      {text(500, "secret"), "status 500"},
		"404":      {http.NotFound, "status 404"},
		"204":      {text(204, ""), "status 204"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "redirect"},
		"HTML":     {text(200, "<html>secret</html>"), ""},
		"empty":    {text(200, ""), ""},
		"array":    {text(200, "[]"), ""},
		"null":     {text(200, "null"), ""},
		"2 MiB":    {text(200, `{"x":"`+strings.Repeat("x", 2<<20)+`"}`), "more than 1048576 bytes"},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "no connection"},
	}
	for _, path := range []string{discoveryPath, keysPath} {
		for name, c := range pages {
			t.Run(name+" "+path, func(t *testing.T) {
				issuer := newTestIssuer(t)
				issuer.serve(path, c.page)
				issuer.serve("/elsewhere", func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
				unusable(t, issuer, issuer.verifier(), c.says)
			})
		}
	}
	many := newTestIssuer(t)
	many.publish(make([]any, maxKeys+1)...)
	unusable(t, many, many.verifier(), "51 keys")
	for name, documents := range map[string][]any{
		"issuer":   {"https://evil.example.com", "", nil, "http"},
		"jwks_uri": {"http://127.0.0.1/keys", "", nil, "/keys", "https://", "file:///etc/passwd", "https://user@127.0.0.1/keys", "https://127.0.0.1/keys#x", "https://[::1"},
	} {
		for _, value := range documents {
			t.Run(fmt.Sprint(name, " ", value), func(t *testing.T) {
				issuer := newTestIssuer(t)
				if value == "http" {
					value = issuer.URL + "/"
				}
				issuer.discover(name, value)
				unusable(t, issuer, issuer.verifier(), "discovery document")
				issuer.asked(map[string]int{discoveryPath: 1})
			})
		}
	}
}

// unusable checks that no token of an issuer can be verified, and the error.
func unusable(t *testing.T, issuer *testIssuer, v *Verifier, says string) {
	t.Helper()
	err := issuer.verify(v, issuer.good(jose.RS256, rsaKey(), "rsa"))
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), issuer.URL) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
		t.Errorf("it is %v; want %q", err, says)
	}
}

func TestIssuerThatCannotBeReached(t *testing.T) {
	issuer := newTestIssuer(t)
	unusable(t, issuer, NewVerifier(Config{Now: issuer.clock}), "certificate")
	v := issuer.verifier()
	issuer.Close()
	unusable(t, issuer, v, "no connection")

	plain := strings.Replace(issuer.URL, "https:", "http:", 1)
	raw := sign(jose.EdDSA, edKey(), nil, map[string]any{"iss": plain})
	if _, err := v.Verify(t.Context(), raw, plain, []string{audience}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "https://") {
		t.Errorf("over http: %v", err)
	}
	if _, err := v.http.Get(plain); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("the client speaks http: %v", err)
	}
}

func TestSlowIssuer(t *testing.T) {
	issuer := newTestIssuer(t)
	page, _, release := blocking(text(500, ""))
	defer release()
	issuer.serve(keysPath, page)
	v := issuer.verifier()
	raw := issuer.good(jose.RS256, rsaKey(), "rsa")

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := v.Verify(ctx, raw, issuer.URL, []string{audience}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("beyond the deadline: %v", err)
	}

	issuer.pass(failRest)
	v.http.Timeout = 100 * time.Millisecond
	if _, err := v.Verify(t.Context(), raw, issuer.URL, []string{audience}); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "in time") {
		t.Errorf("beyond our patience: %v", err)
	}
}

// Whoever hangs up leaves the others with an answer.
func TestCanceled(t *testing.T) {
	issuer := newTestIssuer(t)
	page, waiting, release := blocking(func(w http.ResponseWriter, r *http.Request) {
		issuer.serve(keysPath, nil)
		issuer.ServeHTTP(w, r)
	})
	defer release()
	issuer.serve(keysPath, page)
	v := issuer.verifier()
	raw := issuer.good(jose.RS256, rsaKey(), "rsa")

	ctx, hangUp := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := v.Verify(ctx, raw, issuer.URL, []string{audience})
		first <- err
	}()
	await(t, func() bool { return waiting.Load() == 1 })
	hangUp()
	if _, err := v.Verify(ctx, raw, issuer.URL, []string{audience}); !errors.Is(err, ErrUnavailable) { // waits no more
		t.Errorf("one who hung up: %v", err)
	}
	release()
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := issuer.verify(v, raw); err != nil {
		t.Error(err)
	}
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 2}) // of which one is the page asking for itself
}

func TestManyAtOnceAskOnce(t *testing.T) {
	issuer := newTestIssuer(t)
	v := issuer.verifier()
	all := func(raw string, good bool) {
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				if err := issuer.verify(v, raw); (err == nil) != good {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
	all(issuer.good(jose.RS256, rsaKey(), "rsa"), true)
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 1})

	all(issuer.good(jose.RS256, rsaKey(), "unknown"), false)
	for n := range 100 {
		if err := issuer.verify(v, issuer.good(jose.EdDSA, edKey(), fmt.Sprint("unknown ", n))); !errors.Is(err, ErrTooSoon) {
			t.Fatal(err)
		}
	}
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 2})

	issuer.pass(Rest)
	all(issuer.good(jose.RS256, otherRSAKey(), ""), false) // no kid, and no key that fits
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 3})

	issuer.pass(Rest)
	all(issuer.good(jose.RS256, otherRSAKey(), "rsa"), false) // the key is known: no reason to ask
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 3})
}

// A verifier whose first token has an unknown kid has just asked.
func TestUnknownKeyAtFirst(t *testing.T) {
	issuer := newTestIssuer(t)
	if err := issuer.verify(issuer.verifier(), issuer.good(jose.RS256, rsaKey(), "unknown")); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 1})
}

func TestKeyRotation(t *testing.T) {
	issuer := newTestIssuer(t)
	v := issuer.verifier()
	check := func(when string, want error, key any, kid string) {
		t.Helper()
		if err := issuer.verify(v, issuer.good(jose.RS256, key, kid)); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
	check("at first", nil, rsaKey(), "rsa")
	issuer.publish(public(otherRSAKey().Public(), "new"))
	check("the old key, as long as nobody came with the new one", nil, rsaKey(), "rsa")
	check("the new key, at once", nil, otherRSAKey(), "new")
	check("the old key, from then on", ErrTooSoon, rsaKey(), "rsa")
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 2})

	issuer.publish(public(rsaKey().Public(), "rsa"))
	issuer.pass(Rest - time.Second)
	check("within the rest", ErrTooSoon, rsaKey(), "rsa")
	check("the key that is known, within the rest", nil, otherRSAKey(), "new")
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 2})
	issuer.pass(time.Second)
	check("after it", nil, rsaKey(), "rsa")
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 3})
	issuer.pass(freshFor)
	check("the old key, after an hour", ErrInvalid, otherRSAKey(), "new")
	check("the new key, after an hour", nil, rsaKey(), "rsa")
	issuer.asked(map[string]int{discoveryPath: 2, keysPath: 4})

	issuer.publish() // which revokes all
	issuer.pass(freshFor)
	check("without keys", ErrInvalid, rsaKey(), "rsa")
}

func TestIssuerGoesDown(t *testing.T) {
	issuer := newTestIssuer(t)
	v := issuer.verifier()
	check := func(when string, want error, kid string, asked map[string]int) {
		t.Helper()
		if err := issuer.verify(v, issuer.good(jose.RS256, rsaKey(), kid)); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
		issuer.asked(asked)
	}
	down := func() {
		issuer.serve(discoveryPath, text(503, ""))
		issuer.serve(keysPath, text(503, ""))
	}
	down()
	check("from the start", ErrUnavailable, "rsa", map[string]int{discoveryPath: 1})
	check("left alone", ErrUnavailable, "rsa", map[string]int{discoveryPath: 1})
	issuer.serve(discoveryPath, nil)
	issuer.serve(keysPath, nil)
	issuer.pass(failRest)
	check("up", nil, "rsa", map[string]int{discoveryPath: 2, keysPath: 1})

	down()
	issuer.pass(freshFor)
	check("stale", nil, "rsa", map[string]int{discoveryPath: 3, keysPath: 2})
	check("a key that might be new", ErrUnavailable, "new", map[string]int{discoveryPath: 3, keysPath: 2})
	issuer.pass(staleFor - freshFor - time.Second)
	check("stale still", nil, "rsa", map[string]int{discoveryPath: 4, keysPath: 3})
	issuer.pass(time.Second)
	check("too old", ErrUnavailable, "rsa", map[string]int{discoveryPath: 4, keysPath: 3})
	issuer.serve(discoveryPath, nil)
	issuer.serve(keysPath, nil)
	issuer.pass(failRest)
	check("up again", nil, "rsa", map[string]int{discoveryPath: 5, keysPath: 4})

	down()
	issuer.pass(freshFor)
	check("a key that might be new, by who asks", ErrUnavailable, "new", map[string]int{discoveryPath: 6, keysPath: 5})
}

// If a renewal fails, the known keys stay good.
func TestRenewalFails(t *testing.T) {
	issuer := newTestIssuer(t)
	v := issuer.verifier()
	good := issuer.good(jose.RS256, rsaKey(), "rsa")
	if err := issuer.verify(v, good); err != nil {
		t.Fatal(err)
	}
	issuer.serve(keysPath, text(503, ""))
	for range 3 {
		if err := issuer.verify(v, issuer.good(jose.RS256, rsaKey(), "new")); !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	}
	if err := issuer.verify(v, good); err != nil {
		t.Error(err)
	}
	issuer.asked(map[string]int{discoveryPath: 1, keysPath: 2})
}

func TestIssuersAreBounded(t *testing.T) {
	v := NewVerifier(Config{})
	name := func(n int) string { return fmt.Sprintf("https://%d.example.com", n) }
	first := v.issuer(name(0))
	for n := range maxIssuers {
		v.issuer(name(n))
	}
	if len(v.issuers) != maxIssuers || v.issuer(name(0)) != first {
		t.Errorf("%d are remembered, of %d", len(v.issuers), maxIssuers)
	}
	v.issuer(name(maxIssuers))
	if n := len(v.issuers); n > maxIssuers || v.issuer(name(0)) == first {
		t.Errorf("%d are remembered", n)
	}
	if now := v.now(); time.Since(now).Abs() > time.Hour {
		t.Errorf("it is %v", now)
	}
}

// Whoever waited while another one renewed gets what is new.
func TestRenewedMeanwhile(t *testing.T) {
	n := 0
	c := newCached(time.Now, func(context.Context) (*int, error) { n++; return new(n), nil })
	seen, _, err := c.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := c.renew(t.Context(), seen); err != nil || *got != 2 || n != 2 {
			t.Errorf("it is %d after %d requests, %v", *got, n, err)
		}
	}
}

// Of many who want an answer at once one asks, and what comes of it is for all of
// them, a failure as well.
func TestWaiting(t *testing.T) {
	broken := errors.New("broken")
	for name, want := range map[string]error{"an answer": nil, "a failure": broken} {
		synctest.Test(t, func(t *testing.T) {
			n, release := 0, make(chan struct{})
			c := newCached(time.Now, func(context.Context) (*int, error) {
				n++
				<-release
				if want != nil {
					return nil, want
				}
				return &n, nil
			})
			var wait sync.WaitGroup
			for range 5 {
				wait.Go(func() {
					got, asked, err := c.get(t.Context())
					if !errors.Is(err, want) || (got != nil) != (want == nil) || want == nil && !asked {
						t.Errorf("%s: %v, asked: %v, %v", name, got, asked, err)
					}
				})
			}
			synctest.Wait()
			gone, hangUp := context.WithCancel(t.Context())
			for _, do := range []func() error{
				func() error { _, _, err := c.get(gone); return err },
				func() error { _, err := c.renew(gone, nil); return err },
			} {
				wait.Go(func() {
					if err := do(); !errors.Is(err, context.Canceled) {
						t.Errorf("%s, for one who hung up: %v", name, err)
					}
				})
			}
			synctest.Wait()
			hangUp()
			synctest.Wait()
			close(release)
			wait.Wait()
			if n != 1 {
				t.Errorf("%s: %d requests", name, n)
			}
			if got, err := c.renew(gone, c.value); got != nil || !errors.Is(err, context.Canceled) || n != 1 {
				t.Errorf("%s, for one who is gone: %v, %v, %d requests", name, got, err, n)
			}
		})
	}
}

// A request ends with its deadline, not with who asked, and leaves nothing running.
func TestDetached(t *testing.T) {
	var seen context.Context
	c := newCached(time.Now, func(ctx context.Context) (*int, error) { seen = ctx; return new(1), ctx.Err() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, _, err := c.get(ctx); err != nil {
		t.Fatal(err)
	}
	want, _ := ctx.Deadline()
	if got, ok := seen.Deadline(); !ok || got != want || seen.Err() == nil {
		t.Errorf("the deadline is %v and not %v; afterwards it is %v", got, want, seen.Err())
	}
}
