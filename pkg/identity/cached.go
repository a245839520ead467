package identity

import (
	"context"
	"sync"
	"time"
)

const (
	// freshFor is how long an answer is used without asking again.
	freshFor = time.Hour

	// staleFor is how long it is used if another request fails.
	staleFor = 24 * time.Hour

	// failRest is how long an issuer is not asked again after a failed request.
	failRest = 10 * time.Second
)

// cached is an issuer's answer. If many want it at the same time, one of them asks, and
// the others wait.
type cached[T any] struct {
	now  func() time.Time
	ask  func(context.Context) (*T, error)
	turn chan struct{} // holds one element while somebody asks

	mu      sync.Mutex
	value   *T        // nil before the first answer
	got     time.Time // when it arrived
	failed  error     // why the last request failed, if it did
	rest    time.Time // after a failure, nobody asks before then
	renewed time.Time // when renew last asked
}

func newCached[T any](now func() time.Time, ask func(context.Context) (*T, error)) *cached[T] {
	return &cached[T]{now: now, ask: ask, turn: make(chan struct{}, 1)}
}

// get is a fresh answer, or the best there is. It says whether the issuer was asked for it
// just now.
func (c *cached[T]) get(ctx context.Context) (value *T, asked bool, err error) {
	if value, err := c.current(); value != nil || err != nil {
		return value, false, err
	}
	if err := c.lock(ctx); err != nil {
		return nil, false, err
	}
	defer c.unlock()
	if value, err := c.current(); value != nil || err != nil {
		return value, true, err
	}
	if value, err := c.fetch(ctx); err == nil {
		return value, true, nil
	}
	value, err = c.current() // a stale one, or the failure
	return value, false, err
}

// renew is an answer newer than the one that was seen. It is the seen one if there is no
// newer one and the issuer may not be asked now.
func (c *cached[T]) renew(ctx context.Context, seen *T) (*T, error) {
	if err := c.lock(ctx); err != nil {
		return nil, err
	}
	defer c.unlock()
	if value, err, ok := c.withoutRenewal(seen); ok {
		return value, err
	}
	return c.fetch(ctx)
}

func (c *cached[T]) lock(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
	}
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *cached[T]) unlock() { <-c.turn }

// current is the answer, or the failure, without a request. Both are nil if it is time to
// ask.
func (c *cached[T]) current() (*T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	age := now.Sub(c.got)
	switch {
	case c.value != nil && age < freshFor:
		return c.value, nil
	case !now.Before(c.rest):
		return nil, nil
	case c.value != nil && age < staleFor:
		return c.value, nil
	default:
		return nil, c.failed
	}
}

// withoutRenewal is the result of renew if no request is needed or allowed; ok says so.
// Else it notes the time of the request that follows.
func (c *cached[T]) withoutRenewal(seen *T) (value *T, err error, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.value != seen {
		return c.value, nil, true
	}
	now := c.now()
	if now.Before(c.renewed.Add(Rest)) || now.Before(c.rest) {
		return seen, c.failed, true
	}
	c.renewed = now
	return nil, nil, false
}

// fetch asks. The caller has locked c.
func (c *cached[T]) fetch(ctx context.Context) (*T, error) {
	ctx, cancel := withoutCancel(ctx)
	defer cancel()
	value, err := c.ask(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.failed, c.rest = err, c.now().Add(failRest)
		return nil, err
	}
	c.value, c.got, c.failed, c.rest = value, c.now(), nil, time.Time{}
	return value, nil
}

// withoutCancel is a context with the same deadline that is not canceled with it. The
// registry sets deadlines; but a client that hangs up must not fail the others who wait,
// nor cause any number of requests to the issuer.
func withoutCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, deadline)
	}
	return free, func() {}
}
