package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

var errFault = errors.New("the call failed, as it was told to")

// faults tells the calls that leave the process, and makes one of them go
// wrong.
type faults struct {
	kind      faultKind
	hits      func(calls []string) bool // whether the last of the calls is the one; nil for none
	namespace string                    // the calls tell it as "acme"
	calls     []string
	hit       bool // it has gone wrong
}

type faultKind int

const (
	failed  faultKind = iota // the call has done nothing
	unclear                  // the call has been made, and nobody is told what came of it
	killed                   // the process dies before it: no later call gets through either
)

func (k faultKind) String() string { return [...]string{"failed", "failed but done", "killed"}[k] }

// nth hits a call by its number, counted from 1.
func nth(n int) func([]string) bool {
	return func(calls []string) bool { return len(calls) == n }
}

// point hits a call by its name, the first, second, … that has it: such calls as
// may be made in any order have different names.
type point struct {
	name   string
	number int
}

func (p point) hits(calls []string) bool { return pointOf(calls) == p }

// pointOf is where the last of some calls is.
func pointOf(calls []string) point {
	p := point{name: calls[len(calls)-1]}
	for _, name := range calls {
		if name == p.name {
			p.number++
		}
	}
	return p
}

func (f *faults) call(name string, do func() error) error {
	if f.namespace != "" {
		name = strings.ReplaceAll(name, f.namespace, "acme")
	}
	f.calls = append(f.calls, hashes.ReplaceAllString(name, "…"))
	dead := f.hit && f.kind == killed
	now := !f.hit && f.hits != nil && f.hits(f.calls)
	if !now && !dead {
		return do()
	}
	f.hit = true
	if f.kind == unclear {
		_ = do() // whatever came of it, nobody is told
	}
	return fmt.Errorf("%s: %w", name, errFault)
}

// hashes are in the keys of what is stored by its content. A signature is
// another one each time.
var hashes = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// caller is in the way of the calls that leave the process.
type caller interface {
	call(name string, do func() error) error
}

type faultyBucket struct {
	caller
	blob.Bucket
}

func (b faultyBucket) Open(ctx context.Context, key, version string) (body io.ReadCloser, o blob.Object, err error) {
	err = b.call("read "+key, func() error { body, o, err = b.Bucket.Open(ctx, key, version); return err })
	if errors.Is(err, errFault) && body != nil {
		body.Close()
	}
	return body, o, err
}

func (b faultyBucket) Head(ctx context.Context, key string) (o blob.Object, err error) {
	err = b.call("head "+key, func() error { o, err = b.Bucket.Head(ctx, key); return err })
	return o, err
}

func (b faultyBucket) Create(ctx context.Context, key string, body []byte) error {
	return b.call("create "+key, func() error { return b.Bucket.Create(ctx, key, body) })
}

func (b faultyBucket) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	return b.call("put "+key, func() error { return b.Bucket.Put(ctx, key, body, size) })
}

func (b faultyBucket) Copy(ctx context.Context, from, version, to string) (sum string, err error) {
	err = b.call("copy to "+to, func() error { sum, err = b.Bucket.Copy(ctx, from, version, to); return err })
	return sum, err
}

func (b faultyBucket) Tag(ctx context.Context, key, version string, tags map[string]string) error {
	return b.call("tag "+key, func() error { return b.Bucket.Tag(ctx, key, version, tags) })
}

func (b faultyBucket) List(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return b.list("list "+prefix, b.Bucket.List(ctx, prefix, after))
}

func (b faultyBucket) Versions(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return b.list("versions of "+prefix, b.Bucket.Versions(ctx, prefix, after))
}

func (b faultyBucket) list(name string, all iter.Seq2[blob.Object, error]) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		if err := b.call(name, func() error { return nil }); err != nil {
			yield(blob.Object{}, err)
			return
		}
		all(yield)
	}
}

type faultyIndex struct {
	caller
	catalog.Index
}

func (i faultyIndex) Load(ctx context.Context, s registry.State, lookup *access.Lookup) error {
	return i.call("catalog: read "+s.Subject().Address.String(), func() error { return i.Index.Load(ctx, s, lookup) })
}

func (i faultyIndex) Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (l registry.Listing, err error) {
	err = i.call("catalog: read the listing of "+a.String(), func() error { l, err = i.Index.Listing(ctx, a, lookup); return err })
	return l, err
}

func (i faultyIndex) Entries(ctx context.Context, after string) iter.Seq2[catalog.Entry, error] {
	return func(yield func(catalog.Entry, error) bool) {
		if err := i.call("catalog: read all", func() error { return nil }); err != nil {
			yield(catalog.Entry{}, err)
			return
		}
		i.Index.Entries(ctx, after)(yield)
	}
}

func (i faultyIndex) Remove(ctx context.Context, version registry.Subject, seen catalog.Seen) error {
	return i.call("catalog: remove "+version.Address.String(), func() error { return i.Index.Remove(ctx, version, seen) })
}

func (i faultyIndex) Put(ctx context.Context, s registry.State) error {
	return i.call("catalog: put "+s.Subject().Address.String(), func() error { return i.Index.Put(ctx, s) })
}

func (i faultyIndex) Replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	return i.call("catalog: replace "+s.Subject().Address.String(), func() error { return i.Index.Replace(ctx, s, seen) })
}

type faultySigner struct {
	caller
	*signing.Key
}

func (s faultySigner) Sign(ctx context.Context, document []byte) (signature []byte, err error) {
	err = s.call("sign", func() error { signature, err = s.Key.Sign(ctx, document); return err })
	return signature, err
}

// changes says whether a call has an effect.
func changes(call string) bool {
	return !slices.ContainsFunc([]string{
		"read ", "head ", "list ", "versions ", "catalog: read ", // of the interfaces
		"GET ", "HEAD ", // of S3
		"GetItem ", "Query ", // of DynamoDB
	}, func(prefix string) bool { return strings.HasPrefix(call, prefix) })
}
