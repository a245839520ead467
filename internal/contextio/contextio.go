// Package contextio makes readers that end with a context.
package contextio

import (
	"context"
	"io"
)

// Reader reads from another reader until the context ends.
func Reader(ctx context.Context, from io.Reader) io.Reader { return reader{ctx, from} }

type reader struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
