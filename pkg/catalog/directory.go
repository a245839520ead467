package catalog

import (
	"context"
	"errors"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
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

	// CurrentListing is the listing of an address with all that was put before the call.
	// [Catalog.Listing] may be a second older. It is empty if nothing is listed.
	CurrentListing(ctx context.Context, a registry.Address) (registry.Listing, error)
}

// Admitted is the directory for one caller.
type Admitted struct {
	Head DirectoryHead

	// Allowed says whether the caller may know of an address. Who shows anything of a shard
	// asks this first.
	Allowed func(registry.Address) bool
}

var errNoDirectory = errors.New("this registry has no directory: it is set up without one")

// Directory admits a caller to the directory, and reads its head in the same request. A token
// without a scope for anything that there is may see that: it sees nothing.
//
// Errors: [ErrUnauthorized].
func (r *Reader) Directory(ctx context.Context, caller access.Caller) (Admitted, error) {
	if r.directory == nil {
		return Admitted{}, errNoDirectory
	}
	var admitted Admitted
	token, err := r.admit(ctx, caller, question{list: true}, func(lookup *access.Lookup) (err error) {
		admitted.Head, err = r.directory.DirectoryHead(ctx, lookup)
		return err
	})
	if err != nil {
		return Admitted{}, err
	}
	admitted.Allowed = func(registry.Address) bool { return true }
	if token != nil {
		admitted.Allowed = func(a registry.Address) bool { return token.Scopes.Allow(resource(a)) }
	}
	return admitted, nil
}

// DirectoryShards reads shards, as [Directory.DirectoryShards] does. What they have is for no
// caller: [Admitted.Allowed] says which of it may be shown to whom.
func (r *Reader) DirectoryShards(ctx context.Context, numbers []int) ([]DirectoryShard, error) {
	if r.directory == nil {
		return nil, errNoDirectory
	}
	return r.directory.DirectoryShards(ctx, numbers)
}
