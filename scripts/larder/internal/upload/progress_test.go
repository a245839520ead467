package upload

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
)

func (b *bar) at(sent int64) {
	b.OnObjectBytesTransferred(context.Background(), &transfermanager.ObjectBytesTransferredEvent{BytesTransferred: sent})
}

func TestProgressInLines(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, false)
	a, empty := p.begin("a", 200), p.begin("empty", 0)
	for _, sent := range []int64{10, 60, 50, 70, 160, 200} { // parts overtake one another
		a.at(sent)
	}
	empty.at(0)
	a.end(nil)
	empty.end(errors.New("refused"))
	if want := "  25 %  a\n  75 %  a\n 100 %  a\nfailed  empty\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestProgressInBars(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, true)
	a := p.begin("a", 200)
	b := p.begin(strings.Repeat("long/", 40)+"b", 100)
	a.at(100)
	a.end(nil)
	b.end(nil)
	screen := out.String()
	empty := "[" + strings.Repeat(" ", barWidth) + "]   0 %  "
	if !strings.HasPrefix(screen, empty+"a\n\x1b[1A\r\x1b[J"+empty+"a\n"+empty) {
		t.Errorf("it begins\n%q", screen)
	}
	if !strings.Contains(screen, "\x1b[2A\r\x1b[J 100 %  a\n"+empty) || !strings.HasSuffix(screen, "/b\n") {
		t.Errorf("it goes on\n%q", screen)
	}
	for line := range strings.Lines(screen) {
		if strings.Contains(line, "[ ") && len(line) > 79+len("\x1b[2A\r\x1b[J") {
			t.Errorf("longer than a line of a terminal: %q", line)
		}
	}
	if p.lines != 0 || len(p.bars) != 0 {
		t.Errorf("%d lines, %d bars are left", p.lines, len(p.bars))
	}
}
