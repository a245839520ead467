package pullthrough

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

// Inbox is where packages are uploaded: a [blob.Bucket].
type Inbox interface {
	Head(ctx context.Context, key string) (blob.Object, error)
	Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error
}

// Source is where packages come from: an [upstream.Client].
type Source interface {
	Packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) ([]upstream.Package, error)
	Download(ctx context.Context, p upstream.Package, w io.Writer) (size int64, err error)
}

// Fetcher brings packages from their origins into the inbox. Every field is
// required.
type Fetcher struct {
	Source  Source
	Inbox   Inbox
	Scratch string // a folder with room for the largest package times the number of them at once
	Logger  *slog.Logger
}

// Fetch brings one package, unless it is in the inbox already. Before it uploads anything,
// it checks the package by its origin's signature.
//
// Errors: [registry.ErrNotFound] if the origin does not have it; an [*upstream.Untrusted];
// and those of origin and inbox, after which it may be tried again.
func (f *Fetcher) Fetch(ctx context.Context, w Wanted) error {
	key := w.Provider.UploadKey(w.Provider.PackageFilename(w.Version, w.Platform))
	switch _, err := f.Inbox.Head(ctx, key); {
	case err == nil:
		f.Logger.InfoContext(ctx, "a package that the mirror lacks is in the inbox already: its outcome says why it is not published", "key", key)
		return nil
	case !errors.Is(err, registry.ErrNotFound):
		return fmt.Errorf("look for %s in the inbox: %w", key, err)
	}
	packages, err := f.Source.Packages(ctx, w.Provider, w.Version, []registry.Platform{w.Platform})
	if err == nil && len(packages) == 0 {
		err = registry.ErrNotFound
	}
	if err == nil {
		err = f.upload(ctx, packages[0], key)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", w, err)
	}
	return nil
}

// upload downloads a package and puts it into the inbox. Its scratch file has no name any
// more, so nothing stays however the process ends.
func (f *Fetcher) upload(ctx context.Context, p upstream.Package, key string) error {
	file, err := os.CreateTemp(f.Scratch, "fetch-*")
	if err != nil {
		return fmt.Errorf("scratch space: %w", err)
	}
	defer file.Close() //nolint:errcheck // scratch
	if err := os.Remove(file.Name()); err != nil {
		return fmt.Errorf("scratch space: %w", err)
	}
	size, err := f.Source.Download(ctx, p, file)
	if err != nil {
		return err
	}
	if err := f.Inbox.Put(ctx, key, io.NewSectionReader(file, 0, size), size); err != nil {
		return fmt.Errorf("upload it: %w", err)
	}
	f.Logger.InfoContext(ctx, "fetched a package for the mirror", "key", key, "size", size, "sha256", p.SHA256)
	return nil
}
