package dynamocatalog

import (
	"context"
	"errors"
	"fmt"
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

// explain says of an error what the SDK does not.
func (c *Catalog) explain(err error) error {
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return fmt.Errorf("there is no table %q in region %s, or it is just being created: check the table's name and the region: %w", c.table, c.client.Options().Region, err)
	}
	return err
}

// known says that a condition failed: what was to be put is there already, or
// something newer is.
func known(err error) bool {
	var condition *types.ConditionalCheckFailedException
	return errors.As(err, &condition)
}

// lost says that a listing has changed since it was read, or is changing now.
// A transaction says so by a reason for each of its items; it is not tried
// again by the SDK when it was throttled.
func lost(err error) bool {
	var conflict *types.TransactionConflictException
	if known(err) || errors.As(err, &conflict) {
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

// backoff is how long to wait after a number of failures: a random time, so
// that those who failed together do not come again together.
func backoff(failures int) time.Duration {
	longest := maxBackoff
	if failures < 5 {
		longest = min(longest, firstBackoff<<failures)
	}
	return rand.N(longest)
}

// pause waits before what failed so many times is tried again.
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
