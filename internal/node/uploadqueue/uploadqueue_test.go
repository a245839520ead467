package uploadqueue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func always() bool { return true }

// counter counts runs, and how many there were at once.
type counter struct {
	mu             sync.Mutex
	now, most, all int
}

// sleep is a run that takes so long.
func (c *counter) sleep(duration time.Duration) {
	c.mu.Lock()
	c.now++
	c.most = max(c.most, c.now)
	c.mu.Unlock()
	time.Sleep(duration)
	c.mu.Lock()
	c.now--
	c.all++
	c.mu.Unlock()
}

// take returns how many runs have ended since the last call, and how many there were at once.
func (c *counter) take() (all, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, most = c.all, c.most
	c.all, c.most = 0, 0
	return all, most
}

func TestEveryNoticedKeyIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen sync.Map
		i := New(func(_ context.Context, key string) error { seen.Store(key, true); return nil }, always, quiet())
		done := make(chan struct{})
		go func() { i.Run(ctx); close(done) }()
		for n := range 1000 {
			i.Notice(fmt.Sprint(n))
		}
		synctest.Wait()
		for n := range 1000 {
			if _, ok := seen.Load(fmt.Sprint(n)); !ok {
				t.Errorf("key %d was not published", n)
			}
		}
		if len(i.keys) != 0 {
			t.Errorf("%d keys are still remembered", len(i.keys))
		}
		cancel()
		<-done
	})
}

// Who uploads much, and what takes long to publish, must not hold up other namespaces.
func TestNamespacesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var order []string
		publish := func(_ context.Context, key string) error {
			time.Sleep(time.Minute)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, key)
			return nil
		}
		q := New(publish, always, quiet())
		done := make(chan struct{})
		go func() { q.Run(ctx); close(done) }()
		for n := range 10 * workers {
			q.Notice(fmt.Sprintf("modules/many/m%d/null/1.0.0.zip", n))
		}
		time.Sleep(time.Second)
		few := []string{"modules/few/vpc/aws/1.0.0.zip", "providers/other/widget/x.zip"}
		for _, key := range few {
			q.Notice(key)
		}
		time.Sleep(2 * time.Minute)
		mu.Lock()
		for _, key := range few {
			if at := slices.Index(order, key); at < workers || at >= 2*workers {
				t.Errorf("%s was published as number %d, want it in the next %d", key, at, workers)
			}
		}
		mu.Unlock()
		time.Sleep(time.Hour)
		cancel()
		<-done
		if len(order) != 10*workers+len(few) || len(q.lanes) != 0 || q.waiting() != 0 {
			t.Errorf("published %d; %d lanes are left, %d keys wait", len(order), len(q.lanes), q.waiting())
		}
	})
}

func TestOneKeyIsNeverPublishedTwiceAtOnceAndAChangeDuringARunIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var runs counter
		i := New(func(context.Context, string) error { runs.sleep(time.Second); return nil }, always, quiet())
		go i.Run(ctx)
		i.Notice("key")
		time.Sleep(500 * time.Millisecond) // it is running
		i.Notice("key")
		i.Notice("key")
		time.Sleep(10 * time.Second)
		if all, most := runs.take(); most != 1 || all != 2 {
			t.Errorf("at most %d at once (want 1), %d runs (want 2)", most, all)
		}
	})
}

// Whoever uploads after a start does not wait until all uploads there ever were have been looked at.
func TestWhatIsNoticedComesBeforeWhatMayBeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		var order []string
		runs := map[string]int{}
		i := New(func(_ context.Context, key string) error {
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, key)
			runs[key]++
			return nil
		}, always, quiet())
		for n := range 100 {
			i.Later(fmt.Sprint(n))
		}
		go i.Run(ctx)
		time.Sleep(500 * time.Millisecond) // the first are running
		i.Notice("new")
		i.Notice("99") // of which nothing is lost, too
		time.Sleep(2 * time.Second)
		mu.Lock()
		if at := slices.Index(order, "new"); at < 0 || at >= 2*workers {
			t.Errorf("what is new was published as number %d", at)
		}
		mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait() // what the workers wrote is read below, and there is nothing left to do for them
		for n := range 100 {
			if key := fmt.Sprint(n); runs[key] == 0 || runs[key] > 2 || runs[key] == 2 && key != "99" {
				t.Errorf("key %s was published %d times", key, runs[key])
			}
		}
		if len(i.keys) != 0 || len(i.later) != 0 {
			t.Errorf("%d keys are still remembered, and %d for later", len(i.keys), len(i.later))
		}
	})
}

// A key that is noticed is not published a second time beside that.
func TestWhatMayBeLaterIsNotPublishedTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var runs counter
		i := New(func(context.Context, string) error { runs.sleep(time.Second); return nil }, always, quiet())
		i.Later("key")
		i.Notice("key")
		go i.Run(ctx)
		time.Sleep(10 * time.Second)
		i.Later("key")
		time.Sleep(500 * time.Millisecond) // it is running
		i.Notice("key")
		time.Sleep(10 * time.Second)
		if all, most := runs.take(); most != 1 || all != 3 {
			t.Errorf("at most %d at once (want 1), %d runs (want 3)", most, all)
		}
	})
}

func TestAFailureIsTriedAgainAndDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var poisoned, fine atomic.Int32
		i := New(func(_ context.Context, key string) error {
			if key == "poisoned" {
				poisoned.Add(1)
				return errors.New("storage is down")
			}
			fine.Add(1)
			return nil
		}, always, quiet())
		go i.Run(ctx)
		i.Notice("poisoned")
		for n := range 100 {
			i.Notice(fmt.Sprint(n))
		}
		time.Sleep(time.Hour)
		if fine.Load() != 100 {
			t.Errorf("%d of 100 others were published", fine.Load())
		}
		if n := poisoned.Load(); n < 60 || n > 70 {
			t.Errorf("tried %d times in an hour; once a minute was the plan, after the first few", n)
		}
	})
}

// Keys that fail slowly, and more of them than there are workers, leave all but one
// of these to the others.
func TestFailuresNeverTakeAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var failing counter
		i := New(func(_ context.Context, key string) error {
			if key[0] != 'p' {
				return nil
			}
			failing.sleep(10 * time.Minute)
			return errors.New("storage is down")
		}, always, quiet())
		done := make(chan struct{})
		go func() { i.Run(ctx); close(done) }()
		for n := range 3 * workers {
			i.Notice(fmt.Sprint("poisoned ", n))
		}
		time.Sleep(time.Hour) // each has failed once
		failing.take()
		for n := range 100 {
			i.Notice(fmt.Sprint("fine ", n))
			time.Sleep(time.Second)
			i.mu.Lock()
			if i.keys[fmt.Sprint("fine ", n)] != nil {
				t.Errorf("upload %d is not published within a second", n)
			}
			i.mu.Unlock()
		}
		time.Sleep(10 * time.Hour)
		if _, most := failing.take(); most != 1 {
			t.Errorf("%d that had failed before were tried at once, want one", most)
		}
		cancel()
		<-done
	})
}

// While the disk is full, nothing is tried, and the log says that once. An upload that fails
// afterwards, since it is too large for the room that there is, does not stop a small one.
func TestUploadsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var hasRoom atomic.Bool
		var tries, published atomic.Int32
		var log bytes.Buffer
		i := New(func(_ context.Context, key string) error {
			tries.Add(1)
			if key == "large" {
				return errors.New("no space left on device")
			}
			published.Add(1)
			return nil
		}, hasRoom.Load, slog.New(slog.NewTextHandler(&log, nil)))
		go i.Run(ctx)
		i.Later("large")
		synctest.Wait() // it waits now
		for n := range 200 {
			i.Later(fmt.Sprint(n))
		}
		i.Notice("new")
		time.Sleep(48 * time.Hour)
		synctest.Wait() // the log is read below, and nothing writes to it before there is room
		want := `level=WARN msg="uploads wait until the disk has room, and are published then: make room on it, as larder prune does" waiting=202` + "\n"
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, want) {
			t.Errorf("the log is %q, want one line that ends with %q", got, want)
		}
		if tries.Load() != 0 {
			t.Errorf("%d were tried without room", tries.Load())
		}
		log.Reset()
		hasRoom.Store(true)
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		if published.Load() != 201 {
			t.Errorf("%d of 201 small ones are published", published.Load())
		}
	})
}

// It is left after about a day, says so, and is taken up again when it is noticed.
func TestAFailureIsNotTriedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var tries atomic.Int32
		var log bytes.Buffer
		i := New(func(context.Context, string) error { tries.Add(1); return errors.New("it cannot be written") }, always, slog.New(slog.NewTextHandler(&log, nil)))
		go i.Run(ctx)
		for _, want := range []int32{maxTries, 2 * maxTries} {
			i.Notice("key")
			time.Sleep(23 * time.Hour)
			if tries.Load() >= want {
				t.Fatalf("it is tried %d times in less than a day", tries.Load())
			}
			time.Sleep(100 * time.Hour)
			synctest.Wait() // the log is read below, and nothing writes to it before the next notice
			if tries.Load() != want || len(i.keys) != 0 || !strings.Contains(log.String(), `will not be tried again: mend what is wrong, and upload it again or restart the server" key=key error="it cannot be written" tries=1440`) {
				t.Errorf("tried %d times, want %d; %d keys are remembered", tries.Load(), want, len(i.keys))
			}
			log.Reset()
		}
	})
}

func TestRunEndsWithItsContextAndWaitsForWhatIsInWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Bool
		i := New(func(ctx context.Context, _ string) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended.Store(true)
			return ctx.Err()
		}, always, quiet())
		i.Notice("key")
		done := make(chan struct{})
		go func() { i.Run(ctx); close(done) }()
		synctest.Wait()
		cancel()
		<-done
		if !ended.Load() {
			t.Error("Run returned while a key was in work")
		}
	})
}
