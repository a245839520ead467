// Package upkeep walks over everything that the registry has. It brings the catalog up to
// the records, signs what is accepted, verifies, and lists. It does not publish: uploads
// without an outcome are handed to a function.
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
	"github.com/larder-registry/larder/pkg/contents/store"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// Config is what [Walks] work with. Every field is required.
type Config struct {
	Bucket    blob.Bucket
	Index     Index
	Directory Directory
	Contents  *store.Store
	Log       *versionlog.Log
	Keys      *authorkeys.Keys
	Inbox     *inbox.Inbox
	Logger    *slog.Logger
}

// Index is a catalog with its directory.
type Index interface {
	catalog.Index
	catalog.Directory
}

// Walks walks over a registry. It is safe for concurrent use, also while others publish.
type Walks struct {
	bucket    blob.Bucket
	index     Index
	directory Directory
	contents  *store.Store
	log       *versionlog.Log
	keys      *authorkeys.Keys
	inbox     *inbox.Inbox
	logger    *slog.Logger
}

// New makes the walks of a registry. It sends no request.
func New(c Config) *Walks {
	return &Walks{
		bucket: c.Bucket, index: c.Index, directory: c.Directory, contents: c.Contents,
		log: c.Log, keys: c.Keys, inbox: c.Inbox, logger: c.Logger,
	}
}

// Step is one step of a walk: a version, or something else that its subject names.
type Step struct {
	After    string   // the cursor to go on after this step
	Leg      string   // what is walked over: [RecordsLeg], and so on
	Subject  string   // for example "module acme/vpc/aws 1.2.3"
	Changed  bool     // the walk changed something of it
	Problems []string // what is wrong with it, in full sentences
	Notes    []string // what is not wrong, and should be known
}

// Whole returns the error of the step if it is an error of the whole walk, and else nil.
func (s Step) Whole(err error) error {
	if s.Subject == "" {
		return err
	}
	return nil
}

// Walk yields the steps of a walk, in an order that stays the same. If a step fails, it is
// yielded with its error, and the walk goes on. If the whole walk fails, it yields the error
// with a step without a subject, and ends.
type Walk = iter.Seq2[Step, error]

// versions walks over the records of all versions after a cursor.
func (w *Walks) versions(ctx context.Context, after string, do func(last registry.ParsedRecordKey, step *Step) error) Walk {
	return func(yield func(Step, error) bool) {
		for last, err := range w.log.LastRecords(ctx, registry.RecordsPrefix, after) {
			if err != nil {
				yield(Step{}, fmt.Errorf("list the records: %w", err))
				return
			}
			step := Step{After: registry.RecordKey(last.LogPrefix(), last.Sequence), Leg: RecordsLeg, Subject: last.Subject.String()}
			err := do(last, &step)
			if !yield(step, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// The legs of walks.
const (
	RecordsLeg   = "records"
	CatalogLeg   = "catalog"
	ContentsLeg  = "contents"
	DirectoryLeg = "directory"
	InboxLeg     = "inbox"
)

// leg is a part of a longer walk.
type leg struct {
	name string // the leg's cursors begin with it
	from func(after string) Walk
}

// chain walks one leg after the other.
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
