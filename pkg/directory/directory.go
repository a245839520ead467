// Package directory is what the registry has, for lists and searches: one entry for each address.
// A [Writer] brings the entries up to the catalog and the contents; a [View] answers from them
// what its caller may read. The catalog stores them, in shards: see [catalog.Directory].
// [ShardOf] says in which shard an entry is. The data of a shard are JSON, compressed by gzip.
package directory

import (
	"time"

	"github.com/larder-registry/larder/pkg/registry"
)

// BuiltShard is a shard that no address is in: the addresses are in the others. A [Writer] puts it,
// without entries, when it has built the entries of all addresses. A head without its revision is
// that of a catalog whose directory was never built, or only in part: for example, because an older
// release made the catalog, and one address was published since then.
const BuiltShard = 0

// Entry is what is known of one address: of its newest version, and of what that version says
// of itself.
type Entry struct {
	Address registry.Address

	// Newest is the highest offered version that is no pre-release, or if there is none, the
	// highest offered one. An address without an offered version has no entry.
	Newest      registry.Version
	Published   time.Time         // when the first archive of Newest was accepted; zero if it is not known
	Versions    int               // how many are offered
	Standing    registry.Standing // of Newest
	Description string            // of a module: the first paragraph of its README; of a provider: that of its overview
	Source      string            // see [registry.CheckSource]

	// What Newest has, to be found by, each in order: inputs, outputs, and the types of
	// resources of a module; the slugs of a provider's pages.
	Inputs, Outputs, Resources []string
}

// Query selects entries. The zero one selects all modules.
type Query struct {
	// Folder is what is looked for: [registry.Modules], which is the default, or
	// [registry.Providers]. Mirrored providers are not in the directory.
	Folder registry.Folder

	// Namespace, Name and System select by parts of the address, in lower case; empty: all.
	// Name is also the type of a provider.
	Namespace, Name, System string

	// Text is what a person types: words, of which each must be found, the last one perhaps
	// not finished yet. Words that people write around what they look for, such as "module"
	// and "for", do not count if there are others. Empty: everything, in the order of
	// addresses. Else the best come first. Those that are as good are in the order of
	// addresses, the deprecated ones after the others.
	Text string

	// Newest orders by the time of publication, the latest first.
	Newest bool

	// Offset is how many are left out, and Limit how many are returned at most; 0: 15.
	Offset, Limit int
}

// Page is a part of what a query selects.
type Page struct {
	Entries []Entry
	Total   int // how many there are that the caller may read
}
