package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/keyfile"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// rebuild makes the catalog from the records, and verifies all that is published, as
// larder reindex and larder verify do.
func (r *restoration) rebuild(ctx context.Context) (err error) {
	if err := r.open(ctx); err != nil { // no file has opened it, if nothing was published
		return err
	}
	access, err := boltcatalog.OpenAccess(r.dir.Path(datadir.Access)) // this reads the whole file
	if err != nil {
		return err
	}
	if err := access.Close(); err != nil {
		return err
	}
	signer, err := keyfile.Open(ctx, r.dir.Path(datadir.SigningKey), r.bucket)
	if err != nil {
		return err
	}
	scratch, err := r.dir.Folder(datadir.Scratch)
	if err != nil {
		return err
	}
	walks := func(index *boltcatalog.Catalog) publishing.Registry {
		return publishing.New(publishing.Config{
			Bucket: r.bucket, Index: index, Signer: signer, Scratch: scratch, Logger: r.Logger, KeysAreFiles: true,
		})
	}
	path := r.dir.Path(datadir.Catalog)
	err = boltcatalog.Build(path, func(index *boltcatalog.Catalog) error { return runWalk(ctx, walks(index).Reindex(ctx, "", false)) })
	if err != nil {
		return err
	}
	catalog, err := boltcatalog.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, catalog.Close()) }()
	r.Progress.Say("verifying what is restored")
	return runWalk(ctx, walks(catalog).Verify(ctx, "", false))
}

// runWalk runs a walk to its end, but for the inbox: the next start publishes the uploads. Its
// findings are an error.
func runWalk(ctx context.Context, walk upkeep.Walk) error {
	var wrong []string
	for step, err := range walk {
		if err := cmp.Or(ctx.Err(), step.Whole(err)); err != nil {
			return err
		}
		if step.Leg == upkeep.InboxLeg {
			break
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", step.Subject, err))
		}
		for _, problem := range step.Problems {
			wrong = append(wrong, step.Subject+": "+problem)
		}
	}
	if err := problems(wrong); err != nil {
		return fmt.Errorf("the restored data folder is not whole:\n  %w", err)
	}
	return ctx.Err()
}
