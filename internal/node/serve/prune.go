package serve

import (
	"cmp"
	"context"
	"time"

	"github.com/larder-registry/larder/internal/node/prune"
)

const (
	// firstPrune is the time from the start to the first prune, when nobody waits for the
	// start any more, and pruneEvery the time between two prunes.
	firstPrune = time.Hour
	pruneEvery = 24 * time.Hour
)

// pruneDaily prunes the inbox once a day, until the context ends.
func (n *node) pruneDaily(ctx context.Context) {
	if n.settings.InboxDays == 0 {
		return
	}
	next := time.NewTimer(cmp.Or(n.firstPrune, firstPrune))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			n.prune(ctx, time.Now())
			next.Reset(pruneEvery)
		}
	}
}

// prune removes old uploads from the inbox. The node serves even if this fails.
func (n *node) prune(ctx context.Context, now time.Time) {
	total, err := prune.Run(ctx, prune.Options{
		Bucket: n.blobs, Inbox: n.publisher.Inbox, Days: n.settings.InboxDays, Now: now,
		Each: func(prune.Item) error { return nil },
	})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		n.logger.Error("the inbox cannot be pruned; it is tried again tomorrow", "error", err, "removed", total.Objects, "bytes", total.Bytes)
	case total.Objects > 0:
		n.logger.Info("the inbox was pruned", "removed", total.Objects, "bytes", total.Bytes, "older_than_days", n.settings.InboxDays)
	}
}
