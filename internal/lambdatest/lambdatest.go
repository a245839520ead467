// Package lambdatest runs the binary of a function as Lambda does: in its own environment, over
// the Runtime API, one invocation at a time.
//
// An environment that exits, or does not answer in time, is replaced by a new
// one for the next invocation.
package lambdatest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/lambdaenv"
	"github.com/larder-registry/larder/internal/logtest"
)

// DefaultTimeout bounds an invocation whose context has no deadline.
const DefaultTimeout = time.Minute

// MaxResponse is the largest response of a function, in bytes.
const MaxResponse = 6<<20 + 100

// Function is a deployed function. It is safe for concurrent use: invocations
// wait for one another.
type Function struct {
	binary string
	env    []string

	mu      sync.Mutex
	current *lambdaenv.Environment // nil: the next invocation starts one
	logs    logtest.Log
}

// Error is the error that a function reported.
type Error = lambdaenv.Error

// ErrExited says that the function's process ended during an invocation.
var ErrExited = lambdaenv.ErrExited

// Start deploys a function until the test ends, with env ("NAME=value") as the
// whole of its environment beside what Lambda itself sets. TMPDIR is a folder
// of its own. Its first environment starts at once; if it cannot, the first
// invocation says so. What the function logged is shown if the test fails.
func Start(t testing.TB, binary string, env []string) *Function {
	t.Helper()
	f := &Function{binary: binary, env: append([]string{"TMPDIR=" + t.TempDir()}, env...)}
	var err error
	if f.current, err = f.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.retire()
		if t.Failed() {
			t.Logf("%s logged:\n%s", binary, f.Logs())
		}
	})
	return f
}

// Invoke hands an event to the function and returns its response. The context's
// deadline is the function's timeout.
//
// Errors: [*Error], [ErrExited], the context's.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultTimeout)
		defer cancel()
	}
	response, err := f.invoke(ctx, payload)
	if errors.Is(err, lambdaenv.ErrIdle) { // a new one does
		response, err = f.invoke(ctx, payload)
	}
	if err != nil {
		return nil, err
	}
	if len(response) > MaxResponse {
		return nil, &Error{Type: "Function.ResponseSizeTooLarge", Message: fmt.Sprintf("the response has %d bytes, and may have %d", len(response), MaxResponse)}
	}
	return response, nil
}

// invoke invokes the current environment, and retires it if it did not survive that.
func (f *Function) invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if f.current == nil {
		var err error
		if f.current, err = f.start(); err != nil {
			return nil, err
		}
	}
	response, err := f.current.Invoke(ctx, payload)
	if errors.Is(err, ErrExited) {
		err = fmt.Errorf("%w\n%s", err, f.Logs())
	}
	if errors.Is(err, ErrExited) || errors.Is(err, lambdaenv.ErrIdle) || ctx.Err() != nil {
		f.retire()
	}
	return response, err
}

// Setenv changes a variable of the function's environment. The next invocation
// has a new process, as after a change of a function's configuration.
func (f *Function) Setenv(name, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.env = append(f.env, name+"="+value)
	f.retire()
}

// Logs returns the standard output and error of the function, in all its environments.
func (f *Function) Logs() string { return f.logs.String() }

// ColdStart starts a binary, and returns how long it took from the start of the
// process to its first request for an invocation. The process is ended again.
func ColdStart(ctx context.Context, binary string, env []string) (time.Duration, error) {
	f := &Function{binary: binary, env: env}
	var err error
	if f.current, err = f.start(); err != nil {
		return 0, err
	}
	defer f.retire()
	took, err := f.current.Asked(ctx)
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", binary, err, f.Logs())
	}
	return took, nil
}

func (f *Function) start() (*lambdaenv.Environment, error) {
	return lambdaenv.Start(f.binary, f.env, &f.logs)
}

// retire ends the current environment.
func (f *Function) retire() {
	if f.current != nil {
		f.current.Stop()
		f.current = nil
	}
}
