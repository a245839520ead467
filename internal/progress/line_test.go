package progress

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type done string

func (d done) String() string { return string(d) }

func TestLineOnATerminal(t *testing.T) {
	var out strings.Builder
	l := NewLine(&out, true)
	l.Erase() // nothing
	l.At(done("1 part"), "a\x1b[2J"+strings.Repeat("é", 60))
	l.Say("asking %s", "again")
	l.At(done("2 parts"), "b")
	l.Erase()
	l.Erase()
	want := clearLine + "1 part, a\ufffd[2J" + strings.Repeat("é", 55) + clearLine + "asking again\n" + clearLine + "2 parts, b" + clearLine
	if out.String() != want {
		t.Errorf("drew %q, want %q", out.String(), want)
	}
}

// A log has a line every half minute, and all that stays.
func TestLineInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		l := NewLine(&out, false)
		for _, tt := range []struct {
			after time.Duration
			want  string
		}{
			{0, ""}, {lineEvery - time.Nanosecond, ""}, {time.Nanosecond, "some so far\n"}, {time.Nanosecond, ""}, {lineEvery, "some so far\n"},
		} {
			time.Sleep(tt.after)
			l.At(done("some"), "last")
			if got := out.String(); got != tt.want {
				t.Errorf("after %v: %q, want %q", tt.after, got, tt.want)
			}
			out.Reset()
		}
		l.Say("%d problems", 2)
		l.Erase()
		if want := "2 problems\n"; out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	})
}
