package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// state is what a version's log adds up to, so far.
type state interface {
	NextRecordKey() string
	Apply(registry.Record) error
	Listed() registry.Listed
}

// loadModule is the state of a module version, its whole log included. A
// version that is not published has revision 0.
func (p *Publisher) loadModule(ctx context.Context, a registry.ModuleAddress, v registry.Version) (*registry.ModuleVersion, error) {
	m, err := p.index.ModuleVersion(ctx, a, v)
	if errors.Is(err, registry.ErrNotFound) {
		m = registry.ModuleVersion{Address: a, Version: v}
	} else if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return &m, p.catchUp(ctx, &m)
}

// loadProvider is the state of a provider version, its whole log included. A
// version of which nothing was accepted has revision 0.
func (p *Publisher) loadProvider(ctx context.Context, a registry.ProviderAddress, v registry.Version) (*registry.ProviderVersion, error) {
	s, err := p.index.ProviderVersion(ctx, a, v)
	if errors.Is(err, registry.ErrNotFound) {
		s = registry.ProviderVersion{Address: a, Version: v}
	} else if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return &s, p.catchUp(ctx, &s)
}

// catchUp applies the records that the state does not have yet.
func (p *Publisher) catchUp(ctx context.Context, s state) error {
	for {
		data, err := p.readAll(ctx, s.NextRecordKey(), "", maxStateDocument)
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
func (p *Publisher) extend(ctx context.Context, s state, next func() (*registry.Record, error)) error {
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
