// Package blob is the contract of the storage of uploads and of everything that
// the registry keeps: a versioned bucket of S3, as far as the registry needs one.
// The drivers stand beside it, and package blobtest has the suite that each of
// them passes.
package blob

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// ErrExists says that an object that was to be created is there already.
var ErrExists = errors.New("the object exists already")

// ErrInTheWay says that another object is in the way of one: in a bucket that keeps
// objects as files in folders, one cannot be both. In S3 it can.
var ErrInTheWay = errors.New("another object is in its way: one of the two would be a folder")

// MaxCopy is the largest object that a bucket copies, in bytes: 5 GiB, the most that
// S3 copies in one request.
const MaxCopy = 5 << 30

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
	// [MaxCopy] bytes, without its tags and metadata. It returns the
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
