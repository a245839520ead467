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
	format string
	size   int64 // in bytes
}

// document is the key of the document that is read from it.
func (s source) document() string { return registry.ContentsKey(contents.Reader, s.sha256) }

// sourceOf returns the archive from which a version is documented, if it has one.
func sourceOf(s registry.State) (source, bool) {
	m, ok := s.(*registry.ModuleVersion)
	if !ok || m.Archive.SHA256 == "" {
		return source{}, false
	}
	return source{m.Address.ArchiveKey(m.Version, m.Archive), m.Archive.SHA256, m.Archive.Format, m.Archive.Size}, true
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
	document, err := s.read(ctx, from, archive)
	if err != nil {
		return fmt.Errorf("read the documentation of %s: %w", state.Subject(), err)
	}
	if err := s.config.Bucket.Put(ctx, from.document(), bytes.NewReader(document), int64(len(document))); err != nil {
		return fmt.Errorf("store the documentation of %s: %w", state.Subject(), err)
	}
	return nil
}

func (s *Store) read(ctx context.Context, from source, archive io.ReaderAt) ([]byte, error) {
	module, err := s.config.Reader.Module(ctx, archive, from.size, from.format)
	if err != nil {
		return nil, err
	}
	return contents.EncodeModule(module), nil
}

// Make is [Store.Keep] with the archive that lies in the bucket.
//
// Errors: also [registry.ErrNotFound] if the archive is not there.
func (s *Store) Make(ctx context.Context, state registry.State) error {
	from, ok := sourceOf(state)
	if !ok || !s.Reads() {
		return nil
	}
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
	return s.Keep(ctx, state, archive)
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

// Matches reads the archive of a version again, and says whether a document is what it says.
func (s *Store) Matches(ctx context.Context, state registry.State, archive io.ReaderAt, document []byte) (bool, error) {
	from, ok := sourceOf(state)
	if !ok || !s.Reads() {
		return true, nil
	}
	again, err := s.read(ctx, from, archive)
	if err != nil {
		return false, fmt.Errorf("read the documentation of %s: %w", state.Subject(), err)
	}
	return bytes.Equal(again, document), nil
}
