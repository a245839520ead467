package publish_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// Whichever call fails while an upload is published, that is an error: what looks
// beside the upload, at files that it is judged with, fails the upload, too.
func TestNoUploadPassesOverAFailure(t *testing.T) {
	author := newAuthor(t, packet.Config{})
	mirrored := "mirror/registry.terraform.io/acme/widget/"
	for name, prepare := range map[string]func(w *world) file{
		"a SHA256SUMS whose key is not here": func(w *world) file {
			r := newRelease(w.T, "acme")
			w.uploadFiles(r.inOrder("SHA256SUMS.sig"))
			return r.inOrder("SHA256SUMS")[0]
		},
		"a SHA256SUMS that is served already": func(w *world) file {
			r := newRelease(w.T, "acme")
			w.want(w.uploadFiles(r.inOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
			w.s3.Upload(w.T, r.sumsKey()+".sig", r.signature, nil)
			return r.inOrder("SHA256SUMS")[0]
		},
		"a manifest after its package": func(w *world) file {
			w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
			return file{widgetFolder + providerName("widget", "1.0.0", "manifest.json"), []byte(manifestJSON)}
		},
		"a mirrored package beside its document": func(w *world) file {
			w.upload(mirrored+"1.0.0.json", []byte(`{"archives":{}}`))
			return file{mirrored + providerName("widget", "1.0.0", "linux_amd64.zip"), widget("a")}
		},
		"a key whose revocation waits": func(w *world) file {
			w.want(w.upload("keys/acme/certificate.asc", certificate(w.T, author)), inbox.Pending)
			return file{authorFile, exported(w.T, author)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n, hit := 1, true; hit; n++ {
				w := newWorldOn(t, inMemory, onBolt)
				f, upload := &faults{hits: nth(n)}, prepare(w)
				object := blob.Object{Key: upload.key, Version: w.s3.Upload(t, upload.key, upload.body, nil)}
				if _, err := w.through(f).Publish(t.Context(), object); f.hit != errors.Is(err, errFault) {
					t.Errorf("call %d, %q, fails, and it ends with %v", n, f.calls[len(f.calls)-1], err)
				}
				hit = f.hit
			}
		})
	}
}

// What cannot be read beside an upload is an error, and no reason to pass it.
func TestAnAuthorsSHA256SUMSThatIsNoneAcceptsNothing(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	r := newRelease(t, "acme")
	w.want(w.uploadFiles(r.inOrder("author.asc", "SHA256SUMS", "SHA256SUMS.sig")), inbox.Published)
	s := w.provider("acme", "widget", "1.0.0")
	w.put(s.Address.SHA256SUMSKey(s.Version, *s.Release), []byte("nothing"))
	f := r.inOrder("linux_amd64.zip")[0]
	if _, err := w.Publish(t.Context(), blob.Object{Key: f.key, Version: w.s3.Upload(t, f.key, f.body, nil)}); err == nil || !strings.Contains(err.Error(), "read the author's SHA256SUMS") {
		t.Errorf("error is %v", err)
	}
	w.wantListed("acme/widget")
}

// secondWriter makes something happen before the first record is written, and
// another call fail after that.
func secondWriter(before func(), fails string) callFunc {
	happened := false
	return func(name string, do func() error) error {
		if !happened && strings.HasPrefix(name, "create "+registry.RecordsPrefix) {
			happened = true
			before()
		} else if happened && fails != "" && strings.HasPrefix(name, fails) {
			return errFault
		}
		return do()
	}
}

// Two writers have a release of the same version at the same time. The second one
// finds the first one's record: the same release is not recorded twice, another
// one is a rejection, and what cannot be found out is an error.
func TestAuthorsWordWinsTheFirstOfTwoReleases(t *testing.T) {
	r, other := newRelease(t, "acme"), newRelease(t, "acme")
	other.sums = append(slices.Clone(r.sums), shaOf(nil)+"  "+providerName("widget", "1.0.0", "windows_amd64.zip")+"\n"...)
	other.sign(t, other.key)
	inFolder := func(f file) file { return file{strings.Replace(f.key, "/widget/", "/widget/1.0.0/", 1), f.body} }
	for name, test := range map[string]struct {
		second release
		fails  string
		want   inbox.Status // "": an error
	}{
		"the same release":            {r, "", inbox.Published},
		"another release":             {other, "", inbox.Rejected},
		"the record cannot be read":   {r, "read " + registry.RecordsPrefix, ""},
		"nor that of another release": {other, "read " + registry.RecordsPrefix, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, inMemory, onBolt)
			w.uploadFiles(r.inOrder("author.asc"))
			files := test.second.inOrder("SHA256SUMS.sig", "SHA256SUMS")
			w.uploadFiles([]file{inFolder(files[0])})
			sums := inFolder(files[1])
			object := blob.Object{Key: sums.key, Version: w.s3.Upload(t, sums.key, sums.body, nil)}
			p := w.through(secondWriter(func() { w.want(w.uploadFiles(r.inOrder("SHA256SUMS.sig", "SHA256SUMS")), inbox.Published) }, test.fails))
			outcome, err := p.Publish(t.Context(), object)
			if outcome.Status != test.want || errors.Is(err, errFault) != (test.want == "") {
				t.Errorf("it is %q, %v, want %q", outcome.Status, err, test.want)
			}
			if s := w.provider("acme", "widget", "1.0.0"); s.Revision != 1 || w.served(s) != string(r.sums) {
				t.Errorf("after %d records there is served %s", s.Revision, w.served(s))
			}
		})
	}
}

// The other file of a release that is served is told so once: not again for each
// event, but again where it was uploaded again.
func TestTheWordBackToTheOtherFileOfARelease(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	r := newRelease(t, "acme")
	w.want(w.uploadFiles(r.inOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
	signature := r.sumsKey() + ".sig"
	redeliver := func() []string {
		f := &faults{}
		if _, err := w.through(f).Publish(t.Context(), blob.Object{Key: r.sumsKey(), Version: w.s3.Upload(t, r.sumsKey(), r.sums, nil)}); err != nil {
			t.Fatal(err)
		}
		return f.calls
	}
	if calls := redeliver(); slices.Contains(calls, "put "+registry.OutcomeKey(signature)) {
		t.Errorf("the signature is told again: %q", calls)
	}
	again := w.s3.Upload(t, signature, r.signature, nil)
	redeliver()
	if got := w.s3.Tags(t, signature, again)[inbox.StatusTag]; got != string(inbox.Published) {
		t.Errorf("the signature that was uploaded again is %q", got)
	}
}

// A file that cannot be the other one of a release does not hide the one that can.
func TestAReleaseFindsItsOtherFileInTheNextFolder(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	r := newRelease(t, "acme")
	files := r.inOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")
	w.uploadFiles(files[:1])
	w.s3.Upload(t, files[1].key, make([]byte, 1<<20), nil)
	w.s3.Upload(t, strings.Replace(files[1].key, "/widget/", "/widget/1.0.0/", 1), files[1].body, nil)
	w.want(w.uploadFiles(files[2:]), inbox.Published)
}

// listing is a catalog with another listing of providers.
type listing struct {
	catalog.Index
	all registry.Listing
}

func (l listing) Listing(ctx context.Context, a registry.Address, _ *access.Lookup) (registry.Listing, error) {
	if a.Folder() == registry.Modules {
		return l.Index.Listing(ctx, a, nil)
	}
	return l.all, nil
}

// What is listed and cannot be served is told of.
func TestVerifyNamesWhatIsListedWithoutAPackage(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	w.want(w.uploadFiles([]file{{widgetFolder + providerName("widget", "1.0.0", "manifest.json"), []byte(manifestJSON)}}), inbox.Published)
	l, _ := registry.Listing(nil).With(registry.Listed{Version: mustVersion(t, "1.0.0"), Revision: 1})
	found := w.walked(w.publisher(w.bucket, listing{w.index, l}, w.key).Verify(t.Context(), "", true))
	if want := "provider acme/widget 1.0.0: It is listed, and nothing of it can be served."; !slices.Equal(found, []string{want}) {
		t.Errorf("found %q, want %q", found, want)
	}
}

// A certificate whose key is gone is not what its outcome says.
func TestVerifyNamesARevocationWithoutItsKey(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	author := newAuthor(t, packet.Config{})
	w.upload(authorFile, exported(t, author))
	w.want(w.upload("keys/acme/certificate.asc", certificate(t, author)), inbox.Published)
	for _, key := range w.keysUnder(registry.AllAuthorKeysPrefix) {
		w.s3.Delete(t, key)
	}
	var of []string
	found, _ := w.notes()
	for _, line := range found {
		subject, _, _ := strings.Cut(line, ":")
		of = append(of, subject)
	}
	if want := []string{"upload " + authorFile, "upload keys/acme/certificate.asc"}; !slices.Equal(of, want) {
		t.Errorf("found %q, want one line each of %q", found, want)
	}
}

// The inbox is walked by its keys, however often each was uploaded. What waits
// there is the last upload that waits, and not what it took the place of.
func TestAReconcileTellsOfTheLastUpload(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	r := newRelease(t, "acme")
	f := r.inOrder("SHA256SUMS")[0]
	w.want(w.upload(f.key, f.body), inbox.Pending)
	last := w.s3.Upload(t, f.key, f.body, nil)
	w.want(w.deliver(f.key, last), inbox.Pending)
	var keys []string
	for key, err := range w.Uploads(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if !slices.Equal(keys, []string{f.key}) {
		t.Errorf("the uploads are %q", keys)
	}
	if _, missed := w.reconcile(); !slices.Equal(missed, []string{f.key + " " + last}) {
		t.Errorf("missed %q, want %q alone", missed, last)
	}
}

// An upload of which nobody knows what became is passed over, and named in the log.
func TestAReconcileLogsWhatItCannotTell(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	key := packageKey("1.0.0", "linux_amd64")
	w.s3.Upload(t, key, widget("a"), nil)
	w.put(registry.OutcomeKey(key), []byte("no outcome"))
	var log bytes.Buffer
	p := assemble(publishing.Config{Bucket: w.bucket, Index: w.index, Signer: w.key, Scratch: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := p.Reconcile(t.Context(), "", time.Now().Add(time.Hour), func(context.Context, blob.Object) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "it is not known what became of an upload") || !strings.Contains(log.String(), "key="+key) {
		t.Errorf("the log is %s", &log)
	}
}

// interfering is a catalog that somebody changes before it is corrected.
type interfering struct {
	catalog.Index
	before func()
}

func (i *interfering) Replace(ctx context.Context, s registry.State, seen catalog.Seen) error {
	if do := i.before; do != nil {
		i.before = nil
		do()
	}
	return i.Index.Replace(ctx, s, seen)
}

// A correction that somebody came before is made on what they have left.
func TestAReindexLooksAgainAfterOthers(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	s := w.provider("acme", "widget", "1.0.0")
	seen := catalog.Seen{State: s.Revision, Listed: s.Revision}
	wrong := s
	wrong.Standing = withdraw
	if err := catalogtest.Replace(t.Context(), w.index, wrong, seen); err != nil {
		t.Fatal(err)
	}
	index := &interfering{w.index, func() {
		if err := w.index.Remove(t.Context(), s.Subject(), seen); err != nil {
			t.Error(err)
		}
	}}
	if got := w.walked(w.publisher(w.bucket, index, w.key).Reindex(t.Context(), "")); !slices.Equal(got, []string{"provider acme/widget 1.0.0 changed"}) {
		t.Errorf("reindexed %q", got)
	}
	w.wantListed("acme/widget", "1.0.0 linux_amd64")
}

// breaking is a bucket in which the bytes of an object break off.
type breaking struct {
	blob.Bucket
	key string
	err error
}

func (b breaking) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	body, object, err := b.Bucket.Open(ctx, key, version)
	if err != nil || key != b.key {
		return body, object, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(body, 3), iotest.ErrReader(b.err)), body}, object, nil
}

// An upload that cannot be read to its end is judged when it can.
func TestAllOrNothingAnUploadThatBreaksOff(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	r := newRelease(t, "acme")
	for _, f := range append(r.inOrder("linux_amd64.zip", "SHA256SUMS", "author.asc"), r.moduleFile("1.0.0.zip", map[string]string{"main.tf": ""})) {
		object := blob.Object{Key: f.key, Version: w.s3.Upload(t, f.key, f.body, nil)}
		for _, want := range []error{errFault, io.EOF} {
			if want == io.EOF && !strings.HasSuffix(f.key, ".zip") {
				continue // the size of a small file is not compared
			}
			_, err := w.publisher(breaking{w.bucket, f.key, want}, w.index, w.key).Publish(t.Context(), object)
			if err == nil || want == errFault && !errors.Is(err, errFault) || want == io.EOF && !strings.Contains(err.Error(), "read 3 of ") {
				t.Errorf("%s breaks off with %v: %v", f.key, want, err)
			}
		}
		if got := w.keysUnder(registry.Prefix); len(got) > 0 {
			t.Errorf("%s left %q", f.key, got)
		}
	}
}
