package publish_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// unexecutable is a package whose executable nobody may run.
func unexecutable(content string) []byte {
	executable := publishtest.Widget(content)
	return bytes.Replace(executable, []byte{0xed, 0x81}, []byte{0xa4, 0x81}, 1) // 0755 and 0644
}

// publishedBefore puts a version into the bucket as an earlier release of the registry
// has left it there, whose rules let more in.
func (w *world) publishedBefore(record registry.Record, log, archive string, body []byte) {
	w.Helper()
	record.Time = time.Now().UTC().Truncate(time.Second)
	data, err := json.Marshal(record)
	if err != nil {
		w.Fatal(err)
	}
	w.Put(archive, body)
	w.Put(registry.RecordKey(log, 1), data)
}

// What was published before there was a rule that it breaks stays as it is, and its
// bytes are taken again as any other published bytes are.
func TestWhatIsOlderThanARuleStays(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	v, address := publishtest.MustVersion(t, "1.0.0"), registry.ProviderAddress{Namespace: "acme", Type: "widget"}
	old, state := unexecutable("old"), publishtest.ZipOf(map[string]string{"README.md": ""})
	pkg := registry.Package{Platform: registry.Platform{OS: "linux", Arch: "amd64"}, SHA256: blob.SHA256(old), H1: "h1:x", Size: int64(len(old))}
	w.publishedBefore(registry.Record{Kind: registry.KindPackage, Version: v, Upload: publishtest.PackageKey("1.0.0", "linux_amd64"), Package: &pkg},
		registry.Subject{Address: address, Version: v}.LogPrefix(), address.PackageKey(v, pkg), old)
	module := registry.ModuleArchive{Format: "zip", H1: "h1:x", SHA256: blob.SHA256(state), Size: int64(len(state)), UploadSHA256: blob.SHA256(state)}
	const moduleKey = "modules/acme/vpc/aws/1.0.0.zip"
	w.publishedBefore(registry.Record{Kind: registry.KindModule, Version: v, Upload: moduleKey, Module: &module},
		registry.Subject{Address: publishtest.VPC, Version: v}.LogPrefix(), publishtest.VPC.ArchiveKey(v, module), state)
	const docsKey = publishtest.WidgetFolder + "terraform-provider-widget_1.2.0_docs.zip"
	docs, documented := registry.Docs{SHA256: blob.SHA256(state), Size: int64(len(state))}, publishtest.MustVersion(t, "1.2.0")
	w.publishedBefore(registry.Record{Kind: registry.KindDocs, Version: documented, Upload: docsKey, Docs: &docs},
		registry.Subject{Address: address, Version: documented}.LogPrefix(), address.DocsKey(documented, docs), state)
	for step, err := range w.Reindex(t.Context(), "", false) {
		if err != nil {
			t.Fatalf("%+v, %v", step, err)
		}
	}
	for range 2 { // the second time with outcomes
		w.WantListed("acme/widget", "1.0.0 linux_amd64")
		w.WantListed("acme/vpc/aws", "1.0.0")
		for step, err := range w.Verify(t.Context(), "", false) {
			if err != nil || len(step.Problems) > 0 {
				t.Errorf("verify: %+v, %v", step, err)
			}
		}
		w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), old), inbox.Published)
		w.Want(w.Upload(moduleKey, state), inbox.Published)
		w.Want(w.Upload(docsKey, state), inbox.Published)
	}
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), unexecutable("new")), inbox.Rejected, "is not executable")
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_arm64"), old), inbox.Rejected, "is not executable")
	w.Want(w.Upload(publishtest.PackageKey("1.1.0", "linux_amd64"), old), inbox.Rejected, "is not executable")
	w.Want(w.Upload("modules/acme/vpc/aws/1.1.0.zip", state), inbox.Rejected, "holds no configuration")
	w.Want(w.Upload(publishtest.WidgetFolder+"terraform-provider-widget_1.3.0_docs.zip", state), inbox.Rejected, "holds no documentation")
	w.WantListed("acme/widget", "1.0.0 linux_amd64")
	w.WantListed("acme/vpc/aws", "1.0.0")
}

// Whether what another registry has can run is up to that registry.
func TestAMirroredPackageIsAsItIsElsewhere(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), unexecutable("x")), inbox.Rejected, "is not executable")
	w.Want(w.Upload(publishtest.PackageKey("1.0.0", "windows_amd64"), unexecutable("x")), inbox.Published)
	w.Want(w.Upload(publishtest.Mirrored+publishtest.ProviderName("widget", "1.0.0", "linux_amd64.zip"), unexecutable("x")), inbox.Published)
}

const stateWarning = `"terraform.tfstate" is a state file: everyone who installs the module gets it, with any secret in it.`

// What is published with a warning says so in its outcome and in the log, and not in
// its tags, where a reason is one not to be published.
func TestWarningsOfModules(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	var log bytes.Buffer
	config := w.Config()
	config.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	w.Parts = publishtest.Assemble(config)
	const key = "modules/acme/vpc/aws/1.0.0.zip"
	body := publishtest.ZipOf(map[string]string{"main.tf": "", "terraform.tfstate": "{}"})
	got := w.Upload(key, body)
	w.Want(got, inbox.Published)
	if !slices.Equal(got.Warnings, []string{stateWarning}) || len(got.Reasons) > 0 {
		t.Errorf("got %+v", got)
	}
	var written inbox.Outcome
	if err := json.Unmarshal(w.Read(registry.OutcomeKey(key)), &written); err != nil || !reflect.DeepEqual(written, got) {
		t.Errorf("written is %+v, want %+v, %v", written, got, err)
	}
	if tags := w.S3.Tags(t, key, ""); len(tags) != 1 {
		t.Errorf("tagged %v", tags)
	}
	var line struct {
		Level    string   `json:"level"`
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Level != "WARN" || !slices.Equal(line.Warnings, got.Warnings) {
		t.Errorf("logged %s, %v", log.String(), err)
	}
	other := w.Upload(key, publishtest.ZipOf(map[string]string{"main.tf": "", "terraform.tfstate": "{ }"}))
	if w.Want(other, inbox.Rejected); len(other.Warnings) > 0 {
		t.Errorf("of what nobody gets it is warned: %q", other.Warnings)
	}
	log.Reset()
	if w.Upload("modules/acme/vpc/aws/1.1.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""})); strings.Contains(log.String(), "warnings") {
		t.Errorf("logged %s", log.String())
	}
}
