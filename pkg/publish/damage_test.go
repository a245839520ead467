package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// What is damaged, or written by hand, is named and stands in nobody's way.

// A document beside a mirrored package that is none says nothing of it.
func TestAMirrorDocumentThatIsNoneSaysNothing(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for version, document := range map[string][]byte{"1.0.0": []byte("no JSON"), "1.1.0": bytes.Repeat([]byte(" "), 1<<20+1)} {
		w.Upload(publishtest.Mirrored+version+".json", document)
		w.Want(w.Upload(publishtest.Mirrored+publishtest.ProviderName("widget", version, "linux_amd64.zip"), publishtest.Widget("a")), inbox.Published)
	}
}

// An archive that cannot be unwrapped is tried again.
func TestAllOrNothingAModuleThatIsCutOff(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for _, name := range []string{"1.0.0.zip", "1.0.0.tar.gz"} {
		key, body := "modules/acme/vpc/aws/"+name, publishtest.ZipOf(map[string]string{"x/main.tf": ""})
		if strings.HasSuffix(name, ".tar.gz") {
			body = publishtest.TarOf(map[string]string{"x/main.tf": ""})
		}
		ctx, cancel := context.WithCancel(t.Context())
		p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
			if strings.HasPrefix(name, "catalog: read the listing") {
				defer cancel()
			}
			return do()
		}))
		_, err := p.Publish(ctx, blob.Object{Key: key, Version: w.S3.Upload(t, key, body, nil)})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "unwrap: ") || len(w.KeysUnder(registry.Prefix)) > 0 {
			t.Errorf("%s: %v, and there is %q", name, err, w.KeysUnder(registry.Prefix))
		}
	}
}

// What an earlier try has stored is not stored again, unless it is something else.
func TestWhatIsStoredAlreadyIsKept(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for key, body := range map[string][]byte{publishtest.PackageKey("1.0.0", "linux_amd64"): publishtest.Widget("a"), "modules/acme/vpc/aws/1.0.0.zip": publishtest.ZipOf(map[string]string{"main.tf": ""})} {
		object := blob.Object{Key: key, Version: w.S3.Upload(t, key, body, nil)}
		try := func() (copied string) {
			p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
				if to, ok := strings.CutPrefix(name, "copy to "); ok {
					copied = to
				}
				if strings.HasPrefix(name, "create "+registry.RecordsPrefix) {
					return publishtest.ErrFault
				}
				return do()
			}))
			if _, err := p.Publish(t.Context(), object); !errors.Is(err, publishtest.ErrFault) {
				t.Errorf("%s: %v", key, err)
			}
			return copied
		}
		stored := try()
		if again := try(); stored == "" || again != "" {
			t.Errorf("%s is copied to %q, and again to %q", key, stored, again)
		}
		w.Put(stored, []byte("something else"))
		if again := try(); again != stored || !bytes.Equal(w.Read(stored), body) {
			t.Errorf("%s is copied to %q, and again to %q", key, stored, again)
		}
	}
}

// Nobody signs what is mirrored: a name that has no room in a SHA256SUMS is in no
// other package's way.
func TestWhatIsMirroredNeedNotBeSignable(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	a := registry.ProviderAddress{Hostname: "example.com", Namespace: "acme", Type: strings.Repeat("w", 64)}
	v := publishtest.MustVersion(t, "1.0.0-"+strings.Repeat("x", 100))
	pkg := registry.Package{Platform: registry.Platform{OS: strings.Repeat("o", 32), Arch: strings.Repeat("a", 32)}, SHA256: blob.SHA256(nil), H1: "h1:x"}
	record, err := json.Marshal(registry.Record{Kind: registry.KindPackage, Version: v, Time: time.Now(), Package: &pkg})
	if err != nil {
		t.Fatal(err)
	}
	w.Put(registry.RecordKey(registry.Subject{Address: a, Version: v}.LogPrefix(), 1), record)
	linux := registry.Platform{OS: "linux", Arch: "amd64"}
	w.Want(w.Upload(a.UploadKey(a.PackageFilename(v, linux)), publishtest.ZipOf(map[string]string{"terraform-provider-" + a.Type: "x"})), inbox.Published)
}

// A manifest that agrees with a package is not all that the package is judged by.
func TestAPackageBesideAManifestIsJudgedByAll(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	w.Want(w.UploadFiles(r.InOrder("author.asc", "linux_amd64.zip", "manifest.json", "SHA256SUMS.sig", "SHA256SUMS")), inbox.Published)
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "windows_amd64"), publishtest.Widget("a")), inbox.Rejected, "the author's SHA256SUMS does not list "+publishtest.ProviderName("widget", "1.0.0", "windows_amd64.zip"))
}
