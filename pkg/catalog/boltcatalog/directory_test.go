package boltcatalog_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

func TestDirectory(t *testing.T) {
	catalogtest.Directory(t, func(t *testing.T) catalogtest.DirectoryDriver {
		a := openAccess(t, filepath.Join(t.TempDir(), "access.db"))
		return catalogtest.DirectoryDriver{Index: open(t, filepath.Join(t.TempDir(), "catalog.db")).WithTokens(a), Store: a}
	})
}

var firstShard = catalog.DirectoryShard{Number: 9, Revision: 1, Data: []byte("data")}

// A file of an older version has no directory. It gets one, and a file with one is opened
// again. A catalog that is built again has none.
func TestDirectoryOfOlderFile(t *testing.T) {
	path := filled(t, 2, 2)
	edit(t, path, func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte("directory")) != nil {
			t.Error("there is a directory already")
		}
		return nil
	})
	for _, open := range []func(string) (*boltcatalog.Catalog, error){boltcatalog.Open, boltcatalog.OpenUnread, boltcatalog.Open} {
		c, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		head, err := c.DirectoryHead(t.Context(), nil)
		if err == nil && head[9] == 0 {
			err = c.PutDirectoryShard(t.Context(), firstShard)
		}
		if err := errors.Join(err, c.Check(t.Context()), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := boltcatalog.Build(path, func(c *boltcatalog.Catalog) error { return c.PutDirectoryShard(t.Context(), firstShard) }); err != nil {
		t.Fatal(err)
	}
	if head, err := open(t, path).DirectoryHead(t.Context(), nil); err != nil || head[9] != 1 {
		t.Errorf("the head of what was built is %v, %v", head, err)
	}
}

// A head or a shard that cannot be read is an error with advice, for readers and writers, and
// for those that read the whole file.
func TestDamagedDirectory(t *testing.T) {
	for key, value := range map[string]string{"head": "12345678", "009": "1234567"} {
		path := filled(t, 1, 1)
		edit(t, path, func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte("directory"))
			return errors.Join(err, b.Put([]byte(key), []byte(value)))
		})
		c, err := boltcatalog.OpenUnread(path)
		if err != nil {
			t.Fatal(err)
		}
		_, headErr := c.DirectoryHead(t.Context(), nil)
		_, shardErr := c.DirectoryShards(t.Context(), []int{8, 9})
		putErr := c.PutDirectoryShard(t.Context(), firstShard)
		errs := map[string]error{"head": errors.Join(headErr, putErr), "009": shardErr}
		if err := errs[key]; err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("%s: %v, want advice", key, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filled(t, 1, 1)
	edit(t, path, func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("directory"))
		return errors.Join(err, b.Put([]byte("009"), []byte("1234567")))
	})
	refused(t, path, "damaged", "009", "remove the file")
}

func TestClosedDirectory(t *testing.T) {
	c, err := boltcatalog.Open(filled(t, 1, 1))
	if err = errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	_, headErr := c.DirectoryHead(t.Context(), nil)
	_, shardErr := c.DirectoryShards(t.Context(), []int{9})
	for call, err := range map[string]error{"head": headErr, "shards": shardErr, "put": c.PutDirectoryShard(t.Context(), firstShard)} {
		if !errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
			t.Errorf("%s = %v, want that the file is closed", call, err)
		}
	}
}
