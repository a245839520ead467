package disk

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/node/disk/disktest"
)

func TestTakes(t *testing.T) {
	s := Space{Free: 100, Total: 1000, Reserve: 50}
	for size, want := range map[int64]bool{0: true, 50: true, 51: false, 1 << 40: false} {
		if got := s.Takes(size); got != want {
			t.Errorf("%d bytes: %v", size, got)
		}
	}
}

func TestOf(t *testing.T) {
	s, err := Of(t.TempDir())
	if err != nil || s.Free <= 0 || s.Total < s.Free || s.Reserve != min(1<<30, s.Total/20) {
		t.Errorf("%+v, %v", s, err)
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := Of(missing); err == nil || !strings.HasPrefix(err.Error(), "look how much room there is at "+missing+": ") {
		t.Errorf("%v", err)
	}
}

// A small disk that has no room for an upload, fills up, and has room again, says so, once
// each; and of an upload again after a while.
func TestWatch(t *testing.T) {
	disktest.Run(t, "16m", testWatch)
}

func testWatch(t *testing.T, folder string) {
	var log bytes.Buffer
	w := New(folder, logtest.Timeless(&log))
	const mib = 1 << 20
	if !w.Takes(14*mib) || w.Takes(20*mib) || w.Takes(21*mib) || w.full.Load() {
		t.Errorf("at first: full %v, %s", w.full.Load(), &log)
	}
	file := filepath.Join(folder, "large")
	if err := os.WriteFile(file, make([]byte, 16*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	w.said.Store(nil)
	for range 2 {
		if w.Takes(0) || w.Takes(mib) || !w.full.Load() {
			t.Error("a full disk takes more")
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !w.Takes(mib) || w.full.Load() {
			t.Error("a disk with room takes nothing")
		}
	}
	for range 2 {
		before := time.Now().Add(-sayAgain)
		if w.said.Store(&before); w.Takes(20 * mib) {
			t.Error("it takes what is too large")
		}
	}
	const tooLarge = `level=WARN msg="the disk has no room for an upload, which is refused: make room on it, as larder prune does" ` +
		`size=20971520 free=\d+ reserve=838860 folder=\S+\n`
	want := regexp.MustCompile(`^` + tooLarge +
		`level=ERROR msg="the disk is nearly full: uploads are refused, and nothing is published, until there is room again; ` +
		`larder prune removes uploads that are published" free=\d+ reserve=838860 folder=\S+\n` +
		`level=INFO msg="there is room on the disk again: uploads are taken" free=\d+ folder=\S+\n` + tooLarge + tooLarge + `$`)
	if !want.MatchString(log.String()) {
		t.Errorf("it logged\n%s", &log)
	}
}

// A disk that cannot be looked at keeps nobody from uploading, and is looked at now and
// then all the same.
func TestWatchOfAMissingFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		missing := filepath.Join(t.TempDir(), "none")
		var log bytes.Buffer
		w := New(missing, logtest.Timeless(&log))
		line := `level=WARN msg="the disk cannot be watched" error="look how much room there is at ` + missing + `: no such file or directory"` + "\n"
		if !w.Takes(1<<62) || log.String() != line {
			t.Errorf("it logged\n%s\nwant\n%s", &log, line)
		}
		log.Reset()
		ctx, end := context.WithTimeout(t.Context(), 2*lookEvery+time.Second)
		defer end()
		if w.Run(ctx); log.String() != strings.Repeat(line, 3) {
			t.Errorf("it logged\n%s", &log)
		}
	})
}
