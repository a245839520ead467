package dynamocatalog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

// The partitions of the directory, and the name of the one item in each of them.
const (
	directoryPrefix = "D#"
	headPartition   = directoryPrefix + "HEAD"
	directoryName   = "D"

	// headPrefix begins the names of the head's attributes, before the number of a shard.
	headPrefix = "s"
)

var _ catalog.DirectoryIndex = (*Catalog)(nil)

// DirectoryHead implements [catalog.Directory].
func (c *Catalog) DirectoryHead(ctx context.Context, lookup *access.Lookup) (catalog.DirectoryHead, error) {
	head, err := c.directoryHead(ctx, lookup)
	if err != nil {
		return catalog.DirectoryHead{}, fmt.Errorf("read the head of the directory: %w", c.explain(err))
	}
	return head, nil
}

func (c *Catalog) directoryHead(ctx context.Context, lookup *access.Lookup) (head catalog.DirectoryHead, err error) {
	var i wire.Item
	if lookup == nil {
		i, err = c.client.GetItem(ctx, wire.Get{Table: c.name, Key: headItemKey(), Consistent: true})
	} else {
		wanted, ask := false, *lookup
		ask.Wanted = func(t *access.Token) bool { wanted = lookup.Found(t); return wanted }
		i, err = c.getWithToken(ctx, &ask, headItemKey())
		if err == nil && !wanted {
			err = registry.ErrNotFound
		}
		lookup.Token = ask.Token
	}
	if err != nil || i == nil {
		return head, err
	}
	return decodeHead(i)
}

// decodeHead reads the head. A shard without an attribute was never written.
func decodeHead(i wire.Item) (head catalog.DirectoryHead, err error) {
	for name, revision := range i.Numbers() {
		digits, ok := strings.CutPrefix(name, headPrefix)
		number, err := strconv.Atoi(digits)
		if !ok || err != nil || number < 0 || number >= len(head) || revision < 1 {
			return catalog.DirectoryHead{}, errForeign
		}
		head[number] = uint64(revision)
	}
	return head, nil
}

// DirectoryShards implements [catalog.Directory].
func (c *Catalog) DirectoryShards(ctx context.Context, numbers []int) ([]catalog.DirectoryShard, error) {
	shards, err := c.directoryShards(ctx, numbers)
	if err != nil {
		return nil, fmt.Errorf("read %d shards of the directory: %w", len(numbers), c.explain(err))
	}
	return shards, nil
}

func (c *Catalog) directoryShards(ctx context.Context, numbers []int) ([]catalog.DirectoryShard, error) {
	if err := layout.CheckShardNumbers(numbers); err != nil {
		return nil, err
	}
	found := map[string]catalog.DirectoryShard{} // by partition
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(numbers))), maxBatch) {
		var keys []wire.Item
		for _, number := range part {
			keys = append(keys, shardKey(number))
		}
		items, err := c.batch(ctx, keys)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			shard, err := decodeShard(i)
			if err != nil {
				return nil, err
			}
			found[i.Text(PartitionKey)] = shard
		}
	}
	shards := make([]catalog.DirectoryShard, len(numbers))
	for n, number := range numbers {
		shards[n] = found[shardPartition(number)]
		shards[n].Number = number
	}
	return shards, nil
}

func decodeShard(i wire.Item) (shard catalog.DirectoryShard, err error) {
	revision := i.Number(revisionAttribute)
	shard.Data = i.Bytes(dataAttribute)
	if revision < 1 || shard.Data == nil {
		return catalog.DirectoryShard{}, errForeign
	}
	shard.Revision = uint64(revision)
	return shard, nil
}

// PutDirectoryShard implements [catalog.DirectoryIndex]. All writers change the head. So while
// one does, DynamoDB refuses the others, and they send the same again.
func (c *Catalog) PutDirectoryShard(ctx context.Context, shard catalog.DirectoryShard) error {
	err := layout.CheckShard(shard)
	if err == nil {
		err = c.putShard(ctx, shard)
	}
	if err != nil {
		return fmt.Errorf("write shard %d of the directory: %w", shard.Number, c.explain(err))
	}
	return nil
}

// CurrentListing implements [catalog.DirectoryIndex]. It takes one request.
func (c *Catalog) CurrentListing(ctx context.Context, a registry.Address) (registry.Listing, error) {
	partition := layout.Partition(a)
	listing, _, err := c.decodedListing(ctx, partition, true)
	if err != nil {
		return nil, fmt.Errorf("read the listing of %s in the catalog: %w", partition, c.explain(err))
	}
	return listing, nil
}

func (c *Catalog) putShard(ctx context.Context, shard catalog.DirectoryShard) error {
	put := wire.Put{Table: c.name, Item: newItem(shardPartition(shard.Number), directoryName, int(shard.Revision), shard.Data)}
	put.Condition, put.Values = revisionIs(int(shard.Revision) - 1)
	writes := []wire.Write{{Put: &put}, {Update: &wire.Update{
		Table:  c.name,
		Key:    headItemKey(),
		Update: "SET " + headPrefix + strconv.Itoa(shard.Number) + " = :next",
		Values: wire.Item{wire.Number(":next", int(shard.Revision))},
	}}}
	for failures := range maxMerges {
		if err := wire.Pause(ctx, failures); err != nil {
			return err
		}
		err := c.client.TransactWriteItems(ctx, writes)
		switch {
		case firstConditionFailed(err):
			return catalog.ErrChanged
		case !conflicted(err):
			return err
		}
	}
	return errBusy
}

func headItemKey() wire.Item { return key(headPartition, directoryName) }

func shardPartition(number int) string { return directoryPrefix + strconv.Itoa(number) }

func shardKey(number int) wire.Item { return key(shardPartition(number), directoryName) }
