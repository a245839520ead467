package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// Memory is a versioned bucket for tests that make more requests than a
// server takes in a few seconds. It passes the suite of the real drivers, and is a [User]
// of itself.
type Memory struct {
	lock     sync.Mutex
	keys     []string // sorted
	versions map[string][]*memoryObject
	written  int
	open     int // bodies that nobody has closed yet

	// Files says that bodies are of the type [blob.File]. It must not be changed while the
	// bucket is used.
	Files bool
}

// memoryBody is what Open has handed out.
type memoryBody struct {
	io.Reader
	bucket *Memory
	closed sync.Once
}

// memoryFile is a body that can be read at any place.
type memoryFile struct {
	*memoryBody
	io.ReaderAt
}

func (b *memoryBody) Close() error {
	b.closed.Do(func() {
		b.bucket.lock.Lock()
		defer b.bucket.lock.Unlock()
		b.bucket.open--
	})
	return nil
}

// Unclosed is how many bodies of objects were opened and not closed.
func (b *Memory) Unclosed() int {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.open
}

// memoryObject is an object version, or a delete marker.
type memoryObject struct {
	blob.Object
	body    []byte
	tags    map[string]string
	deleted bool
	source  string
	sum     string // of what Copy has made
}

// NewMemory is an empty bucket.
func NewMemory() *Memory {
	return &Memory{versions: map[string][]*memoryObject{}}
}

// write adds a version. The lock is held.
func (b *Memory) write(key string, body []byte, tags map[string]string, deleted bool) *memoryObject {
	if at, found := slices.BinarySearch(b.keys, key); !found {
		b.keys = slices.Insert(b.keys, at, key)
	}
	b.written++
	o := &memoryObject{blob.Object{
		Key: key, Version: fmt.Sprintf("%026d", b.written), Size: int64(len(body)), Modified: time.Now(),
	}, body, tags, deleted, "", ""}
	b.versions[key] = append(b.versions[key], o)
	return o
}

// find is an object version, or the current one. The lock is held.
func (b *Memory) find(key, version string) (*memoryObject, error) {
	for _, o := range slices.Backward(b.versions[key]) {
		switch {
		case version == "" && o.deleted:
			return nil, registry.ErrNotFound
		case version == "" || version == o.Version && !o.deleted:
			return o, nil
		}
	}
	return nil, registry.ErrNotFound
}

func (b *Memory) locked(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	return do()
}

// Open implements [blob.Bucket].
func (b *Memory) Open(ctx context.Context, key, version string) (body io.ReadCloser, found blob.Object, err error) {
	err = b.locked(ctx, func() error {
		o, err := b.find(key, version)
		if err == nil {
			reader := bytes.NewReader(o.body)
			streamed := &memoryBody{Reader: reader, bucket: b}
			body, found = streamed, o.Object
			if b.Files {
				body = memoryFile{streamed, reader}
			}
			b.open++
			found.Source = o.source
		}
		return err
	})
	return body, found, err
}

// Head implements [blob.Bucket].
func (b *Memory) Head(ctx context.Context, key string) (blob.Object, error) {
	var found blob.Object
	err := b.locked(ctx, func() error {
		o, err := b.find(key, "")
		if err == nil {
			found = o.Object
			found.Source, found.SHA256 = o.source, o.sum
		}
		return err
	})
	return found, err
}

// Create implements [blob.Bucket].
func (b *Memory) Create(ctx context.Context, key string, body []byte) error {
	return b.locked(ctx, func() error {
		if _, err := b.find(key, ""); err == nil {
			return blob.ErrExists
		}
		b.write(key, bytes.Clone(body), nil, false)
		return nil
	})
}

// Put implements [blob.Bucket].
func (b *Memory) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	data, err := io.ReadAll(io.LimitReader(body, size))
	if err != nil {
		return err
	}
	return b.locked(ctx, func() error {
		b.write(key, data, nil, false)
		return nil
	})
}

// Copy implements [blob.Bucket].
func (b *Memory) Copy(ctx context.Context, from, version, to string) (sum string, err error) {
	err = b.locked(ctx, func() error {
		o, err := b.find(from, version)
		if err == nil {
			sum = fmt.Sprintf("%x", sha256.Sum256(o.body))
			b.write(to, o.body, nil, false).sum = sum
		}
		return err
	})
	return sum, err
}

// Tag implements [blob.Bucket].
func (b *Memory) Tag(ctx context.Context, key, version string, tags map[string]string) error {
	return b.locked(ctx, func() error {
		o, err := b.find(key, version)
		if err != nil {
			return err
		}
		merged := map[string]string{}
		maps.Copy(merged, o.tags)
		maps.Copy(merged, tags)
		maps.DeleteFunc(merged, func(name, value string) bool {
			_, set := tags[name]
			return set && value == ""
		})
		if len(merged) > 10 {
			return blob.ErrTagsFull
		}
		o.tags = merged
		return nil
	})
}

// List implements [blob.Bucket].
func (b *Memory) List(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return b.walk(ctx, prefix, after, func(versions []*memoryObject) []*memoryObject {
		if last := versions[max(0, len(versions)-1):]; len(last) == 1 && !last[0].deleted {
			return last
		}
		return nil
	})
}

// Versions implements [blob.Bucket].
func (b *Memory) Versions(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return b.walk(ctx, prefix, after, func(versions []*memoryObject) []*memoryObject {
		kept := slices.DeleteFunc(slices.Clone(versions), func(o *memoryObject) bool { return o.deleted })
		slices.Reverse(kept)
		return kept
	})
}

// walk lists what pick takes of the versions of each key.
func (b *Memory) walk(ctx context.Context, prefix, after string, pick func([]*memoryObject) []*memoryObject) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		after := after
		for {
			var page []blob.Object
			err := b.locked(ctx, func() error {
				at, _ := slices.BinarySearch(b.keys, max(prefix, after))
				for ; at < len(b.keys) && page == nil && strings.HasPrefix(b.keys[at], prefix); at++ {
					if key := b.keys[at]; key > after {
						after = key
						for _, o := range pick(b.versions[key]) {
							page = append(page, o.Object)
						}
					}
				}
				return nil
			})
			if err != nil {
				yield(blob.Object{}, err)
			}
			if page == nil {
				return
			}
			for _, o := range page {
				if !yield(o, nil) {
					return
				}
			}
		}
	}
}

// Upload implements [User].
func (b *Memory) Upload(_ testing.TB, key string, body []byte, tags map[string]string) string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.write(key, body, tags, false).Version
}

// UploadFrom implements [User].
func (b *Memory) UploadFrom(_ testing.TB, key string, body []byte, source string) string {
	b.lock.Lock()
	defer b.lock.Unlock()
	o := b.write(key, body, nil, false)
	o.source = source
	return o.Version
}

// Delete implements [User].
func (b *Memory) Delete(_ testing.TB, key string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.write(key, nil, nil, true)
}

// Tags implements [User].
func (b *Memory) Tags(t testing.TB, key, version string) map[string]string {
	t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	o, err := b.find(key, version)
	if err != nil {
		t.Fatalf("tags of %s: %v", key, err)
	}
	return maps.Clone(o.tags)
}

// Expire removes an object version for good, as a lifecycle rule does.
func (b *Memory) Expire(key, version string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.versions[key] = slices.DeleteFunc(b.versions[key], func(o *memoryObject) bool { return o.Version == version })
}
