package wire

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// MaxAttempts is how often a request is sent, the first time included.
	MaxAttempts = 6

	// attemptTimeout is for one attempt, including its answer.
	attemptTimeout = 5 * time.Second

	// If the context has a deadline, an attempt may take one part in shareOfRest of the time
	// that is left, so that a request which hangs is sent again before the deadline. Below
	// minTimeout that is of no use.
	shareOfRest = 3
	minTimeout  = time.Second

	firstBackoff = 50 * time.Millisecond
	maxBackoff   = time.Second
)

// timeoutWithin is how long the next attempt may take.
func (c *Client) timeoutWithin(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return c.timeout
	}
	return min(c.timeout, max(time.Until(deadline)/shareOfRest, minTimeout))
}

// backoff is how long to wait after a number of failures: a random time, so that those
// who failed together do not try again together.
func backoff(failures int) time.Duration {
	longest := maxBackoff
	if failures < 5 {
		longest = min(longest, firstBackoff<<failures)
	}
	return rand.N(longest)
}

// Pause waits for a random time, which grows with the number of failures. Without a
// failure it does not wait. It ends with the context, whose error it returns.
func Pause(ctx context.Context, failures int) error {
	if failures == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(backoff(failures - 1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What attempts cost and pay, as in the AWS SDK.
const (
	fullQuota      = 500
	retryCost      = 5
	timeoutCost    = 10
	successPayment = 1
)

var errQuota = errors.New("too many requests failed lately, so it was not sent again")

// quota bounds how many requests are sent again, so that a DynamoDB which has trouble does
// not get six times as many requests. Another attempt takes some of it, and gives that back
// if it succeeds. Each success adds a little.
type quota struct {
	mu   sync.Mutex
	left int
}

func newQuota() *quota { return &quota{left: fullQuota} }

// take takes what another attempt costs after an error, or 0 if that is not left.
func (q *quota) take(after error) (cost int) {
	cost = retryCost
	if timedOut(after) {
		cost = timeoutCost
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left < cost {
		return 0
	}
	q.left -= cost
	return cost
}

// giveBack is for an attempt that succeeded, with what it had cost.
func (q *quota) giveBack(cost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = min(q.left+cost+successPayment, fullQuota)
}
