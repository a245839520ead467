package progress

import (
	"errors"
	"strings"
	"testing"
)

func TestLines(t *testing.T) {
	var out strings.Builder
	p := New(&out, false)
	a, empty := p.Begin("a", 200), p.Begin("empty", 0)
	for _, done := range []int64{10, 60, 50, 70, 160, 200} { // parts overtake one another
		a.At(done)
	}
	empty.At(0)
	p.Say("%d files", 2)
	a.End(nil)
	empty.End(errors.New("refused"))
	if want := "  25 %  a\n  75 %  a\n2 files\n 100 %  a\nfailed  empty\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// The name of a file may be an uploader's, and is no command to a terminal.
func TestNamesArePrintable(t *testing.T) {
	var out strings.Builder
	New(&out, false).Begin("a\x1b[2Jb\r\n 100 %  c é", 1).End(nil)
	if want := " 100 %  a�[2Jb�� 100 %  c é\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestWritten(t *testing.T) {
	var out strings.Builder
	p := New(&out, false)
	known, unknown := p.Begin("known", 40), p.Begin("unknown", Unknown)
	late := p.Begin("late", Unknown)
	late.Sized(40)
	for _, b := range []*Bar{known, late, unknown} {
		for range 2 {
			if n, err := b.Write(make([]byte, 15)); n != 15 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		}
		b.End(nil)
	}
	if want := "  25 %  known\n  75 %  known\n 100 %  known\n  25 %  late\n  75 %  late\n 100 %  late\n 100 %  unknown\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestBars(t *testing.T) {
	var out strings.Builder
	p := New(&out, true)
	a := p.Begin("a", 200)
	b := p.Begin(strings.Repeat("long/", 40)+"b", 100)
	a.At(100)
	p.Say("said")
	a.End(nil)
	b.End(nil)
	c := p.Begin("c", Unknown)
	c.At(5 << 20)
	c.End(nil)
	screen := out.String()
	empty := "[" + strings.Repeat(" ", barWidth) + "]   0 %  "
	if !strings.HasPrefix(screen, empty+"a\n\x1b[1A\r\x1b[J"+empty+"a\n"+empty) {
		t.Errorf("it begins\n%q", screen)
	}
	half := "[" + strings.Repeat("=", barWidth/2) + strings.Repeat(" ", barWidth/2) + "]  50 %  a\n"
	if !strings.Contains(screen, "\x1b[2A\r\x1b[J"+"said\n"+half) {
		t.Errorf("it says\n%q", screen)
	}
	if !strings.Contains(screen, "\x1b[2A\r\x1b[J 100 %  a\n"+empty) || !strings.HasSuffix(screen, " 100 %  c\n") {
		t.Errorf("it goes on\n%q", screen)
	}
	if !strings.Contains(screen, "0 MiB]        c\n") {
		t.Errorf("without a size it is\n%q", screen)
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
