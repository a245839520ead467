// Package httperror makes the errors of net/http fit to be printed.
package httperror

import (
	"context"
	"errors"
	"net/url"
)

// WithoutURL removes the URL that net/http puts before an error: it may have a signature.
func WithoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer in time")
	}
	return err
}
