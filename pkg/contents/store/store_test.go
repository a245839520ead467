package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/contents/store"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// echo is a reader that makes a README of all bytes of the archive.
type echo struct{ err error }

func (e echo) Module(_ context.Context, archive io.ReaderAt, size int64, format string) (contents.Module, error) {
	data, err := io.ReadAll(io.NewSectionReader(archive, 0, size))
	return contents.Module{Root: contents.Part{Readme: format + ": " + string(data)}}, errors.Join(err, e.err)
}

// asFile is a bucket that has its objects as files.
type asFile struct{ blob.Bucket }

type file struct {
	io.ReadCloser
	io.ReaderAt
}

func (b asFile) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	body, o, err := b.Bucket.Open(ctx, key, version)
	if err != nil {
		return nil, o, err
	}
	data, err := io.ReadAll(body)
	reader := bytes.NewReader(data)
	return file{struct {
		io.Reader
		io.Closer
	}{reader, body}, reader}, o, err
}

// module is a module version whose archive has some bytes.
func module(t *testing.T, archive string) *registry.ModuleVersion {
	return &registry.ModuleVersion{
		Address: registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}, Version: registrytest.Version(t, "1.0.0"), Revision: 1,
		Archive: registry.ModuleArchive{Format: "zip", SHA256: blob.SHA256([]byte(archive)), Size: int64(len(archive))},
	}
}

func keep(t *testing.T, b blob.Bucket, key, body string) {
	t.Helper()
	if err := b.Put(t.Context(), key, strings.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	for name, wrap := range map[string]func(blob.Bucket) blob.Bucket{
		"S3":   func(b blob.Bucket) blob.Bucket { return b },
		"node": func(b blob.Bucket) blob.Bucket { return asFile{b} },
	} {
		t.Run(name, func(t *testing.T) {
			memory := blobtest.NewMemory()
			b, m := wrap(memory), module(t, "archive")
			keep(t, b, m.Address.ArchiveKey(m.Version, m.Archive), "archive")
			scratch := t.TempDir()
			s := store.New(store.Config{Bucket: b, Scratch: scratch, Reader: echo{}})
			lacks := func(want bool) {
				t.Helper()
				if got, err := s.Lacks(t.Context(), m); got != want || err != nil {
					t.Errorf("it lacks its document: %v, %v", got, err)
				}
			}
			lacks(true)
			if _, err := s.Document(t.Context(), m); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("the document is there: %v", err)
			}
			if err := s.Make(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			lacks(false)
			want := contents.EncodeModule(contents.Module{Root: contents.Part{Readme: "zip: archive"}})
			data, _, err := blob.Read(t.Context(), b, fmt.Sprintf("registry/contents/%d/%s.json", contents.Reader, m.Archive.SHA256), "", 1000)
			if err != nil || !bytes.Equal(data, want) {
				t.Errorf("stored is %s, %v, want %s", data, err, want)
			}
			if document, err := s.Document(t.Context(), m); err != nil || !bytes.Equal(document, want) {
				t.Errorf("read is %s, %v", document, err)
			}
			for archive, want := range map[string]bool{"archive": true, "ARCHIVE": false} {
				if same, err := s.Matches(t.Context(), m, strings.NewReader(archive), data); same != want || err != nil {
					t.Errorf("%s: the document matches: %v, %v", archive, same, err)
				}
			}
			if left, err := os.ReadDir(scratch); len(left) > 0 || err != nil || memory.Unclosed() > 0 {
				t.Errorf("left are %v, %v, and %d bodies", left, err, memory.Unclosed())
			}
		})
	}
}

// A version without an archive, and a store without a reader, have nothing to read.
// stopped is a reader that does not come far.
type stopped struct{ store.Reader }

func (stopped) Module(context.Context, io.ReaderAt, int64, string) (contents.Module, error) {
	return contents.Module{Problems: []string{"The reader was stopped."}, Stopped: true}, nil
}

// A reader that is stopped says nothing about a document, and replaces none: it may have come
// further before. Where it comes further now, its document is the better one.
func TestStopped(t *testing.T) {
	b, m := blobtest.NewMemory(), module(t, "archive")
	keep(t, b, m.Address.ArchiveKey(m.Version, m.Archive), "archive")
	whole := store.New(store.Config{Bucket: b, Scratch: t.TempDir(), Reader: echo{}})
	hurried := store.New(store.Config{Bucket: b, Scratch: t.TempDir(), Reader: stopped{}})
	for _, step := range []struct {
		by      *store.Store
		changes bool
	}{{hurried, true}, {hurried, false}, {whole, true}, {whole, false}, {hurried, false}, {whole, false}} {
		if changed, err := step.by.Renew(t.Context(), m); changed != step.changes || err != nil {
			t.Errorf("%+v: %v, %v", step, changed, err)
		}
	}
}

func TestNothingToRead(t *testing.T) {
	b := blobtest.NewMemory()
	reading, blind := store.New(store.Config{Bucket: b, Reader: echo{}}), store.New(store.Config{Bucket: b})
	if !reading.Reads() || blind.Reads() {
		t.Error("the two do not know whether they read")
	}
	for name, of := range map[string]struct {
		store *store.Store
		state registry.State
	}{
		"a provider":        {reading, &registry.ProviderVersion{}},
		"nothing published": {reading, &registry.ModuleVersion{}},
		"no reader":         {blind, module(t, "archive")},
	} {
		lacks, err := of.store.Lacks(t.Context(), of.state)
		same, errMatch := of.store.Matches(t.Context(), of.state, nil, nil)
		description, errDescribe := of.store.Describe(t.Context(), of.state)
		if err := errors.Join(err, errMatch, errDescribe, of.store.Keep(t.Context(), of.state, nil), of.store.Make(t.Context(), of.state)); lacks || !same || err != nil || description.Text != "" {
			t.Errorf("%s: %v, %v, %v, %v", name, lacks, same, description, err)
		}
	}
}

// broken is a bucket of which one call fails.
type broken struct {
	blob.Bucket
	call string
}

var errBroken = errors.New("broken")

func (b broken) fails(call string) error {
	if b.call == call {
		return errBroken
	}
	return nil
}

func (b broken) Head(ctx context.Context, key string) (blob.Object, error) {
	if err := b.fails("head"); err != nil {
		return blob.Object{}, err
	}
	return b.Bucket.Head(ctx, key)
}

func (b broken) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	return errors.Join(b.fails("put"), b.Bucket.Put(ctx, key, body, size))
}

func (b broken) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	if err := b.fails("open"); err != nil {
		return nil, blob.Object{}, err
	}
	return b.Bucket.Open(ctx, key, version)
}

func TestFailures(t *testing.T) {
	memory, m := blobtest.NewMemory(), module(t, "archive")
	key := m.Address.ArchiveKey(m.Version, m.Archive)
	keep(t, memory, key, "archive")
	missing, cut := module(t, "missing"), module(t, "archive")
	cut.Archive.Size++
	of := func(call string, reader store.Reader) *store.Store {
		return store.New(store.Config{Bucket: broken{memory, call}, Scratch: t.TempDir(), Reader: reader})
	}
	noScratch := store.New(store.Config{Bucket: memory, Scratch: t.TempDir() + "/none", Reader: echo{}})
	for name, test := range map[string]struct {
		do    func() error
		is    error
		words string
	}{
		"head":         {func() error { _, err := of("head", echo{}).Lacks(t.Context(), m); return err }, errBroken, "acme/vpc/aws 1.0.0"},
		"put":          {func() error { return of("put", echo{}).Make(t.Context(), m) }, errBroken, "store the documentation of module acme/vpc/aws 1.0.0"},
		"archive":      {func() error { return of("open", echo{}).Make(t.Context(), m) }, errBroken, key},
		"no archive":   {func() error { return of("", echo{}).Make(t.Context(), missing) }, registry.ErrNotFound, "registry/modules/"},
		"another size": {func() error { return of("", echo{}).Make(t.Context(), cut) }, nil, "has 7 bytes, and was published with 8"},
		"scratch":      {func() error { return noScratch.Make(t.Context(), m) }, os.ErrNotExist, "scratch space"},
		"the reader":   {func() error { return of("", echo{errBroken}).Make(t.Context(), m) }, errBroken, "read the documentation"},
		"read again": {func() error {
			_, err := of("", echo{errBroken}).Matches(t.Context(), m, strings.NewReader("archive"), nil)
			return err
		}, errBroken, "read the documentation"},
		"document":       {func() error { _, err := of("open", echo{}).Document(t.Context(), m); return err }, errBroken, "acme/vpc/aws 1.0.0"},
		"description":    {func() error { _, err := of("open", echo{}).Describe(t.Context(), m); return err }, errBroken, "acme/vpc/aws 1.0.0"},
		"a short stream": {func() error { _, err := of("", echo{}).Hold(strings.NewReader("short"), 6); return err }, nil, "ends after 5 of 6 bytes"},
	} {
		err := test.do()
		if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := memory.Unclosed(); n != 0 {
		t.Errorf("%d bodies are open", n)
	}
}

func TestDescribe(t *testing.T) {
	b, m := blobtest.NewMemory(), module(t, "archive")
	s := store.New(store.Config{Bucket: b, Reader: echo{}})
	key := registry.ContentsKey(contents.Reader, m.Archive.SHA256)
	part := func(names ...string) (p contents.Part) {
		for _, name := range names {
			p.Inputs = append(p.Inputs, contents.Input{Name: "in_" + name})
			p.Outputs = append(p.Outputs, contents.Output{Name: "out_" + name})
			p.Resources = append(p.Resources, contents.Resource{Type: "aws_" + name, Name: "this"})
		}
		return p
	}
	of := contents.Module{Root: part("b", "a"), Submodules: []contents.Part{part("c", "a")}, Examples: []contents.Part{part("d")}}
	of.Root.Readme = "# VPC\n\nMakes a network.\n"
	for name, test := range map[string]struct {
		document string
		want     directory.Description
	}{
		"a module": {string(contents.EncodeModule(of)), directory.Description{
			Text: "Makes a network.", Inputs: []string{"in_a", "in_b", "in_c"}, Outputs: []string{"out_a", "out_b", "out_c"}, Resources: []string{"aws_a", "aws_b", "aws_c"},
		}},
		"nothing":            {"{}", directory.Description{}},
		"a damaged document": {"{", directory.Description{}},
	} {
		keep(t, b, key, test.document)
		if got, err := s.Describe(t.Context(), m); !reflect.DeepEqual(got, test.want) || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, test.want)
		}
	}
	if got, err := s.Describe(t.Context(), module(t, "not read")); !reflect.DeepEqual(got, directory.Description{}) || err != nil {
		t.Errorf("not read: %+v, %v", got, err)
	}
}
