package publishtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing/iotest"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// ErrFault is the error of a call that a test made fail.
var ErrFault = errors.New("the call failed, as it was told to")

// Faults tells the calls that leave the process, and makes one of them go
// wrong.
type Faults struct {
	Kind      FaultKind
	Hits      func(calls []string) bool // whether the last of the calls is the one; nil for none
	Namespace string                    // the calls tell it as "acme"
	Calls     []string
	Hit       bool // it has gone wrong
}

// FaultKind is how a call goes wrong.
type FaultKind int

const (
	Failed  FaultKind = iota // the call has done nothing
	Unclear                  // the call has been made, and nobody is told what came of it
	Killed                   // the process dies before it: no later call gets through either
)

// String names the kind.
func (k FaultKind) String() string { return [...]string{"failed", "failed but done", "killed"}[k] }

// Nth hits a call by its number, counted from 1.
func Nth(n int) func([]string) bool {
	return func(calls []string) bool { return len(calls) == n }
}

// Point hits a call by its name, the first, second, … that has it: such calls as
// may be made in any order have different names.
type Point struct {
	Name   string
	Number int
}

// Hits says whether the last of some calls is the one.
func (p Point) Hits(calls []string) bool { return PointOf(calls) == p }

// PointOf is where the last of some calls is.
func PointOf(calls []string) Point {
	p := Point{Name: calls[len(calls)-1]}
	for _, name := range calls {
		if name == p.Name {
			p.Number++
		}
	}
	return p
}

// Call implements [Caller].
func (f *Faults) Call(name string, do func() error) error {
	if f.Namespace != "" {
		name = strings.ReplaceAll(name, f.Namespace, "acme")
	}
	f.Calls = append(f.Calls, Hashes.ReplaceAllString(name, "…"))
	dead := f.Hit && f.Kind == Killed
	now := !f.Hit && f.Hits != nil && f.Hits(f.Calls)
	if !now && !dead {
		return do()
	}
	f.Hit = true
	if f.Kind == Unclear {
		_ = do() // whatever came of it, nobody is told
	}
	return fmt.Errorf("%s: %w", name, ErrFault)
}

// Hashes are in the keys of what is stored by its content. A signature is
// another one each time.
var Hashes = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// Caller is in the way of the calls that leave the process.
type Caller interface {
	Call(name string, do func() error) error
}

// FaultyBucket is a bucket whose calls go through a caller.
type FaultyBucket struct {
	Caller
	blob.Bucket
}

// Open implements [blob.Bucket].
func (b FaultyBucket) Open(ctx context.Context, key, version string) (body io.ReadCloser, o blob.Object, err error) {
	err = b.Call("read "+key, func() error { body, o, err = b.Bucket.Open(ctx, key, version); return err })
	if errors.Is(err, ErrFault) && body != nil {
		body.Close()
	}
	return body, o, err
}

// Head implements [blob.Bucket].
func (b FaultyBucket) Head(ctx context.Context, key string) (o blob.Object, err error) {
	err = b.Call("head "+key, func() error { o, err = b.Bucket.Head(ctx, key); return err })
	return o, err
}

// Create implements [blob.Bucket].
func (b FaultyBucket) Create(ctx context.Context, key string, body []byte) error {
	return b.Call("create "+key, func() error { return b.Bucket.Create(ctx, key, body) })
}

// Put implements [blob.Bucket].
func (b FaultyBucket) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	return b.Call("put "+key, func() error { return b.Bucket.Put(ctx, key, body, size) })
}

// Copy implements [blob.Bucket].
func (b FaultyBucket) Copy(ctx context.Context, from, version, to string) (sum string, err error) {
	err = b.Call("copy to "+to, func() error { sum, err = b.Bucket.Copy(ctx, from, version, to); return err })
	return sum, err
}

// Tag implements [blob.Bucket].
func (b FaultyBucket) Tag(ctx context.Context, key, version string, tags map[string]string) error {
	return b.Call("tag "+key, func() error { return b.Bucket.Tag(ctx, key, version, tags) })
}

// List implements [blob.Bucket].
func (b FaultyBucket) List(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return b.list("list "+prefix, b.Bucket.List(ctx, prefix, after))
}

// Versions implements [blob.Bucket].
func (b FaultyBucket) Versions(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return b.list("versions of "+prefix, b.Bucket.Versions(ctx, prefix, after))
}

func (b FaultyBucket) list(name string, all iter.Seq2[blob.Object, error]) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		if err := b.Call(name, func() error { return nil }); err != nil {
			yield(blob.Object{}, err)
			return
		}
		all(yield)
	}
}

// FaultyIndex is a catalog whose calls go through a caller.
type FaultyIndex struct {
	Caller
	publishing.Index
}

// DirectoryHead implements [catalog.Directory].
func (i FaultyIndex) DirectoryHead(ctx context.Context, lookup *access.Lookup) (h catalog.DirectoryHead, err error) {
	err = i.Call("catalog: read the directory", func() error { h, err = i.Index.DirectoryHead(ctx, lookup); return err })
	return h, err
}

// DirectoryShards implements [catalog.Directory].
func (i FaultyIndex) DirectoryShards(ctx context.Context, numbers []int) (s []catalog.DirectoryShard, err error) {
	err = i.Call("catalog: read shards of the directory", func() error { s, err = i.Index.DirectoryShards(ctx, numbers); return err })
	return s, err
}

// CurrentListing implements [catalog.DirectoryIndex].
func (i FaultyIndex) CurrentListing(ctx context.Context, a registry.Address) (l registry.Listing, err error) {
	err = i.Call("catalog: read the current listing of "+a.String(), func() error { l, err = i.Index.CurrentListing(ctx, a); return err })
	return l, err
}

// PutDirectoryShard implements [catalog.DirectoryIndex].
func (i FaultyIndex) PutDirectoryShard(ctx context.Context, shard catalog.DirectoryShard) error {
	return i.Call("catalog: put a shard of the directory", func() error { return i.Index.PutDirectoryShard(ctx, shard) })
}

// State implements [catalog.Index].
func (i FaultyIndex) State(ctx context.Context, version registry.Subject, lookup *access.Lookup) (s catalog.Snapshot[registry.State], err error) {
	err = i.Call("catalog: read "+version.Address.String(), func() error { s, err = i.Index.State(ctx, version, lookup); return err })
	return s, err
}

// Listing implements [catalog.Index].
func (i FaultyIndex) Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (l catalog.Snapshot[*registry.Listing], err error) {
	err = i.Call("catalog: read the listing of "+a.String(), func() error { l, err = i.Index.Listing(ctx, a, lookup); return err })
	return l, err
}

// Entries implements [catalog.Index].
func (i FaultyIndex) Entries(ctx context.Context, after string) iter.Seq2[catalog.Entry, error] {
	return func(yield func(catalog.Entry, error) bool) {
		if err := i.Call("catalog: read all", func() error { return nil }); err != nil {
			yield(catalog.Entry{}, err)
			return
		}
		i.Index.Entries(ctx, after)(yield)
	}
}

// Remove implements [catalog.Index].
func (i FaultyIndex) Remove(ctx context.Context, version registry.Subject, seen catalog.Seen) error {
	return i.Call("catalog: remove "+version.Address.String(), func() error { return i.Index.Remove(ctx, version, seen) })
}

// Put implements [catalog.Index].
func (i FaultyIndex) Put(ctx context.Context, s registry.State) error {
	return i.Call("catalog: put "+s.Subject().Address.String(), func() error { return i.Index.Put(ctx, s) })
}

// Replace implements [catalog.Index].
func (i FaultyIndex) Replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	return i.Call("catalog: replace "+s.Subject().Address.String(), func() error { return i.Index.Replace(ctx, s, seen) })
}

// FaultySigner is a signer whose calls go through a caller.
type FaultySigner struct {
	Caller
	*signing.Key
}

// Sign implements [versionlog.Signer].
func (s FaultySigner) Sign(ctx context.Context, document []byte) (signature []byte, err error) {
	err = s.Call("sign", func() error { signature, err = s.Key.Sign(ctx, document); return err })
	return signature, err
}

// Changes says whether a call has an effect.
func Changes(call string) bool {
	return !slices.ContainsFunc([]string{
		"read ", "head ", "list ", "versions ", "catalog: read ", // of the interfaces
		"GET ", "HEAD ", // of S3
		"GetItem ", "Query ", // of DynamoDB
	}, func(prefix string) bool { return strings.HasPrefix(call, prefix) })
}

// Outage fails the first calls whose names begin so.
type Outage struct {
	Prefix string
	Left   int
}

// Call implements [Caller].
func (o *Outage) Call(name string, do func() error) error {
	if o.Left > 0 && strings.HasPrefix(name, o.Prefix) {
		o.Left--
		return fmt.Errorf("%s: %w", name, ErrFault)
	}
	return do()
}

// Breaking is a bucket in which the bytes of an object break off.
type Breaking struct {
	blob.Bucket
	Key string
	Err error
}

// Open implements [blob.Bucket].
func (b Breaking) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	body, object, err := b.Bucket.Open(ctx, key, version)
	if err != nil || key != b.Key {
		return body, object, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(body, 3), iotest.ErrReader(b.Err)), body}, object, nil
}

// RefusingSigner has the key of another registry's publisher, and not its hand.
type RefusingSigner struct{ *signing.Key }

// Sign implements [versionlog.Signer].
func (RefusingSigner) Sign(context.Context, []byte) ([]byte, error) {
	return nil, errors.New("this publisher does not sign")
}

// CallFunc is a function as a [Caller].
type CallFunc func(name string, do func() error) error

// Call implements [Caller].
func (f CallFunc) Call(name string, do func() error) error { return f(name, do) }
