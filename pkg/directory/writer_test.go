package directory_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// TestRefresh follows one address through its life.
func TestRefresh(t *testing.T) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open(t))
			w.contents.of = map[string]directory.Description{
				"module acme/vpc/aws 1.0.0":  {Text: "A  network.\n", Inputs: []string{"name", "cidr", "cidr"}, Outputs: []string{"vpc_id"}, Resources: []string{"aws_vpc"}},
				"provider acme/widget 1.0.0": {Resources: []string{"widget"}},
			}
			one, two, rc := moduleVersion(t, "acme/vpc/aws", "1.0.0", 1, 0), moduleVersion(t, "acme/vpc/aws", "1.1.0", 1, 1), moduleVersion(t, "acme/vpc/aws", "2.0.0-rc.1", 1, 2)
			entry := func(m *registry.ModuleVersion, versions int) directory.Entry {
				return directory.Entry{Address: m.Address, Newest: m.Version, Published: m.Published, Versions: versions, Standing: m.Standing, Source: m.Archive.Source}
			}
			w.has(t)
			w.publish(t, rc)
			w.has(t, entry(rc, 1))
			w.publish(t, one)
			first := entry(one, 2)
			first.Description, first.Inputs, first.Outputs, first.Resources = "A network.", []string{"cidr", "name"}, []string{"vpc_id"}, []string{"aws_vpc"}
			w.has(t, first)
			w.publish(t, two)
			w.has(t, entry(two, 3))
			deprecated := *two
			deprecated.Revision, deprecated.Standing = 2, registry.Standing{State: registry.Deprecated, Message: "use 1.0.0"}
			w.publish(t, &deprecated)
			w.has(t, entry(&deprecated, 3))
			w.publish(t, withdrawn(&deprecated))
			w.has(t, first)
			p := providerVersion(t, "acme/widget", "1.0.0")
			w.publish(t, p)
			provider := directory.Entry{Address: p.Address, Newest: p.Version, Published: p.Published, Versions: 1, Source: "https://example.com/acme/widget", Resources: []string{"widget"}}
			w.has(t, first, provider)
			w.publish(t, withdrawn(one), withdrawn(rc))
			w.has(t, provider)
			if err := w.writer.Refresh(t.Context(), registry.ProviderAddress{Hostname: "registry.terraform.io", Namespace: "hashicorp", Type: "time"}); err != nil {
				t.Error(err)
			}
			w.has(t, provider)
		})
	}
}

// TestRefreshCalls checks what a refresh asks the index.
func TestRefreshCalls(t *testing.T) {
	w := newWorld(t, openBolt(t))
	m := moduleVersion(t, "acme/vpc/aws", "1.0.0", 1, 0)
	w.put(t, m)
	for _, step := range []struct{ name, want string }{
		{"new", "DirectoryShards CurrentListing State PutDirectoryShard CurrentListing"},
		{"equal", "DirectoryShards CurrentListing State"},
	} {
		w.index.take()
		if err := w.writer.Refresh(t.Context(), m.Address); err != nil {
			t.Fatal(err)
		}
		if got := w.index.take(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

// TestRefreshDespiteFaults fails each call of a refresh, before and after it is made. The refresh
// says so, and the next one mends everything.
func TestRefreshDespiteFaults(t *testing.T) {
	broken := errors.New("broken")
	for number := 1; number <= 6; number++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t, openBolt(t))
			m := moduleVersion(t, "acme/vpc/aws", "1.0.0", 1, 0)
			w.put(t, m)
			w.index.after, w.index.fail = after, func(_ string, n int) error {
				if n == number {
					return broken
				}
				return nil
			}
			if number == 6 {
				w.index.fail, w.contents.fails = nil, broken
			}
			if err := w.writer.Refresh(t.Context(), m.Address); !errors.Is(err, broken) || !strings.Contains(err.Error(), "directory") {
				t.Errorf("call %d fails: %v", number, err)
			}
			w.index.fail, w.contents.fails = nil, nil
			w.publish(t, m)
			if got := addresses(w.list(t, directory.Query{})); got != "acme/vpc/aws" {
				t.Errorf("after call %d has failed, the directory has %q", number, got)
			}
		}
	}
}

// TestRefreshConflicts changes the shard between the two steps of a refresh, until it gives up or
// its context ends.
func TestRefreshConflicts(t *testing.T) {
	w := newWorld(t, openBolt(t))
	m := moduleVersion(t, "acme/vpc/aws", "1.0.0", 1, 0)
	w.put(t, m)
	left := 3
	w.index.fail = func(call string, _ int) error {
		if left--; call == "PutDirectoryShard" && left > 0 {
			return catalog.ErrChanged
		}
		return nil
	}
	w.publish(t, m)
	w.has(t, directory.Entry{Address: m.Address, Newest: m.Version, Published: m.Published, Versions: 1, Source: m.Archive.Source})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	w.put(t, withdrawn(m))
	w.index.fail = func(call string, _ int) error {
		if call == "PutDirectoryShard" {
			return catalog.ErrChanged
		}
		return nil
	}
	if err := w.writer.Refresh(ctx, m.Address); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without end: %v", err)
	}
}

// TestRefreshSeesWhatChangesMeanwhile has somebody publish right after the put of a refresh, who
// found in the shard what they wanted before that put.
func TestRefreshSeesWhatChangesMeanwhile(t *testing.T) {
	w := newWorld(t, openBolt(t))
	one, two := moduleVersion(t, "acme/vpc/aws", "1.0.0", 1, 0), moduleVersion(t, "acme/vpc/aws", "1.1.0", 1, 0)
	w.publish(t, one)
	w.put(t, two)
	w.index.then = func(call string) {
		if call == "State" { // the writer has seen 1.1.0, and has not written it
			w.index.then = nil
			if err := w.index.Put(t.Context(), withdrawn(two)); err != nil {
				t.Error(err)
			}
			if err := directory.NewWriter(directory.WriterConfig{Index: w.index.Index}).Refresh(t.Context(), one.Address); err != nil {
				t.Error(err)
			}
		}
	}
	if err := w.writer.Refresh(t.Context(), one.Address); err != nil {
		t.Fatal(err)
	}
	if got := w.list(t, directory.Query{}); len(got) != 1 || got[0].Newest != one.Version {
		t.Errorf("the directory has %+v, want 1.0.0", got)
	}
}

// TestOldState checks that a state which the catalog does not show yet is waited for, and that one
// which is missing for good leaves the entry without what it says.
func TestOldState(t *testing.T) {
	w := newWorld(t, openBolt(t))
	m := moduleVersion(t, "acme/vpc/aws", "1.0.0", 1, 0)
	w.put(t, m)
	reads := 0
	w.index.fail = func(call string, _ int) error {
		if call == "State" {
			if reads++; reads < 3 {
				return registry.ErrNotFound
			}
		}
		return nil
	}
	w.publish(t, m)
	want := directory.Entry{Address: m.Address, Newest: m.Version, Published: m.Published, Versions: 1, Source: m.Archive.Source}
	w.has(t, want)
	reads = -100
	w.publish(t, m)
	want.Published = time.Time{}
	w.has(t, want)
}

// TestPublishersAtOnce has fourteen publishers publish and withdraw at once, some of them
// versions of the same modules. Each is visible within five seconds, also on a machine that does
// other work, and in the end the directory is what the catalog says.
func TestPublishersAtOnce(t *testing.T) {
	const publishers, soon = 14, 5 * time.Second
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			index := open(t)
			var slowest time.Duration
			for round := range 3 {
				slowest = publishAtOnce(t, index, publishers, round)
				t.Logf("the slowest publication took %v", slowest)
				sameAsCatalog(t, index)
				if slowest < soon {
					return
				}
			}
			t.Errorf("a publication was visible after %v", slowest)
		})
	}
}

// publishAtOnce returns the longest time from the put of a state to the end of its refresh.
func publishAtOnce(t *testing.T, index directory.Index, publishers, round int) (slowest time.Duration) {
	t.Helper()
	const each, shared = 4, 3
	var wg sync.WaitGroup
	var mu sync.Mutex
	publish := func(w *directory.Writer, s registry.State) {
		began := time.Now()
		if err := index.Put(t.Context(), s); err != nil {
			t.Error(err)
		}
		if err := w.Refresh(t.Context(), s.Subject().Address); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		slowest = max(slowest, time.Since(began))
	}
	for i := range publishers {
		writer := directory.NewWriter(directory.WriterConfig{Index: index})
		wg.Go(func() {
			for n := range each {
				address := fmt.Sprintf("shared/m%d/aws", rand.N(shared))
				if n%2 == 0 {
					address = fmt.Sprintf("own/m%d/aws", i)
				}
				m := moduleVersion(t, address, fmt.Sprintf("1.%d.%d", i, round*each+n), 1, 0)
				publish(writer, m)
				if rand.N(2) == 0 {
					publish(writer, withdrawn(m))
				}
			}
		})
	}
	wg.Wait()
	return slowest
}

// sameAsCatalog compares the directory with the listings.
func sameAsCatalog(t *testing.T, index directory.Index) {
	t.Helper()
	page, err := newView(index).List(t.Context(), access.Anyone, directory.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	got := map[registry.Address]string{}
	for _, e := range page.Entries {
		got[e.Address] = fmt.Sprint(e.Newest, e.Versions)
	}
	offered := 0
	met := map[registry.Address]bool{}
	for entry, err := range index.Entries(t.Context(), "") {
		if a := entry.Subject.Address; err == nil && !met[a] {
			met[a] = true
			listing, err := index.CurrentListing(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			versions := 0
			for range listing.Offered() {
				versions++
			}
			newest, ok := listing.Shown()
			if want := fmt.Sprint(newest.Version, versions); ok && got[a] != want || !ok && got[a] != "" {
				t.Errorf("%s is %q in the directory, want %q", a, got[a], want)
			}
			if ok {
				offered++
			}
		}
	}
	if offered != len(got) {
		t.Errorf("the directory has %d addresses, and the catalog offers %d", len(got), offered)
	}
}

func TestRebuild(t *testing.T) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open(t))
			built := func() uint64 {
				t.Helper()
				head, err := w.index.DirectoryHead(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				return head[directory.BuiltShard]
			}
			rebuild := func() (puts int) {
				t.Helper()
				w.index.take()
				if err := w.writer.Rebuild(t.Context()); err != nil {
					t.Fatal(err)
				}
				return strings.Count(w.index.take(), "PutDirectoryShard")
			}
			for i := range 30 {
				w.put(t, moduleVersion(t, fmt.Sprintf("acme/m%d/aws", i), "1.0.0", 1, 0), moduleVersion(t, fmt.Sprintf("acme/m%d/aws", i), "1.1.0", 1, 0))
			}
			w.put(t, providerVersion(t, "acme/widget", "1.0.0"), withdrawn(moduleVersion(t, "acme/gone/aws", "1.0.0", 1, 0)))
			w.publish(t, moduleVersion(t, "acme/m1/aws", "1.1.0", 1, 0))
			if built() != 0 {
				t.Error("it says that it was built, and has one address")
			}
			if puts := rebuild(); puts < 20 || built() != 1 {
				t.Errorf("%d puts, built %d", puts, built())
			}
			hasMany(t, w, 31)
			if puts := rebuild(); puts != 0 || built() != 1 {
				t.Errorf("the second time: %d puts, built %d", puts, built())
			}
			stray := module(t, "acme/m7/aws")
			for _, v := range []string{"1.0.0", "1.1.0"} {
				if err := w.index.Remove(t.Context(), registry.Subject{Address: stray, Version: registrytest.Version(t, v)}, catalog.Seen{State: 1, Listed: 1}); err != nil {
					t.Fatal(err)
				}
			}
			if puts := rebuild(); puts != 1 {
				t.Errorf("with a stray: %d puts", puts)
			}
			hasMany(t, w, 30)
			damage(t, w, module(t, "acme/m8/aws"))
			if err := w.writer.Refresh(t.Context(), module(t, "acme/m8/aws")); err == nil || !strings.Contains(err.Error(), "reindex") {
				t.Errorf("refresh of a damaged shard: %v, want advice", err)
			}
			if _, err := newView(w.index).List(t.Context(), access.Anyone, directory.Query{}); err == nil || !strings.Contains(err.Error(), "reindex") {
				t.Errorf("view of a damaged shard: %v, want advice", err)
			}
			if puts := rebuild(); puts != 1 {
				t.Errorf("with a damaged shard: %d puts", puts)
			}
			hasMany(t, w, 30)
		})
	}
}

// hasMany checks how many addresses there are.
func hasMany(t *testing.T, w *world, want int) {
	t.Helper()
	if got := len(w.list(t, directory.Query{})) + len(w.list(t, directory.Query{Folder: registry.Providers})); got != want {
		t.Errorf("the directory has %d addresses, want %d", got, want)
	}
}

// damage makes the shard of an address unreadable.
func damage(t *testing.T, w *world, a registry.Address) {
	t.Helper()
	shards, err := w.index.DirectoryShards(t.Context(), []int{directory.ShardOf(a)})
	if err != nil {
		t.Fatal(err)
	}
	shards[0].Revision++
	shards[0].Data = []byte("damaged")
	if err := w.index.Index.PutDirectoryShard(t.Context(), shards[0]); err != nil {
		t.Fatal(err)
	}
}

// TestRebuildDespiteFaults fails each call of a rebuild. It says so, does not note that all is
// there, and the next one mends everything.
func TestRebuildDespiteFaults(t *testing.T) {
	broken := errors.New("broken")
	for number := 1; ; number++ {
		w := newWorld(t, openBolt(t))
		w.put(t, moduleVersion(t, "acme/a/aws", "1.0.0", 1, 0), moduleVersion(t, "acme/b/aws", "1.0.0", 1, 0))
		failed := ""
		w.index.fail = func(call string, n int) error {
			if n == number {
				failed = call
				return broken
			}
			return nil
		}
		err := w.writer.Rebuild(t.Context())
		w.index.fail = nil
		if failed == "" {
			break
		}
		if !errors.Is(err, broken) {
			t.Errorf("%s (call %d) fails: %v", failed, number, err)
		}
		if err := w.writer.Rebuild(t.Context()); err != nil {
			t.Errorf("after %s (call %d) has failed: %v", failed, number, err)
		}
		if got := addresses(w.list(t, directory.Query{})); got != "acme/a/aws acme/b/aws" {
			t.Errorf("after %s (call %d) has failed, the directory has %q", failed, number, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newWorld(t, openBolt(t)).writer.Rebuild(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
