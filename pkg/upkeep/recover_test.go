package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestAnEmptyCatalogIsRebuiltFromTheRecords(t *testing.T) {
	w := newWorld(t)
	r := publishtest.NewRelease(t, "acme")
	for key, body := range r.Uploads() {
		w.Upload(key, body)
	}
	w.Upload(publishtest.PackageKey("2.0.0-rc.1+b", "linux_amd64"), publishtest.Widget("a"))
	w.Upload("modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"x/main.tf": ""}))
	w.Upload("modules/acme/vpc/aws/1.1.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""}))
	before := []any{w.Listed("acme/widget"), w.Listed("acme/vpc/aws"), w.Provider("acme", "widget", "1.0.0"), w.Provider("acme", "widget", "2.0.0-rc.1")}

	w.Index = w.NewCatalog()
	w.Parts = w.PartsOn(w.Bucket, w.Index, w.Key)
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := []any{w.Listed("acme/widget"), w.Listed("acme/vpc/aws"), w.Provider("acme", "widget", "1.0.0"), w.Provider("acme", "widget", "2.0.0-rc.1")}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("before\n%+v\nafter\n%+v", before, after)
	}
}

// A publisher dies after each of its calls in turn, its upload is deleted, and
// no event comes again: what it had accepted is finished all the same, and
// nothing else is listed.
func TestWhatWasAcceptedIsFinishedWithoutItsUpload(t *testing.T) {
	w := newWorld(t)
	for failAt := 1; ; failAt++ {
		r := publishtest.NewRelease(t, "acme"+string(rune('a'+failAt)))
		key := "providers/" + r.Namespace + "/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
		version := w.S3.Upload(t, key, publishtest.Widget("a"), nil)
		f := &publishtest.Faults{Hits: publishtest.Nth(failAt), Kind: publishtest.Unclear}
		dying := w.PartsOn(publishtest.FaultyBucket{Caller: f, Bucket: w.Bucket}, publishtest.FaultyIndex{Caller: f, Index: w.Index}, publishtest.FaultySigner{Caller: f, Key: w.Key})
		_, err := dying.Publish(t.Context(), blob.Object{Key: key, Version: version})
		if err != nil && !errors.Is(err, publishtest.ErrFault) {
			t.Fatal(err)
		}
		w.S3.Delete(t, key)
		accepted := len(w.KeysUnder("registry/records/providers/"+r.Namespace+"/")) > 0
		if err := w.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.CheckServable(r.Namespace)
		if listed := len(w.Listed(r.Namespace+"/widget")) > 0; listed != accepted {
			t.Errorf("died in %q: accepted %v, listed in the end %v", f.Calls[min(failAt, len(f.Calls))-1], accepted, listed)
		}
		if err == nil {
			return
		}
	}
}

func TestTheWalkOverTheInboxFindsWhatNoEventToldOf(t *testing.T) {
	w := newWorld(t)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	missed := []string{"keys/acme/author.asc", "modules/acme/vpc/aws/1.0.0.zip", publishtest.PackageKey("1.1.0", "linux_amd64")}
	w.S3.Upload(t, missed[0], []byte(publishtest.NewKey(t, "author").PublicKey().ASCIIArmor), nil)
	w.S3.Upload(t, missed[1], publishtest.ZipOf(map[string]string{"main.tf": ""}), nil)
	w.S3.Upload(t, missed[2], publishtest.Widget("b"), nil)
	var found []string
	for key, err := range w.Uploads(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, key)
		if err := w.PublishKey(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	want := append(slices.Clone(missed[:2]), publishtest.PackageKey("1.0.0", "linux_amd64"), missed[2])
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	for _, key := range missed {
		if got := w.Status(key); got != inbox.Published {
			t.Errorf("%s is %q", key, got)
		}
	}
}

// What was published once is not read again at the next start.
func TestAPublishedUploadIsNotReadAgain(t *testing.T) {
	w := newWorld(t)
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	w.Upload(key, publishtest.Widget("a"))
	f := &publishtest.Faults{}
	counting := w.PartsOn(publishtest.FaultyBucket{Caller: f, Bucket: w.Bucket}, publishtest.FaultyIndex{Caller: f, Index: w.Index}, w.Key)
	if err := counting.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	want := []string{"read " + registry.OutcomeKey(key), "versions of " + key}
	if !slices.Equal(f.Calls, want) {
		t.Errorf("calls %q, want %q", f.Calls, want)
	}
}

// A start that has nothing to bring up to date reads no record: there may be many.
func TestARecoveryReadsNoRecordOfWhatIsCurrent(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Mixed()
	w.withDirectory()
	f := &publishtest.Faults{}
	if err := w.Through(f).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, call := range f.Calls {
		if !strings.HasPrefix(call, "list ") && !strings.HasPrefix(call, "catalog: read ") {
			t.Errorf("the call %q among %q", call, f.Calls)
		}
	}
}

// dead is a catalog whose writers died between a state and its listing.
type dead struct {
	publishing.Index
	put []string
}

func (d *dead) Listing(context.Context, registry.Address, *access.Lookup) (s catalog.Snapshot[*registry.Listing], err error) {
	return s, registry.ErrNotFound
}

func (d *dead) Replace(_ context.Context, s registry.State, _ catalog.Seen) error {
	d.put = append(d.put, s.Subject().Address.String())
	return nil
}

func TestWhatIsStoredAndNotListedIsListed(t *testing.T) {
	w := newWorld(t)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	w.Upload("modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""}))
	w.withDirectory()
	f, d := &publishtest.Faults{}, &dead{Index: w.Index}
	for _, index := range []publishing.Index{publishtest.FaultyIndex{Caller: f, Index: w.Index}, d} {
		if err := w.PartsOn(w.Bucket, index, w.Key).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if slices.ContainsFunc(f.Calls, publishtest.Changes) {
		t.Errorf("what is listed was stored again: %q", f.Calls)
	}
	if want := []string{"acme/vpc/aws", "acme/widget"}; !slices.Equal(d.put, want) {
		t.Errorf("stored again %q, want %q", d.put, want)
	}
}

func TestARecordOfANewerLarderIsNotPassedOver(t *testing.T) {
	w := newWorld(t)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	newer := registry.RecordKey("registry/records/providers/acme/widget/1.0.0/", 3)
	if err := w.Bucket.Create(t.Context(), newer, []byte(`{"kind":"frobnicated","version":"1.0.0","time":"2030-01-01T00:00:00Z"}`)); err != nil {
		t.Fatal(err)
	}
	version := w.S3.Upload(t, publishtest.PackageKey("1.0.0", "linux_arm64"), publishtest.Widget("b"), nil)
	if _, err := w.Publish(t.Context(), blob.Object{Key: publishtest.PackageKey("1.0.0", "linux_arm64"), Version: version}); err == nil {
		t.Error("a package was published on top of a record that is not understood")
	}
}

// Even a reconcile that never has time comes to its end, one step at a time,
// and misses nothing on the way.
func TestAReconcileGoesOnWhereItStopped(t *testing.T) {
	w := newWorld(t)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	w.Upload(publishtest.PackageKey("1.10.0", "linux_amd64"), publishtest.Widget("a"))
	w.Upload("modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""}))
	w.Index = w.NewCatalog()
	w.Parts = w.PartsOn(w.Bucket, w.Index, w.Key)
	var want []string
	for _, upload := range []string{
		"keys/acme/author.asc", "modules/acme/vpc/aws/1.0.0.zip", publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.PackageKey("1.1.0", "linux_amd64"),
	} {
		for range 2 { // in the order in which they came
			want = append(want, upload+" "+w.S3.Upload(t, upload, []byte("new"), nil))
		}
	}
	steps, missed := w.ReconcileInParts()
	if !slices.Equal(missed, want) {
		t.Errorf("missed %q, want %q", missed, want)
	}
	if got := append(w.Listed("acme/widget"), w.Listed("acme/vpc/aws")...); !slices.Equal(got, []string{"1.0.0 linux_amd64", "1.10.0 linux_amd64", "1.0.0"}) {
		t.Errorf("listed %q in the end", got)
	}
	wantSteps := []string{
		"registry/records/modules/acme/vpc/aws/1.0.0/00000001.json",
		"registry/records/providers/acme/widget/1.0.0/00000002.json",
		"registry/records/providers/acme/widget/1.10.0/00000002.json",
		"keys/acme/author.asc", "modules/acme/vpc/aws/1.0.0.zip",
		publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.PackageKey("1.1.0", "linux_amd64"), publishtest.PackageKey("1.10.0", "linux_amd64"),
	}
	if !slices.Equal(steps, wantSteps) {
		t.Errorf("steps %q, want %q", steps, wantSteps)
	}
}

// One broken version does not keep a registry from starting, and a start that is
// cut off does not pass for one.
func TestARecoveryPassesOverWhatIsBroken(t *testing.T) {
	w := newWorld(t)
	broken := registry.RecordKey("registry/records/providers/acme/aaa/1.0.0/", 1)
	if err := w.Bucket.Create(t.Context(), broken, []byte(`{"kind":"frobnicated"}`)); err != nil {
		t.Fatal(err)
	}
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	w.Empty()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Recover(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
	if err := w.Recover(t.Context()); err != nil {
		t.Errorf("one broken version: %v", err)
	}
	if got := w.Listed("acme/widget"); !slices.Equal(got, []string{"1.0.0 linux_amd64"}) {
		t.Errorf("listed %q", got)
	}
}

// Versions that cannot be recovered do not keep the others waiting, however many
// they are: unless it is not the versions that are broken.
func TestAReconcilePassesOverWhatIsBroken(t *testing.T) {
	w := newWorld(t)
	broken := func(i int) {
		log := fmt.Sprintf("registry/records/providers/acme/aaa/1.%d.0/", i)
		if err := w.Bucket.Create(t.Context(), registry.RecordKey(log, 1), []byte(`{"kind":"frobnicated"}`)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 25 {
		broken(i)
	}
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	w.Index = w.NewCatalog()
	w.Parts = w.PartsOn(w.Bucket, w.Index, w.Key)
	reconcile := func() error {
		_, err := w.Reconcile(t.Context(), "", time.Now().Add(time.Hour), func(context.Context, blob.Object) error { return nil })
		return err
	}
	if err := reconcile(); err != nil {
		t.Errorf("25 broken versions: %v", err)
	}
	if got := w.Listed("acme/widget"); len(got) != 1 {
		t.Errorf("listed %q, want what comes after the broken versions", got)
	}
	for i := range 12 {
		w.Upload(publishtest.PackageKey(fmt.Sprintf("2.%d.0", i), "linux_amd64"), publishtest.Widget("a"))
	}
	for failures, want := range map[int]error{10: nil, 11: publishtest.ErrFault} {
		index := w.NewCatalog()
		f := &publishtest.Outage{Prefix: "read registry/records/providers/acme/widget/", Left: failures}
		w.Parts = w.PartsOn(publishtest.FaultyBucket{Caller: f, Bucket: w.Bucket}, index, w.Key)
		if err := reconcile(); !errors.Is(err, want) {
			t.Errorf("%d failures of the storage in a row: %v, want %v", failures, err, want)
		}
	}
}

func TestAReconcileThatCannotHandOnFails(t *testing.T) {
	w := newWorld(t)
	w.S3.Upload(t, publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"), nil)
	next, err := w.Reconcile(t.Context(), "", time.Time{}, func(context.Context, blob.Object) error { return publishtest.ErrFault })
	if !errors.Is(err, publishtest.ErrFault) || next != "" {
		t.Errorf("Reconcile = %q, %v, want the error", next, err)
	}
	for _, list := range []string{"list registry/records/", "versions of modules/"} {
		f := &publishtest.Faults{}
		failing := w.PartsOn(publishtest.FaultyBucket{Caller: f, Bucket: w.Bucket}, w.Index, w.Key)
		missed := func(context.Context, blob.Object) error { return nil }
		if _, err := failing.Reconcile(t.Context(), "", time.Now().Add(time.Hour), missed); err != nil {
			t.Fatal(err)
		}
		*f = publishtest.Faults{Hits: publishtest.Point{Name: list, Number: 1}.Hits}
		if next, err := failing.Reconcile(t.Context(), "", time.Now().Add(time.Hour), missed); !errors.Is(err, publishtest.ErrFault) || next != "" {
			t.Errorf("Reconcile = %q, %v, want the error of %q", next, err, list)
		}
	}
}

// A slow recovery does all of it, rests as long as it works, and ends while it rests.
func TestASlowRecoveryRests(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.Upload("modules/acme/"+name+"/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": "# " + name + "\n"}))
	}
	w.Empty()
	const call = 30 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	worked := time.Duration(0)
	p := w.PartsOn(w.Bucket, publishtest.FaultyIndex{Index: w.Index, Caller: publishtest.CallFunc(func(_ string, do func() error) error {
		worked += call
		time.Sleep(call)
		return do()
	})}, w.Key)
	began := time.Now()
	if err := p.RecoverSlowly(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*worked || worked == 0 {
		t.Errorf("it took %v for %v of work", took, worked)
	}
	for _, name := range []string{"a", "b", "c"} {
		if got := w.Listed("acme/" + name + "/aws"); len(got) != 1 {
			t.Errorf("of %s, %q is listed", name, got)
		}
	}
	time.AfterFunc(2*call, cancel)
	if err := p.RecoverSlowly(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
}
