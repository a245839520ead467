package boltcatalog

import (
	"errors"
	"sync"

	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

// puts brings states that come at the same time into one transaction. Most of the time of a
// transaction is waiting for the disk, and another one waits for its end.
type puts struct {
	db *bbolt.DB

	mu      sync.Mutex
	waiting []*put
	writing bool // somebody writes
}

// put is a state to be stored.
type put struct {
	state registry.State
	done  chan error
	write chan struct{} // its caller is the next one to write
}

// store stores a state durably, or returns errUpToDate.
func (p *puts) store(s registry.State) error {
	own := &put{s, make(chan error, 1), make(chan struct{}, 1)}
	p.mu.Lock()
	p.waiting = append(p.waiting, own)
	if !p.writing {
		p.writing = true
		own.write <- struct{}{}
	}
	p.mu.Unlock()
	select {
	case err := <-own.done:
		return err
	case <-own.write:
		p.write()
		return <-own.done
	}
}

// write stores the states that wait. After that, the first of those that have come meanwhile
// writes: so nobody writes for others without end.
func (p *puts) write() {
	p.mu.Lock()
	group := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	p.writeGroup(group)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writing = len(p.waiting) > 0
	if p.writing {
		p.waiting[0].write <- struct{}{}
	}
}

// writeGroup stores states in one transaction. If that fails, each has its own: so no state
// fails for another one.
func (p *puts) writeGroup(group []*put) {
	results := make([]error, len(group))
	err := update(p.db, func(tx *bbolt.Tx) error {
		changed := false
		for i, put := range group {
			results[i] = store(tx.Bucket(itemsBucket), put.state)
			if results[i] != nil && !errors.Is(results[i], errUpToDate) {
				return results[i]
			}
			changed = changed || results[i] == nil
		}
		if !changed {
			return errUpToDate // rolls back
		}
		return nil
	})
	for i, put := range group {
		switch {
		case err == nil || errors.Is(err, errUpToDate):
			put.done <- results[i]
		case len(group) == 1:
			put.done <- err
		default:
			p.writeGroup(group[i : i+1])
		}
	}
}
