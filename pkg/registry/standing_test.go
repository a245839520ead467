package registry

import (
	"slices"
	"strings"
	"testing"
)

func TestNewStanding(t *testing.T) {
	for _, tt := range []struct {
		state   StandingState
		message string
		wrong   string // words of the error, or nothing
	}{
		{Deprecated, "use 2.0.0", ""},
		{Deprecated, "benutze 2.0.0 – es gibt kein früheres mehr", ""},
		{Withdrawn, "", ""},
		{Withdrawn, "it deletes what it should not", ""},
		{Restored, "", ""},
		{Deprecated, "", "needs a message"},
		{Deprecated, "  ", "needs a message"},
		{Restored, "sorry", "no message"},
		{Deprecated, "two\nlines", "one line"},
		{Deprecated, "a bell\a", "one line"},
		{Deprecated, "\x1b[31mred", "one line"},
		{Deprecated, "not \xff UTF-8", "one line"},
		{Withdrawn, strings.Repeat("x", MaxMessage), ""},
		{Withdrawn, strings.Repeat("x", MaxMessage+1), "501 bytes"},
		{"", "", "no state"},
		{"deleted", "why", "no state"},
	} {
		_, err := NewStanding(tt.state, tt.message)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s %q: %v, want %q", tt.state, tt.message, err, tt.wrong)
		}
	}
}

func standingRecord(t *testing.T, state StandingState) Record {
	t.Helper()
	return Record{Kind: KindStanding, Version: version(t, "1.0.0"), Standing: &Standing{State: state}}
}

// The last standing counts, and the bytes that are served stay the same.
func TestFoldStanding(t *testing.T) {
	for _, tt := range []struct {
		log  []StandingState
		want StandingState
	}{
		{nil, ""},
		{[]StandingState{Deprecated}, Deprecated},
		{[]StandingState{Deprecated, Withdrawn}, Withdrawn},
		{[]StandingState{Withdrawn, Restored}, ""},
		{[]StandingState{Withdrawn, Restored, Deprecated}, Deprecated},
	} {
		module := &ModuleVersion{}
		provider := fold(t, pkgRecord(t, "linux_amd64"), releaseRecord(t, false))
		if err := module.Apply(Record{Kind: KindModule, Version: version(t, "1.0.0"), Module: &ModuleArchive{SHA256: "a"}}); err != nil {
			t.Fatal(err)
		}
		for _, state := range tt.log {
			for _, s := range []interface{ Apply(Record) error }{module, provider} {
				if err := s.Apply(standingRecord(t, state)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if module.Listed().Standing.State != tt.want || module.Archive.SHA256 != "a" || module.Revision != 1+len(tt.log) {
			t.Errorf("%s: the module is %+v", tt.log, module)
		}
		_, served := provider.Package(Platform{"linux", "amd64"})
		if provider.Listed().Standing.State != tt.want || !served || provider.Revision != 2+len(tt.log) {
			t.Errorf("%s: the provider is %+v", tt.log, provider)
		}
	}
	for _, s := range []interface{ Apply(Record) error }{&ModuleVersion{}, &ProviderVersion{}} {
		if err := s.Apply(standingRecord(t, "hidden")); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("a state of a newer larder: %v", err)
		}
		if err := s.Apply(Record{Kind: KindStanding, Version: version(t, "1.0.0")}); err == nil {
			t.Error("a record without its field was taken")
		}
	}
}

func TestOffered(t *testing.T) {
	var listing Listing
	for v, state := range map[string]StandingState{"1.0.0": "", "1.1.0": Withdrawn, "1.2.0": Deprecated} {
		listing, _ = listing.With(Listed{Version: version(t, v), Revision: 1, Standing: Standing{State: state}})
	}
	var offered []string
	for entry := range listing.Offered() {
		offered = append(offered, entry.Version.String())
	}
	if !slices.Equal(offered, []string{"1.0.0", "1.2.0"}) {
		t.Errorf("offered are %q", offered)
	}
	for range listing.Offered() { // the caller may stop
		break
	}
	if late, changed := listing.With(Listed{Version: version(t, "1.1.0"), Revision: 0}); changed {
		t.Errorf("a late writer listed a withdrawn version again: %+v", late)
	}
}
