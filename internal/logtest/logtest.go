// Package logtest is the log of a test, which reads it while others write it.
package logtest

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// Log keeps what is written to it. It is safe for concurrent use, and its zero value is empty.
type Log struct {
	mu      sync.Mutex
	written bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.Write(p)
}

// String implements fmt.Stringer.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.String()
}

// Await waits until the log has a text, a minute at most.
func (l *Log) Await(tb testing.TB, text string) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(l.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("the log does not say %q:\n%s", text, l)
		}
	}
}

// Timeless returns a logger that writes lines of text without their times.
func Timeless(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
