package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Of what comes too often at a route, the rest is told to come again; and other
// routes do not suffer.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := throttled(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
		ask := func(path string, times int) (taken int) {
			t.Helper()
			for range times {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
				switch {
				case w.Code == http.StatusNoContent:
					taken++
				case w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || !strings.HasPrefix(w.Body.String(), `{"errors":["too many`):
					t.Fatalf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
				}
			}
			return taken
		}
		for _, c := range []struct {
			path        string
			asked, want int
		}{
			{"/v1/login", 100, 20}, {"/v1/token", 100, 50}, {"/v1/login/callback", 100, 100}, {"/v1/login/consent", 100, 100},
		} {
			if got := ask(c.path, c.asked); got != c.want {
				t.Errorf("%s: %d of %d are taken at once, want %d", c.path, got, c.asked, c.want)
			}
		}
		time.Sleep(time.Second)
		if login, token := ask("/v1/login", 100), ask("/v1/token", 100); login != loginRate || token != tokenRate {
			t.Errorf("a second later %d and %d are taken", login, token)
		}
	})
}
