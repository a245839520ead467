package pullthrough

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/protocol"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

// origin is a registry that has hashicorp/time 1.0.0 and 1.1.0, and is asked,
// and fails, as the test says. What a real one may do is in the tests of upstream.
type origin struct {
	fail  error
	slow  chan struct{} // answers wait for it, if there is one
	lists atomic.Int64
	finds atomic.Int64
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
		Upstream: o, Patterns: patterns, Platforms: []registry.Platform{linux, darwin}, Logger: slog.New(slog.NewTextHandler(log, nil)),
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

// offers are those of hashicorp/time for some platforms, as they are at the origin.
func offers(platforms ...registry.Platform) (offers []protocol.Offer) {
	for _, platform := range platforms {
		offers = append(offers, protocol.Offer{Platform: platform, URL: "https://origin.example/" + platform.String(), SHA256: "5a"})
	}
	return offers
}

// names are those of packages of hashicorp/time, as they are wanted.
func names(version string, platforms ...registry.Platform) (names []string) {
	for _, platform := range platforms {
		names = append(names, "registry.terraform.io/hashicorp/time/terraform-provider-time_"+version+"_"+platform.String()+".zip")
	}
	return names
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
	hasLinux := func(platform registry.Platform) bool { return platform == linux }
	for _, tt := range []struct {
		version string
		has     func(registry.Platform) bool
		want    []registry.Platform
	}{
		{"1.0.0", nothing, []registry.Platform{linux, darwin}},
		{"1.0.0", hasLinux, []registry.Platform{darwin}},
		{"1.1.0", hasLinux, nil},
		{"1.2.0", nothing, nil},
		{"9.9.9", nothing, nil},
	} {
		*wanted = nil
		got := p.Packages(t.Context(), timeProvider, mustVersion(tt.version), tt.has)
		if !slices.Equal(got, offers(tt.want...)) {
			t.Errorf("of %s are offered %v, want %v", tt.version, got, offers(tt.want...))
		}
		if want := names(tt.version, tt.want...); !slices.Equal(*wanted, want) {
			t.Errorf("wanted is %q, want %q", *wanted, want)
		}
	}
	asked := o.lists.Load() + o.finds.Load()
	if p.Versions(t.Context(), address(t, "registry.terraform.io/acme/widget")) != nil ||
		p.Packages(t.Context(), address(t, "registry.opentofu.org/hashicorp/time"), mustVersion("1.0.0"), nothing) != nil ||
		o.lists.Load()+o.finds.Load() != asked {
		t.Error("an origin was asked for what is not pulled through")
	}
}

// A team that names no platforms is offered all of them.
func TestAllPlatforms(t *testing.T) {
	o := &origin{}
	p, wanted := newPuller(t, o, io.Discard)
	p.Platforms = nil
	a := address(t, "registry.terraform.io/hashicorp/time")
	if got := text(p.Versions(t.Context(), a)); !slices.Equal(got, []string{"1.0.0", "1.1.0", "1.2.0"}) {
		t.Errorf("the versions are %q", got)
	}
	for version, platforms := range map[string][]registry.Platform{"1.0.0": {linux, darwin, solar}, "1.2.0": {solar}} {
		*wanted = nil
		if got := p.Packages(t.Context(), a, mustVersion(version), nothing); !slices.Equal(got, offers(platforms...)) {
			t.Errorf("of %s are offered %v, want %v", version, got, offers(platforms...))
		}
		if want := names(version, platforms...); !slices.Equal(*wanted, want) {
			t.Errorf("wanted is %q, want %q", *wanted, want)
		}
	}
	everything := func(registry.Platform) bool { return true }
	if got := p.Packages(t.Context(), a, mustVersion("1.1.0"), everything); got != nil || o.finds.Load() != 2 {
		t.Errorf("of a version that is here whole are offered %v, after %d questions", got, o.finds.Load())
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
			if got := p.Packages(t.Context(), a, mustVersion("1.0.0"), nothing); !slices.Equal(got, offers(linux, darwin)) {
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

// attentive is an origin that fails when its client has gone.
type attentive struct {
	*origin
	contexts *[]context.Context
}

func (a attentive) Versions(ctx context.Context, provider registry.ProviderAddress) ([]upstream.Version, error) {
	*a.contexts = append(*a.contexts, ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return a.origin.Versions(ctx, provider)
}

// When a client has gone, the next one still gets the answer.
func TestAClientThatLeaves(t *testing.T) {
	p, _ := newPuller(t, &origin{}, io.Discard)
	var contexts []context.Context
	p.Upstream = attentive{&origin{}, &contexts}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, ctx := range []context.Context{gone, t.Context()} {
		if got := p.Versions(ctx, address(t, "registry.terraform.io/hashicorp/time")); len(got) != 2 {
			t.Errorf("the versions are %v", got)
		}
	}
	if len(contexts) != 1 || contexts[0].Err() == nil {
		t.Errorf("%d questions, of which the last one is not over", len(contexts))
	}
}

// Few answers are kept, and all of them while they are few.
func TestCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, asked := newCache[int](), 0
		get := func(key int) int {
			return c.get(fmt.Sprint(key), func() (int, time.Duration) { asked++; return key, time.Minute })
		}
		for range 2 {
			for key := range maxCached {
				if got := get(key); got != key {
					t.Errorf("under %d is %d", key, got)
				}
			}
		}
		if asked != maxCached {
			t.Errorf("asked %d times for %d answers", asked, maxCached)
		}
		before := asked
		for key := range maxCached + 1 {
			get(key)
		}
		for key := range maxCached + 1 {
			get(key)
		}
		if asked == before+1 {
			t.Errorf("all of %d answers are kept", maxCached+1)
		}
		get(maxCached)
		time.Sleep(time.Minute - time.Nanosecond)
		before = asked
		if get(maxCached); asked != before {
			t.Error("an answer that is good is asked for again")
		}
		time.Sleep(time.Nanosecond)
		if get(maxCached); asked == before {
			t.Error("an answer that is no good any more is given")
		}
	})
}

// What is asked for in vain ends soonest, and drives nothing out that is good for
// longer; what is good for no time is not kept at all.
func TestCacheKeepsWhatIsGoodForLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache[string]()
		c.get("good", func() (string, time.Duration) { return "answer", versionsFor })
		for i := range 3 * maxCached {
			c.get(fmt.Sprint(i), func() (string, time.Duration) { return "", failedFor })
		}
		if got := c.get("good", func() (string, time.Duration) { return "another", 0 }); got != "answer" {
			t.Errorf("it is %q", got)
		}
		c.get("never", func() (string, time.Duration) { return "no good", 0 })
		if got := c.get("never", func() (string, time.Duration) { return "another", 0 }); got != "another" {
			t.Errorf("an answer is kept that is %s", got)
		}
	})
}

// slow is an origin that takes its time.
type slow struct{ *origin }

func (s slow) Versions(ctx context.Context, a registry.ProviderAddress) ([]upstream.Version, error) {
	time.Sleep(lookupTime - time.Second)
	return s.origin.Versions(ctx, a)
}

// Whoever asks for many providers at once takes all the turns there are, and keeps
// nobody from what the mirror has: that waits for no turn where it is whole, else
// for a bounded time. And when they are done, others have their turn at once.
func TestNobodyKeepsOthersFromWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{}
		p, _ := newPuller(t, o, io.Discard)
		p.Upstream = slow{o}
		var stranger sync.WaitGroup
		for i := range 10 * lookupsAtOnce {
			stranger.Go(func() { p.Versions(t.Context(), address(t, fmt.Sprintf("registry.terraform.io/hashicorp/p%d", i))) })
		}
		synctest.Wait()
		here, began := address(t, "registry.terraform.io/hashicorp/time"), time.Now()
		all := func(registry.Platform) bool { return true }
		if got := p.Packages(t.Context(), here, mustVersion("1.0.0"), all); got != nil || time.Since(began) != 0 {
			t.Errorf("a version that is whole is offered %v beside it, after %v", got, time.Since(began))
		}
		if got := p.Versions(t.Context(), here); got != nil || time.Since(began) > lookupTime {
			t.Errorf("without a turn the origin has %v, after %v", got, time.Since(began))
		}
		stranger.Wait()
		if got := p.Versions(t.Context(), here); len(got) != 2 {
			t.Errorf("when the others are done, the origin still has %v", got)
		}
	})
}

// An origin that fails has nothing, is left alone for a while, and asked again.
func TestAnOriginThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			err  error
			said string
		}{
			{errors.New("connection refused"), "does not answer"},
			{&upstream.Untrusted{}, "nothing of it is offered"},
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
		p.Upstream = hanging{o}
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

// oneHangs is two origins: registry.terraform.io says nothing, and the other answers.
type oneHangs struct{ hanging }

func (o oneHangs) Versions(ctx context.Context, a registry.ProviderAddress) ([]upstream.Version, error) {
	if a.Hostname == "registry.terraform.io" {
		return o.hanging.Versions(ctx, a)
	}
	return o.origin.Versions(ctx, a)
}

// That one host does not answer says nothing of another.
func TestOneOriginThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{}
		p, _ := newPuller(t, o, io.Discard)
		more, err := ParsePatterns("registry.opentofu.org/hashicorp/*")
		if err != nil {
			t.Fatal(err)
		}
		c := p.Config
		c.Upstream, c.Patterns = oneHangs{hanging{o}}, append(c.Patterns, more...)
		p = New(c)
		for _, tt := range []struct {
			address string
			has     int
			asked   int64
		}{
			{"registry.terraform.io/hashicorp/time", 0, 1}, {"registry.opentofu.org/hashicorp/time", 2, 2},
			{"registry.terraform.io/hashicorp/random", 0, 2}, {"registry.opentofu.org/hashicorp/random", 2, 3},
		} {
			if got := p.Versions(t.Context(), address(t, tt.address)); len(got) != tt.has || o.lists.Load() != tt.asked {
				t.Errorf("%s has %v, after %d questions, want %d", tt.address, got, o.lists.Load(), tt.asked)
			}
		}
	})
}

// However many providers are asked for at once, few questions are open, and who
// waits for a turn that does not come is answered in time.
func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &origin{}
		p, _ := newPuller(t, o, io.Discard)
		p.Upstream = hanging{o}
		began := time.Now()
		var asking sync.WaitGroup
		for i := range 10 * lookupsAtOnce {
			asking.Go(func() { p.Versions(t.Context(), address(t, fmt.Sprintf("registry.terraform.io/hashicorp/p%d", i))) })
		}
		asking.Wait()
		if waited := time.Since(began); o.lists.Load() > lookupsAtOnce || waited > lookupTime {
			t.Errorf("asked %d times at once, for %v", o.lists.Load(), waited)
		}
		time.Sleep(failedFor + time.Second)
		p.Upstream = o
		for i := range 10 * lookupsAtOnce {
			if got := p.Versions(t.Context(), address(t, fmt.Sprintf("registry.terraform.io/hashicorp/p%d", i))); len(got) != 2 {
				t.Fatalf("later, %d questions on, the versions are %v", i, got)
			}
		}
	})
}

// For a version with all its platforms in the mirror the origin is not asked.
func TestACompleteVersionNeedsNoOrigin(t *testing.T) {
	o := &origin{}
	p, _ := newPuller(t, o, io.Discard)
	everything := func(registry.Platform) bool { return true }
	if got := p.Packages(t.Context(), address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), everything); got != nil || o.lists.Load()+o.finds.Load() > 0 {
		t.Errorf("offered %v, after %d questions", got, o.lists.Load()+o.finds.Load())
	}
}

// What cannot be fetched now is offered all the same, and the rest is fetched.
func TestWhatIsOfferedWithoutAQueue(t *testing.T) {
	for fails, wantWanted := range [][]registry.Platform{{linux, darwin}, {darwin}, {linux}} {
		var log bytes.Buffer
		p, wanted := newPuller(t, &origin{}, &log)
		want, asked := p.Want, 0
		p.Want = func(ctx context.Context, w Wanted) error {
			if asked++; asked == fails {
				return errors.New("the queue is full")
			}
			return want(ctx, w)
		}
		got := p.Packages(t.Context(), address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), nothing)
		if !slices.Equal(got, offers(linux, darwin)) || !slices.Equal(*wanted, names("1.0.0", wantWanted...)) {
			t.Errorf("call %d fails: offered %v, wanted %q", fails, got, *wanted)
		}
		if strings.Contains(log.String(), "the queue is full") != (fails > 0) || (log.Len() > 0) != (fails > 0) {
			t.Errorf("call %d fails: the log is %q", fails, &log)
		}
	}
}

// If an origin lists a version and then has no package of it, or fails, its packages are not
// offered; the version is still listed.
func TestAnOriginThatFailsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := address(t, "registry.terraform.io/hashicorp/time")
		for _, tt := range []struct {
			err  error
			said string
		}{{errors.New("connection refused"), "does not answer"}, {&upstream.Untrusted{Problem: "a lie"}, "nothing of it is offered"}, {registry.ErrNotFound, ""}} {
			var log bytes.Buffer
			o := &origin{}
			p, wanted := newPuller(t, o, &log)
			if got := text(p.Versions(t.Context(), a)); !slices.Equal(got, []string{"1.0.0", "1.1.0"}) {
				t.Errorf("the versions are %q", got)
			}
			o.fail = tt.err
			for range 2 {
				if got := p.Packages(t.Context(), a, mustVersion("1.0.0"), nothing); got != nil || len(*wanted) > 0 {
					t.Errorf("%v: offered %v, wanted %q", tt.err, got, *wanted)
				}
			}
			if o.finds.Load() != 1 || !strings.Contains(log.String(), tt.said) || (tt.said == "") != (log.Len() == 0) {
				t.Errorf("%v: asked %d times, and said %q", tt.err, o.finds.Load(), &log)
			}
			if got := text(p.Versions(t.Context(), a)); !slices.Equal(got, []string{"1.0.0", "1.1.0"}) {
				t.Errorf("%v: the versions are %q", tt.err, got)
			}
			time.Sleep(failedFor + time.Second)
			o.fail = nil
			if got := p.Packages(t.Context(), a, mustVersion("1.0.0"), nothing); !slices.Equal(got, offers(linux, darwin)) {
				t.Errorf("%v: later are offered %v", tt.err, got)
			}
		}
	})
}

// steps are an origin and an inbox that fail at their n-th call.
type steps struct {
	keys   map[string]string // what was uploaded
	calls  []string
	n      int
	err    error
	has    []upstream.Package // what the origin has
	source string             // what is downloaded
}

func (s *steps) call(name string) error {
	s.calls = append(s.calls, name)
	if len(s.calls) == s.n {
		return s.err
	}
	return nil
}

func (s *steps) Head(_ context.Context, key string) (blob.Object, error) {
	if err := s.call("head"); err != nil {
		return blob.Object{}, err
	}
	if _, ok := s.keys[key]; !ok {
		return blob.Object{}, fmt.Errorf("head %s: %w", key, registry.ErrNotFound)
	}
	return blob.Object{Key: key}, nil
}

func (s *steps) Packages(_ context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) (found []upstream.Package, err error) {
	err = s.call(fmt.Sprintf("find %s %s %s", a, v, platforms))
	if err == nil {
		found = s.has
	}
	return found, err
}

// Download writes what there is, and fails, if it does, only then.
func (s *steps) Download(_ context.Context, p upstream.Package, w io.Writer) (int64, error) {
	n, err := io.WriteString(w, s.source)
	return int64(n), errors.Join(err, s.call("download "+p.URL))
}

func (s *steps) Put(_ context.Context, key string, body io.ReadSeeker, size int64) error {
	data, err := io.ReadAll(body)
	if err = errors.Join(err, s.call("put")); err != nil {
		return err
	}
	if int64(len(data)) != size {
		return fmt.Errorf("%d bytes of %d", len(data), size)
	}
	s.keys[key] = string(data)
	return nil
}

// A package is brought once, whole, and not before it is known to be right. What
// fails on the way leaves nothing behind, and is tried again.
func TestFetch(t *testing.T) {
	const key = "mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_1.0.0_linux_amd64.zip"
	w := Wanted{address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), linux}
	all := []string{"head", "find registry.terraform.io/hashicorp/time 1.0.0 [linux_amd64]", "download https://origin.example/1", "put"}
	broken := errors.New("broken")
	for _, err := range []error{broken, context.Canceled, &upstream.Untrusted{Problem: "a lie"}} {
		for n := 1; n <= len(all)+1; n++ {
			var log bytes.Buffer
			s := &steps{keys: map[string]string{}, n: n, err: err, has: []upstream.Package{{URL: "https://origin.example/1"}}, source: "archive"}
			f := &Fetcher{Source: s, Inbox: s, Scratch: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))}
			got := f.Fetch(t.Context(), w)
			left, dirErr := os.ReadDir(f.Scratch)
			if dirErr != nil || len(left) > 0 {
				t.Errorf("call %d fails: %v is left, %v", n, left, dirErr)
			}
			if n <= len(all) {
				if !errors.Is(got, err) || !strings.Contains(got.Error(), "terraform-provider-time_1.0.0_linux_amd64.zip") || len(s.keys) > 0 || !slices.Equal(s.calls, all[:n]) || log.Len() > 0 {
					t.Errorf("call %d fails: fetched %v, %v, by %q, and said %s", n, s.keys, got, s.calls, &log)
				}
				s.calls, s.n = nil, 0
				got = f.Fetch(t.Context(), w)
			}
			if got != nil || !slices.Equal(s.calls, all) || len(s.keys) != 1 || s.keys[key] != "archive" || !strings.Contains(log.String(), "fetched a package") {
				t.Errorf("fetched %v, %v, by %q, and said %s", s.keys, got, s.calls, &log)
			}
			s.calls = nil
			if got := f.Fetch(t.Context(), w); got != nil || !slices.Equal(s.calls, all[:1]) || !strings.Contains(log.String(), "in the inbox already") {
				t.Errorf("again: %v, by %q, and said %s", got, s.calls, &log)
			}
		}
	}
}

// An origin that has no such package leaves nothing to fetch.
func TestFetchOfNothing(t *testing.T) {
	s := &steps{keys: map[string]string{}}
	f := &Fetcher{Source: s, Inbox: s, Scratch: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	w := Wanted{address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), linux}
	if err := f.Fetch(t.Context(), w); !errors.Is(err, registry.ErrNotFound) || !strings.Contains(err.Error(), w.String()) || len(s.calls) != 2 {
		t.Errorf("%v, after %q", err, s.calls)
	}
}

// Without room for it, nothing is downloaded.
func TestFetchWithoutScratchSpace(t *testing.T) {
	s := &steps{keys: map[string]string{}, has: []upstream.Package{{URL: "https://origin.example/1"}}}
	f := &Fetcher{Source: s, Inbox: s, Scratch: filepath.Join(t.TempDir(), "missing"), Logger: slog.New(slog.DiscardHandler)}
	err := f.Fetch(t.Context(), Wanted{address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), linux})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "scratch space") || len(s.calls) != 2 {
		t.Errorf("%v, after %q", err, s.calls)
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
		var log bytes.Buffer
		worker := NewWorker(func(ctx context.Context, _ Wanted) error {
			fetched++
			select {
			case err := <-proceed:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}, slog.New(slog.NewTextHandler(&log, nil)))
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
		if log.Len() > 0 {
			t.Errorf("the log is %s", &log)
		}
		proceed <- errors.New("connection refused")
		synctest.Wait()
		if !strings.Contains(log.String(), "connection refused") || !strings.Contains(log.String(), w.String()) {
			t.Errorf("the log is %s", &log)
		}
		log.Reset()
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
		if log.Len() > 0 {
			t.Errorf("the log is %s", &log)
		}
	})
}

// The worker waits for what it has begun, which has half an hour and no longer.
func TestWorkerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		var fetching context.Context
		worker := NewWorker(func(ctx context.Context, _ Wanted) error {
			fetching = ctx
			<-proceed
			return nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() { worker.Run(ctx); close(done) }()
		began := time.Now()
		w := Wanted{address(t, "registry.terraform.io/hashicorp/time"), mustVersion("1.0.0"), linux}
		if err := worker.Want(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if deadline, ok := fetching.Deadline(); !ok || deadline.Sub(began) != fetchTime {
			t.Errorf("it has until %v", deadline)
		}
		proceed <- struct{}{}
		synctest.Wait()
		if fetching.Err() == nil {
			t.Error("its context outlives it")
		}
		w.Platform = darwin
		if err := worker.Want(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case <-done:
			t.Error("the worker has ended before what it was at")
		default:
		}
		close(proceed)
		<-done
	})
}

// However many packages are fetched, they do not fill the memory, and few are all
// remembered.
func TestWhatRestsIsForgotten(t *testing.T) {
	worker := NewWorker(nil, slog.New(slog.DiscardHandler))
	a := address(t, "registry.terraform.io/hashicorp/time")
	for i := range maxPending {
		worker.done(Wanted{a, mustVersion(fmt.Sprintf("1.%d.0", i)), linux})
	}
	wantAll := func() {
		t.Helper()
		for i := range maxPending {
			if err := worker.Want(t.Context(), Wanted{a, mustVersion(fmt.Sprintf("1.%d.0", i)), linux}); err != nil {
				t.Error(err)
			}
		}
	}
	if wantAll(); len(worker.queue) > 0 {
		t.Errorf("%d packages that rest are fetched", len(worker.queue))
	}
	worker.done(Wanted{a, mustVersion("2.0.0"), linux})
	if wantAll(); len(worker.queue) != 1 {
		t.Errorf("%d packages are forgotten for one more", len(worker.queue))
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
