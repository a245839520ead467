package upkeep_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// Every call of every walk fails in turn, and none of them passes over it in
// silence: whoever is told that all is well can rely on it.
func TestNoWalkPassesOverAFailure(t *testing.T) {
	walked := func(walk upkeep.Walk) error {
		var errs []error
		for _, err := range walk {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	for name, walk := range map[string]func(ctx context.Context, p *publishtest.Parts) error{
		"verify":         func(ctx context.Context, p *publishtest.Parts) error { return walked(p.Verify(ctx, "", false)) },
		"verify quickly": func(ctx context.Context, p *publishtest.Parts) error { return walked(p.Verify(ctx, "", true)) },
		"reindex":        func(ctx context.Context, p *publishtest.Parts) error { return walked(p.Reindex(ctx, "", false)) },
		"contents":       func(ctx context.Context, p *publishtest.Parts) error { return walked(p.Reindex(ctx, "", true)) },
		"read again":     func(ctx context.Context, p *publishtest.Parts) error { return walked(p.ReadAgain(ctx, "")) },
		"resign":         func(ctx context.Context, p *publishtest.Parts) error { return walked(p.Resign(ctx, "")) },
		"own keys":       func(ctx context.Context, p *publishtest.Parts) error { _, err := p.OwnKeys(ctx); return err },
		"signatures": func(ctx context.Context, p *publishtest.Parts) error {
			var errs []error
			for _, err := range p.Signatures(ctx, "") {
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		"uploads": func(ctx context.Context, p *publishtest.Parts) error {
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
		"standing": func(ctx context.Context, p *publishtest.Parts) error {
			_, _, err := p.SetStanding(ctx, registry.Subject{Address: publishtest.VPC, Version: publishtest.MustVersion(t, "1.0.0")}, publishtest.Deprecate("use another"))
			if err == nil {
				_, _, err = p.SetStanding(ctx, registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}, publishtest.Deprecate("use another"))
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
					w = newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
					w.Mixed()
					w.Upload("mirror/registry.terraform.io/acme/widget/"+publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), publishtest.Widget("a"))
					w.Put(registry.OwnKeyKey("F0"), []byte(w.Key.PublicKey().ASCIIArmor))
				}
				if name == "contents" {
					for _, key := range w.KeysUnder(registry.ContentsPrefix) {
						w.S3.Delete(t, key)
					}
				}
				if name == "reindex" { // has something to do of every kind
					w.Index = w.NewCatalog()
					catalogtest.Put(t.Context(), w.Index, registry.ModuleVersion{Address: publishtest.VPC, Version: publishtest.MustVersion(t, "9.0.0"), Revision: 1})
					catalogtest.Put(t.Context(), w.Index, registry.ProviderVersion{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "9.0.0"), Revision: 1})
				}
				key := w.Key
				if name == "resign" {
					key = publishtest.NewKey(t, "next")
				}
				f := &publishtest.Faults{Hits: publishtest.Nth(n)}
				p := w.PartsOn(publishtest.FaultyBucket{Caller: f, Bucket: w.Bucket}, publishtest.FaultyIndex{Caller: f, Index: w.Index}, publishtest.FaultySigner{Caller: f, Key: key})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err := walk(ctx, p)
				cancel()
				if n == 0 {
					if calls = len(f.Calls); err != nil || calls == 0 {
						t.Fatalf("without a failure: %v, after %q", err, f.Calls)
					}
					continue
				}
				if f.Hit {
					calls = max(calls, n+1) // by the order of uploads, it is one more or less
				}
				if f.Hit != errors.Is(err, publishtest.ErrFault) {
					t.Errorf("call %d of %d, %q, fails, and it ends with %v", n, calls, f.Calls[n-1], err)
				}
			}
			t.Logf("%d calls", calls)
		})
	}
}

// paged is a bucket that has fetched what it lists before anybody is cut off.
type paged struct{ blob.Bucket }

func (b paged) List(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return fetched(b.Bucket.List(context.WithoutCancel(ctx), prefix, after))
}

func (b paged) Versions(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return fetched(b.Bucket.Versions(context.WithoutCancel(ctx), prefix, after))
}

// pagedIndex is such a catalog.
type pagedIndex struct{ publishing.Index }

func (i pagedIndex) Entries(ctx context.Context, after string) iter.Seq2[catalog.Entry, error] {
	return fetched(i.Index.Entries(context.WithoutCancel(ctx), after))
}

func fetched[T any](all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		type pair struct {
			value T
			err   error
		}
		var page []pair
		for value, err := range all {
			page = append(page, pair{value, err})
		}
		for _, p := range page {
			if !yield(p.value, p.err) {
				return
			}
		}
	}
}

// Who is cut off comes to nothing more: no version after it is told to have failed.
func TestAWalkThatIsCutOffEnds(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Mixed()
	for _, version := range []string{"8.0.0", "9.0.0"} {
		if err := catalogtest.Put(t.Context(), w.Index, registry.ModuleVersion{Address: publishtest.VPC, Version: publishtest.MustVersion(t, version), Revision: 1}); err != nil {
			t.Fatal(err)
		}
	}
	p := w.PartsOn(paged{w.Bucket}, pagedIndex{w.Index}, w.Key)
	for name, walk := range map[string]func(ctx context.Context) upkeep.Walk{
		"verify":             func(ctx context.Context) upkeep.Walk { return p.Verify(ctx, "", true) },
		"verify the catalog": func(ctx context.Context) upkeep.Walk { return p.Verify(ctx, "catalog:", true) },
		"verify the inbox":   func(ctx context.Context) upkeep.Walk { return p.Verify(ctx, "inbox:", true) },
		"reindex":            func(ctx context.Context) upkeep.Walk { return p.Reindex(ctx, "", false) },
		"resign":             func(ctx context.Context) upkeep.Walk { return p.Resign(ctx, "") },
		"signatures": func(ctx context.Context) upkeep.Walk {
			return func(yield func(upkeep.Step, error) bool) {
				for signed, err := range p.Signatures(ctx, "") {
					if !yield(signed.Step, err) {
						return
					}
				}
			}
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var subjects []string
		for step := range walk(ctx) {
			cancel()
			if step.Subject != "" && !slices.Contains(subjects, step.Leg) {
				subjects = append(subjects, step.Leg)
			} else if step.Subject != "" {
				t.Errorf("%s: once it is cut off it comes to %s", name, step.Subject)
			}
		}
		if len(subjects) == 0 {
			t.Errorf("%s comes to nothing", name)
		}
		cancel()
	}
}

// An archive that breaks off while it is verified is no archive that is right.
func TestVerifyNamesWhatBreaksOff(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Mixed()
	var read []string
	noting := publishtest.CallFunc(func(name string, do func() error) error {
		err := do()
		if key, ok := strings.CutPrefix(name, "read "); ok && err == nil && !slices.Contains(read, key) {
			read = append(read, key)
		}
		return err
	})
	if found := w.Walked(w.Through(noting).Verify(t.Context(), "", false)); len(found) > 0 || len(read) < 20 {
		t.Fatalf("it reads %q, and finds %q", read, found)
	}
	for _, key := range read {
		var errs []error
		for _, err := range w.PartsOn(publishtest.Breaking{Bucket: w.Bucket, Key: key, Err: publishtest.ErrFault}, w.Index, w.Key).Verify(t.Context(), "", false) {
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); !errors.Is(err, publishtest.ErrFault) {
			t.Errorf("%s breaks off: %v", key, err)
		}
	}
}

// A listing that fails is of the walk as a whole, and ends it.
func TestAListingThatFailsEndsTheWalk(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Mixed()
	for call, test := range map[string]struct{ after, words string }{
		"list " + registry.RecordsPrefix: {"records:", "list the records: "},
		"catalog: read all":              {"catalog:", "list the catalog: "},
		"versions of keys/":              {"inbox:", "list the inbox: "},
	} {
		f := &publishtest.Faults{Hits: publishtest.Point{Name: call, Number: 1}.Hits}
		steps := 0
		for step, err := range w.Through(f).Verify(t.Context(), test.after, true) {
			if steps++; step.Subject != "" || !errors.Is(step.Whole(err), publishtest.ErrFault) || !strings.HasPrefix(err.Error(), test.words) {
				t.Errorf("%s fails: the walk comes to %+v, %v", call, step, err)
			}
		}
		if steps != 1 {
			t.Errorf("%s fails: the walk has %d steps, want one", call, steps)
		}
	}
}
