package publish_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// documented makes a release list documentation, and has it among its files.
func (w *world) documented(r *publishtest.Release, docs []byte) {
	w.Helper()
	name := publishtest.ProviderName("widget", "1.0.0", "docs.zip")
	r.Files[name] = docs
	r.Sums = append(r.Sums, publishtest.Line(r.Files, name)...)
	r.Sign(w.T, r.Key)
}

// wantDocs checks that version 1.0.0 has a documentation, and that its bytes are
// kept.
func (w *world) wantDocs(namespace string, want []byte) {
	w.Helper()
	s := w.Provider(namespace, "widget", "1.0.0")
	if s.Docs == nil {
		w.Fatalf("%s/widget 1.0.0 has no documentation", namespace)
	}
	kept := w.Read(s.Address.DocsKey(s.Version, *s.Docs))
	if !bytes.Equal(want, kept) || blob.SHA256(kept) != s.Docs.SHA256 || int64(len(kept)) != s.Docs.Size {
		w.Errorf("the documentation is %q, and the state says %+v", kept, *s.Docs)
	}
	document, err := contents.DecodeProvider(w.Read(registry.ContentsDocsKey(contents.Reader, s.Docs.SHA256)))
	if texts := w.Read(registry.ContentsPagesKey(contents.Reader, s.Docs.SHA256)); err != nil || len(document.Pages) != 2 || document.Pages[1].Offset+document.Pages[1].Length != int64(len(texts)) {
		w.Errorf("it is read as %+v, %v, with the texts %q", document, err, texts)
	}
}

// What becomes of documentation beside an author's release, in which it may be listed, and
// beside packages, in any order.
func TestDocsOfARelease(t *testing.T) {
	const linux, docs, sums, signature, key = "linux_amd64.zip", "docs.zip", "SHA256SUMS", "SHA256SUMS.sig", "author.asc"
	right, other := publishtest.Docs("right"), publishtest.Docs("other")
	signed := []string{key, sums, signature} // after which the author's release is served
	for _, test := range []struct {
		name   string
		listed []byte // in the author's SHA256SUMS; nil: it is not
		order  []string
		body   []byte // of the upload of the documentation
		want   inbox.Status
		words  string
		sums   inbox.Status // of the author's SHA256SUMS, where it comes
		author bool         // its release is served in the end
	}{
		{"after the package", nil, []string{linux, docs}, right, inbox.Published, "", "", false},
		{"before the package", nil, []string{docs, linux}, right, inbox.Published, "", "", false},
		{"alone", nil, []string{docs}, right, inbox.Published, "", "", false},
		{"no zip", nil, []string{linux, docs}, []byte("# Widgets"), inbox.Rejected, "not a zip", "", false},
		{"a package", nil, []string{linux, docs}, publishtest.Widget("a"), inbox.Rejected, "docs/", "", false},

		{"listed by the author, after", right, append([]string{linux}, append(signed, docs)...), right, inbox.Published, "", inbox.Published, true},
		{"listed by the author, before", right, append([]string{linux, docs}, signed...), right, inbox.Published, "", inbox.Published, true},
		{"listed by the author, first of all", right, append([]string{docs}, append(signed, linux)...), right, inbox.Published, "", inbox.Published, true},
		{"listed otherwise by the author, after", right, append([]string{linux}, append(signed, docs)...), other, inbox.Rejected, "lists terraform-provider-widget_1.0.0_docs.zip with another sha256", inbox.Published, true},
		{"listed otherwise by the author, before", right, append([]string{linux, docs}, signed...), other, inbox.Published, "", inbox.Rejected, false},
		{"listed otherwise by an author whose key is not here", right, []string{linux, sums, signature, docs}, other, inbox.Pending, "upload the right file, or the SHA256SUMS", inbox.Pending, false},
		{"listed otherwise by an author whose key comes", right, []string{linux, sums, signature, docs, key}, other, inbox.Rejected, "another sha256", inbox.Published, true},
		{"listed otherwise by nobody's signature", right, []string{linux, sums, docs}, other, inbox.Published, "", inbox.Pending, false},
		{"not listed by the author, after", nil, append([]string{linux}, append(signed, docs)...), right, inbox.Published, "", inbox.Published, true},
		{"not listed by the author, before", nil, append([]string{linux, docs}, signed...), right, inbox.Published, "", inbox.Published, true},
		{"not listed by an author whose key is not here", nil, []string{linux, sums, signature, docs}, right, inbox.Published, "", inbox.Pending, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
			r := publishtest.NewRelease(t, "acme")
			if test.listed != nil {
				w.documented(&r, test.listed)
			}
			r.Files[publishtest.ProviderName("widget", "1.0.0", docs)] = test.body
			outcomes := map[string]string{}
			for _, f := range r.InOrder(test.order...) {
				got := w.Upload(f.Key, f.Body)
				outcomes[f.Key] = strings.Join(got.Reasons, " ")
			}
			at := publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", docs)
			if got := w.Status(at); got != test.want || !strings.Contains(outcomes[at], test.words) && !slices.Contains(test.order, key) {
				t.Errorf("the documentation is %s: %s", got, outcomes[at])
			}
			if test.sums != "" && w.Status(r.SumsKey()) != test.sums {
				t.Errorf("SHA256SUMS is %s, want %s", w.Status(r.SumsKey()), test.sums)
			}
			s := w.Provider("acme", "widget", "1.0.0")
			if (s.Docs != nil) != (test.want == inbox.Published) || (s.Release != nil && s.Release.Author) != test.author {
				t.Errorf("the version has the documentation %+v and the release %+v", s.Docs, s.Release)
			}
			if s.Release != nil && !s.Release.Author && strings.Contains(w.Served(s), "docs.zip") {
				t.Error("the registry's own SHA256SUMS lists documentation, which no client installs")
			}
			if found := w.Walked(w.Verify(t.Context(), "", false)); len(found) > 0 {
				t.Errorf("verify says %q", found)
			}
		})
	}
}

// The first bytes win, with and without the folder of the version, and whatever becomes of
// the upload.
func TestImmutableDocs(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	name := publishtest.ProviderName("widget", "1.0.0", "docs.zip")
	flat, inFolder := publishtest.WidgetFolder+name, publishtest.WidgetFolder+"1.0.0/"+name
	first, other := publishtest.Docs("first"), publishtest.Docs("other")
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	release := *w.Provider("acme", "widget", "1.0.0").Release
	w.Want(w.Upload(inFolder, first), inbox.Published)
	records := w.KeysUnder(registry.RecordsPrefix)
	w.Want(w.Upload(flat, first), inbox.Published)
	w.Want(w.Upload(inFolder, first), inbox.Published)
	w.Want(w.Upload(flat, other), inbox.Rejected, "documentation already", blob.SHA256(first), blob.SHA256(other))
	w.Want(w.Upload(inFolder, other), inbox.Rejected, "documentation already")
	w.S3.Delete(t, flat)
	w.S3.Delete(t, inFolder)
	w.wantDocs("acme", first)
	if got := w.KeysUnder(registry.RecordsPrefix); !slices.Equal(got, records) {
		t.Errorf("records %q, want %q", got, records)
	}
	if now := *w.Provider("acme", "widget", "1.0.0").Release; now.SHA256 != release.SHA256 || now.Sequence != release.Sequence {
		t.Errorf("the version was signed anew: %+v, before %+v", now, release)
	}
	w.Empty()
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantDocs("acme", first)
	w.WantListed("acme/widget", "1.0.0 linux_amd64")
}

// Documentation alone lists no version, and no operator can say anything of it. Its build
// metadata is that of the version. That a version is withdrawn changes nothing of it.
func TestDocsAndTheirVersion(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	docs := func(version string) string {
		return publishtest.WidgetFolder + publishtest.ProviderName("widget", version, "docs.zip")
	}
	w.Want(w.Upload(docs("1.0.0+a"), publishtest.Docs("a")), inbox.Published)
	w.WantListed("acme/widget")
	subject := registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}
	if _, _, err := w.SetStanding(t.Context(), subject, publishtest.Withdraw); err == nil {
		t.Error("a version without a package is withdrawn")
	}
	w.Want(w.Upload(docs("1.0.0+b"), publishtest.Docs("a")), inbox.Rejected, "published already as 1.0.0+a")
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Rejected, "published already as 1.0.0+a")
	w.Want(w.Upload(publishtest.PackageKey("1.0.0+a", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	w.WantListed("acme/widget", "1.0.0+a linux_amd64")

	w.Want(w.Upload(publishtest.PackageKey("2.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	subject.Version = publishtest.MustVersion(t, "2.0.0")
	if _, _, err := w.SetStanding(t.Context(), subject, publishtest.Withdraw); err != nil {
		t.Fatal(err)
	}
	w.Want(w.Upload(docs("2.0.0"), publishtest.Docs("2")), inbox.Published)
	if s := w.Provider("acme", "widget", "2.0.0"); s.Docs == nil || s.Standing != publishtest.Withdraw {
		t.Errorf("the withdrawn version is %+v", s)
	}
}

// A walk sees documentation whose bytes are gone or others, and an outcome that is not that
// of what is published.
func TestVerifySeesDamagedDocs(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	w.Want(w.Upload(publishtest.WidgetFolder+publishtest.ProviderName("widget", "1.0.0", "docs.zip"), publishtest.Docs("a")), inbox.Published)
	s := w.Provider("acme", "widget", "1.0.0")
	key, good := s.Address.DocsKey(s.Version, *s.Docs), publishtest.Docs("a")
	for _, damage := range []struct {
		body    []byte
		quickly bool
		words   string
	}{
		{good, false, ""},
		{good[1:], true, "and was published with"},
		{append([]byte("Q"), good[1:]...), false, "has sha256"},
		{append([]byte("Q"), good[1:]...), true, ""},
	} {
		w.Put(key, damage.body)
		found := strings.Join(w.Walked(w.Verify(t.Context(), "", damage.quickly)), "\n")
		if (found == "") != (damage.words == "") || !strings.Contains(found, damage.words) {
			t.Errorf("verify says %q, want %q", found, damage.words)
		}
	}
}

// What documentation says is read before the version is listed with it, also by an event that
// comes again. A walk reads it when it was lost, and another compares it.
func TestDocsAreRead(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	key := publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "docs.zip")
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a")), inbox.Published)
	w.Want(w.Upload(key, publishtest.Docs("a")), inbox.Published)
	sha256 := blob.SHA256(publishtest.Docs("a"))
	document, pages := registry.ContentsDocsKey(contents.Reader, sha256), registry.ContentsPagesKey(contents.Reader, sha256)
	want, texts := w.Read(document), w.Read(pages)
	wantRead := func(when string) {
		t.Helper()
		if !bytes.Equal(w.Read(document), want) || !bytes.Equal(w.Read(pages), texts) {
			t.Errorf("%s, it is read as something else", when)
		}
		if found := w.Walked(w.Verify(t.Context(), "", false)); len(found) > 0 {
			t.Errorf("%s, verify says %q", when, found)
		}
	}
	wantRead("at first")

	w.S3.Delete(t, document)
	w.Want(w.Upload(key, publishtest.Docs("a")), inbox.Published)
	wantRead("after another event")

	w.S3.Delete(t, document)
	w.S3.Delete(t, pages)
	if found := w.Walked(w.Reindex(t.Context(), "", false)); len(found) > 0 {
		t.Errorf("a reindex that is not asked to read it says %q", found)
	}
	if found := w.Walked(w.Reindex(t.Context(), "", true)); len(found) != 1 || !strings.HasSuffix(found[0], "acme/widget 1.0.0 changed") {
		t.Errorf("reindex says %q", found)
	}
	wantRead("after a reindex")

	w.Put(pages, []byte("something else"))
	if found := w.Walked(w.Verify(t.Context(), "", false)); len(found) != 1 || !strings.Contains(found[0], "Its documentation is not what its archive says") {
		t.Errorf("of other texts, verify says %q", found)
	}
}
