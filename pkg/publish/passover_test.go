package publish_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// Whichever call fails while an upload is published, that is an error: what looks
// beside the upload, at files that it is judged with, fails the upload, too.
func TestNoUploadPassesOverAFailure(t *testing.T) {
	author := publishtest.NewAuthor(t, packet.Config{})
	mirrored := "mirror/registry.terraform.io/acme/widget/"
	for name, prepare := range map[string]func(w *world) publishtest.File{
		"a SHA256SUMS whose key is not here": func(w *world) publishtest.File {
			r := publishtest.NewRelease(w.T, "acme")
			w.UploadFiles(r.InOrder("SHA256SUMS.sig"))
			return r.InOrder("SHA256SUMS")[0]
		},
		"a SHA256SUMS that is served already": func(w *world) publishtest.File {
			r := publishtest.NewRelease(w.T, "acme")
			w.Want(w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
			w.S3.Upload(w.T, r.SumsKey()+".sig", r.Signature, nil)
			return r.InOrder("SHA256SUMS")[0]
		},
		"a manifest after its package": func(w *world) publishtest.File {
			w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
			return publishtest.File{Key: publishtest.WidgetFolder + publishtest.ProviderName("widget", "1.0.0", "manifest.json"), Body: []byte(publishtest.ManifestJSON)}
		},
		"a mirrored package beside its document": func(w *world) publishtest.File {
			w.Upload(mirrored+"1.0.0.json", []byte(`{"archives":{}}`))
			return publishtest.File{Key: mirrored + publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), Body: publishtest.Widget("a")}
		},
		"a key whose revocation waits": func(w *world) publishtest.File {
			w.Want(w.Upload("keys/acme/certificate.asc", publishtest.Certificate(w.T, author)), inbox.Pending)
			return publishtest.File{Key: publishtest.AuthorFile, Body: publishtest.Exported(w.T, author)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n, hit := 1, true; hit; n++ {
				w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
				f, upload := &publishtest.Faults{Hits: publishtest.Nth(n)}, prepare(w)
				object := blob.Object{Key: upload.Key, Version: w.S3.Upload(t, upload.Key, upload.Body, nil)}
				if _, err := w.Through(f).Publish(t.Context(), object); f.Hit != errors.Is(err, publishtest.ErrFault) {
					t.Errorf("call %d, %q, fails, and it ends with %v", n, f.Calls[len(f.Calls)-1], err)
				}
				hit = f.Hit
			}
		})
	}
}

// What cannot be read beside an upload is an error, and no reason to pass it.
func TestAnAuthorsSHA256SUMSThatIsNoneAcceptsNothing(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	w.Want(w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Published)
	s := w.Provider("acme", "widget", "1.0.0")
	w.Put(s.Address.SHA256SUMSKey(s.Version, *s.Release), []byte("nothing"))
	f := r.InOrder("linux_amd64.zip")[0]
	if _, err := w.Publish(t.Context(), blob.Object{Key: f.Key, Version: w.S3.Upload(t, f.Key, f.Body, nil)}); err == nil || !strings.Contains(err.Error(), "read the author's SHA256SUMS") {
		t.Errorf("error is %v", err)
	}
	w.WantListed("acme/widget")
}

// secondWriter makes something happen before the first record is written, and
// another call fail after that.
func secondWriter(before func(), fails string) publishtest.CallFunc {
	happened := false
	return func(name string, do func() error) error {
		if !happened && strings.HasPrefix(name, "create "+registry.RecordsPrefix) {
			happened = true
			before()
		} else if happened && fails != "" && strings.HasPrefix(name, fails) {
			return publishtest.ErrFault
		}
		return do()
	}
}

// Two writers have a release of the same version at the same time. The second one
// finds the first one's record: the same release is not recorded twice, another
// one is a rejection, and what cannot be found out is an error.
func TestAuthorsWordWinsTheFirstOfTwoReleases(t *testing.T) {
	r, other := publishtest.NewRelease(t, "acme"), publishtest.NewRelease(t, "acme")
	other.Sums = append(slices.Clone(r.Sums), blob.SHA256(nil)+"  "+publishtest.ProviderName("widget", "1.0.0", "windows_amd64.zip")+"\n"...)
	other.Sign(t, other.Key)
	inFolder := func(f publishtest.File) publishtest.File {
		return publishtest.File{Key: strings.Replace(f.Key, "/widget/", "/widget/1.0.0/", 1), Body: f.Body}
	}
	for name, test := range map[string]struct {
		second publishtest.Release
		fails  string
		want   inbox.Status // "": an error
	}{
		"the same release":            {r, "", inbox.Published},
		"another release":             {other, "", inbox.Rejected},
		"the record cannot be read":   {r, "read " + registry.RecordsPrefix, ""},
		"nor that of another release": {other, "read " + registry.RecordsPrefix, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
			w.UploadFiles(r.InOrder("author.asc"))
			files := test.second.InOrder("SHA256SUMS.sig", "SHA256SUMS")
			w.UploadFiles([]publishtest.File{inFolder(files[0])})
			sums := inFolder(files[1])
			object := blob.Object{Key: sums.Key, Version: w.S3.Upload(t, sums.Key, sums.Body, nil)}
			p := w.Through(secondWriter(func() { w.Want(w.UploadFiles(r.InOrder("SHA256SUMS.sig", "SHA256SUMS")), inbox.Published) }, test.fails))
			outcome, err := p.Publish(t.Context(), object)
			if outcome.Status != test.want || errors.Is(err, publishtest.ErrFault) != (test.want == "") {
				t.Errorf("it is %q, %v, want %q", outcome.Status, err, test.want)
			}
			if s := w.Provider("acme", "widget", "1.0.0"); s.Revision != 1 || w.Served(s) != string(r.Sums) {
				t.Errorf("after %d records there is served %s", s.Revision, w.Served(s))
			}
		})
	}
}

// The other file of a release that is served is told so once: not again for each
// event, but again where it was uploaded again.
func TestTheWordBackToTheOtherFileOfARelease(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	w.Want(w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
	signature := r.SumsKey() + ".sig"
	redeliver := func() []string {
		f := &publishtest.Faults{}
		if _, err := w.Through(f).Publish(t.Context(), blob.Object{Key: r.SumsKey(), Version: w.S3.Upload(t, r.SumsKey(), r.Sums, nil)}); err != nil {
			t.Fatal(err)
		}
		return f.Calls
	}
	if calls := redeliver(); slices.Contains(calls, "put "+registry.OutcomeKey(signature)) {
		t.Errorf("the signature is told again: %q", calls)
	}
	again := w.S3.Upload(t, signature, r.Signature, nil)
	redeliver()
	if got := w.S3.Tags(t, signature, again)[inbox.StatusTag]; got != string(inbox.Published) {
		t.Errorf("the signature that was uploaded again is %q", got)
	}
}

// A file that cannot be the other one of a release does not hide the one that can.
func TestAReleaseFindsItsOtherFileInTheNextFolder(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	files := r.InOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")
	w.UploadFiles(files[:1])
	w.S3.Upload(t, files[1].Key, make([]byte, 1<<20), nil)
	w.S3.Upload(t, strings.Replace(files[1].Key, "/widget/", "/widget/1.0.0/", 1), files[1].Body, nil)
	w.Want(w.UploadFiles(files[2:]), inbox.Published)
}

// An upload that cannot be read to its end is judged when it can.
func TestAllOrNothingAnUploadThatBreaksOff(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	for _, f := range append(r.InOrder("linux_amd64.zip", "SHA256SUMS", "author.asc"), r.ModuleFile("1.0.0.zip", map[string]string{"main.tf": ""})) {
		object := blob.Object{Key: f.Key, Version: w.S3.Upload(t, f.Key, f.Body, nil)}
		for _, want := range []error{publishtest.ErrFault, io.EOF} {
			if want == io.EOF && !strings.HasSuffix(f.Key, ".zip") {
				continue // the size of a small file is not compared
			}
			_, err := w.PartsOn(publishtest.Breaking{Bucket: w.Bucket, Key: f.Key, Err: want}, w.Index, w.Key).Publish(t.Context(), object)
			if err == nil || want == publishtest.ErrFault && !errors.Is(err, publishtest.ErrFault) || want == io.EOF && !strings.Contains(err.Error(), "read 3 of ") {
				t.Errorf("%s breaks off with %v: %v", f.Key, want, err)
			}
		}
		if got := w.KeysUnder(registry.Prefix); len(got) > 0 {
			t.Errorf("%s left %q", f.Key, got)
		}
	}
}
