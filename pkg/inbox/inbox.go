// Package inbox is what lies in the inbox and what became of it: what the key of an
// upload says, which uploads wait to be published, and the outcome that is written back.
package inbox

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/larder-registry/larder/pkg/blob"
)

// Config is what an [Inbox] works with. Bucket and Log are required.
type Config struct {
	Bucket blob.Bucket
	Log    *slog.Logger

	// KeysAreFiles says that the bucket keeps objects as files in folders, as a
	// gateway to a file system does. There an outcome that has [blob.ErrInTheWay] lies
	// elsewhere, and is looked for there.
	KeysAreFiles bool

	// WrittenBy says who wrote an object version, where the bucket knows and nobody
	// who uploads could have said so: empty where it does not, or not any more. Nil
	// where events alone tell.
	WrittenBy func(ctx context.Context, key, version string) (string, error)

	// Announce is called with every outcome that differs from the one that was
	// written before it for the same upload. An error of it makes the upload
	// be tried again; so an outcome may be announced more than once.
	Announce func(context.Context, Outcome) error
}

// Inbox is the uploads in a bucket and their outcomes. It is safe for concurrent use.
type Inbox struct{ config Config }

// New is an inbox.
func New(c Config) *Inbox { return &Inbox{c} }

// FindWriter notes who wrote an object version of which no event told, as far as
// the bucket knows.
func (i *Inbox) FindWriter(ctx context.Context, object *blob.Object) (err error) {
	if i.config.WrittenBy == nil {
		return nil
	}
	if object.By, err = i.config.WrittenBy(ctx, object.Key, object.Version); err != nil {
		return fmt.Errorf("find out who uploaded %s: %w", object.Key, err)
	}
	return nil
}
