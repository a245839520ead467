package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// maxDocument is the largest document of an outcome, in bytes.
const maxDocument = 16 << 20

func (i *Inbox) writeOutcome(ctx context.Context, o Outcome) error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	err = i.config.Bucket.Put(ctx, registry.OutcomeKey(o.Key), bytes.NewReader(data), int64(len(data)))
	if i.config.KeysAreFiles && errors.Is(err, blob.ErrInTheWay) {
		err = i.config.Bucket.Put(ctx, registry.OutcomeKeyByHash(o.Key), bytes.NewReader(data), int64(len(data)))
	}
	if err != nil {
		return fmt.Errorf("write the outcome of %s: %w", o.Key, err)
	}
	return nil
}

// LastOutcome returns the last outcome that was written for a key. It is zero if there is
// no outcome.
func (i *Inbox) LastOutcome(ctx context.Context, key string) (Outcome, error) {
	o, err := i.readOutcome(ctx, registry.OutcomeKey(key))
	if i.config.KeysAreFiles && errors.Is(err, registry.ErrNotFound) {
		o, err = i.readOutcome(ctx, registry.OutcomeKeyByHash(key))
	}
	if errors.Is(err, registry.ErrNotFound) {
		return Outcome{}, nil
	}
	return o, err
}

// readOutcome reads the document of an outcome.
func (i *Inbox) readOutcome(ctx context.Context, document string) (o Outcome, err error) {
	data, _, err := blob.Read(ctx, i.config.Bucket, document, "", maxDocument)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("the outcome %s cannot be read: %w", document, err)
	}
	return o, nil
}

// Entry is an outcome in the list of all outcomes: the last one of its key.
type Entry struct {
	After string // the cursor to go on after
	Outcome
}

// Outcomes yields the outcomes after a cursor whose uploads' keys begin with a prefix. For
// a document that cannot be read it yields the error and the cursor, and goes on. If the
// list fails, it yields the error without a cursor, and ends.
func (i *Inbox) Outcomes(ctx context.Context, prefix, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, under := range []string{ // in the order of their keys
			registry.OutcomesByHashPrefix, registry.OutcomesPrefix + prefix,
		} {
			for object, err := range i.config.Bucket.List(ctx, under, after) {
				if err != nil {
					yield(Entry{}, fmt.Errorf("list the outcomes: %w", err))
					return
				}
				entry := Entry{After: object.Key}
				entry.Outcome, err = i.readOutcome(ctx, object.Key)
				if err == nil && !strings.HasPrefix(entry.Key, prefix) {
					continue
				}
				if !yield(entry, err) || ctx.Err() != nil {
					return
				}
			}
		}
	}
}
