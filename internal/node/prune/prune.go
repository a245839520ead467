// Package prune removes from the inbox of a single node what nobody needs any more, as
// the lifecycle rules of the bucket do on AWS. What is published is a copy below
// registry/, which stays.
package prune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// OthersDays is how many days uploads that are not published are kept at least: as on AWS by
// default.
const OthersDays = 30

const day = 24 * time.Hour

// Bucket is the bucket whose inbox is pruned.
type Bucket interface {
	blob.Bucket
	// Remove removes an object version, or a delete marker, for good.
	Remove(ctx context.Context, key, version string) error
	// Markers calls do with every delete marker under a prefix, until it fails.
	Markers(ctx context.Context, prefix string, do func(blob.Object) error) error
}

// Options say what is removed.
type Options struct {
	Bucket Bucket
	Inbox  *inbox.Inbox

	// Days is the age in days at which published, ignored and overwritten uploads are
	// removed; rejected and pending ones, too, if it is more than OthersDays.
	Days int
	Now  time.Time

	DryRun bool
	// Each gets everything that is removed.
	Each func(Item) error
}

// Item is an object version that is removed.
type Item struct {
	blob.Object
	What string // "published", or another status of an upload; "overwritten" or "deleted"
}

// Total counts what was removed, or would be.
type Total struct {
	Objects int
	Bytes   int64 // the sum of the objects' sizes
}

// Run prunes the inbox. An upload without a known outcome stays.
func Run(ctx context.Context, o Options) (Total, error) {
	p := &pruning{Options: o, gone: map[string]bool{}}
	for key, err := range o.Inbox.Uploads(ctx, "") {
		if err == nil {
			err = p.key(ctx, key)
		}
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return p.total, err
		}
	}
	for _, folder := range inbox.Folders {
		err := o.Bucket.Markers(ctx, folder, func(marker blob.Object) error { return p.marker(ctx, marker) })
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return p.total, err
		}
	}
	return p.total, nil
}

type pruning struct {
	Options
	total Total
	gone  map[string]bool // the removed versions; a dry run still finds them
}

// key prunes the versions of a key: the oldest first, because the bucket replaces a removed
// version with the one before it.
func (p *pruning) key(ctx context.Context, key string) error {
	last, err := p.Inbox.LastOutcome(ctx, key)
	if err != nil || last.Version == "" {
		return err
	}
	var goes []Item
	var newer time.Time // when the next newer version was made; zero before the version with the outcome
	for o, err := range p.Bucket.Versions(ctx, key, "") {
		switch {
		case err != nil:
			return fmt.Errorf("list the versions of %s: %w", key, err)
		case o.Key == key && o.Version == last.Version && p.isOver(o.Modified, last.Status):
			goes = append(goes, Item{o, string(last.Status)})
		case o.Key == key && !newer.IsZero() && p.isOver(newer, inbox.Published):
			goes = append(goes, Item{o, "overwritten"})
		}
		if o.Key != key {
			break
		}
		if o.Version == last.Version || !newer.IsZero() {
			newer = o.Modified
		}
	}
	for _, item := range slices.Backward(goes) {
		if err := p.remove(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

// isOver says whether the time to keep something has passed.
func (p *pruning) isOver(since time.Time, status inbox.Status) bool {
	days := p.Days
	if status == inbox.Pending || status == inbox.Rejected {
		days = max(days, OthersDays)
	}
	return !since.Add(time.Duration(days) * day).After(p.Now)
}

// marker removes a delete marker of a key that has no version left.
func (p *pruning) marker(ctx context.Context, marker blob.Object) error {
	if !p.isOver(marker.Modified, inbox.Published) {
		return nil
	}
	for o, err := range p.Bucket.Versions(ctx, marker.Key, "") {
		if err != nil {
			return fmt.Errorf("list the versions of %s: %w", marker.Key, err)
		}
		if o.Key != marker.Key {
			break
		}
		if !p.gone[o.Version] {
			return nil
		}
	}
	return p.remove(ctx, Item{marker, "deleted"})
}

func (p *pruning) remove(ctx context.Context, item Item) error {
	if err := cmp.Or(ctx.Err(), p.Each(item)); err != nil {
		return err
	}
	if !p.DryRun {
		if err := p.Bucket.Remove(ctx, item.Key, item.Version); err != nil {
			return err
		}
	}
	p.gone[item.Version] = true
	p.total.Objects++
	p.total.Bytes += item.Size
	return nil
}
