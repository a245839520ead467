package identity

import (
	"context"
	"sync"
	"time"
)

const (
	// freshFor is how long an answer is used without asking again.
	freshFor = time.Hour

	// staleFor is how long it is used if asking again fails.
	staleFor = 24 * time.Hour

	// failRest is how long an issuer is left alone that did not answer.
	failRest = 10 * time.Second
)

// cached is an issuer's answer. Of many who want it at once, one asks, and the
// others wait.
type cached[T any] struct {
	now  func() time.Time
	ask  func(context.Context) (*T, error)
	turn chan struct{} // has one element while somebody asks

	mu      sync.Mutex
	value   *T        // nil as long as there is none
	got     time.Time // when it was answered
	failed  error     // why the last request failed, if it did
	rest    time.Time // after a failure, nobody asks before then
	renewed time.Time // when renew last asked
}

func newCached[T any](now func() time.Time, ask func(context.Context) (*T, error)) *cached[T] {
	return &cached[T]{now: now, ask: ask, turn: make(chan struct{}, 1)}
}

// get is an answer that is fresh, or the best that can be had. It says whether
// the issuer gave it just now.
func (c *cached[T]) get(ctx context.Context) (value *T, asked bool, err error) {
	if value, err := c.known(); value != nil || err != nil {
		return value, false, err
	}
	if err := c.enter(ctx); err != nil {
		return nil, false, err
	}
	defer c.leave()
	if value, err := c.known(); value != nil || err != nil {
		return value, true, err
	}
	if value, err := c.fetch(ctx); err == nil {
		return value, true, nil
	}
	value, err = c.known() // a stale one, or the failure
	return value, false, err
}

// renew is an answer that is newer than the one that was seen, or that one where
// there is none and the issuer may not be asked.
func (c *cached[T]) renew(ctx context.Context, seen *T) (*T, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	if value, err, ok := c.mayNotRenew(seen); ok {
		return value, err
	}
	return c.fetch(ctx)
}

func (c *cached[T]) enter(ctx context.Context) error {
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

func (c *cached[T]) leave() { <-c.turn }

// known is what can be said without asking: both are nil if it is time to ask.
func (c *cached[T]) known() (*T, error) {
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

func (c *cached[T]) mayNotRenew(seen *T) (*T, error, bool) {
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

// fetch asks. It is for whoever has entered.
func (c *cached[T]) fetch(ctx context.Context) (*T, error) {
	ctx, cancel := detached(ctx)
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

// detached has a context's deadline, and is not canceled with it. A deadline is
// ours; but whoever hangs up must neither make a failure for those who wait, nor
// be able to have the issuer asked as often as they like.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	free := context.WithoutCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(free, deadline)
	}
	return free, func() {}
}
