package catalogtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// DirectoryDriver is what a driver of a directory brings to its suite: a catalog with a
// directory, and the tokens that it finds.
type DirectoryDriver struct {
	Index interface {
		catalog.Index
		catalog.DirectoryIndex
	}
	Store access.Tokens
}

// Directory runs the suite of [catalog.DirectoryIndex]. open is called for every catalog that
// it takes, which are empty.
func Directory(t *testing.T, open func(t *testing.T) DirectoryDriver) {
	for name, test := range map[string]func(*directorySuite, *testing.T){
		"empty": (*directorySuite).empty, "round trip": (*directorySuite).roundTrip, "changed": (*directorySuite).changed,
		"refused": (*directorySuite).refused, "all": (*directorySuite).all, "lookups": (*directorySuite).lookups,
		"at once, one shard": (*directorySuite).oneShardAtOnce, "at once, many shards": (*directorySuite).manyAtOnce,
		"current listing": (*directorySuite).currentListing, "beside the catalog": (*directorySuite).besideCatalog, "cancelled": (*directorySuite).cancelled,
	} {
		t.Run(name, func(t *testing.T) { test(&directorySuite{open(t)}, t) })
	}
}

type directorySuite struct{ DirectoryDriver }

func shard(number int, revision uint64, data string) catalog.DirectoryShard {
	return catalog.DirectoryShard{Number: number, Revision: revision, Data: []byte(data)}
}

func (s *directorySuite) put(t *testing.T, put catalog.DirectoryShard) {
	t.Helper()
	if err := s.Index.PutDirectoryShard(t.Context(), put); err != nil {
		t.Fatal(err)
	}
}

// want checks what the directory has, and that nothing else of it was written.
func (s *directorySuite) want(t *testing.T, want ...catalog.DirectoryShard) {
	t.Helper()
	var wantHead catalog.DirectoryHead
	var numbers []int
	for _, shard := range want {
		wantHead[shard.Number] = shard.Revision
		numbers = append(numbers, shard.Number)
	}
	if head, err := s.Index.DirectoryHead(t.Context(), nil); err != nil || head != wantHead {
		t.Errorf("the head is %v, %v, want %v", head, err, wantHead)
	}
	got, err := s.Index.DirectoryShards(t.Context(), numbers)
	if err != nil || !slices.EqualFunc(got, want, sameShard) {
		t.Errorf("the shards are %.300v, %v, want %.300v", got, err, want)
	}
}

func sameShard(a, b catalog.DirectoryShard) bool {
	return a.Number == b.Number && a.Revision == b.Revision && bytes.Equal(a.Data, b.Data)
}

func (s *directorySuite) empty(t *testing.T) {
	s.want(t)
	s.want(t, catalog.DirectoryShard{}, catalog.DirectoryShard{Number: 255})
	if got, err := s.Index.DirectoryShards(t.Context(), nil); err != nil || len(got) > 0 {
		t.Errorf("no shards are %v, %v", got, err)
	}
}

// roundTrip also asks for shards in another order, and twice for one.
func (s *directorySuite) roundTrip(t *testing.T) {
	full := shard(255, 1, strings.Repeat("x", catalog.MaxDirectoryShard))
	s.put(t, shard(7, 1, "first"))
	s.put(t, full)
	s.put(t, shard(7, 2, "second\x00\xff"))
	s.put(t, shard(0, 1, ""))
	s.want(t, full, shard(0, 1, ""), catalog.DirectoryShard{Number: 8}, shard(7, 2, "second\x00\xff"), full)
}

func (s *directorySuite) changed(t *testing.T) {
	s.put(t, shard(7, 1, "first"))
	s.put(t, shard(7, 2, "second"))
	for _, late := range []catalog.DirectoryShard{shard(7, 0, "x"), shard(7, 1, "x"), shard(7, 2, "x"), shard(7, 4, "x"), shard(8, 0, "x"), shard(8, 2, "x")} {
		if err := s.Index.PutDirectoryShard(t.Context(), late); !errors.Is(err, catalog.ErrChanged) {
			t.Errorf("revision %d of shard %d: %v, want ErrChanged", late.Revision, late.Number, err)
		}
	}
	s.want(t, shard(7, 2, "second"), catalog.DirectoryShard{Number: 8})
}

func (s *directorySuite) refused(t *testing.T) {
	err := s.Index.PutDirectoryShard(t.Context(), shard(1, 1, strings.Repeat("x", catalog.MaxDirectoryShard+1)))
	if !errors.Is(err, catalog.ErrNoRoom) {
		t.Errorf("too large: %v, want ErrNoRoom", err)
	}
	for _, number := range []int{-1, catalog.DirectoryShards} {
		if err := s.Index.PutDirectoryShard(t.Context(), shard(number, 1, "x")); err == nil {
			t.Errorf("shard %d was written", number)
		}
		if got, err := s.Index.DirectoryShards(t.Context(), []int{0, number}); err == nil {
			t.Errorf("shard %d is %v", number, got)
		}
	}
	s.want(t)
}

// all writes and reads all shards.
func (s *directorySuite) all(t *testing.T) {
	var want []catalog.DirectoryShard
	for number := range catalog.DirectoryShards {
		want = append(want, shard(number, 1, fmt.Sprint("shard ", number)))
		s.put(t, want[number])
	}
	s.want(t, want...)
}

// lookups checks that the head is read with a token as everything else is.
func (s *directorySuite) lookups(t *testing.T) {
	for _, written := range []uint64{0, 1} {
		var want catalog.DirectoryHead
		if want[3] = written; written > 0 {
			s.put(t, shard(3, written, "x"))
		}
		for name, lookup := range lookups(t, LookupDriver{s.Index, s.Store}) {
			found := lookup.start()
			head, err := s.Index.DirectoryHead(t.Context(), &found)
			if err != nil || head != want || found.ID != lookup.id || !reflect.DeepEqual(found.Token, lookup.want) {
				t.Errorf("%s: %v, %v, found %+v, want %+v", name, head, err, found.Token, lookup.want)
			}
			found = lookup.start()
			found.Wanted = func(t *access.Token) bool { return !reflect.DeepEqual(t, lookup.want) }
			if head, err := s.Index.DirectoryHead(t.Context(), &found); !errors.Is(err, registry.ErrNotFound) || head != (catalog.DirectoryHead{}) || !reflect.DeepEqual(found.Token, lookup.want) {
				t.Errorf("%s, unwanted: %v, %v, found %+v", name, head, err, found.Token)
			}
			if lookup.want != nil {
				if err := s.Store.RevokeToken(t.Context(), lookup.id); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// writers is how many write at once, and each how often.
const writers, writes = 14, 3

// oneShardAtOnce checks that writers who read a shard and add to it lose nothing, and that a
// reader never sees a shard that is older than the head it saw.
func (s *directorySuite) oneShardAtOnce(t *testing.T) {
	var wg, reading sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	reading.Go(func() { s.watch(ctx, t, 5) })
	for writer := range writers {
		wg.Go(func() {
			for n := range writes {
				s.add(t, 5, fmt.Sprintf("%d.%d ", writer, n))
			}
		})
	}
	wg.Wait()
	cancel()
	reading.Wait()
	got, err := s.Index.DirectoryShards(t.Context(), []int{5})
	if err != nil || got[0].Revision != writers*writes || len(strings.Fields(string(got[0].Data))) != writers*writes {
		t.Errorf("%d writes ended in %v, %v", writers*writes, got, err)
	}
}

// manyAtOnce has each writer write shards of its own: nobody else is in the way.
func (s *directorySuite) manyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	var want []catalog.DirectoryShard
	for writer := range writers {
		want = append(want, shard(writer*2, writes, fmt.Sprint(writer)))
		wg.Go(func() {
			for n := range writes {
				if err := s.Index.PutDirectoryShard(t.Context(), shard(writer*2, uint64(n+1), fmt.Sprint(writer))); err != nil {
					t.Errorf("writer %d: %v", writer, err)
				}
			}
		})
	}
	wg.Wait()
	s.want(t, want...)
}

// add adds a text to a shard.
func (s *directorySuite) add(t *testing.T, number int, text string) {
	for {
		shards, err := s.Index.DirectoryShards(t.Context(), []int{number})
		if err != nil {
			t.Error(err)
			return
		}
		next := shards[0]
		next.Revision++
		next.Data = append(next.Data, text...)
		if err = s.Index.PutDirectoryShard(t.Context(), next); err == nil {
			return
		} else if !errors.Is(err, catalog.ErrChanged) {
			t.Error(err)
			return
		}
	}
}

// watch reads a shard after the head, until the context ends.
func (s *directorySuite) watch(ctx context.Context, t *testing.T, number int) {
	for ctx.Err() == nil {
		head, err := s.Index.DirectoryHead(t.Context(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		shards, err := s.Index.DirectoryShards(t.Context(), []int{number})
		if err != nil || shards[0].Revision < head[number] {
			t.Errorf("revision %d of the head is read as %d, %v", head[number], shards[0].Revision, err)
			return
		}
	}
}

// currentListing checks that a listing has what was put before, and is empty where nothing is
// listed.
func (s *directorySuite) currentListing(t *testing.T) {
	index, m := &suite{s.Index}, moduleVersion("some/current/aws", "1.0.0", 1)
	want := func(want registry.Listing) {
		t.Helper()
		if got, err := s.Index.CurrentListing(t.Context(), m.Address); err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("listed as %v, %v, want %v", got, err, want)
		}
	}
	want(nil)
	index.putModule(t, m)
	want(registry.Listing{m.Listed()})
	index.done(t, s.Index.Remove(t.Context(), m.Subject(), catalog.Seen{State: 1, Listed: 1}))
	want(nil)
}

// besideCatalog checks that the directory is no part of a walk, and nothing of the catalog is
// lost to it.
func (s *directorySuite) besideCatalog(t *testing.T) {
	index := &suite{s.Index}
	m := moduleVersion("beside/directory/aws", "1.0.0", 1)
	index.putModule(t, m)
	for number := range 20 {
		s.put(t, shard(number, 1, "x"))
	}
	p := providerVersion("beside/directory", "1.0.0", "linux_amd64", "release")
	index.putProvider(t, p)
	if got := walk(t, s.Index.Entries(t.Context(), "")); len(got) != 2 {
		t.Errorf("a walk meets %v", got)
	}
	index.wantModule(t, m)
	index.wantProvider(t, p)
}

func (s *directorySuite) cancelled(t *testing.T) {
	s.put(t, shard(1, 1, "x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, headErr := s.Index.DirectoryHead(ctx, nil)
	_, lookupErr := s.Index.DirectoryHead(ctx, &access.Lookup{ID: token("any").ID})
	_, shardsErr := s.Index.DirectoryShards(ctx, []int{1})
	_, listingErr := s.Index.CurrentListing(ctx, module("some/cancelled/aws"))
	for call, err := range map[string]error{
		"CurrentListing": listingErr, "DirectoryHead": headErr, "DirectoryHead with a lookup": lookupErr, "DirectoryShards": shardsErr,
		"PutDirectoryShard": s.Index.PutDirectoryShard(ctx, shard(1, 2, "y")),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", call, err)
		}
	}
	s.want(t, shard(1, 1, "x"))
}
