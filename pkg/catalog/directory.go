package catalog

import (
	"context"

	"github.com/larder-registry/larder/pkg/access"
)

// DirectoryShards is how many shards the directory has. An address is in the shard that its hash
// names, so writers of different addresses seldom meet, and a change rewrites little.
const DirectoryShards = 256

// DirectoryHead has the revision of each shard of the directory: 0 for one that was never
// written. It is what a reader asks for each time, to know which shards to read again.
type DirectoryHead [DirectoryShards]uint64

// DirectoryShard is one shard: its number, from 0, its revision, which counts its changes, and
// its data. What the data mean is the business of package directory.
type DirectoryShard struct {
	Number   int
	Revision uint64
	Data     []byte
}

// MaxDirectoryShard is the most data of a shard, in bytes as they are stored: an item of
// DynamoDB has at most 400 KiB. No driver compresses them.
const MaxDirectoryShard = 350 << 10

// Directory is an index over all addresses, for lists and searches, in as many shards as there
// are. Like the rest of the catalog, it can be built again. Implementations are safe for
// concurrent use.
type Directory interface {
	// DirectoryHead reads the revisions of all shards, in one request. The lookup is as in
	// [Catalog]. A directory that was never written has the zero head, and no error.
	// What is read is at most a second old.
	DirectoryHead(ctx context.Context, lookup *access.Lookup) (DirectoryHead, error)

	// DirectoryShards reads shards by their numbers, in one request for each 100 of them or
	// each 16 MB. There is one for each number, in the order of the numbers. One that was
	// never written has nothing but its number.
	//
	// A shard may be newer than a head that was read before. It may also be older, if its
	// writer was just about to end: DynamoDB shows the parts of a transaction one after the
	// other. Then it is right a moment later.
	DirectoryShards(ctx context.Context, numbers []int) ([]DirectoryShard, error)
}

// DirectoryIndex is the directory as its writers see it.
type DirectoryIndex interface {
	Directory

	// PutDirectoryShard stores a shard whose Revision is one more than the one that was
	// read, and brings the head up to it. Both change at once, or nothing does. No other
	// shard is touched, so writers of different shards do not disturb each other.
	//
	// Errors: [ErrChanged] if the shard does not have the revision before; [ErrNoRoom].
	PutDirectoryShard(ctx context.Context, shard DirectoryShard) error
}
