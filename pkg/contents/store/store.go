// Package store keeps in the bucket what versions say of themselves: documents that were read
// from their archives, under a key with the sha256 of the archive and the version of the readers.
//
// A document is derived. If it is lost, or a new release reads more, it is read again from the
// archive. So it may be put twice, also by two at once: both put the same bytes.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// Reader reads archives, without executing anything. It is a [subprocess.Reader].
type Reader interface {
	// Module reads a module archive of size bytes. What cannot be read is a problem in the
	// result.
	//
	// Errors are those of ctx and of this machine, and never about what is in the archive.
	Module(ctx context.Context, archive io.ReaderAt, size int64, format string) (contents.Module, error)

	// Provider reads a zip of a provider's documentation of size bytes: the pages, and their
	// texts one after the other. Errors are as for Module.
	Provider(ctx context.Context, archive io.ReaderAt, size int64) (p contents.Provider, texts []byte, err error)
}

// Config is what a [Store] works with.
type Config struct {
	Bucket  blob.Bucket // required
	Scratch string      // required: a folder with room for an archive

	// Reader reads the archives. Nil: nothing is read, and no version lacks a document.
	Reader Reader
}

// Store has the documents of all versions. It is safe for concurrent use, also together with
// other processes on the same bucket.
type Store struct{ config Config }

// New opens a store. It sends no request.
func New(c Config) *Store { return &Store{c} }

// Reads says whether it has a reader.
func (s *Store) Reads() bool { return s.config.Reader != nil }

// source is an archive from which a version is documented.
type source struct {
	key    string // of the archive in the bucket
	sha256 string
	format string // of a module's archive; empty: it is documentation of a provider
	size   int64  // in bytes
}

// isProviders says whether it is documentation of a provider, whose pages have texts of their own.
func (s source) isProviders() bool { return s.format == "" }

// document is the key of the document that is read from it.
func (s source) document() string {
	if s.isProviders() {
		return registry.ContentsDocsKey(contents.Reader, s.sha256)
	}
	return registry.ContentsKey(contents.Reader, s.sha256)
}

// pages is the key of the texts that are read from it, if it is of a provider.
func (s source) pages() string { return registry.ContentsPagesKey(contents.Reader, s.sha256) }

// sourceOf returns the archive from which a version is documented, if it has one.
func sourceOf(s registry.State) (source, bool) {
	switch s := s.(type) {
	case *registry.ModuleVersion:
		return source{s.Address.ArchiveKey(s.Version, s.Archive), s.Archive.SHA256, s.Archive.Format, s.Archive.Size}, s.Archive.SHA256 != ""
	case *registry.ProviderVersion:
		if s.Docs != nil {
			return source{key: s.Address.DocsKey(s.Version, *s.Docs), sha256: s.Docs.SHA256, size: s.Docs.Size}, true
		}
	}
	return source{}, false
}

// Lacks says whether the archive of a version was not read yet by the present readers. A
// version without anything to read lacks nothing. It sends one request.
func (s *Store) Lacks(ctx context.Context, state registry.State) (bool, error) {
	from, ok := sourceOf(state)
	if !ok || !s.Reads() {
		return false, nil
	}
	_, err := s.config.Bucket.Head(ctx, from.document())
	if errors.Is(err, registry.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the documentation of %s: %w", state.Subject(), err)
	}
	return false, nil
}

// Keep reads the archive of a version, as it is served, and stores what it says.
//
// Errors are those of storage, of ctx and of this machine. What cannot be read of the archive
// is a problem in the document, and no error.
func (s *Store) Keep(ctx context.Context, state registry.State, archive io.ReaderAt) error {
	from, ok := sourceOf(state)
	if !ok || !s.Reads() {
		return nil
	}
	read, err := s.read(ctx, from, archive)
	if err != nil {
		return fmt.Errorf("read the documentation of %s: %w", state.Subject(), err)
	}
	// The texts come first: where there is a document, there are the pages that it names.
	if from.isProviders() {
		err = s.config.Bucket.Put(ctx, from.pages(), bytes.NewReader(read.texts), int64(len(read.texts)))
	}
	if err == nil {
		err = s.config.Bucket.Put(ctx, from.document(), bytes.NewReader(read.document), int64(len(read.document)))
	}
	if err != nil {
		return fmt.Errorf("store the documentation of %s: %w", state.Subject(), err)
	}
	return nil
}

// reading is what was read from an archive.
type reading struct {
	document []byte
	texts    []byte // of a provider's pages
	stopped  bool   // see [contents.Module]
}

// read reads an archive.
func (s *Store) read(ctx context.Context, from source, archive io.ReaderAt) (reading, error) {
	if from.isProviders() {
		provider, texts, err := s.config.Reader.Provider(ctx, archive, from.size)
		if err != nil {
			return reading{}, err
		}
		return reading{contents.EncodeProvider(provider), texts, provider.Stopped}, nil
	}
	module, err := s.config.Reader.Module(ctx, archive, from.size, from.format)
	if err != nil {
		return reading{}, err
	}
	return reading{contents.EncodeModule(module), nil, module.Stopped}, nil
}

// Make is [Store.Keep] with the archive that lies in the bucket.
//
// Errors: also [registry.ErrNotFound] if the archive is not there.
func (s *Store) Make(ctx context.Context, state registry.State) error {
	from, ok := sourceOf(state)
	if !ok || !s.Reads() {
		return nil
	}
	return s.fetch(ctx, from, func(archive io.ReaderAt) error { return s.Keep(ctx, state, archive) })
}

// Renew is [Store.Make], also for a version that has a document. It says whether there was none, or
// another one, and stores nothing else.
func (s *Store) Renew(ctx context.Context, state registry.State) (changed bool, err error) {
	from, ok := sourceOf(state)
	if !ok || !s.Reads() {
		return false, nil
	}
	document, err := s.Document(ctx, state)
	if err != nil && !errors.Is(err, registry.ErrNotFound) && !errors.As(err, new(*blob.TooLargeError)) {
		return false, err
	}
	err = s.fetch(ctx, from, func(archive io.ReaderAt) error {
		same, err := s.Matches(ctx, state, archive, document)
		if err != nil || same {
			return err
		}
		changed = true
		return s.Keep(ctx, state, archive)
	})
	return changed && err == nil, err
}

// fetch calls do with an archive that lies in the bucket.
func (s *Store) fetch(ctx context.Context, from source, do func(io.ReaderAt) error) error {
	body, described, err := s.config.Bucket.Open(ctx, from.key, "")
	if err != nil {
		return fmt.Errorf("read %s: %w", from.key, err)
	}
	defer body.Close() //nolint:errcheck // read only
	if described.Size != from.size {
		return fmt.Errorf("read %s: it has %d bytes, and was published with %d: larder verify says more", from.key, described.Size, from.size)
	}
	archive, err := s.Hold(body, from.size)
	if err != nil {
		return fmt.Errorf("read %s: %w", from.key, err)
	}
	defer archive.Close() //nolint:errcheck // scratch
	return do(archive)
}

// Document returns the document of a version as it is stored.
//
// Errors: [registry.ErrNotFound] if there is none, for any reason.
func (s *Store) Document(ctx context.Context, state registry.State) ([]byte, error) {
	from, ok := sourceOf(state)
	if !ok {
		return nil, registry.ErrNotFound
	}
	data, _, err := blob.Read(ctx, s.config.Bucket, from.document(), "", contents.MaxDocument)
	if err != nil {
		return nil, fmt.Errorf("read the documentation of %s: %w", state.Subject(), err)
	}
	return data, nil
}

// Matches reads the archive of a version again, and says whether a document is what it says, and
// whether the texts beside it are. If the reader is stopped, any document matches: it may have
// come further before.
func (s *Store) Matches(ctx context.Context, state registry.State, archive io.ReaderAt, document []byte) (bool, error) {
	from, ok := sourceOf(state)
	if !ok || !s.Reads() {
		return true, nil
	}
	again, err := s.read(ctx, from, archive)
	if err != nil {
		return false, fmt.Errorf("read the documentation of %s: %w", state.Subject(), err)
	}
	if again.stopped && document != nil {
		return true, nil
	}
	if !bytes.Equal(again.document, document) || !from.isProviders() {
		return bytes.Equal(again.document, document), nil
	}
	stored, _, err := blob.Read(ctx, s.config.Bucket, from.pages(), "", contents.MaxTexts)
	if errors.Is(err, registry.ErrNotFound) || errors.As(err, new(*blob.TooLargeError)) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the pages of %s: %w", state.Subject(), err)
	}
	return bytes.Equal(stored, again.texts), nil
}
