package publish_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
)

// Every call of every walk fails in turn, and none of them passes over it in
// silence: whoever is told that all is well can rely on it.
func TestNoWalkPassesOverAFailure(t *testing.T) {
	walked := func(walk publish.Walk) error {
		var errs []error
		for _, err := range walk {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	for name, walk := range map[string]func(ctx context.Context, p *publish.Publisher) error{
		"verify":         func(ctx context.Context, p *publish.Publisher) error { return walked(p.Verify(ctx, "", false)) },
		"verify quickly": func(ctx context.Context, p *publish.Publisher) error { return walked(p.Verify(ctx, "", true)) },
		"reindex":        func(ctx context.Context, p *publish.Publisher) error { return walked(p.Reindex(ctx, "")) },
		"resign":         func(ctx context.Context, p *publish.Publisher) error { return walked(p.Resign(ctx, "")) },
		"own keys":       func(ctx context.Context, p *publish.Publisher) error { _, err := p.OwnKeys(ctx); return err },
		"signatures": func(ctx context.Context, p *publish.Publisher) error {
			var errs []error
			for _, err := range p.Signatures(ctx, "") {
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		"uploads": func(ctx context.Context, p *publish.Publisher) error {
			for key, err := range p.Uploads(ctx, "") {
				if err == nil {
					err = p.PublishKey(ctx, key)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		"standing": func(ctx context.Context, p *publish.Publisher) error {
			_, _, err := p.SetModuleStanding(ctx, vpc, mustVersion(t, "1.0.0"), deprecate("use another"))
			if err == nil {
				_, _, err = p.SetProviderStanding(ctx, widgets, mustVersion(t, "1.0.0"), deprecate("use another"))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			var w *world
			every := 1
			if testing.Short() {
				every = 6
			}
			for n := 0; n <= calls; n += every { // 0 is none
				if w == nil || !slices.Contains([]string{"verify", "verify quickly", "own keys", "signatures"}, name) {
					w = newWorldOn(t, inMemory, onBolt)
					w.mixed()
					w.upload("mirror/registry.terraform.io/acme/widget/"+providerName("widget", "1.0.0", "linux_amd64.zip"), widget("a"))
					w.put(registry.OwnKeyKey("F0"), []byte(w.key.PublicKey().ASCIIArmor))
				}
				if name == "reindex" { // has something to do of every kind
					w.index = w.newCatalog()
					w.index.PutModuleVersion(t.Context(), registry.ModuleVersion{Address: vpc, Version: mustVersion(t, "9.0.0"), Revision: 1})
					w.index.PutProviderVersion(t.Context(), registry.ProviderVersion{Address: widgets, Version: mustVersion(t, "9.0.0"), Revision: 1})
				}
				key := w.key
				if name == "resign" {
					key = newKey(t, "next")
				}
				f := &faults{hits: nth(n)}
				p := w.publisher(faultyBucket{f, w.bucket}, faultyIndex{f, w.index}, faultySigner{f, key})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err := walk(ctx, p)
				cancel()
				if n == 0 {
					if calls = len(f.calls); err != nil || calls == 0 {
						t.Fatalf("without a failure: %v, after %q", err, f.calls)
					}
					continue
				}
				if f.hit != errors.Is(err, errFault) { // by the order of uploads, it is a call more or less
					t.Errorf("call %d of %d, %q, fails, and it ends with %v", n, calls, f.calls[n-1], err)
				}
			}
			t.Logf("%d calls", calls)
		})
	}
}
