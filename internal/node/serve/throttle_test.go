package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/pkg/protocol"
)

// Each source has a limit of its own at each route, and all of them have one
// together; other routes have none.
func TestAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		admit := admission()
		ask := func(path, from string, times int) (taken int) {
			for range times {
				r := httptest.NewRequest("GET", path, nil)
				r.RemoteAddr = from
				if admit(r) {
					taken++
				}
			}
			return taken
		}
		for _, c := range []struct {
			path, from  string
			asked, want int
		}{
			{"/v1/login", "192.0.2.1:1", 20, 20},
			{"/v1/login", "192.0.2.1:2", 100, 0},
			{"/v1/login", "[::ffff:192.0.2.1]:3", 100, 0},
			{"/v1/login", "192.0.2.2:1", 100, 20},
			{"/v1/token", "192.0.2.1:1", 100, 50},
			{"/v1/token", "[2001:db8:0:1::1]:1", 100, 50},
			{"/v1/token", "[2001:db8:0:1:ffff::2]:1", 100, 0},
			{"/v1/token", "[2001:db8:0:2::1]:1", 100, 50},
			{"/v1/login", "[2001:db8:0:1::1]:1", 100, 20},
			{"/v1/login", "192.0.2.3:1", 100, 0}, // all of the 60 are gone
			{"/v1/token", "192.0.2.3:1", 100, 50},
			{"/v1/token", "192.0.2.4:1", 100, 0},
			{"/v1/login/callback", "192.0.2.1:1", 100, 100},
			{"/v1/login/consent", "192.0.2.1:1", 100, 100},
		} {
			if got := ask(c.path, c.from, c.asked); got != c.want {
				t.Errorf("%s from %s: %d of %d are taken at once, want %d", c.path, c.from, got, c.asked, c.want)
			}
		}
		time.Sleep(time.Second)
		for _, c := range []struct {
			path, from string
			want       int
		}{{"/v1/login", "192.0.2.1:1", 5}, {"/v1/token", "192.0.2.1:1", 20}, {"/v1/login", "192.0.2.9:1", 10}, {"/v1/token", "192.0.2.9:1", 50}, {"/v1/token", "192.0.2.10:1", 30}} {
			if got := ask(c.path, c.from, 100); got != c.want {
				t.Errorf("%s from %s: a second later %d are taken, want %d", c.path, c.from, got, c.want)
			}
		}
	})
}

// One source never uses up what there is for all.
func TestLimitsLeaveRoom(t *testing.T) {
	for path, l := range limits {
		if l.all < 3*l.each || l.allBurst < 3*l.eachBurst {
			t.Errorf("%s: %+v", path, l)
		}
	}
}

// The table of sources has an end, and what is forgotten is what was away for
// longest.
func TestSourcesAreBounded(t *testing.T) {
	throttle := newThrottle(limit{each: 1, eachBurst: 1, all: 1e9, allBurst: 1e9})
	from := func(n int) netip.Prefix {
		return front.Source(fmt.Sprintf("[2001:db8:%x:%x::1]:1", n>>16, n&0xffff))
	}
	for n := range maxSources {
		throttle.admit(from(n))
	}
	throttle.admit(from(0)) // it came back
	if known := len(throttle.sources); known != maxSources {
		t.Errorf("%d are known, want %d", known, maxSources)
	}
	throttle.admit(from(maxSources))
	if len(throttle.sources) != maxSources || throttle.recent.Len() != maxSources {
		t.Errorf("%d are known, want no more than %d", len(throttle.sources), maxSources)
	}
	if throttle.admit(from(0)) || !throttle.admit(from(1)) {
		t.Error("another one was forgotten than that which was away for longest")
	}
}

// flood posts a form from an address of this machine, times in a second, until
// the context ends, and says how often each status was answered.
func (r *running) flood(ctx context.Context, t *testing.T, from, form string, times int) (stop func() map[int]int) {
	t.Helper()
	client := r.clientFrom(t, from)
	target := "https://" + r.env(t, "LARDER_HOST") + "/v1/token"
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex
	var sending sync.WaitGroup
	answered := map[int]int{}
	tick := time.NewTicker(time.Second / time.Duration(times))
	sending.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			sending.Go(func() {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form))
				if err != nil {
					return
				}
				request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				response, err := client.Do(request)
				if err != nil {
					return // the flood is over
				}
				response.Body.Close()
				mu.Lock()
				defer mu.Unlock()
				answered[response.StatusCode]++
			})
		}
	})
	return func() map[int]int { cancel(); sending.Wait(); return answered }
}

// clientFrom connects from an address of this machine.
func (r *running) clientFrom(t *testing.T, from string) *http.Client {
	t.Helper()
	client := r.client(t)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client.Transport.(*http.Transport).DialContext = dialer.DialContext
	return client
}

// Whoever floods the token endpoint keeps nobody else out: neither by what is
// no request, from the same address, nor by good ones, from another.
func TestFloodKeepsNobodyOut(t *testing.T) {
	r, i := startForPipelines(t)
	whole := url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:jwt"}, "subject_token": {i.identity(t, "https://larder", "evil/x")},
	}.Encode()
	tests := []struct {
		name, from, form string
		limited          bool // the flood is a source with more requests than one may have
	}{
		{"what is empty", "127.0.0.1", "", false},
		{"what is no identity", "127.0.0.1", strings.Replace(whole, "ey", "x", 1), false},
		{"what is a request, from another address", "127.0.0.2", whole, true},
	}
	limit := limits[protocol.TokenPath]
	for _, tt := range tests {
		if tt.from != "127.0.0.1" && runtime.GOOS != "linux" {
			continue // other systems have one address of loopback
		}
		begin := time.Now()
		stop := r.flood(t.Context(), t, tt.from, tt.form, 160)
		time.Sleep(time.Second)
		for n := range 20 {
			if token, status := r.exchange(t, i.identity(t, "https://larder", "acme/x")); token == "" {
				t.Errorf("%s: exchange %d of 20 is answered %d", tt.name, n+1, status)
			}
		}
		answered := stop()
		taken, refused := answered[http.StatusBadRequest], answered[http.StatusTooManyRequests]
		most := limit.eachBurst + int(float64(limit.each)*time.Since(begin).Seconds()) + 1
		switch {
		case len(answered) > 2 || taken+refused < 50:
			t.Errorf("%s: the flood was answered %v, want 50 times at least, and 400 or 429 alone", tt.name, answered)
		case !tt.limited && refused > 0:
			t.Errorf("%s: the flood was answered %v, and what is no request must not count", tt.name, answered)
		case tt.limited && taken > most:
			t.Errorf("%s: the flood was answered %v, and one source has at most %d requests in that time", tt.name, answered, most)
		}
	}
}
