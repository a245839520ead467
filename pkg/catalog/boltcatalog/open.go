package boltcatalog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
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
	later bool // it is made with its first item, and may be missing
}

// Open opens the catalog in a file, or creates it, and reads it once to check that all
// of it is readable. Nobody else can open it until Close. The error says if somebody
// else has it open, and what to do about a file that is damaged or has another format.
func Open(path string) (*Catalog, error) { return open(path, catalogFile.verify) }

// OpenUnread is Open, but does not read the items. So it takes the same time for every
// catalog, and [Catalog.Check] must follow.
func OpenUnread(path string) (*Catalog, error) { return open(path, catalogFile.verifyForm) }

func open(path string, verify func(*bbolt.Tx) error) (*Catalog, error) {
	db, err := catalogFile.open(path, nil, verify)
	if err != nil {
		return nil, err
	}
	return newCatalog(db), nil
}

func newCatalog(db *bbolt.DB) *Catalog {
	return &Catalog{db: db, recent: newRecent[[]byte](recentItems), puts: &puts{db: db}}
}

// Close waits for transactions and closes the file.
func (c *Catalog) Close() error { return c.db.Close() }

// open opens a file, or makes an empty one, and verifies a file that is not empty.
func (k kind) open(path string, set func(*bbolt.Options), verify func(*bbolt.Tx) error) (*bbolt.DB, error) {
	db, err := k.openDB(path, set)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%s %s: another larder has it open: stop that one first, or use another data folder", k.name, path)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", k.name, path, err)
	}
	if err := k.guard(func() error { return k.prepare(db, verify) }); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.name, path, errors.Join(err, db.Close()))
	}
	return db, nil
}

func (k kind) openDB(path string, set func(*bbolt.Options)) (db *bbolt.DB, err error) {
	options := bbolt.Options{Timeout: lockTimeout}
	if set != nil {
		set(&options)
	}
	err = k.guard(func() error {
		db, err = bbolt.Open(path, 0o600, &options)
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

// view is a transaction of the catalog in which a damaged page is an error: the file may not
// have been read as a whole yet.
func view(db *bbolt.DB, read func(*bbolt.Tx) error) error {
	return catalogFile.guard(func() error { return db.View(read) })
}

// update is view for a transaction that writes.
func update(db *bbolt.DB, change func(*bbolt.Tx) error) error {
	return catalogFile.guard(func() error { return db.Update(change) })
}

// prepare makes an empty file one of this kind, and checks every other file.
func (k kind) prepare(db *bbolt.DB, verify func(*bbolt.Tx) error) error {
	empty, err := isEmpty(db)
	if err != nil {
		return err
	}
	if empty {
		return db.Update(k.initialize)
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

func (k kind) initialize(tx *bbolt.Tx) error {
	meta, err := tx.CreateBucket(metaBucket)
	if err != nil {
		return err
	}
	for _, b := range k.buckets {
		if b.later {
			continue
		}
		if _, err := tx.CreateBucket(b.name); err != nil {
			return err
		}
	}
	return meta.Put(formatKey, []byte(k.format))
}

// verify reads the whole file.
func (k kind) verify(tx *bbolt.Tx) error {
	if err := k.verifyForm(tx); err != nil {
		return err
	}
	for _, b := range k.buckets {
		if _, err := k.verifyItems(tx, b, nil, math.MaxInt); err != nil {
			return err
		}
	}
	return nil
}

// verifyForm checks that the file has this layout, and that its end is not missing: bolt
// maps it into memory, and to read there would end the process.
func (k kind) verifyForm(tx *bbolt.Tx) error {
	file, err := os.Stat(tx.DB().Path())
	if err != nil {
		return err
	}
	if file.Size() < tx.Size() {
		return k.damaged
	}
	meta := tx.Bucket(metaBucket)
	if meta == nil || string(meta.Get(formatKey)) != k.format {
		return k.foreign
	}
	for _, b := range k.buckets {
		if tx.Bucket(b.name) == nil && !b.later {
			return k.foreign
		}
	}
	return nil
}

// verifyItems reads up to limit items after a key, and returns the key of the last one. It
// is nil when there are no more.
func (k kind) verifyItems(tx *bbolt.Tx, b bucket, after []byte, limit int) (last []byte, err error) {
	items := tx.Bucket(b.name)
	if items == nil && b.later {
		return nil, nil
	}
	cursor := items.Cursor()
	last = bytes.Clone(after)
	key, value := cursor.Seek(after)
	if after != nil && bytes.Equal(key, after) {
		key, value = cursor.Next()
	}
	for ; key != nil; key, value = cursor.Next() {
		if limit--; limit < 0 {
			return bytes.Clone(last), nil
		}
		if bytes.Compare(last, key) >= 0 || !b.valid(value) {
			return nil, fmt.Errorf("%w (item %q)", k.damaged, key)
		}
		last = key
	}
	return nil, nil
}
