package publish_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// maxDeliveries is how often an event comes at most, until it is done: others
// may keep changing the same listing for longer than one try takes.
const maxDeliveries = 10

// event tells of an object version.
type event struct{ key, version string }

// endsAsOneByOne publishes the same files on every pair of engines, with their
// events delivered as rush does it, and holds that it ends as it does when each
// is published alone, one after another.
func endsAsOneByOne(t *testing.T, on []publishtest.Engine[publishtest.Storage], files func(t *testing.T, namespace string) []publishtest.File, rush func(w *world, events []event)) {
	t.Helper()
	const namespace = "acme-at-once"
	uploads := files(t, namespace)
	alone := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for _, f := range uploads {
		alone.Upload(f.Key, f.Body)
	}
	want := alone.picture(namespace)
	for _, s := range on {
		for _, c := range publishtest.Catalogs {
			t.Run(s.Name+" and "+c.Name, func(t *testing.T) {
				w := newWorldOn(t, s.Open, c.Open)
				var events []event
				for _, f := range uploads {
					events = append(events, event{f.Key, w.S3.Upload(t, f.Key, f.Body, nil)})
				}
				rush(w, events)
				if got := w.picture(namespace); got != want {
					t.Errorf("it ends as\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}

// rush delivers events in their order to several publishers, so many at a time.
// An event that failed comes again.
func (w *world) rush(events []event, publishers, atOnce int) {
	w.Helper()
	all := make([]*publishtest.Parts, publishers)
	for n := range all {
		all[n] = w.Through(calm{})
	}
	queue := make(chan event)
	var group sync.WaitGroup
	for n := range atOnce {
		group.Go(func() {
			for e := range queue {
				w.publishAtLast(all[n%publishers], e)
			}
		})
	}
	for _, e := range events {
		queue <- e
	}
	close(queue)
	group.Wait()
}

func (w *world) publishAtLast(p *publishtest.Parts, e event) {
	var err error
	for range maxDeliveries {
		if _, err = p.Publish(w.Context(), blob.Object{Key: e.key, Version: e.version}); err == nil {
			return
		}
	}
	w.Errorf("%s, after %d deliveries: %v", e.key, maxDeliveries, err)
}

func TestExactlyOnceFourteenPackagesAtOnce(t *testing.T) {
	platforms := []string{
		"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "linux_386", "linux_amd64",
		"linux_arm", "linux_arm64", "linux_s390x", "openbsd_amd64", "windows_386", "windows_amd64", "windows_arm64",
	}
	packages := func(_ *testing.T, namespace string) (files []publishtest.File) {
		for _, platform := range platforms {
			files = append(files, publishtest.File{Key: "providers/" + namespace + "/widget/" + publishtest.ProviderName("widget", "1.0.0", platform+".zip"), Body: publishtest.Widget(platform)})
		}
		return files
	}
	endsAsOneByOne(t, publishtest.Storages, packages, func(w *world, events []event) {
		w.rush(append(events, events[:5]...), 3, len(platforms))
		s := w.Provider("acme-at-once", "widget", "1.0.0")
		if got := strings.Count(w.Served(s), "\n"); got != 14 {
			w.Errorf("SHA256SUMS has %d lines, want 14", got)
		}
		w.WantListed("acme-at-once/widget", "1.0.0 "+strings.Join(platforms, " "))
	})
}

func TestExactlyOnceAHundredVersionsAtOnce(t *testing.T) {
	versions := 100
	if testing.Short() {
		versions = 20
	}
	packages := func(_ *testing.T, namespace string) (files []publishtest.File) {
		for n := range versions {
			version := fmt.Sprintf("1.%d.0", n)
			files = append(files, publishtest.File{Key: "providers/" + namespace + "/widget/" + publishtest.ProviderName("widget", version, "linux_amd64.zip"), Body: publishtest.Widget(version)})
		}
		return files
	}
	endsAsOneByOne(t, publishtest.Storages[:1], packages, func(w *world, events []event) {
		w.rush(events, 2, len(events))
		if got := w.Listed("acme-at-once/widget"); len(got) != versions {
			w.Errorf("%d of %d versions are listed: %q", len(got), versions, got)
		}
	})
}

// Every upload's event comes twice at once, to two publishers, and some uploads
// are there twice themselves.
func TestExactlyOnceTheSameUploadTwiceAtOnce(t *testing.T) {
	uploads := func(t *testing.T, namespace string) []publishtest.File {
		r := publishtest.NewRelease(t, namespace)
		module := r.ModuleFile("1.0.0.zip", map[string]string{"vpc/main.tf": ""})
		return append(r.InOrder("linux_amd64.zip", "linux_amd64.zip", "SHA256SUMS", "author.asc", "manifest.json", "SHA256SUMS.sig", "darwin_arm64.zip"), module, module)
	}
	endsAsOneByOne(t, publishtest.Storages, uploads, func(w *world, events []event) {
		for _, e := range events {
			w.rush([]event{e, e}, 2, 2)
		}
	})
}

// The files of three versions come last first, each twice, to three publishers
// that take turns as it happens, and once more when all is done.
func TestExactlyOnceEventsTwiceLateAndBackwards(t *testing.T) {
	uploads := func(t *testing.T, namespace string) (files []publishtest.File) {
		for _, version := range []string{"1.0.0", "1.1.0", "2.0.0-rc.1"} {
			r := publishtest.NewReleaseOf(t, namespace, version)
			files = append(files, r.InOrder("SHA256SUMS", "SHA256SUMS.sig", "linux_amd64.zip", "darwin_arm64.zip", "manifest.json")...)
			files = append(files, r.ModuleFile(version+".tar.gz", map[string]string{"main.tf": version}))
		}
		r := publishtest.NewRelease(t, namespace)
		return append(r.InOrder("author.asc"), files...)
	}
	endsAsOneByOne(t, publishtest.Storages, uploads, func(w *world, events []event) {
		backwards := slices.Clone(events)
		slices.Reverse(backwards)
		var twice []event
		for _, e := range backwards {
			twice = append(twice, e, e)
		}
		w.rush(twice, 3, 6)
		w.rush(backwards, 1, 1)
	})
}

// Of two uploads that contradict each other one is accepted, at once and for
// good, whichever it is, and the other is told.
func TestImmutableTheFirstOfTwoAtOnceWins(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		for n := range 8 {
			version := fmt.Sprintf("1.%d.0", n)
			keys := []string{publishtest.PackageKey(version, "linux_amd64"), publishtest.WidgetFolder + version + "/" + publishtest.ProviderName("widget", version, "linux_amd64.zip")}
			log, records := "providers/acme/widget/", 2
			if n%2 == 1 {
				keys = []string{"modules/acme/vpc/aws/" + version + ".zip", "modules/Acme/vpc/aws/" + version + ".zip"}
				log, records = "modules/acme/vpc/aws/", 1
			}
			body := func(content string) []byte {
				return publishtest.ZipOf(map[string]string{"terraform-provider-widget_v1": content, "main.tf": content})
			}
			events := []event{
				{keys[0], w.S3.Upload(w.T, keys[0], body("first"), nil)},
				{keys[1], w.S3.Upload(w.T, keys[1], body("second"), nil)},
			}
			for range 2 { // and stays
				w.rush(events, 2, 2)
				statuses := []inbox.Status{w.Status(keys[0]), w.Status(keys[1])}
				slices.Sort(statuses)
				if !slices.Equal(statuses, []inbox.Status{inbox.Published, inbox.Rejected}) {
					w.Errorf("%s: the two are %q", version, statuses)
				}
				if got := w.KeysUnder(registry.RecordsPrefix + log + version + "/"); len(got) != records {
					w.Errorf("%s: records %q, want %d", version, got, records)
				}
			}
		}
	})
}
