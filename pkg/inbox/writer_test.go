package inbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// Where the bucket knows who wrote an upload, that stands in records and outcomes of
// what no event told of, too: also of an author's SHA256SUMS, which its signature
// makes the one that is served.
func TestTheWordBackNamesWhomTheBucketKnows(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	writers := map[string]string{} // by key and version
	config := w.Config()
	config.WrittenBy = func(_ context.Context, key, version string) (string, error) { return writers[key+" "+version], nil }
	publisher := publishtest.Assemble(config)
	r := publishtest.NewRelease(t, "acme")
	check := func(stored, want string) {
		t.Helper()
		var document struct{ By string }
		if err := json.Unmarshal(w.Read(stored), &document); err != nil || document.By != want {
			t.Errorf("%s says %q, %v, want %q", stored, document.By, err, want)
		}
	}
	for _, f := range r.InOrder("author.asc", "linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig") {
		version := w.S3.Upload(t, f.Key, f.Body, nil)
		writers[f.Key+" "+version] = "by " + f.Key
		if err := publisher.PublishKey(t.Context(), f.Key); err != nil {
			t.Fatal(err)
		}
		check(registry.OutcomeKey(f.Key), "by "+f.Key)
	}
	log := registry.Subject{Address: publishtest.Widgets, Version: publishtest.MustVersion(t, "1.0.0")}.LogPrefix()
	check(registry.RecordKey(log, 1), "by "+publishtest.PackageKey("1.0.0", "linux_amd64"))
	check(registry.RecordKey(log, 2), "") // the registry's own release
	check(registry.RecordKey(log, 3), "by "+r.SumsKey())

	late := publishtest.NewReleaseOf(t, "acme", "1.1.0") // whose SHA256SUMS is judged with its signature, before its own event
	for _, f := range late.InOrder("SHA256SUMS", "SHA256SUMS.sig") {
		writers[f.Key+" "+w.S3.Upload(t, f.Key, f.Body, nil)] = "by " + f.Key
	}
	if err := publisher.PublishKey(t.Context(), late.SumsKey()+".sig"); err != nil {
		t.Fatal(err)
	}
	check(registry.OutcomeKey(late.SumsKey()), "by "+late.SumsKey())

	key := "modules/acme/vpc/aws/README.md"
	first, second := w.S3.Upload(t, key, []byte("a"), nil), w.S3.Upload(t, key, []byte("b"), nil)
	writers[key+" "+first], writers[key+" "+second] = "one", "two"
	if err := publisher.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	check(registry.OutcomeKey(key), "two")
}

// An upload is tried again where the bucket cannot say who wrote it.
func TestAnUploadWhoseWriterCannotBeAskedFor(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	config := w.Config()
	config.WrittenBy = func(context.Context, string, string) (string, error) { return "", publishtest.ErrFault }
	publisher := publishtest.Assemble(config)
	r := publishtest.NewRelease(t, "acme")
	w.UploadFiles(r.InOrder("author.asc", "SHA256SUMS"))
	key := r.SumsKey() + ".sig"
	version := w.S3.Upload(t, key, r.Signature, nil)
	if err := publisher.PublishKey(t.Context(), key); !errors.Is(err, publishtest.ErrFault) || err.Error() != "find out who uploaded "+key+": "+publishtest.ErrFault.Error() {
		t.Errorf("%v", err)
	}
	if _, err := publisher.Publish(t.Context(), blob.Object{Key: key, Version: version}); !errors.Is(err, publishtest.ErrFault) {
		t.Errorf("together with a SHA256SUMS: %v", err)
	}
	if keys := w.KeysUnder(registry.OutcomeKey(key)); len(keys) > 0 {
		t.Error("it has an outcome")
	}
}
