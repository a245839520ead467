package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/pkg/registry"
)

// The paths that say whether the node lives, and whether it is ready, with Kubernetes's
// names for these.
const (
	livePath  = "/healthz/live"
	readyPath = "/healthz/ready"
	// healthPath is for programs that ask at only one path.
	healthPath = "/healthz"
)

const (
	// healthLasts is how long an answer is repeated, so that frequent requests cost
	// nothing.
	healthLasts = time.Second
	// healthTimeout bounds the check of all parts.
	healthTimeout = 2 * time.Second
)

// vital is a part without which the node is not ready.
type vital struct {
	name    string // in answers to strangers
	answers func(context.Context) error
}

// health answers whether the node is ready, and passes on all other requests.
type health struct {
	parts  []vital
	lasts  time.Duration // how long an answer is repeated
	next   http.Handler
	logger *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	missing string // the part that did not answer then
}

// newHealth checks the node's own parts. Key is an object that is in every whole bucket.
func (n *node) newHealth(key string, next http.Handler) *health {
	return &health{lasts: cmp.Or(n.healthLasts, healthLasts), next: next, logger: n.logger, parts: []vital{
		{"bucket", func(ctx context.Context) error {
			_, err := n.blobs.Head(ctx, key)
			return err
		}},
		{"catalog", func(ctx context.Context) error {
			_, err := n.catalog.Listing(ctx, registry.ModuleAddress{Namespace: "larder", Name: "health", System: "null"}, nil)
			if errors.Is(err, registry.ErrNotFound) {
				return nil
			}
			return err
		}},
		{"tokens", func(ctx context.Context) error {
			_, err := n.access.Rules(ctx)
			return err
		}},
		{"signing-key", func(context.Context) error {
			// The key is in memory, but the next start would make another.
			file, err := os.Open(n.dir.Path(datadir.SigningKey))
			if err != nil {
				return fmt.Errorf("%w: put it back from a backup, or restart the server, which makes a new key", err)
			}
			return file.Close()
		}},
	}}
}

// ServeHTTP implements http.Handler.
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	missing := ""
	switch r.URL.Path {
	case livePath:
	case readyPath, healthPath:
		missing = h.look(r.Context())
	default:
		h.next.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
	case missing != "":
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "not ready: "+missing+"\n")
	default:
		_, _ = io.WriteString(w, "ok\n")
	}
}

// look returns the name of a part that does not answer, or "".
func (h *health) look(ctx context.Context) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.looked) < h.lasts {
		return h.missing
	}
	// The answer is for others, too, so it does not end with the first request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
	defer cancel()
	before := h.missing
	h.missing = ""
	for _, part := range h.parts {
		if err := part.answers(ctx); err != nil {
			h.missing = part.name
			if before != part.name {
				h.logger.Error("not ready", "part", part.name, "error", err)
			}
			break
		}
	}
	if before != "" && h.missing == "" {
		h.logger.Info("ready again")
	}
	h.looked = time.Now()
	return h.missing
}
