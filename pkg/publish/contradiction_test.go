package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// A package that contradicts what its author has signed must not be published before
// that is: then neither that nor the right package ever could be.
func TestAPackageThatContradictsTheSHA256SUMSBesideIt(t *testing.T) {
	const linux, darwin = "terraform-provider-widget_1.0.0_linux_amd64.zip", "terraform-provider-widget_1.0.0_darwin_arm64.zip"
	key := func(w *world, r *release) {
		w.upload("keys/"+r.namespace+"/author.asc", []byte(r.key.PublicKey().ASCIIArmor))
	}
	put := func(w *world, r *release, names ...string) {
		for _, f := range r.inOrder(names...) {
			w.s3.Upload(w.T, f.key, f.body, nil)
		}
	}
	listsOther := func(w *world, r *release) { // and not the package
		r.sums = []byte(line(r.files, darwin))
		r.sign(w.T, r.key)
	}
	for _, test := range []struct {
		name   string
		before func(w *world, r *release) // what comes before a package for Linux with other bytes than the release's
		want   inbox.Status               // of that package
	}{
		{"signed, and the key is not here", func(w *world, r *release) { put(w, r, "SHA256SUMS", "SHA256SUMS.sig") }, inbox.Pending},
		{"signed, with events", func(w *world, r *release) {
			for _, f := range r.inOrder("SHA256SUMS", "SHA256SUMS.sig") {
				w.want(w.upload(f.key, f.body), inbox.Pending)
			}
		}, inbox.Pending},
		{"signed, with the key, and the event is late", func(w *world, r *release) {
			key(w, r)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Pending},
		{"signed, and it is not in it", func(w *world, r *release) {
			listsOther(w, r)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Pending},
		{"signed, and what it has is published", func(w *world, r *release) {
			w.want(w.upload(widgetFolder+darwin, r.files[darwin]), inbox.Published)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Pending},
		{"signed and served", func(w *world, r *release) {
			key(w, r)
			for _, f := range r.inOrder("SHA256SUMS", "SHA256SUMS.sig") {
				w.upload(f.key, f.body)
			}
		}, inbox.Rejected},

		// What can never be served as the author's keeps nothing back.
		{"without a signature", func(w *world, r *release) { put(w, r, "SHA256SUMS") }, inbox.Published},
		{"a signature alone", func(w *world, r *release) { put(w, r, "SHA256SUMS.sig") }, inbox.Published},
		{"with a signature that is none", func(w *world, r *release) {
			put(w, r, "SHA256SUMS")
			w.s3.Upload(w.T, r.sumsKey()+".sig", []byte("signed"), nil)
		}, inbox.Published},
		{"with a signature of something else", func(w *world, r *release) {
			key(w, r)
			put(w, r, "SHA256SUMS.sig")
			listsOther(w, r)
			put(w, r, "SHA256SUMS")
		}, inbox.Published},
		{"signed by a key that is not trusted", func(w *world, r *release) {
			r.sign(w.T, newKey(w.T, "distrusted"))
			w.upload("keys/"+r.namespace+"/author.asc", []byte(newKey(w.T, "distrusted").PublicKey().ASCIIArmor))
			if _, err := w.Keys.Distrust(w.Context(), newKey(w.T, "distrusted").PublicKey().Fingerprint); err != nil {
				w.Fatal(err)
			}
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Published},
		{"signed, and no SHA256SUMS", func(w *world, r *release) {
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
			w.s3.Upload(w.T, r.sumsKey(), append(r.sums, '\n'), nil)
		}, inbox.Published},
		{"signed, and contradicting what is published", func(w *world, r *release) {
			w.want(w.upload(widgetFolder+darwin, widget("other")), inbox.Published)
			put(w, r, "SHA256SUMS", "SHA256SUMS.sig")
		}, inbox.Published},
		{"in another folder", func(w *world, r *release) {
			w.s3.Upload(w.T, widgetFolder+"1.0.0/"+providerName("widget", "1.0.0", "SHA256SUMS"), r.sums, nil)
			w.s3.Upload(w.T, widgetFolder+"1.0.0/"+providerName("widget", "1.0.0", "SHA256SUMS.sig"), r.signature, nil)
		}, inbox.Published},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, r := newWorldOn(t, inMemory, onBolt), newRelease(t, "acme")
			test.before(w, &r)
			got := w.upload(widgetFolder+linux, widget("other"))
			w.want(got, test.want)
			if test.want == inbox.Pending && (len(got.Reasons) != 1 || !strings.HasPrefix(got.Reasons[0], "upload the right package, or the SHA256SUMS and signature that are of this one: the author's SHA256SUMS ") || !strings.HasSuffix(got.Reasons[0], ". Until then neither is published")) {
				t.Errorf("the reasons are %q", got.Reasons)
			}
			w.want(w.upload(mirrored+linux, widget("other")), inbox.Published)
		})
	}
}

// A package that waits is judged again with everything that may end that.
func TestAContradictionEnds(t *testing.T) {
	const linux = "terraform-provider-widget_1.0.0_linux_amd64.zip"
	for _, test := range []struct {
		name  string
		ends  func(w *world, r release)
		want  inbox.Status
		right inbox.Status // of the right package, after that
	}{
		{"the key comes", func(w *world, r release) {
			w.upload("keys/acme/author.asc", []byte(r.key.PublicKey().ASCIIArmor))
		}, inbox.Rejected, inbox.Published},
		{"the right SHA256SUMS comes, and then its signature", func(w *world, r release) {
			r.files[linux] = widget("other")
			r.sums = []byte(line(r.files, linux))
			r.sign(w.T, r.key)
			w.want(w.upload(r.sumsKey(), r.sums), inbox.Pending)
			w.want(w.upload(r.sumsKey()+".sig", r.signature), inbox.Pending)
		}, inbox.Published, inbox.Rejected},
		{"a SHA256SUMS comes that is none", func(w *world, r release) {
			w.want(w.upload(r.sumsKey(), []byte("no lines")), inbox.Rejected)
		}, inbox.Published, inbox.Rejected},
		{"the right package comes", func(w *world, r release) {
			w.want(w.upload(widgetFolder+linux, r.files[linux]), inbox.Published)
		}, inbox.Pending, inbox.Published}, // a newer upload has its place
		{"the SHA256SUMS is deleted, and the package uploaded again", func(w *world, r release) {
			w.s3.Delete(w.T, r.sumsKey())
			w.want(w.upload(widgetFolder+linux, widget("other")), inbox.Published)
		}, inbox.Pending, inbox.Rejected},
		{"the SHA256SUMS is deleted, with a notice", func(w *world, r release) {
			w.s3.Delete(w.T, r.sumsKey())
			if err := w.PublishKey(w.Context(), r.sumsKey()); err != nil {
				w.Fatal(err)
			}
		}, inbox.Published, inbox.Rejected},
		{"the signature is deleted, and a reconcile comes by", func(w *world, r release) {
			w.s3.Delete(w.T, r.sumsKey()+".sig")
			for _, missed := range w.missed() {
				if _, err := w.Publish(w.Context(), missed); err != nil {
					w.Fatal(err)
				}
			}
		}, inbox.Published, inbox.Rejected},
	} {
		for _, folder := range []string{"", "1.0.0/"} {
			t.Run(test.name+" "+folder, func(t *testing.T) {
				w, r := newWorldOn(t, inMemory, onBolt), newRelease(t, "acme")
				name := func(what string) string { return widgetFolder + folder + providerName("widget", "1.0.0", what) }
				for what, body := range map[string][]byte{"SHA256SUMS": r.sums, "SHA256SUMS.sig": r.signature} {
					w.s3.Upload(t, name(what), body, nil)
				}
				version := w.s3.Upload(t, name("linux_amd64.zip"), widget("other"), nil)
				w.want(w.deliver(name("linux_amd64.zip"), version), inbox.Pending)
				if folder != "" && (test.right == inbox.Rejected || test.want == inbox.Pending) {
					return // it is about the files of the flat folder
				}
				test.ends(w, r)
				if got := inbox.Status(w.s3.Tags(t, name("linux_amd64.zip"), version)[inbox.StatusTag]); got != test.want {
					t.Errorf("it is %s, want %s", got, test.want)
				}
				w.want(w.upload(packageKey("1.0.0", "linux_amd64"), newRelease(t, "acme").files[linux]), test.right)
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
	w, r := newWorldOn(t, inMemory, onBolt), newRelease(t, "acme")
	for _, f := range r.inOrder("SHA256SUMS", "SHA256SUMS.sig") {
		w.s3.Upload(t, f.key, f.body, nil)
	}
	key := packageKey("1.0.0", "linux_amd64")
	version := w.s3.Upload(t, key, widget("other"), nil)
	for _, call := range []string{"head " + r.sumsKey(), "read " + r.sumsKey(), "head " + r.sumsKey() + ".sig", "read " + r.sumsKey() + ".sig", "list registry/keys/authors/acme/"} {
		hit := false
		p := w.through(callFunc(func(name string, do func() error) error {
			if name == call {
				hit = true
				return fmt.Errorf("%s: %w", name, errFault)
			}
			return do()
		}))
		if o, err := p.Publish(t.Context(), blob.Object{Key: key, Version: version}); !errors.Is(err, errFault) || !hit {
			t.Errorf("%s (%v): %+v, %v", call, hit, o, err)
		}
	}
	w.wantListed("acme/widget")
}
