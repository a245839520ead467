package boltcatalog

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

// States that wait for the same transaction are stored by the next one, all together. One
// that cannot be stored keeps no other from it.
func TestPutsShareATransaction(t *testing.T) {
	c, err := Open(filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // of a test
	state := func(name string) *registry.ModuleVersion {
		version, err := registry.ParseVersion("1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		return &registry.ModuleVersion{Address: registry.ModuleAddress{Namespace: "acme", Name: name, System: "aws"}, Version: version, Revision: 1}
	}
	damaged := state("damaged")
	err = c.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(itemsBucket).Put([]byte(versionKey(damaged.Subject())), []byte("{"))
	})
	if err != nil {
		t.Fatal(err)
	}
	const states = 10
	deadline := time.Now().Add(20 * time.Second) // of all of them
	await := func(condition func() bool) {
		for ok := false; !ok && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			c.puts.mu.Lock()
			ok = condition()
			c.puts.mu.Unlock()
		}
	}
	// putAll puts states while a transaction is under way, and returns their errors and the
	// number of transactions that they took.
	putAll := func(names []string) (failed map[string]error, transactions int) {
		held, err := c.db.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		before := held.ID()
		var mu sync.Mutex
		var all sync.WaitGroup
		failed = map[string]error{}
		for i, name := range names {
			all.Go(func() {
				if err := c.Put(t.Context(), state(name)); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed[name] = err
				}
			})
			await(func() bool { return c.puts.writing && len(c.puts.waiting) == i }) // the first one writes
		}
		if err := held.Rollback(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		err = c.db.View(func(tx *bbolt.Tx) error { transactions = tx.ID() - before + 1; return nil })
		if err != nil {
			t.Fatal(err)
		}
		return failed, transactions
	}
	var names []string
	for i := range states {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	failed, transactions := putAll(names)
	if len(failed) > 0 || transactions != 2 {
		t.Errorf("%d states took %d transactions, want 2: of the first, and of all others; %v", states, transactions, failed)
	}
	failed, _ = putAll([]string{"m0", "n0", "damaged", "n1", "m1"})
	if len(failed) != 1 || !errors.Is(failed["damaged"], errDamaged) {
		t.Errorf("beside a damaged one: %v", failed)
	}
	for _, name := range append(names, "n0", "n1") {
		if _, err := c.Listing(t.Context(), state(name).Address, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
