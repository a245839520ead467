package directory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// readAtOnce is how many addresses are read at the same time.
const readAtOnce = 32

// Rebuild brings the entries of all addresses of the catalog up to it and to the contents. It
// removes those of other addresses, and replaces shards that cannot be read. It writes only
// shards that differ, and can run beside Refresh. In the end it notes that all are there: see
// [BuiltShard]. It goes on after an error, and returns all of them.
//
// It walks over the catalog, and reads the listing and a version of each address, and what the
// contents read. All addresses are in memory meanwhile.
func (w *Writer) Rebuild(ctx context.Context) error {
	if err := w.rebuild(ctx); err != nil {
		return fmt.Errorf("build the directory: %w", err)
	}
	return nil
}

func (w *Writer) rebuild(ctx context.Context) error {
	known, head, err := w.collect(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for number := range known {
		if err := ctx.Err(); err != nil {
			return err
		}
		if shard := &known[number]; len(shard.addresses) > 0 || shard.anew {
			errs = append(errs, w.refresh(ctx, number, shard.addresses, shard.anew))
		}
	}
	if err := errors.Join(errs...); err != nil || head[BuiltShard] > 0 {
		return err
	}
	err = w.index.PutDirectoryShard(ctx, catalog.DirectoryShard{Number: BuiltShard, Revision: 1})
	if errors.Is(err, catalog.ErrChanged) { // somebody else has built it, too
		return nil
	}
	return err
}

// shardAddresses is the addresses of a shard, each once.
type shardAddresses struct {
	addresses []registry.Address
	anew      bool // the shard has to be written, whatever it has
	met       map[registry.Address]bool
}

func (s *shardAddresses) add(a registry.Address) {
	if s.met == nil {
		s.met = map[registry.Address]bool{}
	}
	if a.Folder() != registry.Mirror && !s.met[a] {
		s.met[a] = true
		s.addresses = append(s.addresses, a)
	}
}

// collect has all addresses of the catalog and of the directory, by shard.
func (w *Writer) collect(ctx context.Context) (known [catalog.DirectoryShards]shardAddresses, head catalog.DirectoryHead, err error) {
	var last registry.Address
	for entry, err := range w.index.Entries(ctx, "") {
		if err != nil && entry.Cursor == "" {
			return known, head, err
		}
		// An entry that cannot be read has its address, and its listing is read anyway.
		if a := entry.Subject.Address; a != nil && a != last {
			last = a
			known[ShardOf(a)].add(a)
		}
	}
	if head, err = w.index.DirectoryHead(ctx, nil); err != nil {
		return known, head, err
	}
	shards, err := w.index.DirectoryShards(ctx, addressShards())
	for _, shard := range shards {
		collectShard(shard, head[shard.Number], &known[shard.Number])
	}
	return known, head, err
}

// addressShards is the shards that have addresses.
func addressShards() (numbers []int) {
	for number := range catalog.DirectoryShards {
		if number != BuiltShard {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// collectShard adds the addresses that a shard has. A shard that cannot be read, or whose
// revision the head does not have, is written anew.
func collectShard(shard catalog.DirectoryShard, revision uint64, known *shardAddresses) {
	entries, err := decodeEntries(shard.Data)
	known.anew = err != nil || shard.Revision != revision
	for _, e := range entries {
		known.add(e.Address)
	}
}

// atOnce makes calls at the same time, up to readAtOnce of them.
func atOnce(calls int, call func(i int)) {
	var wg sync.WaitGroup
	turns := make(chan struct{}, readAtOnce)
	for i := range calls {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			call(i)
		})
	}
	wg.Wait()
}
