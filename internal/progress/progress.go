// Package progress shows the progress of long work: of each file that is uploaded or downloaded
// in a [Bar], of walks in a [Line]. On a terminal these are drawn again and again; elsewhere
// they are lines that stay.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/larder-registry/larder/internal/printable"
)

const (
	// redrawEvery is the shortest time between two drawings on a terminal.
	redrawEvery = 100 * time.Millisecond

	// barWidth is the width of a bar in characters, and nameWidth that of the file's name
	// beside it: together less than a line, or the next drawing would not begin at the same
	// place.
	barWidth  = 20
	nameWidth = 48

	// step is the percentage after which a log has another line about a file.
	step = 25
)

// Unknown is the size of a file whose size is not known.
const Unknown = -1

// Progress is the progress of all files together. Errors of writing are ignored.
type Progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	bars     []*Bar // of the files that have not ended
	lines    int    // of bars on the terminal
	drawn    time.Time
}

// New makes a progress that is written to out.
func New(out io.Writer, terminal bool) *Progress {
	return &Progress{out: out, terminal: terminal}
}

// Bar is the progress of one file. It is a writer, for downloads.
type Bar struct {
	progress   *Progress
	name       string
	size, done int64 // in bytes
	shown      int64 // percent
}

// Begin begins the bar of a file of size bytes, or of [Unknown] size. The caller must end it.
func (p *Progress) Begin(name string, size int64) *Bar {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &Bar{progress: p, name: printable.Text(name), size: size}
	p.bars = append(p.bars, b)
	p.draw(true)
	return b
}

// Say writes a line that stays.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.line(format, args...)
	p.draw(true)
}

// Sized sets the size of the file, when it becomes known; it may still be [Unknown]. It returns
// the bar.
func (b *Bar) Sized(size int64) io.Writer {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	b.size = size
	return b
}

// At says that done bytes of the file are done. A smaller number than before is ignored,
// because parts overtake one another.
func (b *Bar) At(done int64) {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	b.at(done)
}

// Write says that more bytes of the file are done.
func (b *Bar) Write(more []byte) (int, error) {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	b.at(b.done + int64(len(more)))
	return len(more), nil
}

func (b *Bar) at(done int64) {
	b.done = max(b.done, done)
	if b.progress.terminal {
		b.progress.draw(false)
		return
	}
	if percent := b.percent() / step * step; percent > b.shown && percent < 100 {
		b.shown = percent
		b.progress.line(" %3d %%  %s", percent, b.name)
	}
}

// End ends the bar. The caller reports the error.
func (b *Bar) End(err error) {
	p := b.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	for i, other := range p.bars {
		if other == b {
			p.bars = append(p.bars[:i], p.bars[i+1:]...)
			break
		}
	}
	if err != nil {
		p.line("failed  %s", b.name)
	} else {
		p.line(" 100 %%  %s", b.name)
	}
	p.draw(true)
}

func (b *Bar) percent() int64 {
	if b.size <= 0 {
		return 0
	}
	return min(100*b.done/b.size, 100)
}

// String draws the bar without the name. Without a size, it shows the bytes.
func (b *Bar) String() string {
	if b.size == Unknown {
		return fmt.Sprintf("[%*d MiB]      ", barWidth-len(" MiB"), b.done>>20)
	}
	full := int(b.percent()) * barWidth / 100
	return fmt.Sprintf("[%s%s] %3d %%", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), b.percent())
}

// draw draws the bars over those that were drawn before.
func (p *Progress) draw(now bool) {
	if !p.terminal || !now && time.Since(p.drawn) < redrawEvery {
		return
	}
	p.erase()
	for _, b := range p.bars {
		p.line("%s  %s", b, lastOf(b.name, nameWidth))
	}
	p.lines, p.drawn = len(p.bars), time.Now()
}

// erase takes the bars off the terminal.
func (p *Progress) erase() {
	if p.lines > 0 {
		_, _ = fmt.Fprintf(p.out, "\x1b[%dA\r\x1b[J", p.lines)
	}
	p.lines = 0
}

func (p *Progress) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// lastOf returns the end of a name: there the names of a release differ.
func lastOf(name string, width int) string {
	runes := []rune(name)
	return string(runes[max(0, len(runes)-width):])
}
