// Package blob is the contract of the storage: a bucket of S3 with versions, which holds
// the uploads and everything that the registry keeps. The drivers lie beside it.
// Package blobtest has the suite that each driver passes.
package blob

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// ErrExists says that an object cannot be created, because it exists already.
var ErrExists = errors.New("the object exists already")

// ErrInTheWay says that another object is in the way: in a bucket that keeps objects as
// files, a folder cannot have the name of a file. In S3 there are no folders.
var ErrInTheWay = errors.New("another object is in its way: one of the two would be a folder")

// MaxCopy is the largest object that a bucket copies, in bytes: 5 GiB, the most that
// S3 copies in one request.
const MaxCopy = 5 << 30

// Bucket is the storage of uploads and of everything that the registry keeps.
// Implementations are safe for concurrent use. Every read and listing that begins
// after a write sees what was written.
type Bucket interface {
	// Open reads an object version, or the current one where version is
	// empty. The caller closes the reader. It may be a [File].
	//
	// Errors: [registry.ErrNotFound].
	Open(ctx context.Context, key, version string) (io.ReadCloser, Object, error)

	// Head describes an object's current version.
	//
	// Errors: [registry.ErrNotFound].
	Head(ctx context.Context, key string) (Object, error)

	// Create writes a new object, and never replaces one. If several writers
	// create it at once, one of them succeeds.
	//
	// Errors: [ErrExists].
	Create(ctx context.Context, key string, body []byte) error

	// Put writes an object of size bytes. It replaces an object under the key.
	//
	// Errors: [ErrInTheWay].
	Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error

	// Copy copies an object version of up to [MaxCopy] bytes inside the
	// bucket, without its tags and metadata. It returns the sha256 of the
	// copy, in hex, or "" if the bucket does not say it. A bucket may copy
	// other bytes than the version's while somebody overwrites the object.
	//
	// Errors: [registry.ErrNotFound].
	Copy(ctx context.Context, from, version, to string) (sha256 string, err error)

	// List yields the current objects under a prefix whose keys come after
	// the key after, in the order of keys. All keys come after the empty one.
	List(ctx context.Context, prefix, after string) iter.Seq2[Object, error]

	// Versions yields the object versions under a prefix whose keys come after
	// the key after, without delete markers: in the order of keys, and for each
	// key the newest first.
	Versions(ctx context.Context, prefix, after string) iter.Seq2[Object, error]

	// Tag sets tags on an object version and keeps its other tags. It removes a
	// tag that is set to the empty value.
	//
	// Errors: [registry.ErrNotFound]; [ErrTagsFull] if the version has too many
	// other tags.
	Tag(ctx context.Context, key, version string, tags map[string]string) error
}

// File is a body of [Bucket.Open] that can be read at any place. Its bytes do not change
// while it is open, even if the object is overwritten or deleted.
type File interface {
	io.ReadCloser
	io.ReaderAt
}

// ErrTagsFull says that an object version has no room for more tags.
var ErrTagsFull = errors.New("the object has as many tags as it can have")

// Object describes an object version.
type Object struct {
	Key      string
	Version  string
	Size     int64 // in bytes
	Modified time.Time

	// SHA256 is the hash of its bytes, in hex. Head knows it for copies.
	SHA256 string

	// By is who wrote it, or "" if that is not known. S3 says it in its events
	// only: on AWS it is the principal's unique ID.
	By string

	// Source is the value of the object's metadata [SourceMetadata], from
	// [Bucket.Open] and [Bucket.Head]. The uploader can set it to anything.
	Source string
}

// SourceMetadata is the name of the user-defined metadata with which an uploader says
// from what source the upload was made: the header x-amz-meta-source.
const SourceMetadata = "source"
