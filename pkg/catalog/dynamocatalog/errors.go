package dynamocatalog

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	errForeign = errors.New("the catalog has an item that this version of larder does not write: upgrade it, or delete all items of the partition and build the catalog again, which loses nothing")
	errNotOurs = errors.New("it is not as this version of larder writes it: upgrade larder, or remove it and make it again")
	errBusy    = errors.New("others kept changing the listing at the same time: try again")
	errPartial = errors.New("DynamoDB has too much to do to read all that was asked for: try again")
)

// conditionFailed says whether the condition of a write failed.
func conditionFailed(err error) bool {
	var condition *types.ConditionalCheckFailedException
	return errors.As(err, &condition)
}

// conflicted says whether a listing has changed since it was read, or is changing now. A
// transaction has a reason for each of its items. A throttled transaction counts, too,
// since the SDK does not send it again.
func conflicted(err error) bool {
	var conflict *types.TransactionConflictException
	if conditionFailed(err) || errors.As(err, &conflict) {
		return true
	}
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false
	}
	for _, reason := range cancelled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "", "None", "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		default:
			return false
		}
	}
	return true
}

const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = time.Second
)

// backoff is how long to wait after a number of failures: a random time, so that writers
// who failed together do not try again together.
func backoff(failures int) time.Duration {
	longest := maxBackoff
	if failures < 5 {
		longest = min(longest, firstBackoff<<failures)
	}
	return rand.N(longest)
}

// pause waits before another attempt, after a number of failures.
func pause(ctx context.Context, failures int) error {
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
