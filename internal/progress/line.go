package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/larder-registry/larder/internal/printable"
)

const (
	// tellEvery is how long a log is silent at least. A terminal is told of
	// every part.
	tellEvery = 30 * time.Second

	// clearLine takes a terminal back to the start of an empty line.
	clearLine = "\r\x1b[K"
)

// Line is the progress of what goes on part by part and has no known end: on a
// terminal one line that is drawn again and again, elsewhere a line now and then.
// That it cannot be told stops nothing.
type Line struct {
	out      io.Writer
	terminal bool
	drawn    bool // there is a line on the terminal
	told     time.Time
}

// NewLine is progress that is told to out.
func NewLine(out io.Writer, terminal bool) *Line {
	return &Line{out: out, terminal: terminal, told: time.Now()}
}

// At tells how much is done, and on a terminal what was done last.
func (l *Line) At(done fmt.Stringer, last string) {
	switch {
	case l.terminal:
		_, _ = fmt.Fprintf(l.out, "%s%s, %.60s", clearLine, done, printable.Text(last))
		l.drawn = true
	case time.Since(l.told) >= tellEvery:
		l.told = time.Now()
		l.Say("%s so far", done)
	}
}

// Say tells something that stays.
func (l *Line) Say(format string, args ...any) {
	l.Erase()
	_, _ = fmt.Fprintf(l.out, format+"\n", args...)
}

// Erase takes the line off the terminal.
func (l *Line) Erase() {
	if l.drawn {
		_, _ = io.WriteString(l.out, clearLine)
	}
	l.drawn = false
}
