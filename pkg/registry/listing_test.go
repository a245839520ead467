package registry

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestListingIsSortedWhateverTheOrderOfArrival(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var l Listing
		for _, i := range append(random.Perm(len(ascending)), random.Perm(len(ascending))...) {
			l, _ = l.With(Listed{Version: version(t, ascending[i]), Revision: 1})
		}
		var got []string
		for _, entry := range l {
			got = append(got, entry.Version.String())
		}
		if !slices.Equal(got, ascending) {
			t.Fatalf("seed %d: %v", seed, got)
		}
	}
}

func TestListingWith(t *testing.T) {
	one := Listed{Version: version(t, "1.0.0"), Revision: 2}
	for _, tt := range []struct {
		name    string
		entry   Listed
		changed bool
		length  int
	}{
		{"another version", Listed{Version: version(t, "1.1.0"), Revision: 1}, true, 2},
		{"a newer revision", Listed{Version: version(t, "1.0.0"), Revision: 3, Protocols: []string{"6.0"}}, true, 1},
		{"a newer revision with other build metadata", Listed{Version: version(t, "1.0.0+b"), Revision: 3}, true, 1},
		{"the same revision", Listed{Version: version(t, "1.0.0"), Revision: 2, Protocols: []string{"6.0"}}, false, 1},
		{"an older revision", Listed{Version: version(t, "1.0.0"), Revision: 1}, false, 1},
	} {
		before := append(make(Listing, 0, 8), one) // with room to be overwritten
		after, changed := before.With(tt.entry)
		if changed != tt.changed || len(after) != tt.length {
			t.Errorf("%s: changed %t, %v", tt.name, changed, after)
		}
		stored := slices.ContainsFunc(after, func(e Listed) bool {
			return e.Version == tt.entry.Version && e.Revision == tt.entry.Revision && slices.Equal(e.Protocols, tt.entry.Protocols)
		})
		if stored != tt.changed {
			t.Errorf("%s: the entry is in the listing: %t", tt.name, stored)
		}
		spare := before[:2][1]
		if len(before) != 1 || before[0].Revision != 2 || before[0].Protocols != nil || spare.Revision != 0 {
			t.Errorf("%s: the listing itself became %v", tt.name, before[:2])
		}
	}
}

func TestListingWithout(t *testing.T) {
	before := Listing{
		{Version: version(t, "1.0.0-rc.1"), Revision: 2}, {Version: version(t, "1.0.0+b"), Revision: 3}, {Version: version(t, "1.10.0"), Revision: 4},
	}
	for v, want := range map[string][]int{
		"1.0.0-rc.1": {3, 4}, "1.0.0": {2, 4}, "1.0.0+c": {2, 4}, "1.10.0": {2, 3}, "1.2.0": {2, 3, 4}, "2.0.0": {2, 3, 4},
	} {
		after, changed := before.Without(version(t, v))
		if got := revisions(after); !slices.Equal(got, want) || changed != (len(want) < 3) {
			t.Errorf("Without(%s) has the revisions %v, changed %t; want %v", v, got, changed, want)
		}
		if got := revisions(before); !slices.Equal(got, []int{2, 3, 4}) {
			t.Errorf("after Without(%s), the listing itself has the revisions %v", v, got)
		}
	}
	if after, changed := Listing(nil).Without(version(t, "1.0.0")); changed || len(after) != 0 {
		t.Errorf("Without of an empty listing = %v, %t", after, changed)
	}
}

func TestListingNewest(t *testing.T) {
	for want, l := range map[string]Listing{
		"1.10.0":  {{Version: version(t, "1.9.0")}, {Version: version(t, "1.10.0")}, {Version: version(t, "2.0.0-rc.1")}},
		"1.0.0+b": {{Version: version(t, "1.0.0+b")}, {Version: version(t, "1.1.0"), Standing: Standing{State: Withdrawn}}},
		"1.1.0":   {{Version: version(t, "1.0.0")}, {Version: version(t, "1.1.0"), Standing: Standing{State: Deprecated}}},
		"":        {{Version: version(t, "1.0.0-rc.1")}, {Version: version(t, "1.0.0"), Standing: Standing{State: Withdrawn}}},
	} {
		if got, ok := l.Newest(); got.Version.String() != want || ok != (want != "") {
			t.Errorf("the newest is %q, %t, want %q", got.Version, ok, want)
		}
	}
	if got, ok := Listing(nil).Newest(); ok || got.Revision != 0 {
		t.Errorf("the newest of nothing is %v", got)
	}
}

func TestListingSource(t *testing.T) {
	withdrawn := Standing{State: Withdrawn}
	for want, l := range map[string]Listing{
		"https://b": {{Version: version(t, "1.0.0"), Source: "https://a"}, {Version: version(t, "1.1.0-rc.1"), Source: "https://b"}, {Version: version(t, "2.0.0")}},
		"https://a": {{Version: version(t, "1.0.0"), Source: "https://a"}, {Version: version(t, "1.1.0"), Source: "https://b", Standing: withdrawn}},
		"":          {{Version: version(t, "1.0.0")}, {Version: version(t, "1.1.0"), Source: "https://b", Standing: withdrawn}},
	} {
		if got := l.Source(); got != want {
			t.Errorf("the source is %q, want %q", got, want)
		}
	}
}

func revisions(l Listing) (all []int) {
	for _, entry := range l {
		all = append(all, entry.Revision)
	}
	return all
}

func TestListingRevision(t *testing.T) {
	l := Listing{
		{Version: version(t, "1.0.0-rc.1"), Revision: 2}, {Version: version(t, "1.0.0+b"), Revision: 3}, {Version: version(t, "1.10.0"), Revision: 4},
	}
	for v, want := range map[string]int{"1.0.0-rc.1": 2, "1.0.0": 3, "1.0.0+c": 3, "1.10.0": 4, "1.2.0": 0, "2.0.0": 0} {
		if got := l.Find(version(t, v)).Revision; got != want {
			t.Errorf("Revision(%s) = %d, want %d", v, got, want)
		}
	}
	if got := Listing(nil).Find(version(t, "1.0.0")).Revision; got != 0 {
		t.Errorf("Revision of an empty listing = %d", got)
	}
}

func TestListingSizes(t *testing.T) {
	linux, darwin := Platform{"linux", "amd64"}, Platform{"darwin", "arm64"}
	entry := func(v string, protocol string, platforms ...Platform) Listed {
		return Listed{Version: version(t, v), Revision: 1, Protocols: []string{protocol}, Platforms: platforms}
	}
	deprecated := Listed{Version: version(t, "2.0.0"), Revision: 1, Standing: Standing{Deprecated, "use 3.0.0"}}
	for name, test := range map[string]struct {
		listing          Listing
		answered, stored int
	}{
		"none":            {nil, 0, 0},
		"a module's":      {Listing{{Version: version(t, "1.0.0")}, {Version: version(t, "1.10.0")}}, 2*48 + 5 + 6, 2*48 + 5 + 6 + 48},
		"one":             {Listing{entry("1.0.0", "5.0", linux)}, 48 + 5 + 12 + 18 + 2 + 4 + 2, 48 + 5 + 12 + 2 + 4 + 2 + 48},
		"twice the same":  {Listing{entry("1.0.0", "5.0", linux), entry("1.1.0", "5.0", linux)}, 2 * (48 + 5 + 12 + 18 + 2 + 4 + 2), 2*(48+5) + 12 + 2 + 4 + 2 + 48},
		"other platforms": {Listing{entry("1.0.0", "5.0", linux), entry("1.1.0", "5.0", darwin)}, 2*(48+5+12+18+2+4+2) + 1, 2*(48+5+12+2+4+2+48) + 1},
		"other protocols": {Listing{entry("1.0.0", "5.0", linux), entry("1.1.0", "6.0", linux)}, 2 * (48 + 5 + 12 + 18 + 2 + 4 + 2), 2 * (48 + 5 + 12 + 2 + 4 + 2 + 48)},
		"a source":        {Listing{{Version: version(t, "1.0.0"), Source: "https://a"}}, 48 + 5, 48 + 5 + 20 + 9 + 2 + 48},
		"two sources": {Listing{{Version: version(t, "1.0.0"), Source: "https://a"}, {Version: version(t, "1.1.0"), Source: "https://b"}, {Version: version(t, "1.2.0"), Source: "https://a"}},
			3 * (48 + 5), 3*(48+5+20) + 2*(9+2) + 48},
		"a standing": {Listing{deprecated}, 48 + 5 + 48 + 9, 48 + 5 + 48 + 9 + 48},
	} {
		if answered, stored := test.listing.Sizes(); answered != test.answered || stored != test.stored {
			t.Errorf("%s: answered in %d bytes, stored in %d, want %d and %d", name, answered, stored, test.answered, test.stored)
		}
	}
}

func TestListingShown(t *testing.T) {
	listed := func(text string, state StandingState) Listed {
		return Listed{Version: version(t, text), Revision: 1, Standing: Standing{State: state}}
	}
	for name, tt := range map[string]struct {
		listing Listing
		want    string // empty: none
	}{
		"nothing":          {nil, ""},
		"the last":         {Listing{listed("1.9.0", ""), listed("1.10.0", "")}, "1.10.0"},
		"a pre-release":    {Listing{listed("1.0.0", ""), listed("2.0.0-rc.1", "")}, "1.0.0"},
		"pre-releases":     {Listing{listed("1.0.0-rc.1", ""), listed("1.0.0-rc.2", ""), listed("1.0.0-rc.3", Withdrawn)}, "1.0.0-rc.2"},
		"a deprecated one": {Listing{listed("1.0.0", ""), listed("1.1.0", Deprecated)}, "1.1.0"},
		"all withdrawn":    {Listing{listed("1.0.0", Withdrawn)}, ""},
	} {
		if got, ok := tt.listing.Shown(); got.Version.String() != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %v, %t, want %q", name, got.Version, ok, tt.want)
		}
	}
}
