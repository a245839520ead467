package dynamocatalog

import (
	"errors"

	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
)

var (
	errForeign = errors.New("the catalog has an item that this version of larder does not write: upgrade it, or delete all items of the partition and build the catalog again, which loses nothing")
	errNotOurs = errors.New("it is not as this version of larder writes it: upgrade larder, or remove it and make it again")
	errBusy    = errors.New("others kept changing the same at the same time: try again")
	errPartial = errors.New("DynamoDB has too much to do to read all that was asked for: try again")
)

// refusedAs is DynamoDB's refusal by an exception, if the error is that.
func refusedAs(err error, exception string) (*wire.Error, bool) {
	refusal, ok := errors.AsType[*wire.Error](err)
	return refusal, ok && refusal.Code == exception
}

// conditionFailed says whether the condition of a write failed.
func conditionFailed(err error) bool {
	_, failed := refusedAs(err, "ConditionalCheckFailedException")
	return failed
}

// conflicted says whether a listing has changed since it was read, or is changing now. A
// transaction has a reason for each of its items. A throttled transaction counts, too,
// since it is not sent again.
func conflicted(err error) bool {
	if _, conflict := refusedAs(err, "TransactionConflictException"); conflict || conditionFailed(err) {
		return true
	}
	cancelled, ok := refusedAs(err, "TransactionCanceledException")
	if !ok {
		return false
	}
	for _, reason := range cancelled.Reasons {
		switch reason {
		case "", "None", "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		default:
			return false
		}
	}
	return true
}
