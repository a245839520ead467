package serve

import (
	"cmp"
	"context"
	"time"

	"github.com/larder-registry/larder/internal/node/prune"
)

const (
	// firstPrune is how long after the start the inbox is pruned, when nobody waits for
	// the start any more, and pruneEvery how often it is from then on.
	firstPrune = time.Hour
	pruneEvery = 24 * time.Hour
)

// pruneDaily removes from the inbox what is old, once a day, until the context ends.
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

// prune removes from the inbox what is old. That it fails is no reason not to serve.
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
