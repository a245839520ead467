package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

var errFault = errors.New("the call failed, as it was told to")

// faults counts the calls that leave the process, and makes one of them fail:
// before it has done anything, or after it has done all ("failed but written").
type faults struct {
	calls  []string
	failAt int // counted from 1; 0 for never
	after  bool
}

func (f *faults) call(name string, do func() error) error {
	f.calls = append(f.calls, name)
	if len(f.calls) != f.failAt {
		return do()
	}
	if f.after {
		if err := do(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", name, errFault)
}

// caller is in the way of the calls that leave the process.
type caller interface {
	call(name string, do func() error) error
}

type faultyBucket struct {
	caller
	publish.Bucket
}

func (b faultyBucket) Open(ctx context.Context, key, version string) (body io.ReadCloser, o publish.Object, err error) {
	err = b.call("read "+key, func() error { body, o, err = b.Bucket.Open(ctx, key, version); return err })
	if errors.Is(err, errFault) && body != nil {
		body.Close()
	}
	return body, o, err
}

func (b faultyBucket) Head(ctx context.Context, key string) (o publish.Object, err error) {
	err = b.call("head "+key, func() error { o, err = b.Bucket.Head(ctx, key); return err })
	return o, err
}

func (b faultyBucket) Create(ctx context.Context, key string, body []byte) error {
	return b.call("create "+key, func() error { return b.Bucket.Create(ctx, key, body) })
}

func (b faultyBucket) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	return b.call("put "+key, func() error { return b.Bucket.Put(ctx, key, body, size) })
}

func (b faultyBucket) Copy(ctx context.Context, from, version, to string) error {
	return b.call("copy to "+to, func() error { return b.Bucket.Copy(ctx, from, version, to) })
}

func (b faultyBucket) Tag(ctx context.Context, key, version string, tags map[string]string) error {
	return b.call("tag "+key, func() error { return b.Bucket.Tag(ctx, key, version, tags) })
}

func (b faultyBucket) List(ctx context.Context, prefix, after string) iter.Seq2[publish.Object, error] {
	return b.list("list "+prefix, b.Bucket.List(ctx, prefix, after))
}

func (b faultyBucket) Versions(ctx context.Context, prefix, after string) iter.Seq2[publish.Object, error] {
	return b.list("versions of "+prefix, b.Bucket.Versions(ctx, prefix, after))
}

func (b faultyBucket) list(name string, all iter.Seq2[publish.Object, error]) iter.Seq2[publish.Object, error] {
	return func(yield func(publish.Object, error) bool) {
		if err := b.call(name, func() error { return nil }); err != nil {
			yield(publish.Object{}, err)
			return
		}
		all(yield)
	}
}

type faultyIndex struct {
	caller
	publish.Index
}

func (i faultyIndex) ModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version) (m registry.ModuleVersion, err error) {
	err = i.call("catalog: read "+a.String(), func() error { m, err = i.Index.ModuleVersion(ctx, a, v); return err })
	return m, err
}

func (i faultyIndex) ProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version) (p registry.ProviderVersion, err error) {
	err = i.call("catalog: read "+a.String(), func() error { p, err = i.Index.ProviderVersion(ctx, a, v); return err })
	return p, err
}

func (i faultyIndex) PutModuleVersion(ctx context.Context, m registry.ModuleVersion) error {
	return i.call("catalog: put "+m.Address.String(), func() error { return i.Index.PutModuleVersion(ctx, m) })
}

func (i faultyIndex) PutProviderVersion(ctx context.Context, p registry.ProviderVersion) error {
	return i.call("catalog: put "+p.Address.String(), func() error { return i.Index.PutProviderVersion(ctx, p) })
}

type faultySigner struct {
	caller
	*signing.Key
}

func (s faultySigner) Sign(ctx context.Context, document []byte) (signature []byte, err error) {
	err = s.call("sign", func() error { signature, err = s.Key.Sign(ctx, document); return err })
	return signature, err
}

// Every call that leaves the process is made to fail in turn, in both ways.
// Then the events come again. The end is always the same, and on the way
// nothing is listed that cannot be served.
func TestEveryCallMayFail(t *testing.T) {
	w := newWorld(t)
	scenarios := map[string]func(r release) []string{
		"module": func(r release) []string {
			w.s3.Upload(t, "modules/"+r.namespace+"/vpc/aws/1.0.0.zip", zipOf(map[string]string{"vpc/main.tf": ""}), nil)
			w.s3.Upload(t, "modules/"+r.namespace+"/vpc/aws/1.1.0.tar.gz", tarOf(map[string]string{"main.tf": ""}), nil)
			return []string{"modules/" + r.namespace + "/vpc/aws/1.0.0.zip", "modules/" + r.namespace + "/vpc/aws/1.1.0.tar.gz"}
		},
		"author's release": func(r release) []string {
			var keys []string
			for key, body := range r.uploads() {
				keys = append(keys, key)
				w.s3.Upload(t, key, body, nil)
			}
			slices.Sort(keys)
			slices.Reverse(keys) // packages and SHA256SUMS come before the key
			return keys
		},
	}
	points := 0
	for name, upload := range scenarios {
		for _, after := range []bool{false, true} {
			calls := []string{""}
			for failAt := 0; failAt <= len(calls); failAt++ { // at first none fails, which tells the calls
				if failAt > 0 && after && !changes(calls[failAt-1]) {
					continue // without an effect there is no "failed but written"
				}
				if testing.Short() && failAt%5 != 0 {
					continue
				}
				r := newRelease(t, fmt.Sprintf("acme-%v-%d", after, failAt))
				f := &faults{failAt: failAt, after: after}
				w.failOnce(f, name, r, upload(r))
				if t.Failed() {
					t.Fatalf("%s: call %d failed, after its effect: %v\n%s", name, failAt, after, strings.Join(f.calls, "\n"))
				}
				if failAt == 0 {
					calls = f.calls
				} else {
					points++
				}
			}
		}
	}
	t.Logf("%d points of failure", points)
	if points < 100 && !testing.Short() {
		t.Errorf("only %d points of failure: the calls are not counted any more", points)
	}
}

// changes says whether a call has an effect.
func changes(call string) bool {
	return slices.ContainsFunc([]string{"create ", "put ", "copy ", "tag ", "sign", "catalog: put "}, func(prefix string) bool {
		return strings.HasPrefix(call, prefix)
	})
}

// failOnce delivers uploads to a publisher with a fault, then to one without.
func (w *world) failOnce(f *faults, scenario string, r release, keys []string) {
	w.Helper()
	failing := w.publisher(faultyBucket{f, w.bucket}, faultyIndex{f, w.index}, faultySigner{f, w.key})
	for _, key := range keys {
		if err := failing.PublishKey(w.Context(), key); err != nil && !errors.Is(err, errFault) {
			w.Errorf("%s: %v", key, err)
		}
		w.checkServable(r.namespace)
	}
	for _, key := range keys {
		if err := w.PublishKey(w.Context(), key); err != nil {
			w.Errorf("%s, when the event came again: %v", key, err)
		}
	}
	w.checkEnd(scenario, r, keys)
}

// checkServable checks that what is listed of a namespace can be served.
func (w *world) checkServable(namespace string) {
	w.Helper()
	for _, line := range w.listed(namespace + "/widget") {
		s := w.provider(namespace, "widget", "1.0.0")
		w.served(s)
		for _, pkg := range s.Packages {
			if _, ok := s.Package(pkg.Platform); ok {
				w.read(s.Address.PackageKey(s.Version, pkg))
			}
		}
		if line == "1.0.0" {
			w.Errorf("%s is listed without a platform", namespace)
		}
	}
	for _, version := range w.listed(namespace + "/vpc/aws") {
		m, err := w.index.ModuleVersion(w.Context(), registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"}, mustVersion(w.T, version))
		if err != nil {
			w.Error(err)
		}
		w.read(m.Address.ArchiveKey(m.Version, m.Archive))
	}
}

func (w *world) checkEnd(name string, r release, keys []string) {
	w.Helper()
	w.checkServable(r.namespace)
	for _, key := range keys {
		if got := w.status(key); got != publish.Published {
			w.Errorf("%s is %q in the end", key, got)
		}
	}
	if name == "module" {
		if got := w.listed(r.namespace + "/vpc/aws"); !slices.Equal(got, []string{"1.0.0", "1.1.0"}) {
			w.Errorf("listed %q in the end", got)
		}
		return
	}
	if got := w.listed(r.namespace + "/widget"); !slices.Equal(got, []string{"1.0.0 darwin_arm64 linux_amd64"}) {
		w.Errorf("listed %q in the end", got)
	}
	if s := w.provider(r.namespace, "widget", "1.0.0"); !s.Release.Author || w.served(s) != string(r.sums) {
		w.Error("the author's release is not served in the end")
	}
}
