package directory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// Index is the catalog with its directory, as a writer of the directory sees it.
type Index interface {
	catalog.Index
	catalog.DirectoryIndex
}

// WriterConfig is what a writer works with.
type WriterConfig struct {
	// Index is read and written. Required.
	Index Index

	// Contents describes versions. Nil: they have no description.
	Contents Contents
}

// Writer brings the directory up to the catalog. It is safe for concurrent use, and beside
// other writers.
type Writer struct {
	index    Index
	contents Contents
}

// NewWriter makes a writer. It sends no request.
func NewWriter(c WriterConfig) *Writer { return &Writer{c.Index, c.Contents} }

const (
	// maxTries is how often a shard is written that others change at the same time.
	maxTries = 60

	firstPause = 20 * time.Millisecond
	maxPause   = time.Second

	// maxStateReads is how often a state is read that is older than its entry in the
	// listing: the catalog may answer with what was there a second ago.
	maxStateReads = 6
)

var errBusy = errors.New("others kept changing it at the same time: try again")

// Refresh brings the entry of one address up to the catalog and the contents, or removes it if
// nothing is offered. An entry that is right already costs no write. It is called after each
// change of the address in the catalog, or of its contents. If several are called at once, the
// last one to end leaves what is true. A mirrored provider has no entry.
//
// Errors are those of the index and the contents. Then the entry may be out of date, and Refresh
// can be called again.
func (w *Writer) Refresh(ctx context.Context, a registry.Address) error {
	if a.Folder() == registry.Mirror {
		return nil
	}
	if err := w.refresh(ctx, ShardOf(a), []registry.Address{a}, false); err != nil {
		return fmt.Errorf("bring the directory up to date: %w", err)
	}
	return nil
}

// refresh brings addresses of one shard up to date. With anew, the shard has no others, whatever
// it had before, and is written also if it was read as it shall be. An address that cannot be
// read stays as it is, and the error says so.
//
// The order matters. The listings are read after the shard, and the shard is only written if
// nobody has written it since: so what is written is at least as new as what is replaced. After
// the write the listings are read once more. If one has changed meanwhile, its own writer may
// have come too early: it found what it wanted in the shard that was just replaced.
func (w *Writer) refresh(ctx context.Context, number int, addresses []registry.Address, anew bool) (failed error) {
	for conflicts := 0; conflicts < maxTries; {
		if err := pause(ctx, conflicts); err != nil {
			return err
		}
		shards, err := w.index.DirectoryShards(ctx, []int{number})
		if err != nil {
			return err
		}
		truth, unread := w.lookAt(ctx, addresses)
		if unread != nil && len(truth) == 0 {
			return errors.Join(failed, unread)
		}
		written, err := w.update(ctx, shards[0], truth, anew)
		if errors.Is(err, catalog.ErrChanged) {
			conflicts++
			continue
		}
		if failed = errors.Join(failed, unread, err); err != nil || !written {
			return failed
		}
		if addresses, err = w.changed(ctx, truth); err != nil || len(addresses) == 0 {
			return errors.Join(failed, err)
		}
		anew = false
	}
	return errors.Join(failed, errBusy)
}

// sight is an address as the catalog and the contents have it.
type sight struct {
	address registry.Address
	listing brief
	entry   *Entry // nil for none
}

// brief is what an entry has of a listing.
type brief struct {
	shown    registry.Listed
	versions int
}

func briefOf(listing registry.Listing) (b brief) {
	b.shown, _ = listing.Shown()
	b.shown.Protocols, b.shown.Platforms = nil, nil // an entry does not have them
	for range listing.Offered() {
		b.versions++
	}
	return b
}

func (b brief) equal(other brief) bool {
	return b.versions == other.versions && b.shown.Version == other.shown.Version && b.shown.Revision == other.shown.Revision
}

// update puts what was seen into a shard, and says whether it had to write.
func (w *Writer) update(ctx context.Context, shard catalog.DirectoryShard, truth []sight, anew bool) (written bool, err error) {
	var entries []Entry
	if !anew {
		if entries, err = decodeEntries(shard.Data); err != nil {
			return false, fmt.Errorf("shard %d of the directory: %w", shard.Number, err)
		}
	}
	replaced := map[registry.Address]bool{}
	for _, seen := range truth {
		replaced[seen.address] = true
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return replaced[e.Address] })
	for _, seen := range truth {
		if seen.entry != nil {
			entries = append(entries, *seen.entry)
		}
	}
	data, err := fit(entries)
	if err != nil || !anew && bytes.Equal(data, shard.Data) {
		return false, err
	}
	return true, w.index.PutDirectoryShard(ctx, catalog.DirectoryShard{Number: shard.Number, Revision: shard.Revision + 1, Data: data})
}

// changed is the addresses whose listings are not as they were seen.
func (w *Writer) changed(ctx context.Context, truth []sight) (addresses []registry.Address, err error) {
	for _, seen := range truth {
		listing, err := w.index.CurrentListing(ctx, seen.address)
		if err != nil {
			return nil, err
		}
		if !briefOf(listing).equal(seen.listing) {
			addresses = append(addresses, seen.address)
		}
	}
	return addresses, nil
}

// lookAt is addresses as they are now, without those that cannot be read.
func (w *Writer) lookAt(ctx context.Context, addresses []registry.Address) (truth []sight, unread error) {
	all, errs := make([]sight, len(addresses)), make([]error, len(addresses))
	atOnce(len(addresses), func(i int) { all[i], errs[i] = w.see(ctx, addresses[i]) })
	for i, err := range errs {
		if err == nil {
			truth = append(truth, all[i])
		} else {
			errs[i] = fmt.Errorf("%s: %w", registry.Subject{Address: addresses[i]}.String(), err)
		}
	}
	return truth, errors.Join(errs...)
}

func (w *Writer) see(ctx context.Context, a registry.Address) (sight, error) {
	listing, err := w.index.CurrentListing(ctx, a)
	if err != nil {
		return sight{}, err
	}
	seen := sight{address: a, listing: briefOf(listing)}
	if seen.listing.versions == 0 {
		return seen, nil
	}
	shown := seen.listing.shown
	state, err := w.state(ctx, a, shown)
	if err != nil {
		return sight{}, err
	}
	e := Entry{Address: a, Newest: shown.Version, Versions: seen.listing.versions, Standing: shown.Standing, Source: shown.Source}
	seen.entry = &e
	if state == nil {
		return seen, nil
	}
	e.Published = published(state)
	if e.Source == "" {
		e.Source = sourceOf(state)
	}
	if w.contents != nil {
		description, err := w.contents.Describe(ctx, state)
		if err != nil {
			return sight{}, fmt.Errorf("describe it: %w", err)
		}
		description = description.bounded()
		e.Description, e.Inputs, e.Outputs, e.Resources = description.Text, description.Inputs, description.Outputs, description.Resources
	}
	return seen, nil
}

// state is the state of a listed version, or nil if the catalog does not have it: a walk finds
// such a version and mends it.
func (w *Writer) state(ctx context.Context, a registry.Address, listed registry.Listed) (registry.State, error) {
	var found registry.State
	for failures := range maxStateReads {
		if err := pause(ctx, failures); err != nil {
			return nil, err
		}
		state := a.New(listed.Version)
		err := catalog.Load(ctx, w.index, state)
		switch {
		case errors.Is(err, registry.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		}
		if found = state; state.Listed().Revision >= listed.Revision {
			break
		}
	}
	return found, nil
}

// published is when the first archive of a version was accepted.
func published(state registry.State) time.Time {
	switch s := state.(type) {
	case *registry.ModuleVersion:
		return s.Published.UTC()
	case *registry.ProviderVersion:
		return s.Published.UTC()
	}
	return time.Time{}
}

// sourceOf is the source of a provider's version, which its listing does not have.
func sourceOf(state registry.State) string {
	if p, ok := state.(*registry.ProviderVersion); ok {
		for _, pkg := range p.Packages {
			if pkg.Source != "" {
				return pkg.Source
			}
		}
	}
	return ""
}

// pause waits for a random time, which grows with the number of failures.
func pause(ctx context.Context, failures int) error {
	if failures == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(rand.N(min(maxPause, firstPause<<min(failures, 10))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
