package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/transfer/mirrorarchive"
	"github.com/larder-registry/larder/internal/transfer/upload"
)

// Import reads and verifies the whole archive at path. Then it uploads the packages from their
// places in the archive, waits for their outcomes and writes a table of them to out.
//
// The error says what in the archive is wrong, and then nothing was uploaded; or it counts
// what was rejected or failed.
func Import(ctx context.Context, path string, inbox *upload.Inbox, out io.Writer, p *progress.Progress) error {
	releases, err := readArchive(ctx, path, p)
	if ctx.Err() != nil {
		return errors.New("interrupted: nothing was uploaded")
	}
	if err != nil {
		return fmt.Errorf("nothing was uploaded: %w", err)
	}
	p.Say("%s: %s, all verified", path, summary(releases))
	scratch, err := os.MkdirTemp("", "larder-mirror-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // temporary files
	batch := inbox.NewBatch(p)
	for _, r := range releases {
		if ctx.Err() == nil {
			uploadRelease(ctx, batch, r, partsOf(r, path), scratch)
		}
	}
	return batch.Conclude(ctx, out)
}

// partsOf returns the packages of a release as parts of the archive at path.
func partsOf(r mirrorarchive.Release, path string) []upload.File {
	files := make([]upload.File, len(r.Packages))
	for i, p := range r.Packages {
		files[i] = fileOf(r, p)
		files[i].Path, files[i].Part = path, &upload.Part{Offset: p.Offset, Size: p.Size}
	}
	return files
}

// readArchive reads and verifies an archive.
func readArchive(ctx context.Context, path string, p *progress.Progress) (releases []mirrorarchive.Release, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	bar := p.Begin(filepath.Base(path), info.Size())
	defer func() { bar.End(err) }()
	if releases, err = mirrorarchive.Open(ctx, file, info.Size(), bar); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return releases, nil
}
