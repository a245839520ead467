package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestEveryNoticedKeyIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var seen sync.Map
		i := New(func(_ context.Context, key string) error { seen.Store(key, true); return nil }, quiet())
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

func TestOneKeyIsNeverPublishedTwiceAtOnceAndAChangeDuringARunIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at, most, runs atomic.Int32
		i := New(func(context.Context, string) error {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(time.Second)
			at.Add(-1)
			runs.Add(1)
			return nil
		}, quiet())
		go i.Run(ctx)
		i.Notice("key")
		time.Sleep(500 * time.Millisecond) // it is running
		i.Notice("key")
		i.Notice("key")
		time.Sleep(10 * time.Second)
		if most.Load() != 1 || runs.Load() != 2 {
			t.Errorf("at most %d at once (want 1), %d runs (want 2)", most.Load(), runs.Load())
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
		}, quiet())
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

func TestRunEndsWithItsContextAndWaitsForWhatIsInWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Bool
		i := New(func(ctx context.Context, _ string) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended.Store(true)
			return ctx.Err()
		}, quiet())
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
