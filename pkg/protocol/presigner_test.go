package protocol

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// failing is a bucket that fails to make the n-th URL.
type failing struct {
	calls, n int
}

func (f *failing) PresignGet(ctx context.Context, key string) (string, error) {
	if f.calls++; f.calls == f.n {
		return "", errors.New("no credentials")
	}
	return bucket{}.PresignGet(ctx, key)
}

// If a URL of an answer cannot be made, the answer is an error: not one without the URL, not
// a 404, and not one with a package of the origin instead.
func TestAPresignerThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		path  string
		calls int
	}{
		"module":           {everyRoute[2], 1},
		"provider":         {everyRoute[4], 3},
		"mirrored version": {mirrorPath + "registry.terraform.io/acme/widget/1.0.0.json", 3},
	} {
		for n := 0; n <= test.calls; n++ {
			m := newMemory(t)
			if name == "mirrored version" {
				m.provider.Address.Hostname = "registry.terraform.io"
				more := m.provider.Packages[0]
				more.Platform = darwin
				m.provider.Packages = slices.Insert(m.provider.Packages, 0, more) // by platform
			}
			var log bytes.Buffer
			presigner, o := &failing{n: n}, &origins{versions: nil}
			o.versions = append(o.versions, m.provider.Version)
			config := open(m)
			config.Presigner, config.Origins, config.Logger = presigner, o, slog.New(slog.NewTextHandler(&log, nil))
			r := ask(t, New(config), http.MethodGet, test.path)
			if n == 0 {
				if got := body(t, r); r.StatusCode >= 300 || presigner.calls != test.calls {
					t.Errorf("%s: answered %d, %s, after %d URLs", name, r.StatusCode, got, presigner.calls)
				}
				continue
			}
			expectError(t, name, r, http.StatusInternalServerError, "internal error")
			if r.Header.Get("X-Terraform-Get") != "" || o.asked > 0 || !strings.Contains(log.String(), "no credentials") {
				t.Errorf("%s, URL %d: got %q, asked the origin %d times, and said %s", name, n, r.Header.Get("X-Terraform-Get"), o.asked, &log)
			}
		}
	}
}
