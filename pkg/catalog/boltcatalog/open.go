package boltcatalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockTimeout is how long to wait for another process that is just stopping.
const lockTimeout = time.Second

// format names the layout. A change of the layout needs another name.
const format = "larder catalog 1"

var (
	metaBucket  = []byte("meta")
	itemsBucket = []byte("items")
	formatKey   = []byte("format")
)

// advice is what to do about a file that cannot be used, whatever the reason.
const advice = "stop larder, remove the file and start larder again, which builds it anew from the bucket; nothing is lost"

var (
	errDamaged = errors.New("the catalog is damaged; " + advice)
	errFormat  = errors.New("the file is no catalog of this version of larder; " + advice)
)

// Open opens the catalog in a file, which is created where there is none, and
// reads it once to see that all of it is readable. Nobody else can open it
// until Close; the error says so when somebody else has it open, and what to
// do about a file that is damaged or of another format.
func Open(path string) (*Catalog, error) {
	db, err := openDB(path)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("catalog %s: another larder has it open: stop that one first, or use another data folder", path)
	case err != nil:
		return nil, fmt.Errorf("catalog %s: %w", path, err)
	}
	if err := guard(func() error { return prepare(db) }); err != nil {
		return nil, fmt.Errorf("catalog %s: %w", path, errors.Join(err, db.Close()))
	}
	return &Catalog{db}, nil
}

// Close waits for what is under way and gives the file up.
func (c *Catalog) Close() error { return c.db.Close() }

func openDB(path string) (db *bbolt.DB, err error) {
	err = guard(func() error {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout})
		return err
	})
	for _, damage := range []error{bolterrors.ErrInvalid, bolterrors.ErrVersionMismatch, bolterrors.ErrChecksum} {
		if errors.Is(err, damage) {
			return nil, fmt.Errorf("%w (%w)", errDamaged, err)
		}
	}
	return db, err
}

// guard calls what reads pages of the file, which bolt trusts: a damaged one
// makes it panic, and one that is cut short faults, since it is mapped into
// memory.
func guard(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w (%v)", errDamaged, reason)
		}
	}()
	return call()
}

// prepare makes a new file a catalog, and looks through one that is there.
func prepare(db *bbolt.DB) error {
	empty, err := isEmpty(db)
	if err != nil {
		return err
	}
	if empty {
		return db.Update(initialize)
	}
	return db.View(verify)
}

func isEmpty(db *bbolt.DB) (empty bool, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		first, _ := tx.Cursor().First()
		empty = first == nil
		return nil
	})
	return empty, err
}

func initialize(tx *bbolt.Tx) error {
	meta, err := tx.CreateBucket(metaBucket)
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucket(itemsBucket); err != nil {
		return err
	}
	return meta.Put(formatKey, []byte(format))
}

func verify(tx *bbolt.Tx) error {
	meta, items := tx.Bucket(metaBucket), tx.Bucket(itemsBucket)
	if meta == nil || items == nil || string(meta.Get(formatKey)) != format {
		return errFormat
	}
	var last []byte
	return items.ForEach(func(key, value []byte) error {
		if bytes.Compare(last, key) >= 0 || !json.Valid(value) {
			return fmt.Errorf("%w (item %q)", errDamaged, key)
		}
		last = key
		return nil
	})
}
