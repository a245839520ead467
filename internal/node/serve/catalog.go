package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
)

// compareAgain is the time before the catalog is compared again, if that failed.
const compareAgain = time.Minute

// openPublisher opens the catalog, and what publishes to it.
//
// A node writes the ID of its run to the catalog and to the bucket's folder. If both have the
// same ID, the catalog has all that the last run has published, also after a crash. Then
// clients are answered at once, and the catalog is compared with the records beside that. It
// may lack a version that was accepted and not published yet. Any other catalog is brought up
// to the records first: it may be missing, older, or of another bucket. In both cases it has
// its directory before clients are answered.
func (n *node) openPublisher(ctx context.Context, c publishing.Config) error {
	path := n.dir.Path(datadir.Catalog)
	_, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		err = boltcatalog.Build(path, func(catalog *boltcatalog.Catalog) error {
			c.Index = catalog
			return publishing.New(c).Recover(ctx)
		})
	}
	if err != nil {
		return err
	}
	if n.catalog, err = boltcatalog.OpenUnread(path); err != nil {
		return err
	}
	if err := n.catalog.DropStaleDirectory(); err != nil {
		return err
	}
	c.Index = n.catalog
	n.publisher = publishing.New(c)
	if n.compareLater, err = n.isOfLastRun(); err != nil {
		return err
	}
	if n.compareLater {
		return n.publisher.BuildDirectory(ctx) // the last run may have been an older release
	}
	if !missing {
		if err := n.catalog.Check(ctx); err != nil {
			return err
		}
		if err := n.publisher.Recover(ctx); err != nil {
			return err
		}
	}
	n.noteRun()
	return nil
}

// isOfLastRun says whether the last run of this data folder used this catalog.
func (n *node) isOfLastRun() (bool, error) {
	last, err := os.ReadFile(n.dir.Path(datadir.LastRun))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the last run: %w; if you remove it, the start compares the catalog with the records first, and nothing is lost", err)
	}
	used, err := n.catalog.LastRun()
	return used != "" && used == string(last), err
}

// noteRun writes the ID of this run. If it is interrupted, the two IDs differ. Without room
// on the disk the node serves nevertheless.
func (n *node) noteRun() {
	id := rand.Text()
	err := n.dir.WriteFile(datadir.LastRun, []byte(id))
	if err == nil {
		err = n.catalog.SetLastRun(id)
	}
	if err != nil {
		n.logger.Warn("the ID of this run cannot be written, so the next start may compare the catalog with the records before it serves", "error", err)
	}
}

// compare compares the catalog with the records, until that succeeds. If it finds damage, the
// node ends, and the next start refuses the catalog.
func (n *node) compare(ctx context.Context) {
	n.noteRun()
	err := n.catalog.Check(ctx)
	if err != nil && ctx.Err() == nil {
		n.unreadable <- errors.Join(err, n.dir.Remove(datadir.LastRun))
	}
	if err != nil {
		return
	}
	for {
		err := n.publisher.RecoverSlowly(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		n.logger.Error("the catalog cannot be compared with the records, and will be compared again", "error", err, "in", compareAgain)
		select {
		case <-ctx.Done():
		case <-time.After(compareAgain):
		}
	}
}
