package boltcatalog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var widget = registry.ProviderAddress{Namespace: "acme", Type: "widget"}

func open(t testing.TB, path string) *boltcatalog.Catalog {
	t.Helper()
	c, err := boltcatalog.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// filled is the path of a closed catalog with a provider in it.
func filled(t testing.TB, versions, platforms int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "catalog.db")
	c, err := boltcatalog.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range catalogtest.Provider(widget, versions, platforms) {
		if err := catalogtest.Put(t.Context(), c, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCatalog(t *testing.T) {
	catalogtest.Test(t, func(t *testing.T) catalog.Index {
		return open(t, filepath.Join(t.TempDir(), "catalog.db"))
	})
}

// TestReopen checks that what was put is there after the next start, in a file
// that is the owner's alone.
func TestReopen(t *testing.T) {
	path := filled(t, 3, 2)
	c := open(t, path)
	var want registry.Listing
	for _, p := range catalogtest.Provider(widget, 3, 2) {
		want = append(want, p.Listed())
	}
	if got, err := catalog.Listing(t.Context(), c, widget); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("listed as %+v, %v, want %+v", got, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v, want mode 0600", info.Mode(), err)
	}
}

// TestPutKnown checks that a state which is stored already costs no write.
func TestPutKnown(t *testing.T) {
	path := filled(t, 2, 2)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, path)
	for _, p := range catalogtest.Provider(widget, 2, 2) {
		if err := catalogtest.Put(t.Context(), c, p); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// TestNotWritten checks that a write for which the file has no room is an error, and
// leaves nothing, whether the listing has room for it or not.
func TestNotWritten(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	for what, partition := range map[string]int{
		"the state":             bbolt.MaxKeySize - len(" LIST"),
		"the state and listing": bbolt.MaxKeySize,
	} {
		for _, platforms := range []int{0, 2} {
			p := catalogtest.Provider(widget, 1, platforms)[0]
			p.Address.Namespace = strings.Repeat("a", partition-len("P#/widget"))
			putErr := catalogtest.Put(t.Context(), c, p)
			replaceErr := catalogtest.Replace(t.Context(), c, p, catalog.Seen{})
			for call, err := range map[string]error{"Put of a provider": putErr, "Replace of a provider": replaceErr} {
				if !errors.Is(err, bolterrors.ErrKeyTooLarge) {
					t.Errorf("%s, no room for %s with %d platforms: %v", call, what, platforms, err)
				}
			}
		}
	}
	if got, _, _ := walked(t, c, ""); len(got) > 0 {
		t.Errorf("the catalog has %.100q", got)
	}
}

// TestClosed checks that every call on a closed catalog is an error.
func TestClosed(t *testing.T) {
	c, err := boltcatalog.Open(filled(t, 1, 1))
	if err = errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	p := catalogtest.Provider(widget, 2, 1)[1]
	_, readErr := catalog.Listing(t.Context(), c, widget)
	_, walkErrs, _ := walked(t, c, "")
	for call, err := range map[string]error{
		"Listing of a provider": readErr, "Entries": errors.Join(walkErrs...), "Put of a provider": catalogtest.Put(t.Context(), c, p),
		"Replace of a provider": catalogtest.Replace(t.Context(), c, p, catalog.Seen{}),
	} {
		if !errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
			t.Errorf("%s = %v, want that the file is closed", call, err)
		}
	}
}

// TestReadDamaged checks that an item which cannot be read is an error with
// advice, for readers and writers.
func TestReadDamaged(t *testing.T) {
	state := catalogtest.Provider(widget, 2, 2)[1]
	for name, c := range map[string]struct{ key, value string }{
		"unknown set":     {"P#acme/widget LIST", `{"versions":[{"version":"1.0.0","revision":1,"set":0}]}`},
		"negative set":    {"P#acme/widget LIST", `{"sets":[{}],"versions":[{"version":"1.0.0","revision":1,"set":-1}]}`},
		"listing's type":  {"P#acme/widget LIST", `"x"`},
		"listing version": {"P#acme/widget LIST", `{"sets":[{}],"versions":[{"version":"one","revision":1,"set":0}]}`},
		"state's type":    {"P#acme/widget V#0.1.0", `[]`},
		"state's version": {"P#acme/widget V#0.1.0", `{"version":"one"}`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t, 1, 2)
			edit(t, path, func(tx *bbolt.Tx) error {
				return tx.Bucket([]byte("items")).Put([]byte(c.key), []byte(c.value))
			})
			catalog := open(t, path)
			_, listErr := catalogtest.Listing(t.Context(), catalog, widget, nil)
			_, stateErr := catalogtest.ProviderVersion(t.Context(), catalog, widget, state.Version)
			read := stateErr
			if strings.HasSuffix(c.key, "LIST") {
				read = listErr
			}
			if read == nil || !strings.Contains(read.Error(), "remove the file") {
				t.Errorf("reading: %v, want advice", read)
			}
			if name == "state's version" { // its revision can be read, and is lower
				return
			}
			if err := catalog.Put(t.Context(), &state); err == nil || !strings.Contains(err.Error(), "remove the file") {
				t.Errorf("writing: %v, want advice", err)
			}
		})
	}
}

// TestListingIsCallers checks that an append to one entry changes no other.
func TestListingIsCallers(t *testing.T) {
	listing, err := catalog.Listing(t.Context(), open(t, filled(t, 2, 3)), widget)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(listing[1].Platforms)
	for i := range listing {
		listing[i].Platforms = append(listing[i].Platforms, registry.Platform{OS: "os", Arch: listing[i].Version.String()})
	}
	if got := listing[1].Platforms[:len(want)]; !slices.Equal(got, want) || listing[0].Platforms[3] == listing[1].Platforms[3] {
		t.Errorf("the entries have %v and %v", listing[0].Platforms, listing[1].Platforms)
	}
}

// refused checks that a file is refused with a reason and what to do.
func refused(t *testing.T, path string, want ...string) {
	t.Helper()
	c, err := boltcatalog.Open(path)
	if err == nil {
		t.Fatalf("Open succeeded: %v", c.Close())
	}
	for _, part := range append(want, path) {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("Open = %q, want %q in it", err, part)
		}
	}
}

func TestOpenTwice(t *testing.T) {
	path := filled(t, 1, 1)
	open(t, path)
	refused(t, path, "another larder has it open")
}

func TestOpenOtherFormat(t *testing.T) {
	for name, change := range map[string]func(tx *bbolt.Tx) error{
		"newer": func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("larder catalog 2"))
		},
		"foreign": func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("meta")) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filled(t, 1, 1)
			edit(t, path, change)
			refused(t, path, "no catalog of this version", "remove the file")
		})
	}
}

func edit(t *testing.T, path string, change func(tx *bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOpenDamaged damages a file in many ways: it is opened or refused with
// advice, and never takes the process down.
func TestOpenDamaged(t *testing.T) {
	whole, err := os.ReadFile(filled(t, 60, 5))
	if err != nil {
		t.Fatal(err)
	}
	noise := bytes.Repeat([]byte{0xA5}, 64)
	damages := map[string]func(file []byte) []byte{
		"text":                 func([]byte) []byte { return []byte("this is no catalog\n") },
		"zeros":                func(file []byte) []byte { return make([]byte, len(file)) },
		"bad item":             func(file []byte) []byte { return bytes.ReplaceAll(file, []byte(`{"address":`), []byte(`{"address";`)) },
		"two out of order":     func(file []byte) []byte { return bytes.ReplaceAll(file, []byte(` V#0.1.0{`), []byte(` V#0.9.0{`)) },
		"two of one name":      func(file []byte) []byte { return bytes.ReplaceAll(file, []byte(` V#0.1.0{`), []byte(` V#0.0.0{`)) },
		"bad meta":             func(file []byte) []byte { copy(file, bytes.Repeat(noise, 200)); return file },
		"cut to 100 bytes":     func(file []byte) []byte { return file[:100] },
		"cut to one page":      func(file []byte) []byte { return file[:os.Getpagesize()] },
		"cut before two pages": func(file []byte) []byte { return file[:2*os.Getpagesize()-1] },
		"cut to two pages":     func(file []byte) []byte { return file[:2*os.Getpagesize()] },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "catalog.db")
			if err := os.WriteFile(path, damage(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, path, "damaged", "remove the file")
		})
	}
	for name, damage := range map[string]func(file []byte, at int) []byte{
		"noise": func(file []byte, at int) []byte { copy(file[at:], noise); return file },
		"cut":   func(file []byte, at int) []byte { return file[:at] },
	} {
		t.Run(name, func(t *testing.T) {
			refusals := 0
			for at := 2 * os.Getpagesize(); at+len(noise) < len(whole); at += os.Getpagesize() {
				path := filepath.Join(t.TempDir(), "catalog.db")
				if err := os.WriteFile(path, damage(bytes.Clone(whole), at), 0o600); err != nil {
					t.Fatal(err)
				}
				c, err := boltcatalog.Open(path)
				if err == nil { // a page that nothing refers to
					err = c.Close()
				} else if refusals++; strings.Contains(err.Error(), "remove the file") {
					err = nil
				}
				if err != nil {
					t.Errorf("at %d: %v", at, err)
				}
			}
			if refusals == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}

// TestOpenUnreadable checks that a file which cannot be opened at all is not
// called damaged: to remove it would not help.
func TestOpenUnreadable(t *testing.T) {
	_, err := boltcatalog.Open(filepath.Join(t.TempDir(), "no folder", "catalog.db"))
	if err == nil || strings.Contains(err.Error(), "remove") {
		t.Errorf("Open = %v, want an error without advice to remove the file", err)
	}
}

// TestListingSize checks that a listing has each set of platforms once.
func TestListingSize(t *testing.T) {
	path := filled(t, 400, 12)
	var size int
	edit(t, path, func(tx *bbolt.Tx) error {
		size = len(tx.Bucket([]byte("items")).Get([]byte("P#acme/widget LIST")))
		return nil
	})
	t.Logf("%d bytes", size)
	if size == 0 || size > 30_000 {
		t.Errorf("the listing of 400 versions for 12 platforms has %d bytes, want some 18,000", size)
	}
}

func BenchmarkProviderVersions(b *testing.B) {
	c := open(b, filled(b, 400, 12))
	for b.Loop() {
		if _, err := catalog.Listing(b.Context(), c, widget); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProviderVersion(b *testing.B) {
	c := open(b, filled(b, 1, 14))
	v := catalogtest.Provider(widget, 1, 14)[0].Version
	for b.Loop() {
		if _, err := catalogtest.ProviderVersion(b.Context(), c, widget, v); err != nil {
			b.Fatal(err)
		}
	}
}
