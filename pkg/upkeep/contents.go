package upkeep

import (
	"context"
	"errors"
	"io"

	"github.com/larder-registry/larder/pkg/registry"
)

// documents reads the archives of the versions after a cursor that the present readers have not
// read yet. The documents of earlier readers stay as they are.
func (w *Walks) documents(ctx context.Context, after string) Walk {
	return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) error {
		s, err := w.inCatalog(ctx, last.Subject)
		if s == nil || err != nil {
			return err // an earlier leg has said why it is not there
		}
		lacks, err := w.contents.Lacks(ctx, s)
		if err == nil && lacks {
			err = w.contents.Make(ctx, s)
			step.Changed = err == nil
		}
		return err
	})
}

// notRead says that there is no document of a version, which is nothing wrong.
const notRead = "Its documentation was not read yet: larder reindex --contents reads it."

// module verifies a module version: its archive, and the document that was read from it.
func (v verification) module(ctx context.Context, m *registry.ModuleVersion, step *Step) error {
	compare, err := v.findDocument(ctx, m, step)
	if err != nil {
		return err
	}
	return v.archive(ctx, step, m.Address.ArchiveKey(m.Version, m.Archive), m.Archive.Size, m.Archive.SHA256, compare)
}

// docs verifies the documentation of a provider version, likewise.
func (v verification) docs(ctx context.Context, s *registry.ProviderVersion, step *Step) error {
	if s.Docs == nil {
		return nil
	}
	compare, err := v.findDocument(ctx, s, step)
	if err != nil {
		return err
	}
	return v.archive(ctx, step, s.Address.DocsKey(s.Version, *s.Docs), s.Docs.Size, s.Docs.SHA256, compare)
}

// findDocument looks for the document of a version, and notes it if there is none. It returns what
// compares it with the archive, or nil if there is nothing to compare.
func (v verification) findDocument(ctx context.Context, s registry.State, step *Step) (compare func(io.ReaderAt) error, err error) {
	var document []byte
	if v.quickly || !v.contents.Reads() {
		var lacks bool
		if lacks, err = v.contents.Lacks(ctx, s); lacks {
			err = registry.ErrNotFound
		}
	} else {
		document, err = v.contents.Document(ctx, s)
	}
	switch {
	case errors.Is(err, registry.ErrNotFound):
		step.Notes = append(step.Notes, notRead)
		return nil, nil
	case err != nil || document == nil:
		return nil, err
	}
	return func(archive io.ReaderAt) error { return v.compareDocument(ctx, s, archive, document, step) }, nil
}

// compareDocument reads an archive again, and compares that with the document of it.
func (v verification) compareDocument(ctx context.Context, s registry.State, archive io.ReaderAt, document []byte, step *Step) error {
	same, err := v.contents.Matches(ctx, s, archive, document)
	if err == nil && !same {
		step.addProblem("Its documentation is not what its archive says: delete the document with the sha256 of the archive under %s, and run larder reindex --contents.", registry.ContentsPrefix)
	}
	return err
}
