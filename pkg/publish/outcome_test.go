package publish_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

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
		{packageKey("1.%d.0", "linux_amd64"), packageKey("1.%d.0", "linux_amd64") + ".json/x"},
		{widgetFolder + "1.%d.0-x.json/" + providerName("widget", "1.%d.0-x.json", "linux_amd64.zip"), widgetFolder + "1.%d.0-x"},
		{"keys/acme/%d.asc", "keys/acme/%d.asc.json/x.asc"},
		{"modules/acme/vpc/aws/1.%d.0.tgz", strings.Repeat("x", 251) + "%d"},
	} {
		for order := range 2 {
			var keys = [2]string{strings.ReplaceAll(keys[0], "%d", fmt.Sprint(2*n+order)), strings.ReplaceAll(keys[1], "%d", fmt.Sprint(2*n+order))}
			body := tarOf(map[string]string{"main.tf": ""})
			switch {
			case strings.HasPrefix(keys[0], "keys/"):
				body = []byte(newKey(t, "author").PublicKey().ASCIIArmor)
			case strings.HasPrefix(keys[0], "providers/"):
				body = widget("a")
			}
			bodies := map[string][]byte{keys[0]: body, keys[1]: []byte("x")}
			for turn := range 2 {
				key := keys[(turn+order)%2]
				w.s3.Upload(t, key, bodies[key], nil)
				if err := w.PublishKey(t.Context(), key); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			}
			for _, key := range keys {
				var written inbox.Outcome
				if err := json.Unmarshal(w.read(registry.OutcomeKey(key)), &written); err != nil || written.Key != key || (key == keys[0]) != (written.Status == inbox.Published) {
					t.Errorf("the outcome of %s is %+v, %v", key, written, err)
				}
			}
			if !bytes.Contains(w.read("registry/outcomes/"+keys[0]+".json"), []byte("published")) {
				t.Errorf("the outcome of %s does not lie where it is looked for", keys[0])
			}
		}
	}
}

// Outcomes that an earlier release of the registry has written to a single node's
// bucket are in nobody's way.
func TestAnOldOutcomeIsInNobodysWay(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Announce, config.KeysAreFiles = w.heard.hear, true
	p := assemble(config)
	prerelease := "1.0.0-rc.json"
	for key, c := range map[string]struct {
		old  string // of another key
		body []byte
	}{
		"modules/acme/vpc/aws/1.0.0.tgz": {"registry/outcomes/modules/acme/vpc/aws/1.0.0.tgz.json/x.json", tarOf(map[string]string{"main.tf": ""})},
		widgetFolder + prerelease + "/" + providerName("widget", prerelease, "linux_amd64.zip"): {"registry/outcomes/" + widgetFolder + prerelease, widget("a")},
	} {
		w.put(c.old, []byte("{}"))
		w.s3.Upload(t, key, c.body, nil)
		for range 2 { // the second time it is known
			w.heard.outcomes = nil
			if err := p.PublishKey(t.Context(), key); err != nil {
				t.Fatalf("%s: %v", key, err)
			}
		}
		if len(w.heard.outcomes) != 0 {
			t.Errorf("%s was published again: %v", key, w.heard.outcomes)
		}
		var written inbox.Outcome
		if err := json.Unmarshal(w.read(registry.OutcomeKeyByHash(key)), &written); err != nil || written.Key != key || written.Status != inbox.Published {
			t.Errorf("the outcome of %s is %+v, %v", key, written, err)
		}
	}
}

// Where keys are no files, an outcome has one place, and is looked for there alone.
func TestAnOutcomeHasOnePlace(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	key, config := "modules/acme/vpc/aws/1.0.0.tgz", w.config()
	for keysAreFiles, want := range map[bool][]string{
		false: {"read " + registry.OutcomeKey(key), "versions of " + key},
		true:  {"read " + registry.OutcomeKey(key), "read " + hashes.ReplaceAllString(registry.OutcomeKeyByHash(key), "…"), "versions of " + key},
	} {
		f := &faults{}
		config.Bucket, config.KeysAreFiles = w.bucketThrough(f), keysAreFiles
		if err := assemble(config).PublishKey(t.Context(), key); err != nil || !slices.Equal(f.calls, want) {
			t.Errorf("keys are files: %v; calls are %q, %v, want %q", keysAreFiles, f.calls, err, want)
		}
	}
	failing := faults{hits: nth(1)}
	config.Bucket, config.KeysAreFiles = w.bucketThrough(&failing), true
	if err := assemble(config).PublishKey(t.Context(), key); !errors.Is(err, errFault) || len(failing.calls) != 1 {
		t.Errorf("where the outcome cannot be read: %v after %q", err, failing.calls)
	}
	p := w.through(callFunc(func(name string, do func() error) error {
		if name == "put "+registry.OutcomeKey(key) {
			return blob.ErrInTheWay
		}
		return do()
	}))
	_, err := p.Publish(t.Context(), blob.Object{Key: key, Version: w.s3.Upload(t, key, tarOf(map[string]string{"main.tf": ""}), nil)})
	if got := w.keysUnder(registry.OutcomeKeyByHash(key)); !errors.Is(err, blob.ErrInTheWay) || len(got) > 0 {
		t.Errorf("with another object in the way: %v, and there is %q", err, got)
	}
}
