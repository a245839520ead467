package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

var vpc = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}

// published publishes versions of a module in a data folder, with a node that then stops.
func published(t *testing.T, set settings.Settings, versions ...string) {
	t.Helper()
	n := &node{settings: set}
	r := startNode(t, n)
	archive := publishtest.ZipOf(map[string]string{"main.tf": "# a module\n"})
	for _, v := range versions {
		if err := n.blobs.Create(t.Context(), "modules/acme/vpc/aws/"+v+".zip", archive); err != nil {
			t.Fatal(err)
		}
		awaitListed(t, n.catalog, v)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}

// awaitListed waits until a catalog lists a version.
func awaitListed(t *testing.T, c catalog.Catalog, version string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !slices.Contains(listed(t, c), version); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s is not listed: %q", version, listed(t, c))
		}
	}
}

// listed is the versions that a catalog lists.
func listed(t *testing.T, c catalog.Catalog) (versions []string) {
	t.Helper()
	listing, err := catalog.Listing(t.Context(), c, vpc)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		t.Fatal(err)
	}
	for _, entry := range listing {
		versions = append(versions, entry.Version.String())
	}
	slices.Sort(versions)
	return versions
}

// opening opens a node as far as it goes before it serves, and returns the requests to its
// bucket.
func opening(t *testing.T, set settings.Settings) (n *node, requests []string) {
	t.Helper()
	n = &node{settings: set, logger: slog.New(slog.NewTextHandler(&logtest.Log{}, nil))}
	n.uploads = n.newUploadQueue()
	if err := n.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := n.bucket.HTTPClient.Transport
	n.bucket.HTTPClient.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		requests = append(requests, r.Method+" "+r.URL.Path+"?"+r.URL.Query().Get("prefix"))
		return next.RoundTrip(r)
	})
	if err := n.openRegistry(t.Context()); err != nil {
		t.Fatal(errors.Join(err, n.close()))
	}
	return n, requests
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Before it serves, a start sends the same requests to its bucket whatever is published, and
// reads no record.
func TestStartDoesNotLookAtVersions(t *testing.T) {
	set := localSettings(t)
	var first []string
	for _, versions := range [][]string{{"1.0.0"}, {"1.1.0"}, {"1.2.0", "1.3.0", "1.4.0", "1.5.0"}} {
		published(t, set, versions...)
		n, requests := opening(t, set)
		if err := n.close(); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = requests
		}
		if !slices.Equal(requests, first) || strings.Contains(strings.Join(requests, " "), registry.RecordsPrefix) {
			t.Errorf("with %q more, a start sends %q, and the first one %q", versions, requests, first)
		}
	}
}

// A catalog that lacks what the last run published is brought up to the records before
// anybody is answered.
func TestCatalogThatIsNotOfTheLastRun(t *testing.T) {
	other := localSettings(t)
	published(t, other, "9.9.9")
	set := localSettings(t)
	path, lastRun := filepath.Join(set.Data, datadir.Catalog), filepath.Join(set.Data, datadir.LastRun)
	published(t, set, "1.0.0")
	older := read(t, path)
	published(t, set, "1.1.0")
	current := read(t, path)
	for name, replace := range map[string]func() error{
		"removed":                     func() error { return os.Remove(path) },
		"removed, and half built":     func() error { return errors.Join(os.Remove(path), os.WriteFile(path+".part", older, 0o600)) },
		"empty":                       func() error { return os.WriteFile(path, nil, 0o600) },
		"an older one":                func() error { return os.WriteFile(path, older, 0o600) },
		"of another registry":         func() error { return os.WriteFile(path, read(t, filepath.Join(other.Data, datadir.Catalog)), 0o600) },
		"older than this release":     func() error { return errors.Join(os.WriteFile(path, older, 0o600), os.Remove(lastRun)) },
		"older, and an empty last ID": func() error { return errors.Join(os.WriteFile(path, older, 0o600), os.WriteFile(lastRun, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(os.WriteFile(path, current, 0o600), replace()); err != nil {
				t.Fatal(err)
			}
			n, _ := opening(t, set)
			if got := listed(t, n.catalog); len(got) < 2 || !slices.Equal(got[:2], []string{"1.0.0", "1.1.0"}) || n.compareLater {
				t.Errorf("before it serves, it lists %q, and it compares later: %v", got, n.compareLater)
			}
			if err := n.close(); err != nil {
				t.Fatal(err)
			}
			if n, _ = opening(t, set); !n.compareLater {
				t.Error("the start after that does not trust the catalog")
			}
			if err := n.close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A directory may lack what an older release has published. It is built again before anybody is
// answered.
func TestDirectoryAfterAnOlderRelease(t *testing.T) {
	set := localSettings(t)
	published(t, set, "1.0.0")
	path, lastRun := filepath.Join(set.Data, datadir.Catalog), filepath.Join(set.Data, datadir.LastRun)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { // as if it knew nothing but that it was built
		entries := tx.Bucket([]byte("directory"))
		var head [catalog.DirectoryShards * 8]byte
		head[directory.BuiltShard*8+7] = 1
		cursor := entries.Cursor()
		for key, _ := cursor.First(); key != nil; key, _ = cursor.First() {
			if err := entries.Delete(key); err != nil {
				return err
			}
		}
		return errors.Join(entries.Put([]byte("head"), head[:]), tx.Bucket([]byte("meta")).Put([]byte("last run"), []byte("older")))
	})
	if err := errors.Join(err, db.Close(), os.WriteFile(lastRun, []byte("older"), 0o600)); err != nil {
		t.Fatal(err)
	}
	n, _ := opening(t, set)
	defer n.close()
	head, err := n.catalog.DirectoryHead(t.Context(), nil)
	head[directory.BuiltShard] = 0
	if err != nil || head == (catalog.DirectoryHead{}) || !n.compareLater {
		t.Errorf("%v; the directory is empty: %v; the catalog is compared later: %v", err, head == catalog.DirectoryHead{}, n.compareLater)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What is at the place of the last ID and cannot be read is an error that says what to do.
func TestLastRunThatCannotBeRead(t *testing.T) {
	set := localSettings(t)
	published(t, set, "1.0.0")
	path := filepath.Join(set.Data, datadir.LastRun)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), set, slog.New(slog.NewTextHandler(&logtest.Log{}, nil)), io.Discard)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "if you remove it") {
		t.Errorf("it ends with %v", err)
	}
}

// A version that was accepted by a node that was killed before it listed the version is
// listed while the next node serves.
func TestAcceptedIsListedBesideServing(t *testing.T) {
	set := localSettings(t)
	published(t, set, "1.0.0", "1.1.0")
	index, err := boltcatalog.Open(filepath.Join(set.Data, datadir.Catalog))
	if err != nil {
		t.Fatal(err)
	}
	version := registry.Subject{Address: vpc, Version: publishtest.MustVersion(t, "1.1.0")}
	if err := errors.Join(index.Remove(t.Context(), version, catalog.Seen{State: 1, Listed: 1}), index.Close()); err != nil {
		t.Fatal(err)
	}
	n := &node{settings: set}
	startNode(t, n)
	if !n.compareLater {
		t.Error("it compared before it served")
	}
	awaitListed(t, n.catalog, "1.1.0")
}

// A node that finds its catalog damaged ends, and does not start again with it.
func TestDamagedCatalog(t *testing.T) {
	set := localSettings(t)
	published(t, set, "1.0.0")
	db, err := bbolt.Open(filepath.Join(set.Data, datadir.Catalog), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	damage := db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("items")).Put([]byte("M#z"), []byte("{")) })
	if err := errors.Join(damage, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, serves := range []bool{true, false} {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		err := Run(ctx, set, slog.New(slog.NewTextHandler(&logtest.Log{}, nil)), &out)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "the catalog is damaged; stop larder, remove the file") {
			t.Errorf("it ends with %v", err)
		}
		if got := out.Len() > 0; got != serves {
			t.Errorf("it has served: %v, want %v", got, serves)
		}
	}
}
