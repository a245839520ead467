package boltcatalog_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"go.etcd.io/bbolt"
)

// OpenUnread notices what would end the process, and Check the rest.
func TestOpenUnread(t *testing.T) {
	path := filled(t, 60, 5)
	var size int64
	edit(t, path, func(tx *bbolt.Tx) error {
		size = tx.Size()
		return tx.Bucket([]byte("items")).Put([]byte("P#z"), []byte("{"))
	})
	for _, cut := range []int64{0, 1} {
		if err := os.Truncate(path, size-cut); err != nil {
			t.Fatal(err)
		}
		c, err := boltcatalog.OpenUnread(path)
		if cut == 0 && err == nil {
			err = errors.Join(c.Check(t.Context()), c.Close())
		} else if cut == 0 {
			t.Errorf("it has read all items: %v", err)
		}
		if err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("without %d bytes: %v", cut, err)
		}
	}
}

// Check reads the items of several transactions.
func TestCheckReadsAll(t *testing.T) {
	path := filled(t, 1, 1)
	put := func(key, value string) {
		t.Helper()
		edit(t, path, func(tx *bbolt.Tx) error { return tx.Bucket([]byte("items")).Put([]byte(key), []byte(value)) })
	}
	edit(t, path, func(tx *bbolt.Tx) (err error) {
		for i := range 2500 {
			err = errors.Join(err, tx.Bucket([]byte("items")).Put(fmt.Appendf(nil, "P#acme/widget V#1.0.%04d", i), []byte("{}")))
		}
		return err
	})
	for _, last := range []string{"{}", "{"} {
		put("P#z", last)
		c, err := boltcatalog.OpenUnread(path)
		if err != nil {
			t.Fatal(err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Check(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if err := c.Check(t.Context()); (err == nil) != (last == "{}") {
			t.Errorf("with %s: %v", last, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A page that is damaged is an error of what reads it, also before Check has found it. It
// never takes the process down.
func TestUseDamaged(t *testing.T) {
	whole, err := os.ReadFile(filled(t, 60, 5))
	if err != nil {
		t.Fatal(err)
	}
	version := catalogtest.Provider(widget, 60, 5)[30]
	failed := map[string]int{}
	for at := 2 * os.Getpagesize(); at < len(whole); at += os.Getpagesize() {
		for _, damaged := range [][]byte{bytes.Repeat([]byte{0xA5}, 64), make([]byte, 16), {0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 255, 255}} {
			file, path := bytes.Clone(whole), filepath.Join(t.TempDir(), "catalog.db")
			copy(file[at:], damaged)
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := boltcatalog.OpenUnread(path)
			if err != nil {
				failed["open"]++
				continue
			}
			for name, use := range map[string]func() error{
				"read":    func() error { _, err := catalog.Listing(t.Context(), c, widget); return err },
				"walk":    func() error { _, errs, _ := walked(t, c, ""); return errors.Join(errs...) },
				"put":     func() error { return c.Put(t.Context(), &version) },
				"correct": func() error { return c.Remove(t.Context(), version.Subject(), catalog.Seen{State: 1, Listed: 1}) },
				"run":     func() error { _, err := c.LastRun(); return errors.Join(err, c.SetLastRun("one")) },
				"drop":    func() error { return c.DropStaleDirectory() },
				"check":   func() error { return c.Check(t.Context()) },
			} {
				if err := use(); err != nil && strings.Contains(err.Error(), "the catalog is damaged") {
					failed[name]++
				}
			}
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"read", "walk", "put", "correct", "check"} {
		if failed[name] == 0 {
			t.Errorf("%s: no damage was noticed", name)
		}
	}
}

func TestLastRun(t *testing.T) {
	path := filled(t, 1, 1)
	for _, id := range []string{"", "one", "two"} {
		c, err := boltcatalog.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.LastRun(); got != id || err != nil {
			t.Errorf("%q, %v, want %q", got, err, id)
		}
		next := map[string]string{"": "one", "one": "two", "two": "three"}[id]
		if err := errors.Join(c.SetLastRun(next), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// A release that does not keep the directory notes its run nevertheless. Then the directory may be
// out of date.
func TestDropStaleDirectory(t *testing.T) {
	path := filled(t, 1, 1)
	open := func() *boltcatalog.Catalog {
		c, err := boltcatalog.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	hasDirectory := func(c *boltcatalog.Catalog) bool {
		err := c.DropStaleDirectory()
		head, headErr := c.DirectoryHead(t.Context(), nil)
		if err := errors.Join(err, headErr); err != nil {
			t.Fatal(err)
		}
		return head != catalog.DirectoryHead{}
	}
	c := open()
	if err := c.PutDirectoryShard(t.Context(), catalog.DirectoryShard{Number: 1, Revision: 1, Data: []byte("x")}); err != nil || !hasDirectory(c) {
		t.Errorf("before any run: %v, or it is gone", err)
	}
	if err := c.SetLastRun("one"); err != nil || !hasDirectory(c) {
		t.Errorf("after a run: %v, or it is gone", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err == nil {
		err = errors.Join(db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("last run"), []byte("two")) }), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	c = open()
	defer c.Close()
	if hasDirectory(c) {
		t.Error("after a run of an older release it is there")
	}
	if err := c.PutDirectoryShard(t.Context(), catalog.DirectoryShard{Number: 1, Revision: 1, Data: []byte("y")}); err != nil {
		t.Error(err)
	}
	if err := c.SetLastRun("three"); err != nil || !hasDirectory(c) {
		t.Errorf("after another run: %v, or it is gone", err)
	}
}

// buildAt is the variable with the path at which TestBuild's process builds a catalog
// until it is killed.
const buildAt = "LARDER_TEST_BUILD_AT"

// A catalog that is built is there as a whole, or not at all.
func TestBuild(t *testing.T) {
	versions := catalogtest.Provider(widget, 20, 2)
	put := func(n int) func(*boltcatalog.Catalog) error {
		return func(c *boltcatalog.Catalog) error {
			for _, p := range versions[:n] {
				if err := c.Put(context.Background(), &p); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if path := os.Getenv(buildAt); path != "" {
		_ = boltcatalog.Build(path, func(c *boltcatalog.Catalog) error {
			if err := put(20)(c); err != nil {
				return err
			}
			_, _ = os.Stdout.WriteString("put\n")
			time.Sleep(time.Minute)
			return errors.New("nobody has killed it")
		})
		return
	}
	path := filepath.Join(t.TempDir(), "catalog.db")
	missing := func(when string) {
		t.Helper()
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s, there is a catalog (%v)", when, err)
		}
	}
	failure := errors.New("no records")
	if err := boltcatalog.Build(path, func(c *boltcatalog.Catalog) error { return errors.Join(put(5)(c), failure) }); !errors.Is(err, failure) {
		t.Errorf("Build = %v", err)
	}
	missing("after a failure")

	killed := exec.Command(os.Args[0], "-test.run=^TestBuild$")
	killed.Env = append(os.Environ(), buildAt+"="+path)
	out, err := killed.StdoutPipe()
	if err == nil {
		err = killed.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "put\n" {
		t.Errorf("the process says %q, %v", line, err)
	}
	_ = killed.Process.Kill()
	_ = killed.Wait()
	missing("after a kill -9")

	if err := boltcatalog.Build(path, put(3)); err != nil {
		t.Fatal(err)
	}
	entries := 0
	for _, err := range open(t, path).Entries(t.Context(), "") {
		if err != nil {
			t.Error(err)
		}
		entries++
	}
	if entries != 3 {
		t.Errorf("%d entries, want the 3 of the last time", entries)
	}
	left, err := filepath.Glob(path + "*")
	if err != nil || len(left) != 1 {
		t.Errorf("files %q, %v", left, err)
	}
}
