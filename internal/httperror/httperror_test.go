package httperror

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
)

func TestWithoutURL(t *testing.T) {
	refused := errors.New("connection refused")
	signed := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://files.example.com/?X-Amz-Signature=abc", Err: err}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused, "connection refused"},
		{signed(refused), "connection refused"},
		{fmt.Errorf("again: %w", signed(refused)), "connection refused"},
		{signed(context.DeadlineExceeded), "no answer in time"},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), "no answer in time"},
		{signed(context.Canceled), "context canceled"},
	} {
		if got := WithoutURL(c.err); got.Error() != c.want {
			t.Errorf("of %q it is %q, want %q", c.err, got, c.want)
		}
	}
	if got := WithoutURL(signed(refused)); !errors.Is(got, refused) {
		t.Errorf("%v is another error", got)
	}
}
