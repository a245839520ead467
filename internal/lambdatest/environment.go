package lambdatest

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

	"github.com/larder-registry/larder/internal/logtest"
)

// environment is one process of a function and the Runtime API that it talks
// to. See https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
type environment struct {
	command *exec.Cmd
	api     *httptest.Server
	logs    *logtest.Log

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

func (f *Function) start() (*environment, error) {
	e := &environment{
		logs:    &f.logs,
		pending: make(chan *invocation),
		asked:   make(chan time.Time, 1),
		exited:  make(chan struct{}),
	}
	e.api = httptest.NewServer(e.routes())
	e.command = exec.Command(f.binary)
	e.command.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(e.api.URL, "http://"),
		"AWS_LAMBDA_FUNCTION_NAME=larder-test",
		"AWS_LAMBDA_FUNCTION_VERSION=$LATEST",
	}, f.env...)
	e.command.Stdout, e.command.Stderr = e.logs, e.logs
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

// stop ends the process, and returns when it has ended.
func (e *environment) stop() {
	_ = e.command.Process.Kill() // fails if it has ended by itself
	<-e.exited
	e.api.CloseClientConnections()
	e.api.Close()
}

func (e *environment) invoke(ctx context.Context, payload []byte) ([]byte, error) {
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
				return nil, errIdle
			}
			return nil, e.exitError()
		case <-ctx.Done():
			return nil, fmt.Errorf("the function did not answer: %w", ctx.Err())
		}
	}
}

// errIdle says that a process ended between two invocations.
var errIdle = errors.New("the function exited before it asked for the invocation")

func (e *environment) hasServed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.served
}

// exitError says how the process has ended.
func (e *environment) exitError() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.initError != nil {
		return fmt.Errorf("%w: %w", ErrExited, e.initError)
	}
	return fmt.Errorf("%w: %v\n%s", ErrExited, e.status, e.logs)
}

func (e *environment) routes() http.Handler {
	const version = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+version+"invocation/next", e.next)
	mux.HandleFunc("POST "+version+"invocation/{id}/response", e.respond)
	mux.HandleFunc("POST "+version+"invocation/{id}/error", e.fail)
	mux.HandleFunc("POST "+version+"init/error", e.failInit)
	return mux
}

func (e *environment) next(w http.ResponseWriter, r *http.Request) {
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

func (e *environment) respond(w http.ResponseWriter, r *http.Request) {
	e.finish(w, r, func(body []byte) result { return result{response: body} })
}

func (e *environment) fail(w http.ResponseWriter, r *http.Request) {
	e.finish(w, r, func(body []byte) result { return result{err: readError(body)} })
}

// finish ends the running invocation, which must be the one that is named.
func (e *environment) finish(w http.ResponseWriter, r *http.Request, read func(body []byte) result) {
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

func (e *environment) failInit(w http.ResponseWriter, r *http.Request) {
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
