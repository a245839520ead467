package publish_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestAnEmptyCatalogIsRebuiltFromTheRecords(t *testing.T) {
	w := newWorld(t)
	r := newRelease(t, "acme")
	for key, body := range r.uploads() {
		w.upload(key, body)
	}
	w.upload(packageKey("2.0.0-rc.1+b", "linux_amd64"), widget("a"))
	w.upload("modules/acme/vpc/aws/1.0.0.zip", zipOf(map[string]string{"x/main.tf": ""}))
	w.upload("modules/acme/vpc/aws/1.1.0.zip", zipOf(map[string]string{"main.tf": ""}))
	before := []any{w.listed("acme/widget"), w.listed("acme/vpc/aws"), w.provider("acme", "widget", "1.0.0"), w.provider("acme", "widget", "2.0.0-rc.1")}

	w.index = w.newCatalog()
	w.parts = w.publisher(w.bucket, w.index, w.key)
	if err := w.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := []any{w.listed("acme/widget"), w.listed("acme/vpc/aws"), w.provider("acme", "widget", "1.0.0"), w.provider("acme", "widget", "2.0.0-rc.1")}
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
		r := newRelease(t, "acme"+string(rune('a'+failAt)))
		key := "providers/" + r.namespace + "/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
		version := w.s3.Upload(t, key, widget("a"), nil)
		f := &faults{hits: nth(failAt), kind: unclear}
		dying := w.publisher(faultyBucket{f, w.bucket}, faultyIndex{f, w.index}, faultySigner{f, w.key})
		_, err := dying.Publish(t.Context(), blob.Object{Key: key, Version: version})
		if err != nil && !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		w.s3.Delete(t, key)
		accepted := len(w.keysUnder("registry/records/providers/"+r.namespace+"/")) > 0
		if err := w.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkServable(r.namespace)
		if listed := len(w.listed(r.namespace+"/widget")) > 0; listed != accepted {
			t.Errorf("died in %q: accepted %v, listed in the end %v", f.calls[min(failAt, len(f.calls))-1], accepted, listed)
		}
		if err == nil {
			return
		}
	}
}

func TestTheWalkOverTheInboxFindsWhatNoEventToldOf(t *testing.T) {
	w := newWorld(t)
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	missed := []string{"keys/acme/author.asc", "modules/acme/vpc/aws/1.0.0.zip", packageKey("1.1.0", "linux_amd64")}
	w.s3.Upload(t, missed[0], []byte(newKey(t, "author").PublicKey().ASCIIArmor), nil)
	w.s3.Upload(t, missed[1], zipOf(map[string]string{"main.tf": ""}), nil)
	w.s3.Upload(t, missed[2], widget("b"), nil)
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
	want := append(slices.Clone(missed[:2]), packageKey("1.0.0", "linux_amd64"), missed[2])
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	for _, key := range missed {
		if got := w.status(key); got != inbox.Published {
			t.Errorf("%s is %q", key, got)
		}
	}
}

// What was published once is not read again at the next start.
func TestAPublishedUploadIsNotReadAgain(t *testing.T) {
	w := newWorld(t)
	key := packageKey("1.0.0", "linux_amd64")
	w.upload(key, widget("a"))
	f := &faults{}
	counting := w.publisher(faultyBucket{f, w.bucket}, faultyIndex{f, w.index}, w.key)
	if err := counting.PublishKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	want := []string{"read " + registry.OutcomeKey(key), "versions of " + key}
	if !slices.Equal(f.calls, want) {
		t.Errorf("calls %q, want %q", f.calls, want)
	}
}

// A start that has nothing to bring up to date reads no record: there may be many.
func TestARecoveryReadsNoRecordOfWhatIsCurrent(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	w.mixed()
	f := &faults{}
	if err := w.through(f).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, call := range f.calls {
		if !strings.HasPrefix(call, "list ") && !strings.HasPrefix(call, "catalog: read ") {
			t.Errorf("the call %q among %q", call, f.calls)
		}
	}
}

// dead is a catalog whose writers died between a state and its listing.
type dead struct {
	catalog.Index
	put []string
}

func (d *dead) Listing(context.Context, registry.Address, *access.Lookup) (registry.Listing, error) {
	return nil, registry.ErrNotFound
}

func (d *dead) Replace(_ context.Context, s registry.State, _ catalog.Seen) error {
	d.put = append(d.put, s.Subject().Address.String())
	return nil
}

func TestWhatIsStoredAndNotListedIsListed(t *testing.T) {
	w := newWorld(t)
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	w.upload("modules/acme/vpc/aws/1.0.0.zip", zipOf(map[string]string{"main.tf": ""}))
	f, d := &faults{}, &dead{Index: w.index}
	for _, index := range []catalog.Index{faultyIndex{f, w.index}, d} {
		if err := w.publisher(w.bucket, index, w.key).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if slices.ContainsFunc(f.calls, changes) {
		t.Errorf("what is listed was stored again: %q", f.calls)
	}
	if want := []string{"acme/vpc/aws", "acme/widget"}; !slices.Equal(d.put, want) {
		t.Errorf("stored again %q, want %q", d.put, want)
	}
}

func TestARecordOfANewerLarderIsNotPassedOver(t *testing.T) {
	w := newWorld(t)
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	newer := registry.RecordKey("registry/records/providers/acme/widget/1.0.0/", 3)
	if err := w.bucket.Create(t.Context(), newer, []byte(`{"kind":"frobnicated","version":"1.0.0","time":"2030-01-01T00:00:00Z"}`)); err != nil {
		t.Fatal(err)
	}
	version := w.s3.Upload(t, packageKey("1.0.0", "linux_arm64"), widget("b"), nil)
	if _, err := w.Publish(t.Context(), blob.Object{Key: packageKey("1.0.0", "linux_arm64"), Version: version}); err == nil {
		t.Error("a package was published on top of a record that is not understood")
	}
}

// reconcile takes a reconcile to its end in calls that have no time, and says
// what each of them was told to go on after and what all of them found missed.
func (w *world) reconcile() (steps, missed []string) {
	w.Helper()
	for after := ""; ; {
		next, err := w.Reconcile(w.Context(), after, time.Time{}, func(_ context.Context, o blob.Object) error {
			missed = append(missed, o.Key+" "+o.Version)
			return nil
		})
		if err != nil {
			w.Fatal(err)
		}
		if next == "" {
			return steps, missed
		}
		steps = append(steps, next)
		after = next
	}
}

// Even a reconcile that never has time comes to its end, one step at a time,
// and misses nothing on the way.
func TestAReconcileGoesOnWhereItStopped(t *testing.T) {
	w := newWorld(t)
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	w.upload(packageKey("1.10.0", "linux_amd64"), widget("a"))
	w.upload("modules/acme/vpc/aws/1.0.0.zip", zipOf(map[string]string{"main.tf": ""}))
	w.index = w.newCatalog()
	w.parts = w.publisher(w.bucket, w.index, w.key)
	var want []string
	for _, upload := range []string{
		"keys/acme/author.asc", "modules/acme/vpc/aws/1.0.0.zip", packageKey("1.0.0", "linux_amd64"), packageKey("1.1.0", "linux_amd64"),
	} {
		for range 2 { // in the order in which they came
			want = append(want, upload+" "+w.s3.Upload(t, upload, []byte("new"), nil))
		}
	}
	steps, missed := w.reconcile()
	if !slices.Equal(missed, want) {
		t.Errorf("missed %q, want %q", missed, want)
	}
	if got := append(w.listed("acme/widget"), w.listed("acme/vpc/aws")...); !slices.Equal(got, []string{"1.0.0 linux_amd64", "1.10.0 linux_amd64", "1.0.0"}) {
		t.Errorf("listed %q in the end", got)
	}
	wantSteps := []string{
		"registry/records/modules/acme/vpc/aws/1.0.0/00000001.json",
		"registry/records/providers/acme/widget/1.0.0/00000002.json",
		"registry/records/providers/acme/widget/1.10.0/00000002.json",
		"keys/acme/author.asc", "modules/acme/vpc/aws/1.0.0.zip",
		packageKey("1.0.0", "linux_amd64"), packageKey("1.1.0", "linux_amd64"), packageKey("1.10.0", "linux_amd64"),
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
	if err := w.bucket.Create(t.Context(), broken, []byte(`{"kind":"frobnicated"}`)); err != nil {
		t.Fatal(err)
	}
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	w.empty()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Recover(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
	if err := w.Recover(t.Context()); err != nil {
		t.Errorf("one broken version: %v", err)
	}
	if got := w.listed("acme/widget"); !slices.Equal(got, []string{"1.0.0 linux_amd64"}) {
		t.Errorf("listed %q", got)
	}
}

// Versions that cannot be recovered do not keep the others waiting, however many
// they are: unless it is not the versions that are broken.
func TestAReconcilePassesOverWhatIsBroken(t *testing.T) {
	w := newWorld(t)
	broken := func(i int) {
		log := fmt.Sprintf("registry/records/providers/acme/aaa/1.%d.0/", i)
		if err := w.bucket.Create(t.Context(), registry.RecordKey(log, 1), []byte(`{"kind":"frobnicated"}`)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 25 {
		broken(i)
	}
	w.upload(packageKey("1.0.0", "linux_amd64"), widget("a"))
	w.index = w.newCatalog()
	w.parts = w.publisher(w.bucket, w.index, w.key)
	reconcile := func() error {
		_, err := w.Reconcile(t.Context(), "", time.Now().Add(time.Hour), func(context.Context, blob.Object) error { return nil })
		return err
	}
	if err := reconcile(); err != nil {
		t.Errorf("25 broken versions: %v", err)
	}
	if got := w.listed("acme/widget"); len(got) != 1 {
		t.Errorf("listed %q, want what comes after the broken versions", got)
	}
	for i := range 12 {
		w.upload(packageKey(fmt.Sprintf("2.%d.0", i), "linux_amd64"), widget("a"))
	}
	for failures, want := range map[int]error{10: nil, 11: errFault} {
		index := w.newCatalog()
		f := &outage{"read registry/records/providers/acme/widget/", failures}
		w.parts = w.publisher(faultyBucket{f, w.bucket}, index, w.key)
		if err := reconcile(); !errors.Is(err, want) {
			t.Errorf("%d failures of the storage in a row: %v, want %v", failures, err, want)
		}
	}
}

func TestAReconcileThatCannotHandOnFails(t *testing.T) {
	w := newWorld(t)
	w.s3.Upload(t, packageKey("1.0.0", "linux_amd64"), widget("a"), nil)
	next, err := w.Reconcile(t.Context(), "", time.Time{}, func(context.Context, blob.Object) error { return errFault })
	if !errors.Is(err, errFault) || next != "" {
		t.Errorf("Reconcile = %q, %v, want the error", next, err)
	}
	for _, list := range []string{"list registry/records/", "versions of modules/"} {
		f := &faults{}
		failing := w.publisher(faultyBucket{f, w.bucket}, w.index, w.key)
		missed := func(context.Context, blob.Object) error { return nil }
		if _, err := failing.Reconcile(t.Context(), "", time.Now().Add(time.Hour), missed); err != nil {
			t.Fatal(err)
		}
		*f = faults{hits: point{list, 1}.hits}
		if next, err := failing.Reconcile(t.Context(), "", time.Now().Add(time.Hour), missed); !errors.Is(err, errFault) || next != "" {
			t.Errorf("Reconcile = %q, %v, want the error of %q", next, err, list)
		}
	}
}
