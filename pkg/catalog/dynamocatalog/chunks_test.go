package dynamocatalog_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// noise is text that hardly compresses.
func noise(length int, alphabet string) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = alphabet[rand.IntN(len(alphabet))]
	}
	return string(text)
}

func compressed(t testing.TB, text string) []byte {
	t.Helper()
	var data bytes.Buffer
	w := gzip.NewWriter(&data)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// long is a listing that hardly compresses: some 80 bytes for each version.
func long(t testing.TB, versions int) registry.Listing {
	t.Helper()
	var listing registry.Listing
	for n := range versions {
		v := registrytest.Version(t, fmt.Sprintf("1.%d.0-x%s", n, noise(100, letters[:62])))
		listing = append(listing, registry.Listed{Version: v, Revision: 1, Platforms: []registry.Platform{{OS: "linux", Arch: "amd64"}}})
	}
	return listing
}

// TestChunks checks that a listing of several items is one request still, while
// it grows and shrinks.
func TestChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newTable(t)
	count := &transport{}
	c := b.open(t, count)
	for revision, tt := range []struct{ versions, chunks, items int }{{2000, 1, 1}, {5000, 2, 2}, {10_000, 3, 3}, {5000, 2, 3}, {1, 1, 3}} {
		want := long(t, tt.versions)
		if err := c.Fill(t.Context(), widget, revision, want); err != nil {
			t.Fatal(err)
		}
		count.take()
		got, err := catalog.Listing(t.Context(), c, widget)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d versions were read as %d, %v", len(want), len(got), err)
		}
		if operations := count.take(); !slices.Equal(operations, []string{"Query"}) {
			t.Errorf("%d versions took %v", len(want), operations)
		}
		items := b.items(t, "P#"+widget.String())
		if chunks := items["LIST"]["chunks"].(*types.AttributeValueMemberN).Value; chunks != fmt.Sprint(tt.chunks) || len(items) != tt.items {
			t.Errorf("%d versions are %s chunks in %d items, want %d in %d", len(want), chunks, len(items), tt.chunks, tt.items)
		}
	}
}

// TestChunksAreSwappedAtOnce reads while listings of two and three chunks
// replace each other: every listing is one that was written.
func TestChunksAreSwappedAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and what is at once is in the database: the race detector has nothing to see")
	}
	b := newTable(t)
	c := b.open(t, nil)
	listings := []registry.Listing{long(t, 5000), long(t, 8500)}
	if err := c.Fill(t.Context(), widget, 0, listings[0]); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for revision := 1; revision <= 6; revision++ {
			if err := c.Fill(t.Context(), widget, revision, listings[revision%2]); err != nil {
				t.Error(err)
				return
			}
		}
	})
	wg.Go(func() {
		for number := 0; ; number++ {
			select {
			case <-done:
				t.Logf("%d reads", number)
				return
			default:
			}
			got, err := catalog.Listing(t.Context(), c, widget)
			if err != nil || !slices.ContainsFunc(listings, func(l registry.Listing) bool { return reflect.DeepEqual(l, got) }) {
				t.Errorf("a listing of %d versions, %v", len(got), err)
			}
		}
	})
	wg.Wait()
}

// revise gives an item of a listing another revision.
func (b table) revise(t *testing.T, a registry.ProviderAddress, name, revision string) {
	t.Helper()
	i := b.items(t, "P#"+a.String())[name]
	i["revision"] = &types.AttributeValueMemberN{Value: revision}
	b.put(t, "P#"+a.String(), name, i)
}

// TestChunksOfTwoRevisions checks that a listing of mixed revisions is read again, and is an
// error if that does not help.
func TestChunksOfTwoRevisions(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newTable(t)
	count := &transport{}
	c := b.open(t, count)
	want := long(t, 5000)
	if err := c.Fill(t.Context(), widget, 0, want); err != nil {
		t.Fatal(err)
	}
	put := func(revision string) { b.revise(t, widget, "LIST#1", revision) }
	put("2")
	if _, err := catalog.Listing(t.Context(), c, widget); err == nil || !strings.Contains(err.Error(), "of different revisions") {
		t.Errorf("ProviderVersions = %v", err)
	}
	count.pick = func(number int) (fault, bool) {
		if number == 3 {
			put("1")
		}
		return fault{}, false
	}
	count.take()
	if got, err := catalog.Listing(t.Context(), c, widget); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d versions, %v", len(got), err)
	}
	if operations := count.take(); !slices.Equal(operations, []string{"Query", "Query, consistent", "Query, consistent"}) {
		t.Errorf("it took %q", operations)
	}
}

// TestChunksManyAtOnce has many writers of a listing that takes a transaction.
func TestChunksManyAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and what is at once is in the database: the race detector has nothing to see")
	}
	b := newTable(t)
	want := long(t, 4500)
	if err := b.open(t, nil).Fill(t.Context(), widget, 0, want); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, p := range catalogtest.Provider(widget, 4, 2) {
		want, _ = want.With(p.Listed())
		c := b.open(t, nil)
		wg.Go(func() {
			if err := catalogtest.Put(t.Context(), c, p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := catalog.Listing(t.Context(), b.open(t, nil), widget); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d versions are listed, %v; want %d", len(got), err, len(want))
	}
}

// TestChunksDespiteFaults fails the transaction once, in a way after which it is
// sent again.
func TestChunksDespiteFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newTable(t)
	before := long(t, 4500)
	p := catalogtest.Provider(widget, 1, 2)[0]
	for i, f := range passing {
		p.Address.Type = fmt.Sprint("widget", i)
		if err := b.open(t, nil).Fill(t.Context(), p.Address, 0, before); err != nil {
			t.Fatal(err)
		}
		c := b.open(t, &transport{pick: f.only(requestsPerPut)})
		if err := catalogtest.Put(t.Context(), c, p); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		want, _ := before.With(p.Listed())
		if got, err := catalog.Listing(t.Context(), c, p.Address); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d versions are listed, %v; want %d", f.name, len(got), err, len(want))
		}
	}
}

// TestTooLarge checks that what does not fit is an error, and nothing is lost.
func TestTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newTable(t)
	c := b.open(t, nil)
	want := long(t, 100)
	if err := c.Fill(t.Context(), widget, 0, want); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), widget, 1, long(t, 13_000)); !errors.Is(err, catalog.ErrNoRoom) || !strings.Contains(err.Error(), "listing of 13000 versions is too long") {
		t.Errorf("a listing = %v", err)
	}
	p := catalogtest.Provider(widget, 1, 1)[0]
	p.Release.Keys[0].ASCIIArmor = noise(600_000, letters)
	if err := catalogtest.Put(t.Context(), c, p); err == nil || !strings.Contains(err.Error(), "an item of DynamoDB has room for") {
		t.Errorf("a state = %v", err)
	}
	if got, err := catalog.Listing(t.Context(), c, widget); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d versions are listed, %v; want %d", len(got), err, len(want))
	}
}
