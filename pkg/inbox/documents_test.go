package inbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// No key of an uploader is in the way of another's outcome, whichever comes first.
func TestNoUploadIsInTheWayOfAnothersOutcome(t *testing.T) {
	w := newWorld(t)
	for n, keys := range [][2]string{
		{"modules/acme/vpc/aws/1.%d.0.tgz", "modules/acme/vpc/aws/1.%d.0.tgz.json/x"},
		{"modules/acme/vpc/aws/1.%d.0.tgz", "modules/acme/vpc/aws/1.%d.0.tgz.json/x.zip"},
		{"modules/acme/vpc/aws/1.%d.0.tgz", "modules/acme/vpc/aws/1.%d.0.tgz.json/x.json/y.json/z"},
		{publishtest.PackageKey("1.%d.0", "linux_amd64"), publishtest.PackageKey("1.%d.0", "linux_amd64") + ".json/x"},
		{publishtest.WidgetFolder + "1.%d.0-x.json/" + publishtest.ProviderName("widget", "1.%d.0-x.json", "linux_amd64.zip"), publishtest.WidgetFolder + "1.%d.0-x"},
		{"keys/acme/%d.asc", "keys/acme/%d.asc.json/x.asc"},
		{"modules/acme/vpc/aws/1.%d.0.tgz", strings.Repeat("x", 251) + "%d"},
	} {
		for order := range 2 {
			var keys = [2]string{strings.ReplaceAll(keys[0], "%d", fmt.Sprint(2*n+order)), strings.ReplaceAll(keys[1], "%d", fmt.Sprint(2*n+order))}
			body := publishtest.TarOf(map[string]string{"main.tf": ""})
			switch {
			case strings.HasPrefix(keys[0], "keys/"):
				body = []byte(publishtest.NewKey(t, "author").PublicKey().ASCIIArmor)
			case strings.HasPrefix(keys[0], "providers/"):
				body = publishtest.Widget("a")
			}
			bodies := map[string][]byte{keys[0]: body, keys[1]: []byte("x")}
			for turn := range 2 {
				key := keys[(turn+order)%2]
				w.S3.Upload(t, key, bodies[key], nil)
				if err := w.PublishKey(t.Context(), key); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			}
			for _, key := range keys {
				var written inbox.Outcome
				if err := json.Unmarshal(w.Read(registry.OutcomeKey(key)), &written); err != nil || written.Key != key || (key == keys[0]) != (written.Status == inbox.Published) {
					t.Errorf("the outcome of %s is %+v, %v", key, written, err)
				}
			}
			if !bytes.Contains(w.Read("registry/outcomes/"+keys[0]+".json"), []byte("published")) {
				t.Errorf("the outcome of %s does not lie where it is looked for", keys[0])
			}
		}
	}
}

// Outcomes that an earlier release of the registry has written to a single node's
// bucket are in nobody's way.
func TestAnOldOutcomeIsInNobodysWay(t *testing.T) {
	w := newWorld(t)
	config := w.Config()
	config.Announce, config.KeysAreFiles = w.Heard.Hear, true
	p := publishtest.Assemble(config)
	prerelease := "1.0.0-rc.json"
	for key, c := range map[string]struct {
		old  string // of another key
		body []byte
	}{
		"modules/acme/vpc/aws/1.0.0.tgz": {"registry/outcomes/modules/acme/vpc/aws/1.0.0.tgz.json/x.json", publishtest.TarOf(map[string]string{"main.tf": ""})},
		publishtest.WidgetFolder + prerelease + "/" + publishtest.ProviderName("widget", prerelease, "linux_amd64.zip"): {"registry/outcomes/" + publishtest.WidgetFolder + prerelease, publishtest.Widget("a")},
	} {
		w.Put(c.old, []byte("{}"))
		w.S3.Upload(t, key, c.body, nil)
		for range 2 { // the second time it is known
			w.Heard.Outcomes = nil
			if err := p.PublishKey(t.Context(), key); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		if len(w.Heard.Outcomes) != 0 {
			t.Errorf("%s was published again: %v", key, w.Heard.Outcomes)
		}
		var written inbox.Outcome
		if err := json.Unmarshal(w.Read(registry.OutcomeKeyByHash(key)), &written); err != nil || written.Key != key || written.Status != inbox.Published {
			t.Errorf("the outcome of %s is %+v, %v", key, written, err)
		}
	}
}

// Where keys are no files, an outcome has one place, and is looked for there alone.
func TestAnOutcomeHasOnePlace(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	key, config := "modules/acme/vpc/aws/1.0.0.tgz", w.Config()
	for keysAreFiles, want := range map[bool][]string{
		false: {"read " + registry.OutcomeKey(key), "versions of " + key},
		true:  {"read " + registry.OutcomeKey(key), "read " + publishtest.Hashes.ReplaceAllString(registry.OutcomeKeyByHash(key), "…"), "versions of " + key},
	} {
		f := &publishtest.Faults{}
		config.Bucket, config.KeysAreFiles = w.BucketThrough(f), keysAreFiles
		if err := publishtest.Assemble(config).PublishKey(t.Context(), key); err != nil || !slices.Equal(f.Calls, want) {
			t.Errorf("keys are files: %v; calls are %q, %v, want %q", keysAreFiles, f.Calls, err, want)
		}
	}
	failing := publishtest.Faults{Hits: publishtest.Nth(1)}
	config.Bucket, config.KeysAreFiles = w.BucketThrough(&failing), true
	if err := publishtest.Assemble(config).PublishKey(t.Context(), key); !errors.Is(err, publishtest.ErrFault) || len(failing.Calls) != 1 {
		t.Errorf("where the outcome cannot be read: %v after %q", err, failing.Calls)
	}
	p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
		if name == "put "+registry.OutcomeKey(key) {
			return blob.ErrInTheWay
		}
		return do()
	}))
	_, err := p.Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, publishtest.TarOf(map[string]string{"main.tf": ""}), nil)})
	if got := w.KeysUnder(registry.OutcomeKeyByHash(key)); !errors.Is(err, blob.ErrInTheWay) || len(got) > 0 {
		t.Errorf("with another object in the way: %v, and there is %q", err, got)
	}
}
