// Package versionlog reads and extends the log of a version: its records. It signs the
// packages that the records accept, and brings the catalog up to the records.
package versionlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// maxRecord is the largest record, in bytes.
	maxRecord = 16 << 20

	// maxAttempts is how often a record is tried under the next number. Each
	// failure means that another writer of the same version was first, and a
	// version has few writers.
	maxAttempts = 1000
)

// Config is what a [Log] works with. Every field is required.
type Config struct {
	Bucket    blob.Bucket
	Index     catalog.Index
	Directory Directory
	Signer    Signer
	Logger    *slog.Logger
}

// Directory follows the catalog, for lists and searches. It is a [directory.Writer].
type Directory interface {
	// Refresh brings the entry of an address up to the catalog.
	Refresh(ctx context.Context, a registry.Address) error
}

// Log has the logs of all versions. It is safe for concurrent use, also together with
// other processes on the same bucket and catalog.
type Log struct {
	bucket    blob.Bucket
	index     catalog.Index
	directory Directory
	logger    *slog.Logger
	signer    atomic.Pointer[Signer]
}

// New opens the logs in a bucket. It sends no request.
func New(c Config) *Log {
	l := &Log{bucket: c.Bucket, index: c.Index, directory: c.Directory, logger: c.Logger}
	l.UseSigner(c.Signer)
	return l
}

// Load fills a new state with what the catalog has of its version, and with the records
// since then. If there are no records, the state stays at revision 0.
func (l *Log) Load(ctx context.Context, s registry.State) error {
	if err := catalog.Load(ctx, l.index, s); err != nil && !errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("catalog: %w", err)
	}
	return l.CatchUp(ctx, s)
}

// Put stores a state in the catalog, and lists it there. Then it brings the directory up to the
// listing. If only that fails, Put has to be called again: it does both again.
func (l *Log) Put(ctx context.Context, s registry.State) error {
	if err := l.index.Put(ctx, s); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	if err := l.directory.Refresh(ctx, s.Subject().Address); err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	return nil
}

// CatchUp applies the records that the state does not have yet.
func (l *Log) CatchUp(ctx context.Context, s registry.State) error {
	return l.catchUpTo(ctx, s, math.MaxInt)
}

// catchUpTo applies the records that the state does not have yet, until it has a revision.
func (l *Log) catchUpTo(ctx context.Context, s registry.State, revision int) error {
	for s.Listed().Revision < revision {
		r, err := l.Record(ctx, s.NextRecordKey())
		if errors.Is(err, registry.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Apply(r); err != nil {
			return recordsError{err}
		}
	}
	return nil
}

// Record reads a record.
//
// Errors: [registry.ErrNotFound].
func (l *Log) Record(ctx context.Context, key string) (r registry.Record, err error) {
	data, _, err := blob.Read(ctx, l.bucket, key, "", maxRecord)
	if err != nil {
		return r, fmt.Errorf("read record: %w", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, recordsError{fmt.Errorf("read record %s: %w", key, err)}
	}
	return r, nil
}

// Extend adds the record that next returns to the log. next decides by the state: it
// returns nil if there is nothing to add, and an error if nothing may be added. If another
// writer is first, Extend applies that record to the state and calls next again.
func (l *Log) Extend(ctx context.Context, s registry.State, next func() (*registry.Record, error)) error {
	for range maxAttempts {
		r, err := next()
		if r == nil || err != nil {
			return err
		}
		r.Time = registry.Now()
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		err = l.bucket.Create(ctx, s.NextRecordKey(), data)
		if err == nil {
			return s.Apply(*r)
		}
		if !errors.Is(err, blob.ErrExists) {
			return fmt.Errorf("write record: %w", err)
		}
		if err := l.CatchUp(ctx, s); err != nil {
			return err
		}
	}
	return fmt.Errorf("record %s: others were first %d times", s.NextRecordKey(), maxAttempts)
}

// FromRecords returns the state of a version from its records alone, up to the last one that
// a list had. [Log.CatchUp] applies those that were written since.
func (l *Log) FromRecords(ctx context.Context, last registry.ParsedRecordKey) (registry.State, error) {
	s := last.New()
	if err := l.catchUpTo(ctx, s, last.Sequence); err != nil {
		return nil, err
	}
	if have := s.Listed().Revision; have < last.Sequence {
		return nil, recordsError{fmt.Errorf("record %d of %d is missing: put it back from a backup, for no later one counts without it", have+1, last.Sequence)}
	}
	return s, nil
}
