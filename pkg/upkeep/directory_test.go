package upkeep_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// described publishes a module with a README, beside something of everything.
func (w *world) described() (want []string) {
	w.Helper()
	w.Mixed()
	w.Upload("modules/acme/dns/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"README.md": "# DNS\n\nMakes zones.\n", "main.tf": ""}))
	return []string{"acme/dns/aws 1.0.0: Makes zones.", "acme/vpc/aws 1.1.0", "acme/widget 1.0.0"}
}

func (w *world) wantInDirectory(what string, want []string) {
	w.Helper()
	if got := w.InDirectory(); !slices.Equal(got, want) {
		w.Errorf("%s: the directory has %q, want %q", what, got, want)
	}
}

// losesShards empties all shards with entries, without a word to anybody.
func (w *world) losesShards() {
	w.Helper()
	head, err := w.Index.DirectoryHead(w.Context(), nil)
	if err != nil {
		w.Fatal(err)
	}
	for number, revision := range head {
		if revision > 0 && number != directory.BuiltShard {
			if err := w.Index.PutDirectoryShard(w.Context(), catalog.DirectoryShard{Number: number, Revision: revision + 1}); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// The directory follows what is published, and what operators say of it.
func TestTheDirectoryFollows(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		want := w.described()
		w.wantInDirectory("published", want)
		dns := registry.Subject{Address: registry.ModuleAddress{Namespace: "acme", Name: "dns", System: "aws"}, Version: publishtest.MustVersion(w.T, "1.0.0")}
		for _, step := range []struct {
			to   registry.Standing
			want []string
		}{{publishtest.Withdraw, want[1:]}, {publishtest.Restore, want}} {
			if _, _, err := w.SetStanding(w.Context(), dns, step.to); err != nil {
				w.Fatal(err)
			}
			w.wantInDirectory(string(step.to.State), step.want)
		}
	})
}

// A catalog of an older release has no directory. The next recovery builds it, also if something
// was published since the upgrade; and a reindex mends it.
func TestTheDirectoryIsBuilt(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		want := w.described()
		w.Empty()
		w.wantInDirectory("with a new catalog", nil)
		w.Upload("modules/acme/dns/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"README.md": "# DNS\n\nMakes zones.\n", "main.tf": ""}))
		w.wantInDirectory("with one that was published since then", want[:1])
		if err := w.Recover(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.wantInDirectory("recovered", want)

		w.losesShards()
		if err := w.Recover(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.wantInDirectory("built before, and damaged", nil)
		if got := w.Walked(w.Reindex(w.Context(), "", false)); len(got) > 0 {
			w.Errorf("reindexed %q", got)
		}
		w.wantInDirectory("reindexed", want)
	})
}

// What a walk corrects in a catalog with a directory, it corrects there, too.
func TestCorrectionsReachTheDirectory(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		want := w.described()
		w.withDirectory()
		stray := registry.ModuleVersion{Address: registry.ModuleAddress{Namespace: "acme", Name: "stray", System: "aws"}, Version: publishtest.MustVersion(w.T, "1.0.0"), Revision: 1}
		if err := catalogtest.Put(w.Context(), w.Index, stray); err != nil {
			w.Fatal(err)
		}
		dns := registry.Subject{Address: registry.ModuleAddress{Namespace: "acme", Name: "dns", System: "aws"}, Version: publishtest.MustVersion(w.T, "1.0.0")}
		if err := w.Index.Remove(w.Context(), dns, catalog.Seen{State: 1, Listed: 1}); err != nil {
			w.Fatal(err)
		}
		w.losesShards()
		for step, err := range w.Reindex(w.Context(), "", false) {
			if err != nil {
				w.Fatal(err)
			}
			if step.Leg == "directory" {
				break // before the whole directory is compared
			}
			if strings.HasPrefix(step.Subject, "module acme/dns/aws") {
				w.wantInDirectory("after the step of dns", want[:1])
			}
		}
		w.wantInDirectory("reindexed", want)
	})
}

// After an upgrade of the readers, a reindex with contents reads what was not read yet, and goes on
// where it stopped. Until then, a verification only notes it.
func TestAReindexReadsDocumentation(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	want := w.described()
	keys := w.KeysUnder(registry.ContentsPrefix)
	if len(keys) != 3 {
		t.Fatalf("of three modules there is %q", keys)
	}
	was := map[string]string{}
	for _, key := range keys {
		was[key] = string(w.Read(key))
		w.S3.Delete(t, key)
	}
	for name, quickly := range map[string]bool{"verify": false, "verify quickly": true} {
		notes := 0
		for step, err := range w.Verify(t.Context(), "", quickly) {
			if err != nil || len(step.Problems) > 0 {
				t.Errorf("%s: %s: %q, %v", name, step.Subject, step.Problems, err)
			}
			for _, note := range step.Notes {
				if strings.HasPrefix(step.Subject, "module ") && strings.Contains(note, "larder reindex --contents") {
					notes++
				}
			}
		}
		if notes != 3 {
			t.Errorf("%s notes %d modules, want 3", name, notes)
		}
	}
	if got := w.Walked(w.Reindex(t.Context(), "", false)); len(got) > 0 || len(w.KeysUnder(registry.ContentsPrefix)) > 0 {
		t.Errorf("reindexed without contents: %q", got)
	}
	w.wantInDirectory("without documents", []string{"acme/dns/aws 1.0.0", "acme/vpc/aws 1.1.0", "acme/widget 1.0.0"})

	after, changed := "", 0
	for range 100 { // one step at a time
		ended := true
		for step, err := range w.Reindex(t.Context(), after, true) {
			if err != nil {
				t.Fatal(err)
			}
			if after, ended = step.After, false; step.Changed {
				changed++
			}
			break
		}
		if ended {
			break
		}
	}
	w.wantInDirectory("with documents", want)
	for _, key := range w.KeysUnder(registry.ContentsPrefix) {
		if got := string(w.Read(key)); got != was[key] {
			t.Errorf("%s is %s, and was %s", key, got, was[key])
		}
	}
	if got := w.Walked(w.Reindex(t.Context(), "", true)); changed != 3 || len(got) > 0 {
		t.Errorf("%d were read, and the second time %q", changed, got)
	}
}

// A verification reads archives again, and names the document that says something else.
func TestVerifyNamesAWrongDocument(t *testing.T) {
	for name, open := range map[string]func(*testing.T) publishtest.Storage{"memory": publishtest.InMemory, "S3": publishtest.OnS3} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, open, publishtest.OnBolt)
			w.described()
			m, err := catalogtest.ModuleVersion(t.Context(), w.Index, registry.ModuleAddress{Namespace: "acme", Name: "dns", System: "aws"}, publishtest.MustVersion(t, "1.0.0"))
			if err != nil {
				t.Fatal(err)
			}
			w.Put(registry.ContentsKey(contents.Reader, m.Archive.SHA256), []byte("{}"))
			found := w.Walked(w.Verify(t.Context(), "", false))
			if len(found) != 1 || !strings.HasPrefix(found[0], "module acme/dns/aws 1.0.0: Its documentation is not what its archive says") {
				t.Errorf("verified %q", found)
			}
			if found := w.Walked(w.Verify(t.Context(), "", true)); len(found) > 0 {
				t.Errorf("quickly: %q", found)
			}
			if got := w.Walked(w.Reindex(t.Context(), "", true)); len(got) > 0 {
				t.Errorf("what was read is read again: %q", got)
			}
			for _, want := range [][]string{{"module acme/dns/aws 1.0.0 changed"}, nil} {
				if got := w.Walked(w.ReadAgain(t.Context(), "")); !slices.Equal(got, want) {
					t.Errorf("read again: %q, want %q", got, want)
				}
				if found := w.Walked(w.Verify(t.Context(), "", false)); len(found) > 0 {
					t.Errorf("after that: %q", found)
				}
			}
		})
	}
}
