// Package inbox reads the part of the bucket that users write, and reports what became
// of it. It parses the keys of uploads, finds the uploads that are not published yet, and
// writes and reads outcomes.
package inbox

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/larder-registry/larder/pkg/blob"
)

// Config is what an [Inbox] works with. Bucket and Logger are required.
type Config struct {
	Bucket blob.Bucket
	Logger *slog.Logger

	// KeysAreFiles says that the bucket keeps objects as files. There an outcome
	// that cannot be stored because of [blob.ErrInTheWay] is stored by its hash.
	KeysAreFiles bool

	// WrittenBy returns who wrote an object version, or "" if the bucket does not
	// know it. An uploader cannot forge it. Nil if only events say it.
	WrittenBy func(ctx context.Context, key, version string) (string, error)

	// Announce is called with every outcome that differs from the last one of the
	// same upload. If it fails, the upload is tried again: so an outcome may be
	// announced more than once. Nil: nothing is announced.
	Announce func(context.Context, Outcome) error
}

// Inbox has the uploads in a bucket and their outcomes. It is safe for concurrent use.
type Inbox struct{ config Config }

// New opens the inbox of a bucket. It sends no request.
func New(c Config) *Inbox { return &Inbox{c} }

// FindWriter sets By of an object version that was found without an event, if the bucket
// knows who wrote it.
func (i *Inbox) FindWriter(ctx context.Context, object *blob.Object) (err error) {
	if i.config.WrittenBy == nil {
		return nil
	}
	if object.By, err = i.config.WrittenBy(ctx, object.Key, object.Version); err != nil {
		return fmt.Errorf("find out who uploaded %s: %w", object.Key, err)
	}
	return nil
}
