package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/larder-registry/larder/pkg/control"
)

const (
	readTimeout    = 10 * time.Second
	maxHeaderBytes = 16 << 10

	// stopTimeout bounds the time that requests have to end after they were canceled at a
	// stop.
	stopTimeout = 10 * time.Second
)

// Handler answers requests: a [control.Handler].
type Handler interface {
	Handle(context.Context, control.Request) control.Answer
}

// Files are the files that the server hands out. For each name there is a function that
// writes the content to a file, which is for one answer only.
type Files map[string]func(ctx context.Context, path string) error

// Server answers requests at a socket.
type Server struct {
	http    *http.Server
	stop    context.CancelFunc // of all requests
	done    chan struct{}
	err     error // why it ended; read after done
	handler Handler
	files   Files
	running sync.WaitGroup // requests
}

// Serve answers requests at a listener, which it takes over, until Close.
func Serve(listener net.Listener, handler Handler, files Files, logger *slog.Logger) *Server {
	running, stop := context.WithCancel(context.Background())
	s := &Server{stop: stop, done: make(chan struct{}), handler: handler, files: files}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		BaseContext:       func(net.Listener) context.Context { return running },
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      answerTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(s.done)
		s.err = s.http.Serve(listener)
	}()
	return s
}

// Close ends the requests that are under way, and removes the socket.
func (s *Server) Close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.done
	s.running.Wait()
	if !errors.Is(s.err, http.ErrServerClosed) {
		err = errors.Join(err, s.err)
	}
	if err != nil {
		return fmt.Errorf("stop answering at the socket: %w", err)
	}
	return nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	if write, ok := s.files[strings.TrimPrefix(r.URL.Path, "/")]; ok && r.Method == http.MethodGet {
		s.serveFile(w, r, write)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		write(w, http.StatusMethodNotAllowed, control.Answer{Error: "requests are made by POST"})
		return
	}
	request, err := readRequest(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		write(w, http.StatusBadRequest, control.Answer{
			Error: fmt.Sprintf("this is no request that the server knows, which may be of another version than the command: %v", err),
		})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	answer, status := s.handler.Handle(ctx, request), http.StatusOK
	if ctx.Err() != nil && (answer.Error != "" || answer.Walked != nil) {
		status = http.StatusServiceUnavailable // the request was not done, or not to the end
	}
	write(w, status, answer)
}

// serveFile hands a file out. The file is written whole before that, so that a slow client
// does not hold anything up.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, fill func(ctx context.Context, path string) error) {
	folder, err := os.MkdirTemp("", "larder-") // mode 0700
	if err == nil {
		defer os.RemoveAll(folder) //nolint:errcheck // the system's folder for what is temporary
		err = fill(r.Context(), filepath.Join(folder, "file"))
	}
	if err != nil {
		write(w, http.StatusInternalServerError, control.Answer{Error: err.Error()})
		return
	}
	http.ServeFile(w, r, filepath.Join(folder, "file"))
}

// readRequest reads one request. Nothing may follow it.
func readRequest(body io.Reader) (request control.Request, err error) {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&request); err != nil {
		return control.Request{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return control.Request{}, errors.New("something follows the request")
	}
	return request, nil
}

func write(w http.ResponseWriter, status int, answer control.Answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // a client that does not get it asks again
}
