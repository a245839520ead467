package pullthrough

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/larder-registry/larder/internal/ttlcache"
)

const (
	// fetchesAtOnce is how many packages a worker fetches at the same time.
	fetchesAtOnce = 2

	// maxPending is how many packages may wait for a worker.
	maxPending = 1000

	// fetchTime is the longest that one package takes.
	fetchTime = 30 * time.Minute

	// restFor is how long a package is not fetched again. A fetched one has yet to
	// be published. A failed one may cost the download of a whole archive each time.
	restFor = 5 * time.Minute
)

// Worker fetches wanted packages in this process, each once at a time and not again soon. A
// package that fails is fetched when somebody wants it later.
type Worker struct {
	fetch func(context.Context, Wanted) error
	log   *slog.Logger
	queue chan Wanted

	mu      sync.Mutex
	pending map[Wanted]bool // those that wait or are being fetched

	resting *ttlcache.Cache[string, struct{}] // by the names of packages
}

// NewWorker is a worker that fetches with a [Fetcher.Fetch].
func NewWorker(fetch func(context.Context, Wanted) error, log *slog.Logger) *Worker {
	return &Worker{
		fetch: fetch, log: log, queue: make(chan Wanted, maxPending), pending: map[Wanted]bool{},
		resting: ttlcache.New[string, struct{}](maxPending), // a forgotten one is fetched again
	}
}

// Want asks for a package to be fetched, and does not wait for it.
func (w *Worker) Want(_ context.Context, wanted Wanted) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, rests := w.resting.Get(wanted.String(), time.Now()); rests || w.pending[wanted] {
		return nil
	}
	select {
	case w.queue <- wanted:
		w.pending[wanted] = true
		return nil
	default:
		return errors.New("too many packages wait to be fetched")
	}
}

// Run fetches until the context ends, and returns when nothing is being fetched
// any more.
func (w *Worker) Run(ctx context.Context) {
	var fetching sync.WaitGroup
	for range fetchesAtOnce {
		fetching.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case wanted := <-w.queue:
					w.work(ctx, wanted)
				}
			}
		})
	}
	fetching.Wait()
}

func (w *Worker) work(ctx context.Context, wanted Wanted) {
	limited, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	err := w.fetch(limited, wanted)
	w.done(wanted)
	if err != nil && ctx.Err() == nil {
		w.log.ErrorContext(ctx, "a package of another registry could not be fetched; a client that asks for it later tries again", "package", wanted.String(), "error", err, "in", restFor)
	}
}

func (w *Worker) done(wanted Wanted) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pending, wanted)
	w.resting.Put(wanted.String(), struct{}{}, time.Now(), restFor)
}
