package contextio

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := Reader(ctx, strings.NewReader("its content"))
	first := make([]byte, 4)
	if _, err := io.ReadFull(r, first); err != nil || string(first) != "its " {
		t.Errorf("%q, %v", first, err)
	}
	cancel()
	if rest, err := io.ReadAll(r); len(rest) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("after the context has ended: %q, %v", rest, err)
	}
}
