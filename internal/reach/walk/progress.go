package walk

import (
	"fmt"
	"io"
	"time"
)

const (
	// tellEvery is how long a log is silent at least. A terminal is told of
	// every part.
	tellEvery = 30 * time.Second

	// clearLine takes a terminal back to the start of an empty line.
	clearLine = "\r\x1b[K"
)

// Progress tells how far a walk is: on a terminal in one line that is drawn
// again and again, elsewhere in a line now and then. That it cannot be told
// stops no walk.
type Progress struct {
	out      io.Writer
	terminal bool
	drawn    bool // there is a line on the terminal
	told     time.Time
}

// NewProgress is progress that is told to out.
func NewProgress(out io.Writer, terminal bool) *Progress {
	return &Progress{out: out, terminal: terminal, told: time.Now()}
}

// step tells that another part is done.
func (p *Progress) step(t Totals, last string) {
	switch {
	case p.terminal:
		_, _ = fmt.Fprintf(p.out, "%s%s, %.60s", clearLine, t, last)
		p.drawn = true
	case time.Since(p.told) >= tellEvery:
		p.told = time.Now()
		p.line("%s so far", t)
	}
}

// line tells something that stays.
func (p *Progress) line(format string, args ...any) {
	p.erase()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// erase takes the line off the terminal.
func (p *Progress) erase() {
	if p.drawn {
		_, _ = io.WriteString(p.out, clearLine)
	}
	p.drawn = false
}
