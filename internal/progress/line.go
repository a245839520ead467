package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/larder-registry/larder/internal/printable"
)

const (
	// lineEvery is the shortest time between two lines of a log. A terminal shows every
	// part.
	lineEvery = 30 * time.Second

	// clearLine takes a terminal back to the start of an empty line.
	clearLine = "\r\x1b[K"
)

// Line shows the progress of work that has parts and no known end: on a terminal one line that
// is drawn again and again, elsewhere a line now and then. Errors of writing are ignored.
type Line struct {
	out      io.Writer
	terminal bool
	drawn    bool // there is a line on the terminal
	shown    time.Time
}

// NewLine makes a line that is written to out.
func NewLine(out io.Writer, terminal bool) *Line {
	return &Line{out: out, terminal: terminal, shown: time.Now()}
}

// At shows how much is done, and on a terminal also what was done last.
func (l *Line) At(done fmt.Stringer, last string) {
	switch {
	case l.terminal:
		_, _ = fmt.Fprintf(l.out, "%s%s, %.60s", clearLine, done, printable.Text(last))
		l.drawn = true
	case time.Since(l.shown) >= lineEvery:
		l.shown = time.Now()
		l.Say("%s so far", done)
	}
}

// Say writes a line that stays.
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
