package publish_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
)

// faultsVariable makes the table of faults on the real engines whole. Without
// it, one of every few of its points is gone through.
const faultsVariable = "LARDER_FAULTS"

// A scenario is what happens to a registry in a namespace while its calls go
// wrong.
type scenario struct {
	name string

	// prepare makes what is there before, without faults, and returns what
	// is to happen, in its order. Each of it may be done again.
	prepare func(w *world, r release, event eventOf) []step

	// end checks what there is in the end.
	end func(w *world, r release)
}

// A step is an event, or what an operator does.
type step func(ctx context.Context, p *publish.Publisher) error

// eventOf is how a deployment tells of an upload.
type eventOf func(key, version string) step

// byHint tells that there is something new under a key, as one machine does.
func byHint(key, _ string) step {
	return func(ctx context.Context, p *publish.Publisher) error { return p.PublishKey(ctx, key) }
}

// byEvent tells of an object version, as S3 does.
func byEvent(key, version string) step {
	return func(ctx context.Context, p *publish.Publisher) error {
		_, err := p.Publish(ctx, key, version)
		return err
	}
}

// lookAgain is the next walk over the inbox, at an upload that has waited for
// others: who dies after they were accepted together has not told of it.
func lookAgain(key string) step { return byHint(key, "") }

// file is an upload to come.
type file struct {
	key  string
	body []byte
}

// uploaded puts files into the bucket, and tells of them in their order.
func (w *world) uploaded(event eventOf, files ...file) (steps []step) {
	w.Helper()
	for _, f := range files {
		steps = append(steps, event(f.key, w.s3.Upload(w.T, f.key, f.body, nil)))
	}
	return steps
}

// inOrder is some of a release's files.
func (r *release) inOrder(names ...string) (files []file) {
	for _, name := range names {
		key := "providers/" + r.namespace + "/widget/" + providerName("widget", r.version, name)
		if name == "author.asc" {
			key = "keys/" + r.namespace + "/" + name
		}
		files = append(files, file{key, r.uploads()[key]})
	}
	return files
}

// moduleFile is an archive of a namespace's module.
func (r *release) moduleFile(name string, files map[string]string) file {
	f := file{"modules/" + r.namespace + "/vpc/aws/" + name, tarOf(files)}
	if strings.HasSuffix(name, ".zip") {
		f.body = zipOf(files)
	}
	return f
}

// otherPackage is a package with bytes that no release of an author lists.
func (r *release) otherPackage() file {
	f := r.inOrder("linux_amd64.zip")[0]
	return file{strings.Replace(f.key, "/widget/", "/widget/1.0.0/", 1), widget("other")}
}

var scenarios = []scenario{
	{
		name: "modules, one of them with a wrapper",
		prepare: func(w *world, r release, event eventOf) []step {
			return w.uploaded(event,
				r.moduleFile("1.0.0.zip", map[string]string{"vpc/main.tf": ""}),
				r.moduleFile("1.1.0.tar.gz", map[string]string{"main.tf": ""}))
		},
		end: func(w *world, r release) {
			w.wantListed(r.namespace+"/vpc/aws", "1.0.0", "1.1.0")
			w.wantStatuses(r.namespace, "published published")
		},
	},
	{
		name: "an author's release, whose key comes last",
		prepare: func(w *world, r release, event eventOf) []step {
			files := r.inOrder("manifest.json", "linux_amd64.zip", "darwin_arm64.zip", "SHA256SUMS.sig", "SHA256SUMS", "author.asc")
			return append(w.uploaded(event, files...), lookAgain(r.sumsKey()))
		},
		end: endsWithTheAuthorsRelease,
	},
	{
		name: "a key that completes a release",
		prepare: func(w *world, r release, event eventOf) []step {
			for _, f := range r.inOrder("linux_amd64.zip", "darwin_arm64.zip", "manifest.json", "SHA256SUMS", "SHA256SUMS.sig") {
				w.upload(f.key, f.body)
			}
			return append(w.uploaded(event, r.inOrder("author.asc")...), lookAgain(r.sumsKey()))
		},
		end: endsWithTheAuthorsRelease,
	},
	{
		name: "packages and a manifest without an author",
		prepare: func(w *world, r release, event eventOf) []step {
			return w.uploaded(event, r.inOrder("linux_amd64.zip", "manifest.json", "darwin_arm64.zip")...)
		},
		end: func(w *world, r release) {
			w.wantListed(r.namespace+"/widget", "1.0.0 darwin_arm64 linux_amd64")
			w.wantStatuses(r.namespace, "published published published")
			if s := w.provider(r.namespace, "widget", "1.0.0"); s.Release.Author || strings.Count(w.served(s), "\n") != 2 {
				w.Errorf("served is %+v", s.Release)
			}
		},
	},
	{
		name: "other bytes",
		prepare: func(w *world, r release, event eventOf) []step {
			module := r.moduleFile("1.0.0.zip", map[string]string{"main.tf": ""})
			w.upload(module.key, module.body)
			first := r.inOrder("linux_amd64.zip")[0]
			w.upload(first.key, first.body)
			return w.uploaded(event, r.otherPackage(), r.moduleFile("1.0.0.tgz", map[string]string{"main.tf": ""}))
		},
		end: func(w *world, r release) {
			w.wantListed(r.namespace+"/vpc/aws", "1.0.0")
			w.wantListed(r.namespace+"/widget", "1.0.0 linux_amd64")
			w.wantStatuses(r.namespace, "rejected published rejected published")
		},
	},
	{
		name: "the same bytes again",
		prepare: func(w *world, r release, event eventOf) []step {
			module := r.moduleFile("1.0.0.zip", map[string]string{"vpc/main.tf": ""})
			files := append(r.inOrder("linux_amd64.zip", "manifest.json"), module)
			for _, f := range files {
				w.upload(f.key, f.body)
			}
			return w.uploaded(event, files...)
		},
		end: func(w *world, r release) {
			w.wantListed(r.namespace+"/vpc/aws", "1.0.0")
			w.wantListed(r.namespace+"/widget", "1.0.0 linux_amd64")
			w.wantStatuses(r.namespace, "published published published published published published")
		},
	},
	{
		name: "an author's release that contradicts a package",
		prepare: func(w *world, r release, event eventOf) []step {
			other := r.otherPackage()
			w.upload(other.key, other.body)
			return w.uploaded(event, r.inOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")...)
		},
		end: func(w *world, r release) {
			w.wantListed(r.namespace+"/widget", "1.0.0 linux_amd64")
			w.wantStatuses(r.namespace, "published published rejected pending")
		},
	},
}

func endsWithTheAuthorsRelease(w *world, r release) {
	w.Helper()
	w.wantListed(r.namespace+"/widget", "1.0.0 darwin_arm64 linux_amd64")
	w.wantStatuses(r.namespace, "published published published published published published")
	if s := w.provider(r.namespace, "widget", "1.0.0"); !s.Release.Author || w.served(s) != string(r.sums) {
		w.Error("the author's release is not served in the end")
	}
}

func (w *world) wantListed(address string, want ...string) {
	w.Helper()
	if got := w.listed(address); !slices.Equal(got, want) {
		w.Errorf("%s lists %q, want %q", address, got, want)
	}
}

// wantStatuses checks the tags of all uploads of a namespace: keys, modules,
// providers, in the order of their keys, and the newest of a key first.
func (w *world) wantStatuses(namespace, want string) {
	w.Helper()
	var got []string
	for _, folder := range []string{"keys/", "modules/", "providers/"} {
		for object, err := range w.bucket.Versions(w.Context(), folder+namespace+"/", "") {
			if err != nil {
				w.Fatal(err)
			}
			got = append(got, w.s3.Tags(w.T, object.Key, object.Version)[publish.StatusTag])
		}
	}
	if strings.Join(got, " ") != want {
		w.Errorf("the uploads are %q, want %q", got, want)
	}
}

// Every call of the publish path that leaves the process goes wrong in turn: it
// fails, it says that it failed, or the process dies before it. Then the events
// come again. The end is always the same, and on the way nothing is listed that
// cannot be served.
func TestEveryCallMayFail(t *testing.T) {
	whole := os.Getenv(faultsVariable) != ""
	for _, d := range []struct {
		name    string
		storage func(*testing.T) storage
		catalog func(*testing.T) catalog
		event   eventOf
		every   int    // one of so many points
		all     string // but all points with this in the name of the call
	}{
		{"bolt", inMemory, onBolt, byHint, 1, ""},
		{"DynamoDB", inMemory, onDynamoDB, byEvent, 5, "#acme/"},
		{"S3 and bolt", onS3, onBolt, byHint, 79, ""},
		{"S3 and DynamoDB", onS3, onDynamoDB, byEvent, 79, ""},
	} {
		t.Run(d.name, func(t *testing.T) {
			table := &faultTable{world: newWorldOn(t, d.storage, d.catalog), event: d.event, every: d.every, all: d.all}
			switch {
			case whole:
				table.every = 1
			case testing.Short():
				table.every, table.all = 5*d.every, ""
			}
			for _, s := range scenarios {
				table.run(s)
			}
			t.Logf("%d of %d points of failure%s", table.points, table.candidates, &table.text)
			if table.candidates < 600 {
				t.Errorf("only %d points of failure: the calls are not told any more", table.candidates)
			}
		})
	}
}

// faultTable goes through the points at which a call can go wrong.
type faultTable struct {
	*world
	event eventOf
	every int    // one of so many points,
	all   string // and all whose call's name has this in it, if anything

	namespaces int
	candidates int
	points     int
	text       strings.Builder
}

// takes says whether the next point is one that the table goes through.
func (t *faultTable) takes(call string) bool {
	t.candidates++
	return t.candidates%t.every == 0 || t.all != "" && strings.Contains(call, t.all)
}

func (t *faultTable) run(s scenario) {
	t.Helper()
	none := &faults{}
	want := t.play(s, none)
	fmt.Fprintf(&t.text, "\n%s: %d calls", s.name, len(none.calls))
	for n := range none.calls {
		at := pointOf(none.calls[:n+1])
		var tried []string
		for _, kind := range []faultKind{failed, unclear, killed} {
			if kind == unclear && !changes(at.name) {
				continue // without an effect there is no "failed but done"
			}
			if !t.takes(at.name) {
				continue
			}
			f := &faults{kind: kind, hits: at.hits}
			if got := t.play(s, f); got != want || !f.hit {
				t.Errorf("it ends as\n%s\nwant\n%s", got, want)
			}
			if t.Failed() {
				t.Fatalf("%s: %v, %v of\n%s", s.name, at, kind, strings.Join(f.calls, "\n"))
			}
			t.points++
			tried = append(tried, kind.String())
		}
		fmt.Fprintf(&t.text, "\n  %3d. %s: %s", n+1, at.name, strings.Join(tried, ", "))
	}
}

// play has a publisher go through a scenario with faults, and another one
// through what has to be done again after them. It returns the picture of what
// that ends in.
func (t *faultTable) play(s scenario, f *faults) string {
	t.Helper()
	t.namespaces++
	r := newRelease(t.T, fmt.Sprintf("acme-%d-faults", t.namespaces))
	f.namespace = r.namespace
	steps := s.prepare(t.world, r, t.event)
	for n, step := range t.untilDone(steps, f, r.namespace) {
		if err := step(t.Context(), t.Publisher); err != nil {
			t.Errorf("step %d of what is done again: %v", n+1, err)
		}
	}
	t.checkServable(r.namespace)
	s.end(t.world, r)
	return t.picture(r.namespace)
}

// untilDone goes through steps with faults, and returns those that have to be
// done again: the one that failed, or all since the process died.
func (t *faultTable) untilDone(steps []step, f *faults, namespace string) (again []step) {
	t.Helper()
	failing := t.through(f)
	for n, step := range steps {
		before := f.hit
		err := step(t.Context(), failing)
		now := f.hit && !before
		if (err != nil) != now {
			t.Errorf("step %d ends with %v; a call of it has gone wrong: %v", n+1, err, now)
		}
		if !now {
			continue
		}
		t.checkServable(namespace)
		if f.kind == killed {
			return steps[n:]
		}
		again = steps[n : n+1]
	}
	return again
}

// checkServable checks that what is listed of a namespace can be served.
func (w *world) checkServable(namespace string) {
	w.Helper()
	for _, line := range w.listed(namespace + "/widget") {
		s := w.provider(namespace, "widget", "1.0.0")
		w.served(s)
		for _, pkg := range s.Packages {
			if _, ok := s.Package(pkg.Platform); ok {
				w.read(s.Address.PackageKey(s.Version, pkg))
			}
		}
		if line == "1.0.0" {
			w.Errorf("%s is listed without a platform", namespace)
		}
	}
	for _, version := range w.listed(namespace + "/vpc/aws") {
		m, err := w.index.ModuleVersion(w.Context(), registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"}, mustVersion(w.T, version))
		if err != nil {
			w.Error(err)
		}
		w.read(m.Address.ArchiveKey(m.Version, m.Archive))
	}
}
