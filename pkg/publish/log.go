package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// load fills a state of which nothing is known but the version: with what the
// catalog has of it, and the records since. Where there are none, it stays at revision 0.
func (p *Publisher) load(ctx context.Context, s registry.State) error {
	if err := p.index.Load(ctx, s, nil); err != nil && !errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("catalog: %w", err)
	}
	return p.catchUp(ctx, s)
}

// put stores a state in the catalog, which lists it.
func (p *Publisher) put(ctx context.Context, s registry.State) error {
	if err := p.index.Put(ctx, s); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

// catchUp applies the records that the state does not have yet.
func (p *Publisher) catchUp(ctx context.Context, s registry.State) error {
	for {
		data, _, err := blob.Read(ctx, p.bucket, s.NextRecordKey(), "", maxStateDocument)
		if errors.Is(err, registry.ErrNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read record: %w", err)
		}
		var r registry.Record
		if err := json.Unmarshal(data, &r); err != nil {
			return faulty{fmt.Errorf("read record %s: %w", s.NextRecordKey(), err)}
		}
		if err := s.Apply(r); err != nil {
			return faulty{err}
		}
	}
}

// extend adds a record to the log. What it is, next decides on the state: nil
// when there is nothing to add, an error when there must not be. Where another
// writer was first, its record is applied and next decides again.
func (p *Publisher) extend(ctx context.Context, s registry.State, next func() (*registry.Record, error)) error {
	for range maxAttempts {
		r, err := next()
		if r == nil || err != nil {
			return err
		}
		r.Time = now()
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		err = p.bucket.Create(ctx, s.NextRecordKey(), data)
		if err == nil {
			return s.Apply(*r)
		}
		if !errors.Is(err, blob.ErrExists) {
			return fmt.Errorf("write record: %w", err)
		}
		if err := p.catchUp(ctx, s); err != nil {
			return err
		}
	}
	return fmt.Errorf("record %s: others were first %d times", s.NextRecordKey(), maxAttempts)
}
