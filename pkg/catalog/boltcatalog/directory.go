package boltcatalog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

var (
	directoryBucket = []byte("directory")
	headKey         = []byte("head")
)

// revisionSize is how many bytes a revision takes, big-endian: in the head, and before the
// data of a shard.
const revisionSize = 8

var _ catalog.DirectoryIndex = (*Catalog)(nil)

// isDirectoryItem says whether a value can be the head or a shard.
func isDirectoryItem(value []byte) bool { return len(value) >= revisionSize }

func shardKey(number int) []byte { return fmt.Appendf(nil, "%03d", number) }

// DirectoryHead implements [catalog.Directory].
func (c *Catalog) DirectoryHead(ctx context.Context, lookup *access.Lookup) (head catalog.DirectoryHead, err error) {
	wanted, err := c.lookUp(ctx, lookup)
	if err != nil || !wanted {
		return head, cmp.Or(err, registry.ErrNotFound)
	}
	err = c.viewDirectory(ctx, func(directory *bbolt.Bucket) (err error) {
		head, err = getHead(directory)
		return err
	})
	if err != nil {
		return catalog.DirectoryHead{}, fmt.Errorf("read the head of the directory: %w", err)
	}
	return head, nil
}

// DirectoryShards implements [catalog.Directory].
func (c *Catalog) DirectoryShards(ctx context.Context, numbers []int) ([]catalog.DirectoryShard, error) {
	shards := make([]catalog.DirectoryShard, len(numbers))
	for i, number := range numbers {
		shards[i].Number = number
	}
	err := layout.CheckShardNumbers(numbers)
	if err == nil {
		err = c.viewDirectory(ctx, func(directory *bbolt.Bucket) error {
			for i := range shards {
				if err := getShard(directory, &shards[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read %d shards of the directory: %w", len(numbers), err)
	}
	return shards, nil
}

// viewDirectory reads the directory, if there is one.
func (c *Catalog) viewDirectory(ctx context.Context, read func(directory *bbolt.Bucket) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return view(c.db, func(tx *bbolt.Tx) error {
		if directory := tx.Bucket(directoryBucket); directory != nil {
			return read(directory)
		}
		return nil
	})
}

// PutDirectoryShard implements [catalog.DirectoryIndex].
func (c *Catalog) PutDirectoryShard(ctx context.Context, shard catalog.DirectoryShard) error {
	err := cmp.Or(ctx.Err(), layout.CheckShard(shard))
	if err == nil {
		err = update(c.db, func(tx *bbolt.Tx) error {
			directory, err := tx.CreateBucketIfNotExists(directoryBucket)
			if err != nil {
				return err
			}
			return putShard(directory, shard)
		})
	}
	if err != nil {
		return fmt.Errorf("write shard %d of the directory: %w", shard.Number, err)
	}
	return nil
}

// CurrentListing implements [catalog.DirectoryIndex].
func (c *Catalog) CurrentListing(ctx context.Context, a registry.Address) (registry.Listing, error) {
	listing, err := catalog.Listing(ctx, c, a)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil
	}
	return listing, err
}

func putShard(directory *bbolt.Bucket, shard catalog.DirectoryShard) error {
	head, err := getHead(directory)
	if err != nil {
		return err
	}
	if head[shard.Number] != shard.Revision-1 {
		return catalog.ErrChanged
	}
	head[shard.Number] = shard.Revision
	value := binary.BigEndian.AppendUint64(make([]byte, 0, revisionSize+len(shard.Data)), shard.Revision)
	if err := directory.Put(shardKey(shard.Number), append(value, shard.Data...)); err != nil {
		return err
	}
	return directory.Put(headKey, encodeHead(head))
}

// getShard fills a shard that has only its number.
func getShard(directory *bbolt.Bucket, shard *catalog.DirectoryShard) error {
	value := directory.Get(shardKey(shard.Number))
	switch {
	case value == nil:
		return nil
	case !isDirectoryItem(value):
		return errDamaged
	}
	shard.Revision = binary.BigEndian.Uint64(value)
	shard.Data = bytes.Clone(value[revisionSize:]) // valid only until the transaction is over
	return nil
}

// getHead is zero if nothing was written yet.
func getHead(directory *bbolt.Bucket) (head catalog.DirectoryHead, err error) {
	value := directory.Get(headKey)
	if value == nil {
		return head, nil
	}
	if len(value) != len(head)*revisionSize {
		return head, errDamaged
	}
	for number := range head {
		head[number] = binary.BigEndian.Uint64(value[number*revisionSize:])
	}
	return head, nil
}

func encodeHead(head catalog.DirectoryHead) []byte {
	value := make([]byte, 0, len(head)*revisionSize)
	for _, revision := range head {
		value = binary.BigEndian.AppendUint64(value, revision)
	}
	return value
}
