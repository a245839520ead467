package boltcatalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// checkedAtOnce is how many items [Catalog.Check] reads in a transaction. A write that
// makes the file grow waits for the end of it.
const checkedAtOnce = 1000

// Check reads all of the catalog, as [Open] does, while others use it.
func (c *Catalog) Check(ctx context.Context) error {
	for _, b := range catalogFile.buckets {
		for last := []byte(nil); ; {
			err := view(c.db, func(tx *bbolt.Tx) (err error) {
				last, err = catalogFile.verifyItems(tx, b, last, checkedAtOnce)
				return err
			})
			if err != nil {
				return fmt.Errorf("catalog %s: %w", c.db.Path(), err)
			}
			if last == nil {
				break
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// The keys of the last run in the bolt bucket "meta", and of the last one that kept the directory.
// They have the same ID, unless a release without a directory has used the catalog since.
var (
	runKey          = []byte("last run")
	directoryRunKey = []byte("last run with directory")
)

// LastRun is the ID of the last run that used the catalog, or "".
func (c *Catalog) LastRun() (id string, err error) {
	err = view(c.db, func(tx *bbolt.Tx) error {
		id = string(tx.Bucket(metaBucket).Get(runKey))
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the last run in the catalog: %w", err)
	}
	return id, nil
}

// SetLastRun sets the ID of the last run.
func (c *Catalog) SetLastRun(id string) error {
	err := update(c.db, func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		return errors.Join(meta.Put(runKey, []byte(id)), meta.Put(directoryRunKey, []byte(id)))
	})
	if err != nil {
		return fmt.Errorf("write the last run to the catalog: %w", err)
	}
	return nil
}

// DropStaleDirectory removes the directory if the last run was one of a release that does not keep
// it: it may lack what that run has published. The directory has to be built again then.
func (c *Catalog) DropStaleDirectory() error {
	found := false
	err := view(c.db, func(tx *bbolt.Tx) error {
		meta := tx.Bucket(metaBucket)
		found = tx.Bucket(directoryBucket) != nil && !bytes.Equal(meta.Get(runKey), meta.Get(directoryRunKey))
		return nil
	})
	if err == nil && found {
		err = update(c.db, func(tx *bbolt.Tx) error { return tx.DeleteBucket(directoryBucket) })
	}
	if err != nil {
		return fmt.Errorf("remove a directory that is out of date: %w", err)
	}
	return nil
}

// Build makes a catalog in a new file. The file appears when fill returns: whole, durable
// and closed, or not at all. Until then no write is synchronized with the disk, which takes
// most of the time of a write.
func Build(path string, fill func(*Catalog) error) (err error) {
	unfinished := path + ".part"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("build the catalog: %w", err)
	}
	db, err := catalogFile.open(unfinished, func(o *bbolt.Options) { o.NoSync = true }, catalogFile.verify)
	if err != nil {
		return err
	}
	if err := errors.Join(fill(newCatalog(db)), db.Sync(), db.Close()); err != nil {
		return errors.Join(err, os.Remove(unfinished))
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("build the catalog: %w", err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("build the catalog: %w", err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}
