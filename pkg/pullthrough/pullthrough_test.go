package pullthrough

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/pkg/protocol"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

// origin is a registry that has hashicorp/time 1.0.0 and 1.1.0, and is asked,
// and fails, as the test says. What a real one may do is in the tests of upstream.
type origin struct {
	fail     error
	slow     chan struct{} // answers wait for it, if there is one
	lists    atomic.Int64
	finds    atomic.Int64
	fetches  atomic.Int64
	download func(w io.Writer) error
}

var (
	linux  = registry.Platform{OS: "linux", Arch: "amd64"}
	darwin = registry.Platform{OS: "darwin", Arch: "arm64"}
	solar  = registry.Platform{OS: "solaris", Arch: "sparc"}
)

func mustVersion(s string) registry.Version {
	v, err := registry.ParseVersion(s)
	if err != nil {
		panic(err)
	}
	return v
}

func (o *origin) wait() {
	if o.slow != nil {
		<-o.slow
	}
}

func (o *origin) Versions(context.Context, registry.ProviderAddress) ([]upstream.Version, error) {
	o.lists.Add(1)
	o.wait()
	if o.fail != nil {
		return nil, o.fail
	}
	return []upstream.Version{
		{Version: mustVersion("1.0.0"), Platforms: []registry.Platform{linux, darwin, solar}},
		{Version: mustVersion("1.1.0"), Platforms: []registry.Platform{linux}},
		{Version: mustVersion("1.2.0"), Platforms: []registry.Platform{solar}},
	}, nil
}

func (o *origin) Packages(_ context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) (found []upstream.Package, err error) {
	o.finds.Add(1)
	o.wait()
	if o.fail != nil {
		return nil, o.fail
	}
	for _, platform := range platforms {
		found = append(found, upstream.Package{Address: a, Version: v, Platform: platform, URL: "https://origin.example/" + platform.String(), SHA256: "5a"})
	}
	return found, nil
}

func (o *origin) Download(_ context.Context, _ upstream.Package, w io.Writer) (int64, error) {
	o.fetches.Add(1)
	if o.download != nil {
		return 0, o.download(w)
	}
	n, err := io.WriteString(w, "archive")
	return int64(n), err
}

// a puller of linux_amd64 and darwin_arm64 from an origin, and what it wants.
func newPuller(t *testing.T, o *origin, log io.Writer) (p *Puller, wanted *[]string) {
	t.Helper()
	patterns, err := ParsePatterns("registry.terraform.io/hashicorp/*")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	wanted = new([]string)
	return New(Config{
		Origins: o, Patterns: patterns, Platforms: []registry.Platform{linux, darwin}, Log: slog.New(slog.NewTextHandler(log, nil)),
		Want: func(_ context.Context, w Wanted) error {
			mu.Lock()
			defer mu.Unlock()
			*wanted = append(*wanted, w.String())
			return nil
		},
	}), wanted
}

func text[T fmt.Stringer](list []T) (texts []string) {
	for _, item := range list {
		texts = append(texts, item.String())
	}
	return texts
}

func offered(offers []protocol.Offer) (platforms []string) {
	for _, offer := range offers {
		platforms = append(platforms, offer.Platform.String())
	}
	return platforms
}

func nothing(registry.Platform) bool { return false }

// What the mirror lacks is offered and wanted; what it has is neither, nor what
// is not for the platforms of the team.
func TestWhatIsMissingIsOffered(t *testing.T) {
	o := &origin{}
	p, wanted := newPuller(t, o, io.Discard)
	timeProvider := address(t, "registry.terraform.io/hashicorp/time")
	if got := text(p.Versions(t.Context(), timeProvider)); !slices.Equal(got, []string{"1.0.0", "1.1.0"}) {
		t.Errorf("the versions are %q", got)
	}
	for _, tt := range []struct {
		version string
		has     func(registry.Platform) bool
		want    []string
	}{
		{"1.0.0", nothing, []string{"linux_amd64", "darwin_arm64"}},
		{"1.0.0", func(platform registry.Platform) bool { return platform == linux }, []string{"darwin_arm64"}},
		{"1.1.0", func(platform registry.Platform) bool { return platform == linux }, nil},
		{"1.2.0", nothing, nil},
		{"9.9.9", nothing, nil},
	} {
		*wanted = nil
		got := p.Packages(t.Context(), timeProvider, mustVersion(tt.version), tt.has)
		if !slices.Equal(offered(got), tt.want) {
			t.Errorf("of %s are offered %q, want %q", tt.version, offered(got), tt.want)
		}
		for i, platform := range tt.want {
			if name := "registry.terraform.io/hashicorp/time/terraform-provider-time_" + tt.version + "_" + platform + ".zip"; (*wanted)[i] != name {
				t.Errorf("wanted is %q, want %q", *wanted, name)
			}
		}
	}
	asked := o.lists.Load() + o.finds.Load()
	if p.Versions(t.Context(), address(t, "registry.terraform.io/acme/widget")) != nil ||
		p.Packages(t.Context(), address(t, "registry.opentofu.org/hashicorp/time"), mustVersion("1.0.0"), nothing) != nil ||
		o.lists.Load()+o.finds.Load() != asked {
		t.Error("an origin was asked for what is not pulled through")
	}
}

// Fifty clients at once ask their origin once, and the next ones not at all.
func TestManyAskOnce(t *testing.T) {
	o := &origin{slow: make(chan struct{})}
	p, _ := newPuller(t, o, io.Discard)
	a := address(t, "registry.terraform.io/hashicorp/time")
	var asking sync.WaitGroup
	for range 50 {
		asking.Go(func() {
			if got := p.Packages(t.Context(), a, mustVersion("1.0.0"), nothing); len(got) != 2 {
				t.Errorf("offered %v", got)
			}
		})
	}
	close(o.slow)
	asking.Wait()
	p.Packages(t.Context(), a, mustVersion("1.0.0"), nothing)
	if o.lists.Load() != 1 || o.finds.Load() != 1 {
		t.Errorf("the origin was asked %d and %d times", o.lists.Load(), o.finds.Load())
	}
}

// attentive is an origin that has nothing for those who are gone.
type attentive struct{ *origin }

func (a attentive) Versions(ctx context.Context, provider registry.ProviderAddress) ([]upstream.Version, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return a.origin.Versions(ctx, provider)
}

// A client that is gone takes no answer from those who come after it.
func TestAClientThatLeaves(t *testing.T) {
	p, _ := newPuller(t, &origin{}, io.Discard)
	p.Origins = attentive{&origin{}}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, ctx := range []context.Context{gone, t.Context()} {
		if got := p.Versions(ctx, address(t, "registry.terraform.io/hashicorp/time")); len(got) != 2 {
			t.Errorf("the versions are %v", got)
		}
	}
}

// An origin that fails has nothing, is left alone for a while, and asked again.
func TestAnOriginThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			err  error
			said string
		}{
			{errors.New("connection refused"), "does not answer"},
			{&upstream.Untrusted{}, "not to be trusted"},
			{registry.ErrNotFound, ""},
		} {
			var log bytes.Buffer
			o := &origin{fail: tt.err}
			p, wanted := newPuller(t, o, &log)
			a := address(t, "registry.terraform.io/hashicorp/time")
			for range 5 {
				if got := p.Versions(t.Context(), a); got != nil {
					t.Errorf("%v: the versions are %v", tt.err, got)
				}
			}
			if o.lists.Load() != 1 || !strings.Contains(log.String(), tt.said) || (tt.said == "") != (log.Len() == 0) {
				t.Errorf("%v: asked %d times, and said %q", tt.err, o.lists.Load(), &log)
			}
			time.Sleep(failedFor + time.Second)
			o.fail = nil
			if got := p.Versions(t.Context(), a); len(got) != 2 {
				t.Errorf("%v: later the versions are %v", tt.err, got)
			}
			o.fail = tt.err
			if got := p.Packages(t.Context(), a, mustVersion("1.0.0"), nothing); got != nil || len(*wanted) > 0 {
				t.Errorf("%v: offered %v, wanted %q", tt.err, got, *wanted)
			}
			time.Sleep(versionsFor)
			if got := p.Versions(t.Context(), a); got != nil {
				t.Errorf("%v: an old answer was given: %v", tt.err, got)
			}
		}
	})
}

// An origin that does not answer in time is not asked for anything for a while,
// and many who wait for it are answered before they give up, with one line of log.
func TestAnOriginThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := &origin{fail: errors.New("no answer")}
		p, _ := newPuller(t, o, &log)
		p.Origins = hanging{o}
		began := time.Now()
		var asking sync.WaitGroup
		for range 50 {
			asking.Go(func() {
				p.Versions(t.Context(), address(t, "registry.terraform.io/hashicorp/time"))
				p.Packages(t.Context(), address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), nothing)
			})
		}
		asking.Wait()
		p.Versions(t.Context(), address(t, "registry.terraform.io/hashicorp/random"))
		if waited := time.Since(began); waited > lookupTime {
			t.Errorf("the clients waited for %v", waited)
		}
		if lines := strings.Count(log.String(), "\n"); o.lists.Load() != 1 || lines != 1 {
			t.Errorf("asked %d times, with %d lines of log:\n%s", o.lists.Load(), lines, &log)
		}
		time.Sleep(failedFor + time.Second)
		p.Versions(t.Context(), address(t, "registry.terraform.io/hashicorp/random"))
		if o.lists.Load() != 2 {
			t.Error("it is never asked again")
		}
	})
}

// hanging is an origin that says nothing for as long as it is listened to.
type hanging struct{ *origin }

func (h hanging) Versions(ctx context.Context, _ registry.ProviderAddress) ([]upstream.Version, error) {
	h.lists.Add(1)
	<-ctx.Done()
	return nil, fmt.Errorf("no answer: %w", context.Cause(ctx))
}

// However many providers are asked for at once, few questions are open, and who
// waits for a turn that does not come is answered in time.
func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{}
		p, _ := newPuller(t, o, io.Discard)
		p.Origins = hanging{o}
		began := time.Now()
		var asking sync.WaitGroup
		for i := range 10 * lookupsAtOnce {
			asking.Go(func() { p.Versions(t.Context(), address(t, fmt.Sprintf("registry.terraform.io/hashicorp/p%d", i))) })
		}
		asking.Wait()
		if waited := time.Since(began); o.lists.Load() > lookupsAtOnce || waited > lookupTime {
			t.Errorf("asked %d times at once, for %v", o.lists.Load(), waited)
		}
	})
}

// A version of which everything is here that could be wanted needs no origin.
func TestACompleteVersionNeedsNoOrigin(t *testing.T) {
	o := &origin{}
	p, _ := newPuller(t, o, io.Discard)
	everything := func(registry.Platform) bool { return true }
	if got := p.Packages(t.Context(), address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), everything); got != nil || o.lists.Load()+o.finds.Load() > 0 {
		t.Errorf("offered %v, after %d questions", got, o.lists.Load()+o.finds.Load())
	}
}

// What cannot be fetched now is offered all the same.
func TestWhatIsOfferedWithoutAQueue(t *testing.T) {
	p, _ := newPuller(t, &origin{}, io.Discard)
	p.Want = func(context.Context, Wanted) error { return errors.New("the queue is full") }
	if got := p.Packages(t.Context(), address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.1.0"), nothing); len(got) != 1 {
		t.Errorf("offered %v", got)
	}
}

// inbox is what was uploaded.
type inbox struct {
	mu   sync.Mutex
	keys map[string]string
	fail error
}

func (i *inbox) Head(_ context.Context, key string) (publish.Object, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, ok := i.keys[key]; !ok {
		return publish.Object{}, registry.ErrNotFound
	}
	return publish.Object{Key: key}, nil
}

func (i *inbox) Put(_ context.Context, key string, body io.ReadSeeker, size int64) error {
	data, err := io.ReadAll(body)
	if err != nil || int64(len(data)) != size {
		return fmt.Errorf("%d bytes of %d: %w", len(data), size, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fail != nil {
		return i.fail
	}
	if i.keys == nil {
		i.keys = map[string]string{}
	}
	i.keys[key] = string(data)
	return nil
}

// A package is brought once, whole, and not before it is known to be right.
func TestFetch(t *testing.T) {
	a := address(t, "registry.terraform.io/hashicorp/time")
	w := Wanted{a, mustVersion("1.0.0"), linux}
	o, in := &origin{}, &inbox{}
	f := &Fetcher{Source: o, Inbox: in, Scratch: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
	wrong := &upstream.Untrusted{}
	for _, fault := range []func(){
		func() { o.fail = errors.New("connection refused") },
		func() { o.fail, o.download = nil, func(w io.Writer) error { w.Write([]byte("arch")); return wrong } },
		func() { o.download, in.fail = nil, errors.New("no bucket") },
	} {
		fault()
		if err := f.Fetch(t.Context(), w); err == nil || !strings.Contains(err.Error(), w.String()) || len(in.keys) > 0 {
			t.Errorf("fetched %v, %v", in.keys, err)
		}
	}
	in.fail = nil
	before := o.fetches.Load()
	for range 2 {
		if err := f.Fetch(t.Context(), w); err != nil {
			t.Error(err)
		}
	}
	if got := in.keys["mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_1.0.0_linux_amd64.zip"]; got != "archive" || o.fetches.Load() != before+1 {
		t.Errorf("the inbox has %v, after %d downloads", in.keys, o.fetches.Load()-before)
	}
}

// However many want a package, it is fetched once at a time; whether that
// failed or not, it rests, and is fetched when it is wanted later; and the worker
// ends with its context.
func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Wanted{address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), linux}
		proceed := make(chan error)
		fetched := 0
		worker := NewWorker(func(ctx context.Context, _ Wanted) error {
			fetched++
			select {
			case err := <-proceed:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { worker.Run(ctx); close(done) }()
		want := func(times int) {
			t.Helper()
			for range 50 {
				if err := worker.Want(t.Context(), w); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait()
			if fetched != times {
				t.Errorf("fetched %d times, want %d", fetched, times)
			}
		}
		want(1)
		want(1)
		proceed <- errors.New("connection refused")
		synctest.Wait()
		want(1)
		time.Sleep(restFor + time.Second)
		want(2)
		proceed <- nil
		synctest.Wait()
		want(2)
		time.Sleep(restFor + time.Second)
		want(3)
		cancel()
		<-done
	})
}

// However many packages are fetched, they do not fill the memory.
func TestWhatRestsIsForgotten(t *testing.T) {
	worker := NewWorker(nil, slog.New(slog.DiscardHandler))
	a := address(t, "registry.terraform.io/hashicorp/time")
	for i := range 3 * maxPending {
		worker.done(Wanted{a, mustVersion(fmt.Sprintf("1.%d.0", i)), linux})
	}
	if len(worker.resting) > maxPending {
		t.Errorf("%d packages are remembered", len(worker.resting))
	}
}

func TestWorkerIsBounded(t *testing.T) {
	worker := NewWorker(nil, slog.New(slog.DiscardHandler))
	a := address(t, "registry.terraform.io/hashicorp/time")
	for i := range maxPending {
		if err := worker.Want(t.Context(), Wanted{a, mustVersion(fmt.Sprintf("1.%d.0", i)), linux}); err != nil {
			t.Fatal(err)
		}
	}
	if err := worker.Want(t.Context(), Wanted{a, mustVersion("2.0.0"), linux}); err == nil {
		t.Error("there is no end to what may wait")
	}
}
