// Package disk watches how much room there is on the disk of a data folder, so that a
// registry refuses uploads before the disk is full: the room that is left is for records.
package disk

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// Uploads leave maxReserve bytes of a disk free, and of a small disk one part in
	// shareOfDisk. Records, outcomes and the databases need a few KiB for each upload.
	maxReserve  = 1 << 30
	shareOfDisk = 20

	// lookEvery is the time between two looks at the disk while nothing is uploaded.
	lookEvery = 10 * time.Second

	// sayAgain is the shortest time between two lines of the log about uploads that are
	// too large for the disk: clients try again, and send many parts.
	sayAgain = time.Minute
)

// Space is how much room there is, in bytes.
type Space struct {
	Free    int64 // what the process's user can write
	Total   int64
	Reserve int64 // what uploads leave free
}

// Of looks at the disk that a folder is on.
func Of(folder string) (Space, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		return Space{}, fmt.Errorf("look how much room there is at %s: %w", folder, err)
	}
	block := int64(stat.Bsize)
	s := Space{Free: int64(stat.Bavail) * block, Total: int64(stat.Blocks) * block}
	s.Reserve = min(maxReserve, s.Total/shareOfDisk)
	return s, nil
}

// Takes says whether there is room for size bytes and the reserve.
func (s Space) Takes(size int64) bool { return s.Free-size >= s.Reserve }

// Watch watches the disk of a folder. It is safe for concurrent use.
type Watch struct {
	folder string
	log    *slog.Logger
	full   atomic.Bool               // at the last look
	said   atomic.Pointer[time.Time] // when the log last named an upload that was too large
}

// New watches the disk of a folder, and logs when it becomes full or has room again.
func New(folder string, log *slog.Logger) *Watch { return &Watch{folder: folder, log: log} }

// Takes says whether there is room for an upload of size bytes. If the disk cannot be
// looked at, there is.
func (w *Watch) Takes(size int64) bool {
	s, err := Of(w.folder)
	if err != nil {
		w.log.Warn("the disk cannot be watched", "error", err)
		return true
	}
	w.note(s)
	if s.Takes(0) && !s.Takes(size) {
		w.tooLarge(s, size)
	}
	return s.Takes(size)
}

// tooLarge logs that an upload is refused for its size.
func (w *Watch) tooLarge(s Space, size int64) {
	now, last := time.Now(), w.said.Load()
	if last != nil && now.Sub(*last) < sayAgain || !w.said.CompareAndSwap(last, &now) {
		return
	}
	w.log.Warn("the disk has no room for an upload, which is refused: make room on it, as larder prune does",
		"size", size, "free", s.Free, "reserve", s.Reserve, "folder", w.folder)
}

// note logs when the disk becomes full, and when there is room again.
func (w *Watch) note(s Space) {
	full := !s.Takes(0)
	if w.full.Swap(full) == full {
		return
	}
	if full {
		w.log.Error("the disk is nearly full: uploads are refused, and nothing is published, until there is room again; larder prune removes uploads that are published",
			"free", s.Free, "reserve", s.Reserve, "folder", w.folder)
		return
	}
	w.log.Info("there is room on the disk again: uploads are taken", "free", s.Free, "folder", w.folder)
}

// Run looks at the disk now and then, until the context ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		w.Takes(0)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
