package upkeep

import (
	"context"
	"errors"
	"io"

	"github.com/larder-registry/larder/pkg/registry"
)

// ReadAgain reads all archives again, also those that the present readers have read, and stores
// what differs from the documents that are there. In the end it makes the directory what the catalog
// and the documents say.
func (w *Walks) ReadAgain(ctx context.Context, after string) Walk {
	return chain(after,
		leg{RecordsLeg, func(after string) Walk { return w.documents(ctx, after, w.contents.Renew) }},
		leg{DirectoryLeg, func(after string) Walk { return w.entries(ctx, after) }})
}

// readMissing reads the archive of a version if the present readers have not read it yet, and says
// whether it did. The documents of earlier readers stay as they are.
func (w *Walks) readMissing(ctx context.Context, s registry.State) (bool, error) {
	lacks, err := w.contents.Lacks(ctx, s)
	if err != nil || !lacks {
		return false, err
	}
	err = w.contents.Make(ctx, s)
	return err == nil, err
}

// documents calls read for the versions after a cursor. read says whether it changed a document.
func (w *Walks) documents(ctx context.Context, after string, read func(context.Context, registry.State) (bool, error)) Walk {
	return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) error {
		s, err := w.inCatalog(ctx, last.Subject)
		if s == nil || err != nil {
			return err // another leg, or larder verify, says why it is not there
		}
		step.Changed, err = read(ctx, s)
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
		step.addProblem("Its documentation is not what its archive says: larder reindex --contents --again reads it again.")
	}
	return err
}
