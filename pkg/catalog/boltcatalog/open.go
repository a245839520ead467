package boltcatalog

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockTimeout is how long to wait for another process that is just stopping.
const lockTimeout = time.Second

var (
	metaBucket = []byte("meta")
	formatKey  = []byte("format")
)

// kind is a kind of files.
type kind struct {
	name    string // as errors call such a file
	format  string // names the layout; a change of the layout needs another one
	buckets []bucket
	damaged error // for a damaged file; says what to do
	foreign error // for a file with another layout; says what to do
}

// bucket is a bolt bucket with the items of a file.
type bucket struct {
	name  []byte
	valid func(value []byte) bool
}

// Open opens the catalog in a file, or creates it, and reads it once to check that all
// of it is readable. Nobody else can open it until Close. The error says if somebody
// else has it open, and what to do about a file that is damaged or has another format.
func Open(path string) (*Catalog, error) {
	db, err := catalogFile.open(path)
	if err != nil {
		return nil, err
	}
	return &Catalog{db: db, recent: newRecent[[]byte](recentItems)}, nil
}

// Close waits for transactions and closes the file.
func (c *Catalog) Close() error { return c.db.Close() }

func (k kind) open(path string) (*bbolt.DB, error) {
	db, err := k.openDB(path)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s %s: another larder has it open: stop that one first, or use another data folder", k.name, path)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", k.name, path, err)
	}
	if err := k.guard(func() error { return k.prepare(db) }); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.name, path, errors.Join(err, db.Close()))
	}
	return db, nil
}

func (k kind) openDB(path string) (db *bbolt.DB, err error) {
	err = k.guard(func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout})
		return err
	})
	if isDamage(err) {
		return nil, k.damaged // bolt's own error does not help
	}
	return db, err
}

// isDamage says whether bolt cannot open a file because of its contents.
func isDamage(err error) bool {
	for _, damage := range []error{bolterrors.ErrInvalid, bolterrors.ErrVersionMismatch, bolterrors.ErrChecksum} {
		if errors.Is(err, damage) {
			return true
		}
	}
	return err != nil && strings.HasPrefix(err.Error(), "file size too small") // an error that has no name
}

// guard calls a function that reads pages of the file. Bolt trusts them: a damaged page
// makes it panic, and a truncated file faults, since it is mapped into memory.
func (k kind) guard(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = k.damaged
		}
	}()
	return call()
}

// prepare makes an empty file one of this kind, and checks every other file.
func (k kind) prepare(db *bbolt.DB) error {
	empty, err := isEmpty(db)
	if err != nil {
		return err
	}
	if empty {
		return db.Update(k.initialize)
	}
	return db.View(k.verify)
}

func isEmpty(db *bbolt.DB) (empty bool, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		empty = first == nil
		return nil
	})
	return empty, err
}

func (k kind) initialize(tx *bbolt.Tx) error {
	meta, err := tx.CreateBucket(metaBucket)
	if err != nil {
		return err
	}
	for _, b := range k.buckets {
		if _, err := tx.CreateBucket(b.name); err != nil {
			return err
		}
	}
	return meta.Put(formatKey, []byte(k.format))
}

func (k kind) verify(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil || string(meta.Get(formatKey)) != k.format {
		return k.foreign
	}
	for _, b := range k.buckets {
		items := tx.Bucket(b.name)
		if items == nil {
			return k.foreign
		}
		if err := k.verifyBucket(items, b.valid); err != nil {
			return err
		}
	}
	return nil
}

func (k kind) verifyBucket(items *bbolt.Bucket, valid func(value []byte) bool) error {
	var last []byte
	return items.ForEach(func(key, value []byte) error {
		if bytes.Compare(last, key) >= 0 || !valid(value) {
			return fmt.Errorf("%w (item %q)", k.damaged, key)
		}
		last = key
		return nil
	})
}
