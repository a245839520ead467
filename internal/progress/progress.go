// Package progress tells how far something is that takes long: files that go up or come
// down, in a [Bar] each, and walks, in a [Line]. On a terminal these are drawn again and
// again; elsewhere they are lines that stay.
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
	// redrawEvery is how long bars on a terminal stay as they are.
	redrawEvery = 100 * time.Millisecond

	// barWidth is how many characters wide a bar is, and nameWidth how much
	// of a file's name stands beside it: together less than a line, or the
	// bars would not find back to where they began.
	barWidth  = 20
	nameWidth = 48

	// step is after how many percent a log has another line about a file.
	step = 25
)

// Unknown is the size of a file of which nobody says how large it is.
const Unknown = -1

// Progress is that of all files together. That it cannot be told stops nothing.
type Progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	bars     []*Bar // of the files that are under way
	lines    int    // of bars on the terminal
	drawn    time.Time
}

// New is progress that is told to out.
func New(out io.Writer, terminal bool) *Progress {
	return &Progress{out: out, terminal: terminal}
}

// Bar is a file that is under way. It is a writer, for what comes down.
type Bar struct {
	progress   *Progress
	name       string
	size, done int64 // in bytes
	told       int64 // percent
}

// Begin tells that a file of size bytes, or of [Unknown] size, is under way.
// Its bar is to be ended.
func (p *Progress) Begin(name string, size int64) *Bar {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &Bar{progress: p, name: printable.Text(name), size: size}
	p.bars = append(p.bars, b)
	p.draw(true)
	return b
}

// Say tells something that stays.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.line(format, args...)
	p.draw(true)
}

// Sized tells how large the file is, now that it is known, or still [Unknown]. It
// returns the bar.
func (b *Bar) Sized(size int64) io.Writer {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	b.size = size
	return b
}

// At tells that so many bytes of the file are done: never fewer than before, for
// parts overtake one another.
func (b *Bar) At(done int64) {
	b.progress.mu.Lock()
	defer b.progress.mu.Unlock()
	b.at(done)
}

// Write tells that more bytes of the file are done.
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
	if percent := b.percent() / step * step; percent > b.told && percent < 100 {
		b.told = percent
		b.progress.line(" %3d %%  %s", percent, b.name)
	}
}

// End tells that the file is there, or that it is not, which whoever ends it says
// why.
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

// String is the bar without the name. Without a size, the bytes stand in for it.
func (b *Bar) String() string {
	if b.size == Unknown {
		return fmt.Sprintf("[%*d MiB]      ", barWidth-len(" MiB"), b.done>>20)
	}
	full := int(b.percent()) * barWidth / 100
	return fmt.Sprintf("[%s%s] %3d %%", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), b.percent())
}

// draw draws the bars in the place of what was drawn before.
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

// lastOf is the end of a name, where files of a release differ.
func lastOf(name string, width int) string {
	runes := []rune(name)
	return string(runes[max(0, len(runes)-width):])
}
