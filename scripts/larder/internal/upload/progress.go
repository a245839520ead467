package upload

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
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

// progress tells how far uploads are: on a terminal in bars that are drawn again
// and again, elsewhere in lines. That it cannot be told stops no upload.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	bars     []*bar // of the files that are under way
	lines    int    // of bars on the terminal
	drawn    time.Time
}

func newProgress(out io.Writer, terminal bool) *progress {
	return &progress{out: out, terminal: terminal}
}

// bar is a file that is under way.
type bar struct {
	*progress
	name       string
	size, sent int64 // in bytes
	told       int64 // percent
}

func (p *progress) begin(name string, size int64) *bar {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &bar{progress: p, name: name, size: size}
	p.bars = append(p.bars, b)
	p.draw(true)
	return b
}

// OnObjectBytesTransferred tells that another part is there.
func (b *bar) OnObjectBytesTransferred(_ context.Context, event *transfermanager.ObjectBytesTransferredEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = max(b.sent, event.BytesTransferred) // parts arrive side by side
	if b.terminal {
		b.draw(false)
		return
	}
	if percent := b.percent() / step * step; percent > b.told && percent < 100 {
		b.told = percent
		b.line(" %3d %%  %s", percent, b.name)
	}
}

// end tells that the file is there, or why not.
func (b *bar) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.erase()
	for i, other := range b.bars {
		if other == b {
			b.bars = append(b.bars[:i], b.bars[i+1:]...)
			break
		}
	}
	if err != nil {
		b.line("failed  %s", b.name) // the table says why
	} else {
		b.line(" 100 %%  %s", b.name)
	}
	b.draw(true)
}

func (b *bar) percent() int64 {
	if b.size == 0 {
		return 0
	}
	return min(100*b.sent/b.size, 100)
}

// draw draws the bars in the place of what was drawn before.
func (p *progress) draw(now bool) {
	if !p.terminal || !now && time.Since(p.drawn) < redrawEvery {
		return
	}
	p.erase()
	for _, b := range p.bars {
		full := int(b.percent()) * barWidth / 100
		p.line("[%s%s] %3d %%  %s", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), b.percent(), lastOf(b.name, nameWidth))
	}
	p.lines, p.drawn = len(p.bars), time.Now()
}

// erase takes the bars off the terminal.
func (p *progress) erase() {
	if p.lines > 0 {
		_, _ = fmt.Fprintf(p.out, "\x1b[%dA\r\x1b[J", p.lines)
	}
	p.lines = 0
}

func (p *progress) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// lastOf is the end of a name, where files of a release differ.
func lastOf(name string, width int) string {
	runes := []rune(name)
	return string(runes[max(0, len(runes)-width):])
}
