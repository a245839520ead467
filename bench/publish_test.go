package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestHasRoom(t *testing.T) {
	for _, c := range []struct {
		size, free int64
		want       bool
	}{{1023, 0, true}, {1024, 8<<30 - 1, false}, {1024, 8 << 30, true}} {
		if got := hasRoom(c.size, c.free); got != c.want {
			t.Errorf("hasRoom(%d, %d) = %t", c.size, c.free, got)
		}
	}
}

// A large package is about as large as it should be, and can be hashed.
func TestLargePackage(t *testing.T) {
	file, err := largePackage(t.TempDir(), 100_000)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() < 90_000 || info.Size() > 110_000 {
		t.Errorf("it has %d bytes, %v", info.Size(), err)
	}
	if err := errors.Join(hashSHA256(file), hashH1(file)); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(file.Name(), 50_000); err != nil || hashH1(file) == nil {
		t.Errorf("half of it has an h1: %v", err)
	}
}

// Each package of a turn is taken once, and a failure ends the turn.
func TestByTurns(t *testing.T) {
	for _, count := range uploaders {
		var taken [smallPackages]atomic.Int64
		if err := byTurns(t.Context(), count, func(_ context.Context, n int) error { taken[n].Add(1); return nil }); err != nil {
			t.Error(err)
		}
		for n := range taken {
			if got := taken[n].Load(); got != 1 {
				t.Errorf("%d at a time: package %d is taken %d times", count, n, got)
			}
		}
		failure, calls := errors.New("a failure"), atomic.Int64{}
		err := byTurns(t.Context(), count, func(context.Context, int) error { calls.Add(1); return failure })
		if !errors.Is(err, failure) || calls.Load() > int64(count) {
			t.Errorf("%d at a time: %v after %d calls", count, err, calls.Load())
		}
	}
}

// Nothing of the files that are synced stays.
func TestSyncFiles(t *testing.T) {
	folder := t.TempDir()
	if rate, err := syncFiles(t.Context(), folder, 14); err != nil || rate <= 0 {
		t.Errorf("%f files a second, %v", rate, err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("%v stay: %v", left, err)
	}
}

// The catalog of a filled node has every version, and the bucket its record and its archive.
func TestFillNode(t *testing.T) {
	folder := t.TempDir()
	const versions = perModule + 1
	if err := fillNode(t.Context(), folder, versions); err != nil {
		t.Fatal(err)
	}
	index, err := boltcatalog.Open(filepath.Join(folder, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	found := 0
	for entry, err := range index.Entries(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		found++
		objects := filepath.Join(folder, "s3", "objects", "larder")
		if _, err := os.Stat(filepath.Join(objects, registry.RecordKey(entry.Subject.LogPrefix(), 1))); err != nil {
			t.Error(err)
		}
	}
	if found != versions {
		t.Errorf("there are %d versions, want %d", found, versions)
	}
	archives, err := filepath.Glob(filepath.Join(folder, "s3/objects/larder/registry/modules/acme/*/aws/*/*.tar.gz"))
	if err != nil || len(archives) != versions {
		t.Errorf("there are %d archives, want %d: %v", len(archives), versions, err)
	}
	for _, path := range archives {
		content, err := os.ReadFile(path)
		if sum := sha256.Sum256(content); err != nil || filepath.Base(path) != hex.EncodeToString(sum[:])+".tar.gz" {
			t.Errorf("%s has the sha256 %x, %v", path, sum, err)
		}
	}
}
