package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/dynamotest"
)

// owner stands in for a test, for things that tests share, until it is ended. A real test cannot do that: -run, -skip,
// -failfast and -count decide which tests of a run there are.
type owner struct {
	testing.TB // which is nil: nothing else is asked of it

	name   string
	ctx    context.Context
	cancel context.CancelFunc

	mu         sync.Mutex
	cleanups   []func()
	complaints []error
}

func newOwner(name string) *owner {
	o := &owner{name: name}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	return o
}

// start runs the function that makes the things. The function may fail as a test may; then the error says why.
func (o *owner) start(body func()) error {
	whole := false
	done := make(chan struct{})
	go func() { // which a Fatal ends
		defer close(done)
		body()
		whole = true
	}()
	<-done
	if whole {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Errorf("%s does not start: %w", o.name, errors.Join(o.complaints...))
}

// end takes the things down, and says whether they had no failure.
func (o *owner) end() bool {
	o.cancel()
	for _, cleanup := range slices.Backward(o.cleanups) {
		cleanup()
	}
	return !o.Failed()
}

func (o *owner) Helper()                           {}
func (o *owner) Context() context.Context          { return o.ctx }
func (o *owner) Error(args ...any)                 { o.complain(fmt.Sprint(args...)) }
func (o *owner) Errorf(format string, args ...any) { o.complain(fmt.Sprintf(format, args...)) }
func (o *owner) Logf(format string, args ...any)   { fmt.Printf(o.name+": "+format+"\n", args...) }
func (o *owner) Fatal(args ...any)                 { o.Error(args...); runtime.Goexit() }
func (o *owner) Fatalf(format string, args ...any) { o.Errorf(format, args...); runtime.Goexit() }
func (o *owner) Skip(args ...any)                  { o.Fatal(args...) } // for others need it

// complain prints at once, because a shared thing may fail between two tests.
func (o *owner) complain(what string) {
	o.Logf("%s", what)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.complaints = append(o.complaints, errors.New(what))
}

func (o *owner) Failed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.complaints) > 0
}

func (o *owner) Cleanup(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cleanups = append(o.cleanups, f)
}

func (o *owner) TempDir() string {
	dir, err := os.MkdirTemp(scratch, "shared")
	if err != nil {
		o.Fatal(err)
	}
	return dir
}

// The shared stack starts, whichever tests of a run are left out, or it fails with its reason.
func TestSharedStackStarts(t *testing.T) {
	t.Parallel()
	only(t, deployed)
	for name, run := range map[string]struct {
		dynamodb string
		args     []string
		says     string
	}{
		"tests are left out": {dynamotest.Start(t).Endpoint, []string{"-test.skip=^TestRequests$", "-test.count=2"}, "PASS"},
		"no database":        {"http://127.0.0.1:1", nil, "the shared stack does not start: operation error DynamoDB: CreateTable"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			again := exec.CommandContext(ctx, os.Args[0], append(run.args, "-test.run=^TestDiscovery$")...)
			again.Env = append(os.Environ(), "AWS_ENDPOINT_URL_DYNAMODB="+run.dynamodb)
			again.WaitDelay = time.Second
			out, err := again.CombinedOutput()
			if ctx.Err() != nil || (err == nil) != (run.says == "PASS") || !strings.Contains(string(out), run.says) {
				t.Errorf("%v, %v:\n%s", err, ctx.Err(), out)
			}
		})
	}
}
