package publish_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// Where the bucket knows who wrote an upload, that stands in records and outcomes of
// what no event told of, too: also of an author's SHA256SUMS, which its signature
// makes the one that is served.
func TestTheWordBackNamesWhomTheBucketKnows(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	writers := map[string]string{} // by key and version
	config := w.config()
	config.WrittenBy = func(_ context.Context, key, version string) (string, error) { return writers[key+" "+version], nil }
	publisher := assemble(config)
	r := newRelease(t, "acme")
	check := func(stored, want string) {
		t.Helper()
		var document struct{ By string }
		if err := json.Unmarshal(w.read(stored), &document); err != nil || document.By != want {
			t.Errorf("%s says %q, %v, want %q", stored, document.By, err, want)
		}
	}
	for _, f := range r.inOrder("author.asc", "linux_amd64.zip", "SHA256SUMS", "SHA256SUMS.sig") {
		version := w.s3.Upload(t, f.key, f.body, nil)
		writers[f.key+" "+version] = "by " + f.key
		if err := publisher.PublishKey(t.Context(), f.key); err != nil {
			t.Fatal(err)
		}
		check(registry.OutcomeKey(f.key), "by "+f.key)
	}
	log := registry.Subject{Address: widgets, Version: mustVersion(t, "1.0.0")}.LogPrefix()
	check(registry.RecordKey(log, 1), "by "+packageKey("1.0.0", "linux_amd64"))
	check(registry.RecordKey(log, 2), "") // the registry's own release
	check(registry.RecordKey(log, 3), "by "+r.sumsKey())

	late := newReleaseOf(t, "acme", "1.1.0") // whose SHA256SUMS is judged with its signature, before its own event
	for _, f := range late.inOrder("SHA256SUMS", "SHA256SUMS.sig") {
		writers[f.key+" "+w.s3.Upload(t, f.key, f.body, nil)] = "by " + f.key
	}
	if err := publisher.PublishKey(t.Context(), late.sumsKey()+".sig"); err != nil {
		t.Fatal(err)
	}
	check(registry.OutcomeKey(late.sumsKey()), "by "+late.sumsKey())

	key := "modules/acme/vpc/aws/README.md"
	first, second := w.s3.Upload(t, key, []byte("a"), nil), w.s3.Upload(t, key, []byte("b"), nil)
	writers[key+" "+first], writers[key+" "+second] = "one", "two"
	if err := publisher.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	check(registry.OutcomeKey(key), "two")
}

// An upload is tried again where the bucket cannot say who wrote it.
func TestAnUploadWhoseWriterCannotBeAskedFor(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	config := w.config()
	config.WrittenBy = func(context.Context, string, string) (string, error) { return "", errFault }
	publisher := assemble(config)
	r := newRelease(t, "acme")
	w.uploadFiles(r.inOrder("author.asc", "SHA256SUMS"))
	key := r.sumsKey() + ".sig"
	version := w.s3.Upload(t, key, r.signature, nil)
	if err := publisher.PublishKey(t.Context(), key); !errors.Is(err, errFault) || err.Error() != "find out who uploaded "+key+": "+errFault.Error() {
		t.Errorf("%v", err)
	}
	if _, err := publisher.Publish(t.Context(), blob.Object{Key: key, Version: version}); !errors.Is(err, errFault) {
		t.Errorf("together with a SHA256SUMS: %v", err)
	}
	if keys := w.keysUnder(registry.OutcomeKey(key)); len(keys) > 0 {
		t.Error("it has an outcome")
	}
}
