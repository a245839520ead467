package mirror

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/internal/transfer/mirrorarchive"
	"github.com/larder-registry/larder/internal/transfer/netmirror"
	"github.com/larder-registry/larder/pkg/registry"
	"golang.org/x/sync/errgroup"
)

// exporting brings packages from a mirror to a file.
type exporting struct {
	from      *netmirror.Client
	platforms Platforms
	progress  *progress.Progress
	scratch   string
	found     []registry.Platform // those with a package of the current choice
	releases  []mirrorarchive.Release
}

// Export takes the chosen versions of providers from a mirror, compares every package with the
// hashes that the mirror names, and writes them to an archive at path. Until the archive is
// whole, a file at path stays as it is, and the packages are in a folder beside it. Then
// Export names the archive on out.
//
// After an error there is no archive. If a version does not have a platform, Export says so on
// p; if no version of the choice has it, that is an error.
func Export(ctx context.Context, from *netmirror.Client, choices []Choice, platforms Platforms, path string, out io.Writer, p *progress.Progress) error {
	scratch, err := os.MkdirTemp(filepath.Dir(path), ".larder-export-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // temporary files
	e := &exporting{from: from, platforms: platforms, progress: p, scratch: scratch}
	for _, c := range choices {
		if err := e.choice(ctx, c); err != nil {
			return interrupted(ctx, err)
		}
	}
	sum, err := e.write(ctx, path)
	if err != nil {
		return interrupted(ctx, err)
	}
	_, err = fmt.Fprintf(out, "%s: %s, SHA-256 %x\n", path, summary(e.releases), sum)
	return err
}

// interrupted replaces the error if the user has interrupted the export.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errors.New("interrupted: nothing was written")
	}
	return err
}

// summary says how many packages releases have, and how large they are.
func summary(releases []mirrorarchive.Release) string {
	packages, bytes := total(releases)
	return fmt.Sprintf("%s of %s, %d MiB", size.Count(packages, "package"), size.Count(len(releases), "version"), (bytes+1<<20-1)>>20)
}

// total counts the packages of releases and their bytes.
func total(releases []mirrorarchive.Release) (packages int, bytes int64) {
	for _, r := range releases {
		packages += len(r.Packages)
		for _, p := range r.Packages {
			bytes += p.Size
		}
	}
	return packages, bytes
}

// choice takes the chosen versions of a provider.
func (e *exporting) choice(ctx context.Context, c Choice) error {
	versions, err := e.from.Versions(ctx, c.Address)
	if errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("the mirror has no provider %s", c.Address)
	}
	if err != nil {
		return err
	}
	chosen, err := c.choose(versions)
	if err != nil {
		return err
	}
	e.progress.Say("%s", c.announce(chosen, versions))
	e.found = nil
	for _, v := range chosen {
		if err := e.version(ctx, mirrorarchive.Release{Address: c.Address, Version: v}); err != nil {
			return fmt.Errorf("%s %s: %w", c.Address, v, err)
		}
	}
	if len(e.found) == 0 {
		return fmt.Errorf("%s: the mirror has no package for the platforms", c.Address)
	}
	if missing := e.platforms.missing(e.found); len(missing) > 0 {
		return fmt.Errorf("%s: none of the versions has a package for %s", c.Address, join(missing))
	}
	return nil
}

// version takes one version, unless another choice has taken it already.
func (e *exporting) version(ctx context.Context, r mirrorarchive.Release) error {
	archives, err := e.from.Archives(ctx, r.Address, r.Version)
	if err != nil {
		return err
	}
	archives = slices.DeleteFunc(archives, func(a netmirror.Archive) bool { return !e.platforms.wants(a.Platform) })
	var there []registry.Platform
	for _, a := range archives {
		there = append(there, a.Platform)
	}
	e.found = append(e.found, there...)
	if missing := e.platforms.missing(there); len(missing) > 0 {
		e.progress.Say("%s %s has no package for %s", r.Address, r.Version, join(missing))
	}
	same := func(o mirrorarchive.Release) bool { return o.Address == r.Address && o.Version == r.Version }
	if len(archives) == 0 || slices.ContainsFunc(e.releases, same) {
		return nil
	}
	if r.Packages, err = e.download(ctx, r, archives); err != nil {
		return err
	}
	e.releases = append(e.releases, r)
	return nil
}

// download downloads packages, several side by side, all or none.
func (e *exporting) download(ctx context.Context, r mirrorarchive.Release, archives []netmirror.Archive) ([]mirrorarchive.Package, error) {
	packages := make([]mirrorarchive.Package, len(archives))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(downloadsAtOnce)
	for i, a := range archives {
		group.Go(func() (err error) {
			if packages[i], err = e.downloadOne(ctx, r, a); err != nil {
				return fmt.Errorf("%s: %w", a.Platform, err)
			}
			return nil
		})
	}
	return packages, group.Wait()
}

func (e *exporting) downloadOne(ctx context.Context, r mirrorarchive.Release, a netmirror.Archive) (p mirrorarchive.Package, err error) {
	p.Platform = a.Platform
	p.Path = filepath.Join(e.scratch, fmt.Sprintf("%x", sha256.Sum256([]byte(r.Address.String()+"/"+r.Filename(p)))))
	bar := e.progress.Begin(r.Filename(p), progress.Unknown)
	defer func() { bar.End(err) }()
	err = intoFile(p.Path, func(file *os.File) (err error) {
		p.SHA256, p.Size, err = e.from.Download(ctx, a, file, bar.Sized)
		return err
	})
	if err == nil {
		p.H1, err = inspect(ctx, r, p)
	}
	if err == nil {
		err = checkHashes(a.Hashes, p)
	}
	return p, err
}

// write writes the archive, and puts it in its place when it is whole and on disk.
func (e *exporting) write(ctx context.Context, path string) (sum []byte, err error) {
	_, bytes := total(e.releases)
	hash := sha256.New()
	bar := e.progress.Begin(filepath.Base(path), bytes)
	defer func() { bar.End(err) }()
	whole := filepath.Join(e.scratch, "archive")
	err = intoFile(whole, func(file *os.File) error {
		if err := mirrorarchive.Write(ctx, io.MultiWriter(file, hash), e.releases, bar); err != nil {
			return err
		}
		return file.Sync()
	})
	if err != nil {
		return nil, err
	}
	return hash.Sum(nil), os.Rename(whole, path)
}
