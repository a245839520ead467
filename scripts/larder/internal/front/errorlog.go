package front

import (
	"log"
	"log/slog"

	"golang.org/x/time/rate"
)

// How many of the lines are logged that strangers cause: so many a second, and
// so many at once. Nobody fills a disk by failing handshakes.
const (
	linesPerSecond = 1
	linesAtOnce    = 20
)

// newErrorLog is for what goes wrong with connections.
func newErrorLog(logger *slog.Logger) *log.Logger {
	return log.New(&someLines{
		to:    slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		limit: rate.NewLimiter(linesPerSecond, linesAtOnce),
	}, "", 0)
}

// someLines passes on as many lines as its limit allows.
type someLines struct {
	to    *log.Logger
	limit *rate.Limiter
}

// Write implements io.Writer, of one line.
func (s *someLines) Write(line []byte) (int, error) {
	if s.limit.Allow() {
		s.to.Print(string(line))
	}
	return len(line), nil
}
