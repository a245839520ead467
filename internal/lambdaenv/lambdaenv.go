// Package lambdaenv is an execution environment of Lambda: one process of a function, and the
// Runtime API that it talks to. See https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
package lambdaenv

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Environment is a running process of a function.
type Environment struct {
	command *exec.Cmd
	api     *httptest.Server

	pending chan *invocation

	started time.Time
	once    sync.Once
	asked   chan time.Time // has the time of the first request for an invocation

	exited chan struct{} // closed when the process has ended
	status error         // of the process, once it has

	mu        sync.Mutex
	running   *invocation
	served    bool // any invocation
	initError error
}

type invocation struct {
	id       string
	deadline time.Time
	payload  []byte
	result   chan result // has room for the one result
}

type result struct {
	response []byte
	err      error
}

// Error is the error that a function reported.
type Error struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func (e *Error) Error() string { return "the function failed: " + e.Type + ": " + e.Message }

// ErrExited says that the function's process ended during an invocation.
var ErrExited = errors.New("the function exited")

// ErrIdle says that the function's process ended between two invocations.
var ErrIdle = errors.New("the function exited before it asked for the invocation")

// Start starts a process of a binary, with env ("NAME=value") as the whole of its environment
// beside what Lambda itself sets. Its output goes to log.
func Start(binary string, env []string, log io.Writer) (*Environment, error) {
	e := &Environment{
		pending: make(chan *invocation),
		asked:   make(chan time.Time, 1),
		exited:  make(chan struct{}),
	}
	e.api = httptest.NewServer(e.routes())
	e.command = exec.Command(binary)
	e.command.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(e.api.URL, "http://"),
		"AWS_LAMBDA_FUNCTION_NAME=larder-test",
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
	}, env...)
	e.command.Stdout, e.command.Stderr = log, log
	e.started = time.Now()
	if err := e.command.Start(); err != nil {
		e.api.Close()
		return nil, fmt.Errorf("start the function: %w", err)
	}
	go func() {
		e.status = e.command.Wait()
		close(e.exited)
	}()
	return e, nil
}

// PID is the ID of the process.
func (e *Environment) PID() int { return e.command.Process.Pid }

// Stop ends the process, and returns when it has ended.
func (e *Environment) Stop() {
	_ = e.command.Process.Kill() // fails if it has ended by itself
	<-e.exited
	e.api.CloseClientConnections()
	e.api.Close()
}

// CPU is the processor's time that the process took. It is known once Stop has returned.
func (e *Environment) CPU() time.Duration {
	return e.command.ProcessState.UserTime() + e.command.ProcessState.SystemTime()
}

// Asked waits for the process's first request for an invocation, and returns how long that
// took from its start.
//
// Errors: [ErrExited], the context's.
func (e *Environment) Asked(ctx context.Context) (time.Duration, error) {
	select {
	case asked := <-e.asked:
		return asked.Sub(e.started), nil
	case <-e.exited:
		return 0, e.exitError()
	case <-ctx.Done():
		return 0, fmt.Errorf("it did not ask for an invocation: %w", ctx.Err())
	}
}

// Invoke hands an event to the function and returns its response. The context must have a
// deadline, which is the function's timeout. One invocation runs at a time.
//
// Errors: [*Error], [ErrExited], [ErrIdle], the context's.
func (e *Environment) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	deadline, _ := ctx.Deadline()
	i := &invocation{id: rand.Text(), deadline: deadline, payload: payload, result: make(chan result, 1)}
	pending := e.pending
	for {
		select {
		case pending <- i:
			pending = nil
		case r := <-i.result:
			return r.response, r.err
		case <-e.exited:
			select {
			case r := <-i.result: // its last words
				return r.response, r.err
			default:
			}
			if pending != nil && e.hasServed() {
				return nil, ErrIdle
			}
			return nil, e.exitError()
		case <-ctx.Done():
			return nil, fmt.Errorf("the function did not answer: %w", ctx.Err())
		}
	}
}

func (e *Environment) hasServed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.served
}

// exitError says how the process has ended.
func (e *Environment) exitError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.initError != nil {
		return fmt.Errorf("%w: %w", ErrExited, e.initError)
	}
	return fmt.Errorf("%w: %v", ErrExited, e.status)
}

func (e *Environment) routes() http.Handler {
	const version = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+version+"invocation/next", e.next)
	mux.HandleFunc("POST "+version+"invocation/{id}/response", e.respond)
	mux.HandleFunc("POST "+version+"invocation/{id}/error", e.fail)
	mux.HandleFunc("POST "+version+"init/error", e.failInit)
	return mux
}

func (e *Environment) next(w http.ResponseWriter, r *http.Request) {
	e.once.Do(func() { e.asked <- time.Now() })
	select {
	case i := <-e.pending:
		e.mu.Lock()
		e.running = i
		e.mu.Unlock()
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", i.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:111122223333:function:larder-test")
		_, _ = w.Write(i.payload) // fails when the process has ended, which is seen elsewhere
	case <-r.Context().Done():
	}
}

func (e *Environment) respond(w http.ResponseWriter, r *http.Request) {
	e.finish(w, r, func(body []byte) result { return result{response: body} })
}

func (e *Environment) fail(w http.ResponseWriter, r *http.Request) {
	e.finish(w, r, func(body []byte) result { return result{err: readError(body)} })
}

// finish ends the running invocation, which must be the one that is named.
func (e *Environment) finish(w http.ResponseWriter, r *http.Request, read func(body []byte) result) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil || e.running.id != r.PathValue("id") {
		http.Error(w, "there is no such invocation", http.StatusBadRequest)
		return
	}
	e.running.result <- read(body)
	e.running, e.served = nil, true
	w.WriteHeader(http.StatusAccepted)
}

func (e *Environment) failInit(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.initError = readError(body)
	w.WriteHeader(http.StatusAccepted)
}

func readError(body []byte) error {
	var reported Error
	if err := json.Unmarshal(body, &reported); err != nil {
		return errors.Join(errors.New("the function reported an error that cannot be read"), err)
	}
	return &reported
}
