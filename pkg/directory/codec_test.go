package directory

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func testEntry(tb testing.TB, address string) Entry {
	tb.Helper()
	folder := registry.Modules
	if strings.Count(address, "/") == 1 {
		folder = registry.Providers
	}
	a, err := registry.ParseAddress(folder, address)
	if err != nil {
		tb.Fatal(err)
	}
	return Entry{Address: a, Newest: registrytest.Version(tb, "1.2.3-rc.1+b"), Versions: 3}
}

func TestRoundTrip(t *testing.T) {
	full := testEntry(t, "acme/vpc/aws")
	full.Published, full.Standing = time.Date(2026, 11, 22, 1, 2, 3, 4, time.UTC), registry.Standing{State: registry.Deprecated, Message: "use <2.0.0>"}
	full.Description, full.Source = "A \"network\" für alle.", "https://example.com/a?b=c&d"
	full.Inputs, full.Outputs, full.Resources = []string{"a", "größe"}, []string{"b"}, []string{"aws_vpc", "c"}
	want := []Entry{full, testEntry(t, "acme/vpc/gcp"), testEntry(t, "acme/vpc"), testEntry(t, "acme/widget")}
	data, err := encodeShard(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeEntries(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read as %+v, %v, want %+v", got, err, want)
	}
	for range 10 {
		mixed := slices.Clone(want)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if again, err := encodeShard(mixed); err != nil || !bytes.Equal(again, data) {
			t.Errorf("in another order, it is stored as %x, %v", again, err)
		}
	}
	if data, err := encodeShard(nil); data != nil || err != nil {
		t.Errorf("no entries are %x, %v", data, err)
	}
	if got, err := decodeEntries(nil); got != nil || err != nil {
		t.Errorf("no data are %v, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, document := range map[string]string{
		"no JSON": "x", "a list": "[]", "no format": "{}", "another format": `{"format":2}`, "no address": `{"format":1,"modules":[{}]}`,
		"a provider's address":   `{"format":1,"modules":[{"address":"acme/vpc","newest":"1.0.0"}]}`,
		"a bad version":          `{"format":1,"modules":[{"address":"acme/vpc/aws","newest":"1"}]}`,
		"a mirrored provider":    `{"format":1,"providers":[{"address":"registry.terraform.io/a/b","newest":"1.0.0"}]}`,
		"more than there may be": strings.Repeat(" ", maxDocument) + `{"format":1}`,
	} {
		data, err := compress([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeEntries(data); !errors.Is(err, errUnreadable) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	data, err := encodeShard([]Entry{testEntry(t, "acme/vpc/aws")})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(data); n++ {
		if got, err := decodeEntries(data[:n]); !errors.Is(err, errUnreadable) {
			t.Errorf("the first %d bytes: %v, %v", n, got, err)
		}
	}
}

// FuzzDecode checks that what is read can be written and read again, and searched.
func FuzzDecode(f *testing.F) {
	e := testEntry(f, "acme/vpc/aws")
	e.Inputs, e.Description = []string{"a", "b"}, "text"
	data, err := encodeShard([]Entry{e, testEntry(f, "acme/widget")})
	if err != nil {
		f.Fatal(err)
	}
	document, err := decompress(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(document, "vpc")
	f.Add([]byte(`{"format":1,"modules":[{"address":"ACME/vpc/aws","newest":"1.0.0","inputs":"  a","outputs":"K\u0130\u00ff","description":"İx"}]}`), "İ/x a")
	f.Fuzz(func(t *testing.T, document []byte, text string) {
		data, err := compress(document)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := index(catalog.DirectoryShard{Number: 7, Revision: 1, Data: data}, time.Now())
		entries, entriesErr := decodeEntries(data)
		if (err == nil) != (entriesErr == nil) {
			t.Fatalf("%v, %v", err, entriesErr)
		}
		if err != nil {
			return
		}
		if again, err := encodeShard(entries); err == nil {
			if got, err := decodeEntries(again); err != nil || len(got) != len(entries) {
				t.Errorf("%d entries are read as %d, %v", len(entries), len(got), err)
			}
		}
		s := new(snapshot).with([]keptShard{kept})
		for _, folder := range []registry.Folder{registry.Modules, registry.Providers} {
			page, err := s.list(t.Context(), Query{Folder: folder, Text: text}, func(registry.Address) bool { return true })
			if err != nil || page.Total > len(entries) {
				t.Errorf("%d of %d, %v", page.Total, len(entries), err)
			}
		}
	})
}

func TestShardOf(t *testing.T) {
	var counts [catalog.DirectoryShards]int
	for i := range 100_000 {
		counts[ShardOf(registry.ModuleAddress{Namespace: "acme", Name: fmt.Sprint("m", i), System: "aws"})]++
	}
	if counts[BuiltShard] != 0 {
		t.Errorf("%d addresses are in shard %d", counts[BuiltShard], BuiltShard)
	}
	for number, count := range counts[1:] {
		if count < 300 || count > 490 {
			t.Errorf("shard %d has %d of 100,000 addresses", number+1, count)
		}
	}
	// What is stored depends on it.
	if got := ShardOf(registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}); got != 186 {
		t.Errorf("acme/vpc/aws is in shard %d, and was in %d", got, 186)
	}
}

func TestBounded(t *testing.T) {
	many := func(prefix string, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("%s%04d", prefix, i))
		}
		return names
	}
	for name, tt := range map[string]struct{ d, want Description }{
		"nothing":        {},
		"in order, once": {Description{Inputs: []string{"b", "a", "b"}}, Description{Inputs: []string{"a", "b"}}},
		"spaces":         {Description{Text: " a \n\tb  "}, Description{Text: "a b"}},
		"a long text":    {Description{Text: strings.Repeat("ä", 301)}, Description{Text: strings.Repeat("ä", 300)}},
		"no UTF-8":       {Description{Text: "a\xffb", Inputs: []string{"\xff"}}, Description{Text: "ab"}},
		"no names":       {Description{Outputs: []string{"", "a b", "a\nb", "a\u00a0b", "a\x00"}}, Description{}},
		"a long name":    {Description{Outputs: []string{strings.Repeat("ä", 33), "x" + strings.Repeat("ä", 32)}}, Description{Outputs: []string{"x" + strings.Repeat("ä", 31), strings.Repeat("ä", 32)}}},
		"500 names":      {Description{Inputs: many("i", 200), Outputs: many("o", 200), Resources: many("r", 100)}, Description{Inputs: many("i", 200), Outputs: many("o", 200), Resources: many("r", 100)}},
		"501 names":      {Description{Inputs: many("i", 200), Outputs: many("o", 201), Resources: many("r", 100)}, Description{Inputs: many("i", 200), Outputs: many("o", 200), Resources: many("r", 100)}},
		"many types":     {Description{Inputs: many("i", 5), Outputs: many("o", 5), Resources: many("r", 600)}, Description{Resources: many("r", 500)}},
	} {
		if got := tt.d.bounded(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// noise is names that hardly compress.
func noise(n int) (names []string) {
	for range n {
		name := make([]byte, MaxName)
		for i := range name {
			name[i] = "abcdefghijklmnopqrstuvwxyz0123456789_"[rand.N(37)]
		}
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

// TestFit checks that the largest entries lose their names first, then their descriptions, and
// that no entry is lost.
func TestFit(t *testing.T) {
	var entries []Entry
	for i := range 400 {
		e := testEntry(t, fmt.Sprintf("acme/m%d/aws", i))
		e.Description = fmt.Sprint("module ", i)
		if e.Inputs = noise(1); i >= 350 {
			e.Inputs = noise(400)
		}
		entries = append(entries, e)
	}
	data, err := fit(entries)
	if err != nil || len(data) > catalog.MaxDirectoryShard {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if len(entries[399].Inputs) != 400 {
		t.Error("the entries were changed")
	}
	got, err := decodeEntries(data)
	if err != nil || len(got) != len(entries) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	small, large := 0, 0
	for _, e := range got {
		if len(e.Inputs) == 1 {
			small++
		} else if len(e.Inputs) > 0 {
			large++
		}
		if e.Description == "" {
			t.Errorf("%s has lost its description", e.Address)
		}
	}
	if small != 350 || large == 0 || large == 50 {
		t.Errorf("%d small and %d large entries have their names", small, large)
	}
	for i := range entries {
		entries[i].Inputs, entries[i].Description = nil, strings.Join(noise(20), " ")
	}
	data, err = fit(entries)
	if got, decodeErr := decodeEntries(data); err != nil || decodeErr != nil || len(got) != len(entries) {
		t.Errorf("%d entries, %v, %v", len(got), err, decodeErr)
	}
	for i := range entries {
		entries[i].Source = strings.Join(noise(30), "")
	}
	data, err = fit(entries)
	if got, decodeErr := decodeEntries(data); err != nil || decodeErr != nil || len(got) != len(entries) {
		t.Errorf("with long sources: %d entries, %v, %v", len(got), err, decodeErr)
	}
}

// TestNobodyFillsAShard checks that a namespace with far too many addresses loses some of its own,
// and that others keep theirs.
func TestNobodyFillsAShard(t *testing.T) {
	var entries []Entry
	for i := range 5000 {
		name := noise(1)[0][:40]
		entries = append(entries, testEntry(t, fmt.Sprintf("many/m%s%d/aws", strings.ReplaceAll(name, "_", "-"), i)))
	}
	for i := range 20 {
		e := testEntry(t, fmt.Sprintf("zebra%d/vpc/aws", i))
		e.Inputs, e.Description, e.Source = noise(MaxNames), strings.Join(noise(5), " "), strings.Join(noise(8), "")
		entries = append(entries, e)
	}
	data, err := fit(entries)
	got, decodeErr := decodeEntries(data)
	if err != nil || decodeErr != nil || len(data) > catalog.MaxDirectoryShard {
		t.Fatalf("%d bytes, %v, %v", len(data), err, decodeErr)
	}
	others := 0
	for _, e := range got {
		if !strings.HasPrefix(e.Address.String(), "many/") {
			others++
		}
	}
	if others != 20 || len(got) < 3000 {
		t.Errorf("there are %d entries of others, and %d altogether", others, len(got))
	}
	again, err := fit(got)
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("what fits is changed: %v", err)
	}
}
