package catalogtest

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// entries checks that a walk yields everything once, always in the same order, and that
// another walk goes on after any entry.
func (s *suite) entries(t *testing.T) {
	if got := walk(t, s.index.Entries(t.Context(), "")); len(got) != 0 {
		t.Fatalf("an empty catalog has %v", got)
	}
	want := map[string]catalog.Seen{}
	for i, address := range []string{"walk/a/b", "walk/a/bb", "walk/a-b/c", "walk/aa/b"} {
		for v := range 3 + i {
			m := moduleVersion(address, fmt.Sprintf("1.%d.0-rc.1+build", v*7), v+1)
			s.putModule(t, m)
			want["module "+address+" "+m.Version.Key()] = catalog.Seen{State: v + 1, Listed: v + 1}
		}
	}
	for _, address := range []string{"walk/a", "walk/aa", "walk-a/b"} {
		s.putProvider(t, providerVersion(address, "1.0.0", "linux_amd64", "release"))
		s.putProvider(t, providerVersion(address, "1.1.0", "linux_amd64"))
		want["provider "+address+" 1.0.0"] = catalog.Seen{State: 2, Listed: 2}
		want["provider "+address+" 1.1.0"] = catalog.Seen{State: 1}
	}
	all := walk(t, s.index.Entries(t.Context(), ""))
	got := map[string]catalog.Seen{}
	for _, entry := range all {
		got[entry.Subject.String()] = entry.Seen
	}
	if !maps.Equal(got, want) || len(all) != len(want) {
		t.Fatalf("%d entries are met: %v, want %v", len(all), got, want)
	}
	for i, entry := range all {
		if rest := walk(t, s.index.Entries(t.Context(), entry.Cursor)); !slices.Equal(subjects(rest), subjects(all[i+1:])) {
			t.Errorf("after %s come %v, want %v", entry.Subject.String(), subjects(rest), subjects(all[i+1:]))
		}
	}
	for _, cursor := range []string{"x", "M#walk/a/b", "M#walk/a V#1.0.0", "M#walk/a/b ", " V#1.0.0"} {
		if err := entriesErr(s.index.Entries(t.Context(), cursor)); err == nil {
			t.Errorf("the cursor %q is accepted", cursor)
		}
	}
}

// changingEntries checks that an entry can be corrected during the walk, and that a walk
// goes on after an entry that does not exist any more.
func (s *suite) changingEntries(t *testing.T) {
	met := map[string]int{}
	for v := range 4 {
		for _, address := range []string{"changing/a/b", "changing/b/c"} {
			s.putModule(t, moduleVersion(address, fmt.Sprintf("1.%d.0", v), 2))
		}
	}
	for cursor := ""; ; {
		before := len(met)
		for entry, err := range s.index.Entries(t.Context(), cursor) {
			if err != nil {
				t.Fatal(err)
			}
			met[entry.Subject.String()]++
			if entry.Subject.Version.Compare(version("1.2.0")) < 0 {
				err = s.index.Remove(t.Context(), registry.Subject{Address: entry.Subject.Address.(registry.ModuleAddress), Version: entry.Subject.Version}, entry.Seen)
			} else {
				err = Replace(t.Context(), s.index, moduleVersion(entry.Subject.Address.String(), entry.Subject.Version.String(), 1), entry.Seen)
			}
			s.done(t, err)
			if cursor = entry.Cursor; len(met)%3 == 0 {
				break
			}
		}
		if len(met) == before {
			break
		}
	}
	for entry, times := range met {
		if times != 1 {
			t.Errorf("%s was met %d times", entry, times)
		}
	}
	if len(met) != 8 {
		t.Errorf("%d versions were met, want 8", len(met))
	}
	for _, entry := range walk(t, s.index.Entries(t.Context(), "")) {
		if entry.Seen != (catalog.Seen{State: 1, Listed: 1}) {
			t.Errorf("%s is seen as %+v after its correction", entry.Subject.String(), entry.Seen)
		}
	}
}

func walk(t *testing.T, entries iter.Seq2[catalog.Entry, error]) (all []catalog.Entry) {
	t.Helper()
	for entry, err := range entries {
		if err != nil {
			t.Fatalf("%+v: %v", entry, err)
		}
		all = append(all, entry)
	}
	return all
}

// entriesErr is the error of a walk that yields nothing else.
func entriesErr(entries iter.Seq2[catalog.Entry, error]) error {
	for entry, err := range entries {
		if err == nil || entry != (catalog.Entry{}) {
			return errors.Join(err, fmt.Errorf("it met %+v", entry))
		}
		return err
	}
	return nil
}

func subjects(entries []catalog.Entry) (all []string) {
	for _, entry := range entries {
		all = append(all, fmt.Sprint(entry.Subject.String(), entry.Seen, entry.Cursor))
	}
	return all
}
