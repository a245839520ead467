// Package upkeep walks over everything that the registry has: it brings the catalog up to
// the records, signs what is accepted, verifies, and says what there is. What was never
// published it hands to others.
package upkeep

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// Config is what [Walks] work with. Every field is required.
type Config struct {
	Bucket blob.Bucket
	Index  catalog.Index
	Log    *versionlog.Log
	Keys   *authorkeys.Keys
	Inbox  *inbox.Inbox
	Logger *slog.Logger
}

// Walks are the walks over a registry. They are safe for concurrent use, also beside
// publishers.
type Walks struct {
	bucket blob.Bucket
	index  catalog.Index
	log    *versionlog.Log
	keys   *authorkeys.Keys
	inbox  *inbox.Inbox
	logger *slog.Logger
}

// New is the walks over a registry.
func New(c Config) *Walks {
	return &Walks{bucket: c.Bucket, index: c.Index, log: c.Log, keys: c.Keys, inbox: c.Inbox, logger: c.Logger}
}

// Step is what a walk came to: a version, or something else that its subject
// names.
type Step struct {
	After    string   // the cursor with which a walk goes on after this step
	Leg      string   // what the walk goes over: "records", "catalog" or "inbox"
	Subject  string   // such as "module acme/vpc/aws 1.2.3"
	Changed  bool     // the walk changed something of it
	Problems []string // what is wrong with it, in full sentences
	Notes    []string // what is right with it, and should be known
}

// Whole is the error that came with the step, if it is of the walk as a whole.
func (s Step) Whole(err error) error {
	if s.Subject == "" {
		return err
	}
	return nil
}

// Walk is a walk over all versions, in an order that stays the same. With a
// version that it could not deal with it yields the error, too, and goes on to
// the next one; with an error of the whole it yields no subject, and ends.
type Walk = iter.Seq2[Step, error]

// versions walks over the records of all versions that come after a cursor.
func (w *Walks) versions(ctx context.Context, after string, do func(last registry.ParsedRecordKey, step *Step) error) Walk {
	return func(yield func(Step, error) bool) {
		for last, err := range w.log.LastRecords(ctx, registry.RecordsPrefix, after) {
			if err != nil {
				yield(Step{}, fmt.Errorf("list the records: %w", err))
				return
			}
			step := Step{After: registry.RecordKey(last.LogPrefix(), last.Sequence), Leg: recordsLeg, Subject: last.Subject.String()}
			err := do(last, &step)
			if !yield(step, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// The legs of walks.
const (
	recordsLeg = "records"
	catalogLeg = "catalog"
	inboxLeg   = "inbox"
)

// leg is one of the walks that a longer one is made of.
type leg struct {
	name string // with which the leg's cursors begin
	from func(after string) Walk
}

// chain is one walk after the other.
func chain(after string, legs ...leg) Walk {
	return func(yield func(Step, error) bool) {
		name, rest, _ := strings.Cut(after, ":")
		first := max(0, slices.IndexFunc(legs, func(l leg) bool { return l.name == name }))
		for _, l := range legs[first:] {
			for step, err := range l.from(rest) {
				if step.Subject != "" {
					step.After, step.Leg = l.name+":"+step.After, l.name
				}
				if !yield(step, err) || step.Subject == "" {
					return
				}
			}
			rest = ""
		}
	}
}
