package upkeep_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// Every damage is told of, by the version that it is done to, and by nothing
// else.
func TestVerifyNamesEveryDifference(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	onBothCatalogs(t, func(w *world) {
		w.Mixed()
		w.S3.Upload(w.T, "modules/acme/vpc/aws/README.md", []byte("stray"), nil)
		if err := w.PublishKey(w.Context(), "modules/acme/vpc/aws/README.md"); err != nil {
			w.Fatal(err)
		}
		w.Upload("modules/acme/vpc/aws/1.0.0.tar.gz", publishtest.TarOf(map[string]string{"other.tf": ""})) // is rejected
		if found := w.Walked(w.Verify(w.Context(), "", false)); len(found) > 0 {
			w.Fatalf("nothing is damaged: %q", found)
		}
		s := w.Provider("acme", "widget", "2.0.0-rc.1")
		m, err := catalogtest.ModuleVersion(w.Context(), w.Index, publishtest.VPC, publishtest.MustVersion(w.T, "1.1.0"))
		if err != nil {
			w.Fatal(err)
		}
		pkg, archive := s.Packages[0], m.Address.ArchiveKey(m.Version, m.Archive)
		packageKey, sums, signature := s.Address.PackageKey(s.Version, pkg), s.Address.SHA256SUMSKey(s.Version, *s.Release), s.Address.SignatureKey(s.Version, *s.Release)
		provider, module := "provider acme/widget 2.0.0-rc.1", "module acme/vpc/aws 1.1.0"
		for _, damage := range []struct {
			name, key string
			body      []byte // nil: the object is deleted
			subject   string
			words     string
		}{
			{"other bytes of a package", packageKey, bytes.Repeat([]byte("x"), int(pkg.Size)), provider, "has sha256"},
			{"a package cut short", packageKey, []byte("x"), provider, "has 1 bytes"},
			{"no package", packageKey, nil, provider, "is not there"},
			{"no archive", archive, nil, module, "is not there"},
			{"another SHA256SUMS", sums, []byte("0"), provider, "SHA256SUMS has sha256"},
			{"no SHA256SUMS", sums, nil, provider, "SHA256SUMS is not there"},
			{"another signature", signature, w.Read(sums), provider, "SHA256SUMS.sig has sha256"},
			{"no signature", signature, nil, provider, "SHA256SUMS.sig is not there"},
			{"a record gone", registry.RecordKey(s.Subject().LogPrefix(), 1), nil, provider, "record 1 of 2 is missing"},
			{"a record that is none", registry.RecordKey(m.Subject().LogPrefix(), 1), []byte("{}"), module, "newer"},
		} {
			was := w.Read(damage.key)
			if damage.body == nil {
				w.S3.Delete(w.T, damage.key)
			} else {
				w.Put(damage.key, damage.body)
			}
			found := w.Walked(w.Verify(w.Context(), "", false))
			if len(found) == 0 || slices.ContainsFunc(found, func(line string) bool {
				return !strings.HasPrefix(line, damage.subject) && !strings.HasPrefix(line, "upload ")
			}) || !strings.Contains(found[0], damage.words) {
				w.Errorf("%s: found %q, want %q of %s", damage.name, found, damage.words, damage.subject)
			}
			w.Put(damage.key, was)
		}
		if found := w.Walked(w.Verify(w.Context(), "", false)); len(found) > 0 {
			w.Errorf("all is mended: %q", found)
		}
	})
}

// Quickly, archives are not read, and their size is looked at all the same.
func TestVerifyQuickly(t *testing.T) {
	w := newWorld(t)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	s := w.Provider("acme", "widget", "1.0.0")
	key := s.Address.PackageKey(s.Version, s.Packages[0])
	w.Put(key, bytes.Repeat([]byte("x"), int(s.Packages[0].Size)))
	if found := w.Walked(w.Verify(t.Context(), "", true)); len(found) > 0 {
		t.Errorf("quickly found %q", found)
	}
	w.Put(key, []byte("x"))
	if found := w.Walked(w.Verify(t.Context(), "", true)); len(found) != 1 {
		t.Errorf("quickly found %q, want another size", found)
	}
}

// What lies in the inbox is compared with what became of it.
func TestVerifyTheInbox(t *testing.T) {
	w := newWorld(t)
	w.Mixed()
	missed := publishtest.PackageKey("3.0.0", "linux_amd64")
	w.S3.Upload(t, missed, publishtest.Widget("a"), nil)
	lies := publishtest.PackageKey("4.0.0", "linux_amd64")
	version := w.S3.Upload(t, lies, publishtest.Widget("b"), nil)
	w.Put(registry.OutcomeKey(lies), []byte(`{"key":"`+lies+`","version_id":"`+version+`","status":"`+string(inbox.Published)+`"}`))
	found := w.Walked(w.Verify(t.Context(), "", false))
	if len(found) != 2 || !strings.HasPrefix(found[0], "upload "+missed+": What was uploaded at") || !strings.HasPrefix(found[1], "upload "+lies+": Its outcome is") {
		t.Errorf("found %q", found)
	}
}

// What is signed is not what is served: a release covers a package with another
// checksum or not at all, is signed by nobody that is named, or is no SHA256SUMS.
func TestVerifyReadsWhatIsSigned(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author, stranger := publishtest.NewKey(t, "author"), publishtest.NewKey(t, "stranger")
	body := publishtest.Widget("a")
	linux, darwin := publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), publishtest.ProviderName("widget", "1.0.0", "darwin_arm64.zip")
	both := blob.SHA256(body) + "  " + darwin + "\n" + blob.SHA256(body) + "  " + linux + "\n"
	for n, test := range []struct {
		name, sums string
		signer     *signing.Key
		want       []string
	}{
		{"as it is served", both, author, nil},
		{"a package is not listed", blob.SHA256(body) + "  " + darwin + "\n", author,
			[]string{"Its SHA256SUMS does not cover what is served: the author's SHA256SUMS does not list " + linux + "."}},
		{"both are listed otherwise", strings.ReplaceAll(both, blob.SHA256(body), blob.SHA256(nil)), author, []string{
			"Its SHA256SUMS does not cover what is served: the author's SHA256SUMS lists " + darwin + " with another sha256 (" + blob.SHA256(nil) + "; this file: " + blob.SHA256(body) + ").",
			"Its SHA256SUMS does not cover what is served: the author's SHA256SUMS lists " + linux + " with another sha256 (" + blob.SHA256(nil) + "; this file: " + blob.SHA256(body) + ")."}},
		{"it is signed by another key", both, stranger, []string{"The signature over its SHA256SUMS does not verify: "}},
		{"it is no SHA256SUMS", "nothing", author, []string{"Its SHA256SUMS is not readable: "}},
	} {
		namespace := fmt.Sprint("acme", n)
		a, v := registry.ProviderAddress{Namespace: namespace, Type: "widget"}, publishtest.MustVersion(t, "1.0.0")
		for _, name := range []string{linux, darwin} {
			w.Want(w.Upload("providers/"+namespace+"/widget/"+name, body), inbox.Published)
		}
		signature, err := test.signer.Sign(t.Context(), []byte(test.sums))
		if err != nil {
			t.Fatal(err)
		}
		release := registry.Release{
			Author: true, SHA256: blob.SHA256([]byte(test.sums)), Signature: blob.SHA256(signature),
			Keys: []registry.SigningKey{{KeyID: author.PublicKey().KeyID, ASCIIArmor: author.PublicKey().ASCIIArmor}},
		}
		w.Put(a.SHA256SUMSKey(v, release), []byte(test.sums))
		w.Put(a.SignatureKey(v, release), signature)
		record, err := json.Marshal(registry.Record{Kind: registry.KindRelease, Version: v, Release: &release})
		if err != nil {
			t.Fatal(err)
		}
		w.Put(registry.RecordKey(registry.Subject{Address: a, Version: v}.LogPrefix(), 5), record)
		if _, err := w.Bucket.Head(t.Context(), registry.RecordKey(registry.Subject{Address: a, Version: v}.LogPrefix(), 4)); err != nil {
			t.Fatal(err)
		}
		if err := w.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		var found []string
		for step, err := range w.Verify(t.Context(), "", true) {
			if err != nil {
				t.Error(err)
			}
			if step.Subject == "provider "+namespace+"/widget 1.0.0" {
				found = append(found, step.Problems...) // of both legs
			}
		}
		if !slices.EqualFunc(found, test.want, strings.HasPrefix) {
			t.Errorf("%s: verify says %q, want %q", test.name, found, test.want)
		}
	}
}
