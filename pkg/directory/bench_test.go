package directory

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// stored is a directory in memory, as a store has it.
type stored struct {
	head    catalog.DirectoryHead
	shards  [catalog.DirectoryShards]catalog.DirectoryShard
	allowed func(registry.Address) bool
}

func (s *stored) Directory(context.Context, access.Caller) (catalog.Admitted, error) {
	return catalog.Admitted{Head: s.head, Allowed: s.allowed}, nil
}

func (s *stored) DirectoryShards(_ context.Context, numbers []int) (shards []catalog.DirectoryShard, err error) {
	for _, number := range numbers {
		shards = append(shards, s.shards[number])
	}
	return shards, nil
}

func (s *stored) size() (size int) {
	for _, shard := range s.shards {
		size += len(shard.Data)
	}
	return size
}

// likely is a directory of so many modules, each with what a module of a company has: 15 inputs,
// 8 outputs, 5 types of resources, and a sentence.
func likely(tb testing.TB, addresses int) *stored {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("vpc subnet bucket cluster queue topic table key role policy name size zone group rule port host path tag cidr block endpoint retention encryption backup logging access public private enabled prefix type version instance volume network service account region domain record certificate")
	pick := func(prefix string, n int) (names []string) {
		for range n {
			names = append(names, fmt.Sprintf("%s%s_%s", prefix, words[random.IntN(len(words))], words[random.IntN(len(words))]))
		}
		return names
	}
	systems := []string{"aws", "aws", "aws", "google", "azurerm"}
	byShard := map[int][]Entry{}
	for i := range addresses {
		a := registry.ModuleAddress{Namespace: fmt.Sprint("team", i%max(1, addresses/50)), Name: strings.ReplaceAll(pick("", 1)[0], "_", "-") + fmt.Sprint("-", i), System: systems[random.IntN(len(systems))]}
		d := Description{Text: "Makes a " + strings.Join(pick("", 6), " "), Inputs: pick("", 15), Outputs: pick("", 8), Resources: pick(a.System+"_", 5)}.bounded()
		e := Entry{
			Address: a, Newest: registrytest.Version(tb, fmt.Sprintf("%d.%d.0", i%7, i%30)), Published: time.Unix(1.7e9+int64(random.IntN(1e8)), 0).UTC(), Versions: 1 + i%40,
			Description: d.Text, Source: "https://git.example.com/" + a.Namespace + "/terraform-" + a.System + "-" + a.Name, Inputs: d.Inputs, Outputs: d.Outputs, Resources: d.Resources,
		}
		byShard[ShardOf(a)] = append(byShard[ShardOf(a)], e)
	}
	s := &stored{allowed: func(registry.Address) bool { return true }}
	for number, entries := range byShard {
		data, err := fit(entries)
		if err != nil {
			tb.Fatal(err)
		}
		s.head[number], s.shards[number] = 1, catalog.DirectoryShard{Number: number, Revision: 1, Data: data}
	}
	return s
}

var benched = []int{5_000, 100_000}

// BenchmarkLoad is a view that reads the whole directory, as the first request to a new process
// does.
func BenchmarkLoad(b *testing.B) {
	for _, addresses := range benched {
		b.Run(fmt.Sprint(addresses), func(b *testing.B) {
			s := likely(b, addresses)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			view := loaded(b, s)
			runtime.GC()
			runtime.ReadMemStats(&after)
			for b.Loop() {
				loaded(b, s)
			}
			runtime.KeepAlive(view)
			b.ReportMetric(float64(s.size()), "B-stored")
			b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "B-kept")
		})
	}
}

// BenchmarkChanged is a view that reads one shard again.
func BenchmarkChanged(b *testing.B) {
	for _, addresses := range benched {
		b.Run(fmt.Sprint(addresses), func(b *testing.B) {
			s := likely(b, addresses)
			view := loaded(b, s)
			for b.Loop() {
				s.head[7]++
				s.shards[7].Revision++
				if _, err := view.List(b.Context(), access.Anyone, Query{Namespace: "none"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSearch is what a warm view does.
func BenchmarkSearch(b *testing.B) {
	for _, addresses := range benched {
		s := likely(b, addresses)
		view := loaded(b, s)
		for name, q := range map[string]Query{
			"all": {}, "newest": {Newest: true}, "word": {Text: "encryption"}, "letter": {Text: "e"}, "words": {Text: "aws vpc subnet retention"}, "nothing": {Text: "zzz"}, "type": {Text: "aws_vpc_subnet"},
		} {
			for who, scopes := range map[string][]string{"anyone": {"read *"}, "a team": {"read modules:team7/*"}, "many scopes": many()} {
				b.Run(fmt.Sprintf("%d/%s/%s", addresses, name, who), func(b *testing.B) {
					parsed, err := access.ParseScopes(scopes)
					if err != nil {
						b.Fatal(err)
					}
					s.allowed = func(a registry.Address) bool {
						return parsed.Allow(access.Resource{Kind: access.Modules, Path: a.String()})
					}
					for b.Loop() {
						if _, err := view.List(b.Context(), access.Anyone, q); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// many is as many scopes as a token has.
func many() (scopes []string) {
	for i := range access.MaxScopes {
		scopes = append(scopes, fmt.Sprintf("read modules:team%d/*", i))
	}
	return scopes
}

// BenchmarkRewrite is what a publisher computes for one entry.
func BenchmarkRewrite(b *testing.B) {
	for _, addresses := range benched {
		b.Run(fmt.Sprint(addresses), func(b *testing.B) {
			s := likely(b, addresses)
			for b.Loop() {
				entries, err := decodeEntries(s.shards[7].Data)
				if err == nil {
					_, err = fit(entries)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(s.shards[7].Data)), "B-shard")
		})
	}
}

func loaded(tb testing.TB, s *stored) *View {
	tb.Helper()
	view := NewView(s)
	if _, err := view.List(tb.Context(), access.Anyone, Query{Namespace: "none"}); err != nil {
		tb.Fatal(err)
	}
	return view
}

// TestSizes holds what the decision about the directory says of its size.
func TestSizes(t *testing.T) {
	const addresses, most = 5_000, 300
	s := likely(t, addresses)
	if each := s.size() / addresses; each > most || each < most/3 {
		t.Errorf("an address takes %d bytes, want up to %d", each, most)
	}
	page, err := loaded(t, s).List(t.Context(), access.Anyone, Query{})
	if err != nil || page.Total != addresses || len(page.Entries) != defaultLimit {
		t.Errorf("%d of %d, %v", len(page.Entries), page.Total, err)
	}
}
