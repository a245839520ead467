package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// A package that contradicts what its author has signed must not be published before
// that is: then neither that nor the right package ever could be.
func TestAPackageThatContradictsTheSHA256SUMSBesideIt(t *testing.T) {
	const linux, darwin = "terraform-provider-widget_1.0.0_linux_amd64.zip", "terraform-provider-widget_1.0.0_darwin_arm64.zip"
	key := func(w *world, r *publishtest.Release) {
		w.Upload("keys/"+r.Namespace+"/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
	}
	put := func(w *world, r *publishtest.Release, names ...string) {
		for _, f := range r.InOrder(names...) {
			w.S3.Upload(w.T, f.Key, f.Body, nil)
		}
	}
	listsOther := func(w *world, r *publishtest.Release) { // and not the package
		r.Sums = []byte(publishtest.Line(r.Files, darwin))
		r.Sign(w.T, r.Key)
	}
	for _, test := range []struct {
		name   string
		before func(w *world, r *publishtest.Release) // what comes before a package for Linux with other bytes than the release's
		want   inbox.Status                           // of that package
	}{
		{"signed, and the key is not here", func(w *world, r *publishtest.Release) { put(w, r, "SHA256SUMS", "SHA256SUMS.sig") }, inbox.Pending},
		{"signed, with events", func(w *world, r *publishtest.Release) {
			for _, f := range r.InOrder("SHA256SUMS", "SHA256SUMS.sig") {
				w.Want(w.Upload(f.Key, f.Body), inbox.Pending)
			}
		}, inbox.Pending},
		{"signed, with the key, and the event is late", func(w *world, r *publishtest.Release) {
			key(w, r)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Pending},
		{"signed, and it is not in it", func(w *world, r *publishtest.Release) {
			listsOther(w, r)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Pending},
		{"signed, and what it has is published", func(w *world, r *publishtest.Release) {
			w.Want(w.Upload(publishtest.WidgetFolder+darwin, r.Files[darwin]), inbox.Published)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Pending},
		{"signed and served", func(w *world, r *publishtest.Release) {
			key(w, r)
			for _, f := range r.InOrder("SHA256SUMS", "SHA256SUMS.sig") {
				w.Upload(f.Key, f.Body)
			}
		}, inbox.Rejected},

		// What can never be served as the author's keeps nothing back.
		{"without a signature", func(w *world, r *publishtest.Release) { put(w, r, "SHA256SUMS") }, inbox.Published},
		{"a signature alone", func(w *world, r *publishtest.Release) { put(w, r, "SHA256SUMS.sig") }, inbox.Published},
		{"with a signature that is none", func(w *world, r *publishtest.Release) {
			put(w, r, "SHA256SUMS")
			w.S3.Upload(w.T, r.SumsKey()+".sig", []byte("signed"), nil)
		}, inbox.Published},
		{"with a signature of something else", func(w *world, r *publishtest.Release) {
			key(w, r)
			put(w, r, "SHA256SUMS.sig")
			listsOther(w, r)
			put(w, r, "SHA256SUMS")
		}, inbox.Published},
		{"signed by a key that is not trusted", func(w *world, r *publishtest.Release) {
			r.Sign(w.T, publishtest.NewKey(w.T, "distrusted"))
			w.Upload("keys/"+r.Namespace+"/author.asc", []byte(publishtest.NewKey(w.T, "distrusted").PublicKey().ASCIIArmor))
			if _, err := w.Keys.Distrust(w.Context(), publishtest.NewKey(w.T, "distrusted").PublicKey().Fingerprint); err != nil {
				w.Fatal(err)
			}
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Published},
		{"signed, and no SHA256SUMS", func(w *world, r *publishtest.Release) {
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
			w.S3.Upload(w.T, r.SumsKey(), append(r.Sums, '\n'), nil)
		}, inbox.Published},
		{"signed, and contradicting what is published", func(w *world, r *publishtest.Release) {
			w.Want(w.Upload(publishtest.WidgetFolder+darwin, publishtest.Widget("other")), inbox.Published)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Published},
		{"in another folder", func(w *world, r *publishtest.Release) {
			w.S3.Upload(w.T, publishtest.WidgetFolder+"1.0.0/"+publishtest.ProviderName("widget", "1.0.0", "SHA256SUMS"), r.Sums, nil)
			w.S3.Upload(w.T, publishtest.WidgetFolder+"1.0.0/"+publishtest.ProviderName("widget", "1.0.0", "SHA256SUMS.sig"), r.Signature, nil)
		}, inbox.Published},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, r := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt), publishtest.NewRelease(t, "acme")
			test.before(w, &r)
			got := w.Upload(publishtest.WidgetFolder+linux, publishtest.Widget("other"))
			w.Want(got, test.want)
			if test.want == inbox.Pending && (len(got.Reasons) != 1 || !strings.HasPrefix(got.Reasons[0], "upload the right file, or the SHA256SUMS and signature that are of this one: the author's SHA256SUMS ") || !strings.HasSuffix(got.Reasons[0], ". Until then neither is published")) {
				t.Errorf("the reasons are %q", got.Reasons)
			}
			w.Want(w.Upload(publishtest.Mirrored+linux, publishtest.Widget("other")), inbox.Published)
		})
	}
}

// A package that waits is judged again with everything that may end that.
func TestAContradictionEnds(t *testing.T) {
	const linux = "terraform-provider-widget_1.0.0_linux_amd64.zip"
	for _, test := range []struct {
		name  string
		ends  func(w *world, r publishtest.Release)
		want  inbox.Status
		right inbox.Status // of the right package, after that
	}{
		{"the key comes", func(w *world, r publishtest.Release) {
			w.Upload("keys/acme/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
		}, inbox.Rejected, inbox.Published},
		{"the right SHA256SUMS comes, and then its signature", func(w *world, r publishtest.Release) {
			r.Files[linux] = publishtest.Widget("other")
			r.Sums = []byte(publishtest.Line(r.Files, linux))
			r.Sign(w.T, r.Key)
			w.Want(w.Upload(r.SumsKey(), r.Sums), inbox.Pending)
			w.Want(w.Upload(r.SumsKey()+".sig", r.Signature), inbox.Pending)
		}, inbox.Published, inbox.Rejected},
		{"a SHA256SUMS comes that is none", func(w *world, r publishtest.Release) {
			w.Want(w.Upload(r.SumsKey(), []byte("no lines")), inbox.Rejected)
		}, inbox.Published, inbox.Rejected},
		{"the right package comes", func(w *world, r publishtest.Release) {
			w.Want(w.Upload(publishtest.WidgetFolder+linux, r.Files[linux]), inbox.Published)
		}, inbox.Pending, inbox.Published}, // a newer upload has its place
		{"the SHA256SUMS is deleted, and the package uploaded again", func(w *world, r publishtest.Release) {
			w.S3.Delete(w.T, r.SumsKey())
			w.Want(w.Upload(publishtest.WidgetFolder+linux, publishtest.Widget("other")), inbox.Published)
		}, inbox.Pending, inbox.Rejected},
		{"the SHA256SUMS is deleted, with a notice", func(w *world, r publishtest.Release) {
			w.S3.Delete(w.T, r.SumsKey())
			if err := w.PublishKey(w.Context(), r.SumsKey()); err != nil {
				w.Fatal(err)
			}
		}, inbox.Published, inbox.Rejected},
		{"the signature is deleted, and a reconcile comes by", func(w *world, r publishtest.Release) {
			w.S3.Delete(w.T, r.SumsKey()+".sig")
			for _, missed := range w.missed() {
				if _, err := w.Publish(w.Context(), missed); err != nil {
					w.Fatal(err)
				}
			}
		}, inbox.Published, inbox.Rejected},
	} {
		for _, folder := range []string{"", "1.0.0/"} {
			t.Run(test.name+" "+folder, func(t *testing.T) {
				w, r := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt), publishtest.NewRelease(t, "acme")
				name := func(what string) string {
					return publishtest.WidgetFolder + folder + publishtest.ProviderName("widget", "1.0.0", what)
				}
				for what, body := range map[string][]byte{"SHA256SUMS": r.Sums, "SHA256SUMS.sig": r.Signature} {
					w.S3.Upload(t, name(what), body, nil)
				}
				version := w.S3.Upload(t, name("linux_amd64.zip"), publishtest.Widget("other"), nil)
				w.Want(w.Deliver(name("linux_amd64.zip"), version), inbox.Pending)
				if folder != "" && (test.right == inbox.Rejected || test.want == inbox.Pending) {
					return // it is about the files of the flat folder
				}
				test.ends(w, r)
				if got := inbox.Status(w.S3.Tags(t, name("linux_amd64.zip"), version)[inbox.StatusTag]); got != test.want {
					t.Errorf("it is %s, want %s", got, test.want)
				}
				w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.NewRelease(t, "acme").Files[linux]), test.right)
			})
		}
	}
}

// missed is what a reconcile hands on.
func (w *world) missed() (missed []blob.Object) {
	w.Helper()
	_, err := w.Reconcile(w.Context(), "", time.Now().Add(time.Hour), func(_ context.Context, o blob.Object) error {
		missed = append(missed, o)
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return missed
}

// Each call that looks for a contradiction may fail: then nothing is published yet.
func TestALookForAContradictionThatFails(t *testing.T) {
	w, r := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt), publishtest.NewRelease(t, "acme")
	for _, f := range r.InOrder("SHA256SUMS", "SHA256SUMS.sig") {
		w.S3.Upload(t, f.Key, f.Body, nil)
	}
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	version := w.S3.Upload(t, key, publishtest.Widget("other"), nil)
	for _, call := range []string{"head " + r.SumsKey(), "read " + r.SumsKey(), "head " + r.SumsKey() + ".sig", "read " + r.SumsKey() + ".sig", "list registry/keys/authors/acme/"} {
		hit := false
		p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
			if name == call {
				hit = true
				return fmt.Errorf("%s: %w", name, publishtest.ErrFault)
			}
			return do()
		}))
		if o, err := p.Publish(t.Context(), blob.Object{Key: key, Version: version}); !errors.Is(err, publishtest.ErrFault) || !hit {
			t.Errorf("%s (%v): %+v, %v", call, hit, o, err)
		}
	}
	w.WantListed("acme/widget")
}
