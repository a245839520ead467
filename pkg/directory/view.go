package directory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
)

// Reader admits callers to the directory, and reads it. It is a [catalog.Reader].
type Reader interface {
	Directory(ctx context.Context, caller access.Caller) (catalog.Admitted, error)
	DirectoryShards(ctx context.Context, numbers []int) ([]catalog.DirectoryShard, error)
}

// View answers from the directory. It keeps what it has read, and reads the head each time, and
// of the rest only what has changed. It is safe for concurrent use.
type View struct {
	reader Reader

	mu      sync.Mutex
	kept    *snapshot
	loading *load // of one caller, for all; or nil
}

// NewView makes a view. It sends no request.
func NewView(r Reader) *View { return &View{reader: r, kept: new(snapshot)} }

const (
	// loadTimeout is how long it may take to read what has changed.
	loadTimeout = 20 * time.Second

	// maxLoads is how often shards are read again that are older than the head: see
	// [catalog.Directory].
	maxLoads = 4

	loadPause = 20 * time.Millisecond
)

// List is the part of what a query selects that the caller may read. Nothing else is counted or
// compared, so neither the answer nor its time says what else there is. Of a text, the first
// 256 bytes and 16 words count.
//
// Errors: [catalog.ErrUnauthorized].
func (v *View) List(ctx context.Context, caller access.Caller, q Query) (Page, error) {
	asked := time.Now()
	admitted, err := v.reader.Directory(ctx, caller)
	if err != nil {
		return Page{}, err
	}
	current, err := v.at(ctx, admitted.Head, asked)
	if err != nil {
		return Page{}, err
	}
	return current.list(ctx, q, admitted.Allowed)
}

// load is a read of shards.
type load struct {
	done chan struct{}
	err  error // once it is done
}

// at is the directory as it was at a head, which was asked for at a time, or later.
func (v *View) at(ctx context.Context, head catalog.DirectoryHead, asked time.Time) (*snapshot, error) {
	for loads := 0; ; {
		v.mu.Lock()
		kept, running := v.kept, v.loading
		stale := kept.stale(head, asked)
		if len(stale) == 0 || loads == maxLoads {
			v.mu.Unlock()
			return kept, nil
		}
		own := running == nil
		if own {
			running = v.start(ctx, stale, time.Duration(loads)*loadPause)
			loads++
		}
		v.mu.Unlock()
		select {
		case <-running.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if own && running.err != nil { // what another caller has begun may have ended with their function
			return nil, running.err
		}
	}
}

// start reads shards after a pause, and keeps them. It goes on when its caller gives up, since
// others may wait for it. The mutex is held.
func (v *View) start(ctx context.Context, numbers []int, pause time.Duration) *load {
	started, before := &load{done: make(chan struct{})}, v.kept
	v.loading = started
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		time.Sleep(pause)
		next, err := v.read(ctx, before, numbers)
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.loading, started.err = nil, err; err == nil {
			v.kept = next
		}
		close(started.done)
	}()
	return started
}

// read is a snapshot with some shards read again.
func (v *View) read(ctx context.Context, before *snapshot, numbers []int) (*snapshot, error) {
	asked := time.Now()
	shards, err := v.reader.DirectoryShards(ctx, numbers)
	if err != nil {
		return nil, err
	}
	decoded, errs := make([]keptShard, len(shards)), make([]error, len(shards))
	atOnce(len(shards), func(i int) {
		if decoded[i], errs[i] = index(shards[i], asked); errs[i] != nil {
			errs[i] = fmt.Errorf("shard %d of the directory: %w", shards[i].Number, errs[i])
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return before.with(decoded), nil
}
