package directory_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func TestMain(m *testing.M) { os.Exit(dynamotest.Run(m)) }

// engines open an empty catalog. Without DynamoDB Local the second one skips its test.
var engines = map[string]func(t testing.TB) directory.Index{
	"bbolt": func(t testing.TB) directory.Index { return openBolt(t) },
	"DynamoDB": func(t testing.TB) directory.Index {
		engine := dynamotest.Start(t)
		c, err := dynamocatalog.New(dynamocatalog.Config{
			Table: engine.CreateTable(t), Region: engine.Region, Credentials: engine.Credentials(), Endpoint: engine.Endpoint,
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	},
}

func openBolt(t testing.TB) *boltcatalog.Catalog {
	t.Helper()
	c, err := boltcatalog.Open(filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// world is a catalog with its directory.
type world struct {
	index    *faulty
	contents *described
	writer   *directory.Writer
	view     *directory.View
}

func newWorld(t testing.TB, index directory.Index) *world {
	t.Helper()
	w := &world{index: &faulty{Index: index}, contents: &described{}}
	w.writer = directory.NewWriter(directory.WriterConfig{Index: w.index, Contents: w.contents})
	w.view = newView(w.index)
	return w
}

func newView(index directory.Index) *directory.View {
	return directory.NewView(catalog.NewReader(catalog.ReaderConfig{Catalog: index, Directory: index, Logger: slog.New(slog.DiscardHandler)}))
}

// described has the descriptions of versions by address and version.
type described struct {
	of    map[string]directory.Description
	fails error
}

func (d *described) Describe(_ context.Context, s registry.State) (directory.Description, error) {
	return d.of[s.Subject().String()], d.fails
}

// faulty counts the calls of an index, and fails those that a test picks.
type faulty struct {
	directory.Index
	mu    sync.Mutex // for the calls, which may be at the same time
	calls []string
	fail  func(call string, number int) error // nil: none
	after bool                                // the call is made all the same
	then  func(call string)                   // after each call
}

func (f *faulty) call(name string, make func() error) error {
	fault := f.note(name)
	if fault != nil && !f.after {
		return fault
	}
	err := make()
	if f.then != nil {
		f.then(name)
	}
	return errors.Join(fault, err)
}

// note notes a call, and says whether it shall fail.
func (f *faulty) note(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, name)
	if f.fail == nil {
		return nil
	}
	return f.fail(name, len(f.calls))
}

func (f *faulty) State(ctx context.Context, v registry.Subject, lookup *access.Lookup) (s catalog.Snapshot[registry.State], err error) {
	err = f.call("State", func() (err error) { s, err = f.Index.State(ctx, v, lookup); return err })
	return s, err
}

func (f *faulty) CurrentListing(ctx context.Context, a registry.Address) (l registry.Listing, err error) {
	err = f.call("CurrentListing", func() (err error) { l, err = f.Index.CurrentListing(ctx, a); return err })
	return l, err
}

func (f *faulty) DirectoryHead(ctx context.Context, lookup *access.Lookup) (h catalog.DirectoryHead, err error) {
	err = f.call("DirectoryHead", func() (err error) { h, err = f.Index.DirectoryHead(ctx, lookup); return err })
	return h, err
}

func (f *faulty) DirectoryShards(ctx context.Context, numbers []int) (s []catalog.DirectoryShard, err error) {
	err = f.call("DirectoryShards", func() (err error) { s, err = f.Index.DirectoryShards(ctx, numbers); return err })
	return s, err
}

func (f *faulty) PutDirectoryShard(ctx context.Context, s catalog.DirectoryShard) error {
	return f.call("PutDirectoryShard", func() error { return f.Index.PutDirectoryShard(ctx, s) })
}

// take is the calls since the last time.
func (f *faulty) take() string {
	calls := strings.Join(f.calls, " ")
	f.calls = nil
	return calls
}

func module(t testing.TB, address string) registry.ModuleAddress {
	t.Helper()
	a, err := registry.ParseAddress(registry.Modules, address)
	if err != nil {
		t.Fatal(err)
	}
	return a.(registry.ModuleAddress)
}

var published = time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)

// moduleVersion is a version that was published so many hours after published.
func moduleVersion(t testing.TB, address, version string, revision, hours int) *registry.ModuleVersion {
	return &registry.ModuleVersion{
		Address: module(t, address), Version: registrytest.Version(t, version), Revision: revision, Published: published.Add(time.Duration(hours) * time.Hour),
		Archive: registry.ModuleArchive{Format: "zip", SHA256: strings.Repeat("ab", 32), Source: "https://example.com/" + address},
	}
}

func withdrawn(m *registry.ModuleVersion) *registry.ModuleVersion {
	next := *m
	next.Revision++
	next.Standing = registry.Standing{State: registry.Withdrawn}
	return &next
}

func providerVersion(t testing.TB, address, version string) *registry.ProviderVersion {
	t.Helper()
	a, err := registry.ParseAddress(registry.Providers, address)
	if err != nil {
		t.Fatal(err)
	}
	return &registry.ProviderVersion{
		Address: a.(registry.ProviderAddress), Version: registrytest.Version(t, version), Revision: 2, Published: published,
		Packages: []registry.Package{{Platform: registry.Platform{OS: "linux", Arch: "amd64"}, Sequence: 1, Source: "https://example.com/" + address}},
		Release:  &registry.Release{Sequence: 2},
	}
}

// put puts states into the catalog alone.
func (w *world) put(t testing.TB, states ...registry.State) {
	t.Helper()
	for _, s := range states {
		if err := w.index.Put(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// publish puts states, and refreshes their entries.
func (w *world) publish(t testing.TB, states ...registry.State) {
	t.Helper()
	for _, s := range states {
		w.put(t, s)
		if err := w.writer.Refresh(t.Context(), s.Subject().Address); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) list(t testing.TB, q directory.Query) []directory.Entry {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 1000
	}
	page, err := w.view.List(t.Context(), access.Anyone, q)
	if err != nil || page.Total != len(page.Entries) {
		t.Fatalf("%+v: %d of %d, %v", q, len(page.Entries), page.Total, err)
	}
	return page.Entries
}

// has checks all entries, of modules and of providers.
func (w *world) has(t testing.TB, want ...directory.Entry) {
	t.Helper()
	got := append(w.list(t, directory.Query{}), w.list(t, directory.Query{Folder: registry.Providers})...)
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the directory has %+v\nwant %+v", got, want)
	}
}

func addresses(entries []directory.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, e.Address.String())
	}
	return strings.Join(all, " ")
}
