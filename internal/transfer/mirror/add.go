package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/transfer/mirrorarchive"
	"github.com/larder-registry/larder/internal/transfer/upload"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
	"golang.org/x/sync/errgroup"
)

// downloadsAtOnce is how many packages are downloaded at the same time.
const downloadsAtOnce = 4

// adding brings versions of a provider from the origin to an inbox.
type adding struct {
	origin    *upstream.Client
	batch     *upload.Batch
	progress  *progress.Progress
	choice    Choice
	platforms Platforms
	scratch   string
	found     []registry.Platform // those with a package of any version
}

// Add takes the chosen versions of a provider from its origin registry, verifies them, uploads
// them, waits for their outcomes and writes a table of them to out. It keeps one version at a
// time in a folder for temporary files.
//
// The error says what could not be fetched, or counts what was rejected or failed. If a
// version does not have a platform, Add says so on p; if no version has it, that is an error.
func Add(ctx context.Context, origin *upstream.Client, inbox *upload.Inbox, c Choice, platforms Platforms, out io.Writer, p *progress.Progress) error {
	versions, chosen, err := listOrigin(ctx, origin, c)
	if err != nil {
		return err
	}
	p.Say("%s", c.announce(chosen, versionsOf(versions)))
	scratch, err := os.MkdirTemp("", "larder-mirror-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // temporary files
	a := &adding{origin: origin, batch: inbox.NewBatch(p), progress: p, choice: c, platforms: platforms, scratch: scratch}
	for _, v := range versions {
		if ctx.Err() == nil && slices.Contains(chosen, v.Version) {
			if err := a.version(ctx, v); err != nil {
				a.batch.Fail(upload.File{Name: c.Address.String() + " " + v.Version.String()}, err)
			}
		}
	}
	if err := a.batch.Conclude(ctx, out); err != nil {
		return err
	}
	if len(a.found) == 0 {
		return fmt.Errorf("%s: there is no package", c.Address)
	}
	if missing := platforms.missing(a.found); len(missing) > 0 {
		return fmt.Errorf("%s: none of the versions has a package for %s", c.Address, join(missing))
	}
	return nil
}

// listOrigin asks the origin for its versions, and chooses among them.
func listOrigin(ctx context.Context, origin *upstream.Client, c Choice) (all []upstream.Version, chosen []registry.Version, err error) {
	all, err = origin.Versions(ctx, c.Address)
	if errors.Is(err, registry.ErrNotFound) {
		return nil, nil, fmt.Errorf("%s has no provider %s/%s", c.Address.Hostname, c.Address.Namespace, c.Address.Type)
	}
	if err != nil {
		return nil, nil, err
	}
	chosen, err = c.choose(versionsOf(all))
	return all, chosen, err
}

func versionsOf(all []upstream.Version) []registry.Version {
	versions := make([]registry.Version, len(all))
	for i, v := range all {
		versions[i] = v.Version
	}
	return versions
}

// version takes one version. The errors of single packages are in the batch.
func (a *adding) version(ctx context.Context, v upstream.Version) error {
	wanted := a.platforms.list
	if a.platforms.all {
		wanted = v.Platforms
	}
	if len(wanted) == 0 {
		return errors.New("its origin lists no platforms: name them with --platform")
	}
	packages, err := a.origin.Packages(ctx, a.choice.Address, v.Version, wanted)
	if err != nil {
		return err
	}
	var there []registry.Platform
	for _, pkg := range packages {
		there = append(there, pkg.Platform)
	}
	a.found = append(a.found, there...)
	if missing := a.platforms.missing(there); len(missing) > 0 {
		a.progress.Say("%s %s has no package for %s", a.choice.Address, v.Version, join(missing))
	}
	release := mirrorarchive.Release{Address: a.choice.Address, Version: v.Version}
	release.Packages = a.download(ctx, release, packages)
	var files []upload.File
	for _, p := range release.Packages {
		files = append(files, fileOf(release, p))
	}
	uploadRelease(ctx, a.batch, release, files, a.scratch)
	return a.discard(release)
}

// download downloads packages, several side by side. Those that fail are in the batch.
func (a *adding) download(ctx context.Context, r mirrorarchive.Release, packages []upstream.Package) []mirrorarchive.Package {
	got := make([]mirrorarchive.Package, len(packages))
	failed := make([]error, len(packages))
	var group errgroup.Group
	group.SetLimit(downloadsAtOnce)
	for i, pkg := range packages {
		group.Go(func() error {
			got[i], failed[i] = a.downloadOne(ctx, r, pkg)
			return nil // so that the others go on
		})
	}
	_ = group.Wait() // each error is in failed
	var whole []mirrorarchive.Package
	for i := range got {
		if failed[i] != nil {
			a.batch.Fail(fileOf(r, got[i]), failed[i])
			continue
		}
		whole = append(whole, got[i])
	}
	return whole
}

func (a *adding) downloadOne(ctx context.Context, r mirrorarchive.Release, pkg upstream.Package) (got mirrorarchive.Package, err error) {
	got = mirrorarchive.Package{Platform: pkg.Platform, SHA256: pkg.SHA256}
	got.Path = filepath.Join(a.scratch, r.Filename(got))
	bar := a.progress.Begin(r.Filename(got)+" (download)", progress.Unknown)
	defer func() { bar.End(err) }()
	err = intoFile(got.Path, func(file *os.File) (err error) {
		got.Size, err = a.origin.Download(ctx, pkg, io.MultiWriter(file, bar))
		return err
	})
	if err == nil {
		got.H1, err = inspect(ctx, r, got)
	}
	return got, err
}

// discard removes the downloaded packages of a release.
func (a *adding) discard(r mirrorarchive.Release) error {
	var err error
	for _, p := range r.Packages {
		err = errors.Join(err, os.Remove(p.Path))
	}
	return err
}

// uploadRelease uploads the document with the hashes of a release's packages, which it writes
// to a folder, and then the packages. All errors are in the batch.
func uploadRelease(ctx context.Context, batch *upload.Batch, r mirrorarchive.Release, files []upload.File, folder string) {
	if len(files) == 0 {
		return
	}
	if err := uploadDocument(ctx, batch, r, folder); err != nil {
		for _, file := range files {
			batch.Fail(file, fmt.Errorf("%s, which must be uploaded before it: %w", r.DocumentName(), err))
		}
		return
	}
	batch.Upload(ctx, files)
}

// uploadDocument uploads the document of a release.
func uploadDocument(ctx context.Context, batch *upload.Batch, r mirrorarchive.Release, folder string) error {
	path := filepath.Join(folder, r.DocumentName())
	if err := os.WriteFile(path, r.Document(), 0o600); err != nil {
		return err
	}
	err := batch.UploadDocument(ctx, upload.File{
		Name: r.Address.String() + "/" + r.DocumentName(), Path: path, Key: r.Address.UploadKey(r.DocumentName()),
	})
	return errors.Join(err, os.Remove(path))
}

// fileOf returns a package as a file to upload.
func fileOf(r mirrorarchive.Release, p mirrorarchive.Package) upload.File {
	name := r.Filename(p)
	return upload.File{Name: r.Address.String() + "/" + name, Path: p.Path, Key: r.Address.UploadKey(name)}
}
