package reindex

import (
	"fmt"
	"io"
	"time"
)

const (
	// stepEvery is after how many versions a log says how far it is.
	stepEvery = 1000

	// redrawEvery is how long a line on a terminal stays as it is.
	redrawEvery = 100 * time.Millisecond

	// clearLine takes a terminal back to the start of an empty line.
	clearLine = "\r\x1b[K"
)

// progress tells how far a run is: on a terminal in one line that is drawn
// again and again, elsewhere in a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	drawn    time.Time
}

func newProgress(out io.Writer, terminal bool) *progress {
	return &progress{out: out, terminal: terminal}
}

// step tells that another version is done.
func (p *progress) step(versions int, subject string) {
	switch {
	case p.terminal && time.Since(p.drawn) >= redrawEvery:
		p.drawn = time.Now()
		_, _ = fmt.Fprintf(p.out, "%s%d versions, %.60s", clearLine, versions, subject) // who does not see it misses nothing
	case !p.terminal && versions%stepEvery == 0:
		p.line("%d versions so far", versions)
	}
}

// line tells something that stays.
func (p *progress) line(format string, args ...any) {
	if p.terminal {
		format = clearLine + format
	}
	_, _ = fmt.Fprintf(p.out, format+"\n", args...) // as above: the result is in the catalog, and in the error
}
