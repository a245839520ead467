package serve

import (
	"encoding/json"
	"net/http"

	"golang.org/x/time/rate"

	"github.com/larder-registry/larder/pkg/protocol"
)

// How often the routes are asked for that whoever has no token asks: as often as
// a deployment on AWS takes them. The pages of a login that has begun are not
// counted; they are good once, and there are no more of them than logins.
const (
	loginRate, loginBurst = 5, 20 // a second, and at once
	tokenRate, tokenBurst = 20, 50
)

// throttled answers 429 to what comes too often. So strangers who begin logins
// do not fill the room that there is for those of others.
func throttled(next http.Handler) http.Handler {
	limits := map[string]*rate.Limiter{
		protocol.LoginPath: rate.NewLimiter(loginRate, loginBurst),
		protocol.TokenPath: rate.NewLimiter(tokenRate, tokenBurst),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := limits[r.URL.Path]
		if limit == nil || limit.Allow() {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_ = json.NewEncoder(w).Encode(map[string][]string{"errors": {"too many ask for this at the same time: try again in a second"}})
	})
}
