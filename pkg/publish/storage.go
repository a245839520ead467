package publish

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
)

// ErrExists says that an object that was to be created is there already.
var ErrExists = errors.New("the object exists already")

// ErrInTheWay says that another object is in the way of one: in a bucket that keeps
// objects as files in folders, one cannot be both. In S3 it can.
var ErrInTheWay = errors.New("another object is in its way: one of the two would be a folder")

// Bucket is the storage of uploads and of everything that the registry keeps.
// Implementations are safe for concurrent use, and what they have written is
// seen by every read and listing that begins afterwards.
type Bucket interface {
	// Open reads an object version, or the current one where version is
	// empty. The caller closes the reader.
	//
	// Errors: [registry.ErrNotFound].
	Open(ctx context.Context, key, version string) (io.ReadCloser, Object, error)

	// Head describes an object's current version.
	//
	// Errors: [registry.ErrNotFound].
	Head(ctx context.Context, key string) (Object, error)

	// Create writes a new object, and only a new one: of several writers
	// at once, one wins.
	//
	// Errors: [ErrExists].
	Create(ctx context.Context, key string, body []byte) error

	// Put writes an object of size bytes, replacing any under the key.
	//
	// Errors: [ErrInTheWay].
	Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error

	// Copy copies an object version inside the bucket, of up to
	// [MaxUpload] bytes, without its tags and metadata. It returns the
	// sha256, in hex, of what the copy has, for a bucket may read other
	// bytes than the version's while somebody overwrites it; empty where
	// the bucket does not say.
	//
	// Errors: [registry.ErrNotFound].
	Copy(ctx context.Context, from, version, to string) (sha256 string, err error)

	// List is every current object under a prefix whose key comes after
	// another one, in the order of keys. After the empty key come all.
	List(ctx context.Context, prefix, after string) iter.Seq2[Object, error]

	// Versions is every object version under a prefix whose key comes after
	// another one, without delete markers: in the order of keys, the newest
	// of a key first.
	Versions(ctx context.Context, prefix, after string) iter.Seq2[Object, error]

	// Tag sets tags on an object version and keeps its others. A tag that is
	// set to the empty value is removed.
	//
	// Errors: [registry.ErrNotFound]; [ErrTagsFull] where the version has
	// so many tags of its own that these do not fit.
	Tag(ctx context.Context, key, version string, tags map[string]string) error
}

// ErrTagsFull says that an object version has no room for more tags.
var ErrTagsFull = errors.New("the object has as many tags as it can have")

// Object describes an object version.
type Object struct {
	Key      string
	Version  string
	Size     int64 // in bytes
	Modified time.Time

	// SHA256 is the hash of its bytes, in hex, where Head knows it: of what
	// Copy has made.
	SHA256 string

	// By is who wrote it, as S3 tells in its events and nowhere else: on AWS
	// the principal's unique ID. Empty where that is not known.
	By string

	// Source is what the object's metadata says under [SourceMetadata], as
	// [Bucket.Open] and [Bucket.Head] tell: whoever wrote it may have said
	// anything.
	Source string
}

// SourceMetadata is the name of the user-defined metadata by which a publisher says
// of what source an upload was made: the header x-amz-meta-source.
const SourceMetadata = "source"

// Index is the catalog as its one writer sees it. A state is stored only where
// the catalog has none, or one of a lower revision; storing it also brings the
// listing up to it. So the order in which states arrive does not matter, nor
// how often they do.
type Index interface {
	registry.Catalog

	// PutModuleVersion stores a state and lists the version. When it
	// returns nil, both are durable, here or by a newer state's writer.
	PutModuleVersion(ctx context.Context, m registry.ModuleVersion) error

	// PutProviderVersion stores a state and lists the version, unless
	// nothing of it can be served yet. When it returns nil, both are
	// durable, here or by a newer state's writer.
	PutProviderVersion(ctx context.Context, p registry.ProviderVersion) error

	// Entries is every version that the catalog has a state of, or lists,
	// after the entry of a cursor: after the empty one come all. Their order
	// is the catalog's own, and stays the same: who goes on after a cursor
	// meets all that was there the whole time, once. What others write
	// meanwhile is met or not. The catalog can be written to while it is
	// walked through.
	//
	// With what cannot be read it yields an error and as much of the entry
	// as is known, and goes on: of a listing, its address, instead of all
	// its versions. With an error of the whole, it yields an entry without
	// a Cursor, and ends.
	Entries(ctx context.Context, after string) iter.Seq2[registry.Entry, error]

	// ReplaceModuleVersion stores a state whatever the revisions of the
	// catalog's are, and lists the version as it says, where both are still
	// those that were seen. Both change at once, or nothing does.
	//
	// Errors: [registry.ErrChanged].
	ReplaceModuleVersion(ctx context.Context, m registry.ModuleVersion, seen registry.Seen) error

	// ReplaceProviderVersion is ReplaceModuleVersion for providers. A
	// version of which nothing can be served is not listed any more.
	//
	// Errors: [registry.ErrChanged].
	ReplaceProviderVersion(ctx context.Context, p registry.ProviderVersion, seen registry.Seen) error

	// RemoveModuleVersion removes a version's state and its entry in the
	// listing, where both are still those that were seen. Both go at once,
	// or nothing does. What is not there can be removed.
	//
	// Errors: [registry.ErrChanged].
	RemoveModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version, seen registry.Seen) error

	// RemoveProviderVersion is RemoveModuleVersion for providers.
	//
	// Errors: [registry.ErrChanged].
	RemoveProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version, seen registry.Seen) error
}
