package publish_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

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
type step func(ctx context.Context, p *parts) error

// eventOf is how a deployment tells of an upload.
type eventOf func(key, version string) step

// byHint tells that there is something new under a key, as one machine does.
func byHint(key, _ string) step {
	return func(ctx context.Context, p *parts) error { return p.PublishKey(ctx, key) }
}

// byEvent tells of an object version, as S3 does.
func byEvent(key, version string) step {
	return func(ctx context.Context, p *parts) error {
		_, err := p.Publish(ctx, blob.Object{Key: key, Version: version})
		return err
	}
}

// saying is an operator's word on version 1.0.0 of the provider and the module.
func (r *release) saying(w *world, to registry.Standing) step {
	v := mustVersion(w.T, "1.0.0")
	return func(ctx context.Context, p *parts) error {
		_, _, err := p.SetStanding(ctx, registry.Subject{Address: registry.ProviderAddress{Namespace: r.namespace, Type: "widget"}, Version: v}, to)
		if err == nil {
			_, _, err = p.SetStanding(ctx, registry.Subject{Address: registry.ModuleAddress{Namespace: r.namespace, Name: "vpc", System: "aws"}, Version: v}, to)
		}
		return err
	}
}

// published uploads and publishes a package and a module without faults.
func (w *world) published(r release) (files []file) {
	w.Helper()
	files = append(r.inOrder("linux_amd64.zip"), r.moduleFile("1.0.0.zip", map[string]string{"main.tf": ""}))
	w.want(w.uploadFiles(files), inbox.Published)
	return files
}

// wantStanding checks how version 1.0.0 is listed, of the provider and of the
// module.
func (w *world) wantStanding(namespace string, want registry.Standing) {
	w.Helper()
	provider, err := w.index.Listing(w.Context(), registry.ProviderAddress{Namespace: namespace, Type: "widget"}, nil)
	module, errModule := w.index.Listing(w.Context(), registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"}, nil)
	if err := errors.Join(err, errModule); err != nil {
		w.Fatal(err)
	}
	v := mustVersion(w.T, "1.0.0")
	if got, of := provider.Find(v).Standing, module.Find(v).Standing; got != want || of != want {
		w.Errorf("the provider stands as %+v, the module as %+v, want %+v", got, of, want)
	}
}

// signingAnew signs the namespace's one version with the publisher's key.
func (r *release) signingAnew(ctx context.Context, p *parts) error {
	next, stop := iter.Pull2(p.Resign(ctx, registry.RecordsPrefix+"providers/"+r.namespace+"/"))
	defer stop()
	_, err, _ := next()
	return err
}

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
			return w.uploaded(event, files...)
		},
		end: endsWithTheAuthorsRelease,
	},
	{
		name: "a key that completes a release",
		prepare: func(w *world, r release, event eventOf) []step {
			for _, f := range r.inOrder("linux_amd64.zip", "darwin_arm64.zip", "manifest.json", "SHA256SUMS", "SHA256SUMS.sig") {
				w.upload(f.key, f.body)
			}
			return w.uploaded(event, r.inOrder("author.asc")...)
		},
		end: endsWithTheAuthorsRelease,
	},
	{
		name: "a manifest that waits for the author's release",
		prepare: func(w *world, r release, event eventOf) []step {
			w.want(w.uploadFiles(r.inOrder("linux_amd64.zip", "darwin_arm64.zip", "author.asc")), inbox.Published)
			w.first(r.namespace, time.Now().Add(-time.Hour))
			return w.uploaded(event, r.inOrder("manifest.json", "SHA256SUMS", "SHA256SUMS.sig")...)
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
	{
		name: "a package that contradicts an author's release, whose key comes last",
		prepare: func(w *world, r release, event eventOf) []step {
			files := r.inOrder("SHA256SUMS", "SHA256SUMS.sig", "linux_amd64.zip", "darwin_arm64.zip", "author.asc")
			files[2].body = widget("other")
			return w.uploaded(event, files...)
		},
		end: func(w *world, r release) {
			w.wantListed(r.namespace+"/widget", "1.0.0 darwin_arm64")
			w.wantStatuses(r.namespace, "published published published published rejected")
		},
	},
	{
		name: "a version is deprecated",
		prepare: func(w *world, r release, _ eventOf) []step {
			w.published(r)
			return []step{r.saying(w, deprecate("use 2.0.0"))}
		},
		end: func(w *world, r release) { w.wantStanding(r.namespace, deprecate("use 2.0.0")) },
	},
	{
		name: "a version is withdrawn, and uploaded again",
		prepare: func(w *world, r release, event eventOf) []step {
			files := w.published(r)
			return append([]step{r.saying(w, withdraw)}, w.uploaded(event, append(files, r.inOrder("darwin_arm64.zip")...)...)...)
		},
		end: func(w *world, r release) {
			w.wantStanding(r.namespace, withdraw)
			w.wantStatuses(r.namespace, "published published published published published")
		},
	},
	{
		name: "a version is restored",
		prepare: func(w *world, r release, _ eventOf) []step {
			w.published(r)
			if err := r.saying(w, withdraw)(w.Context(), w.parts); err != nil {
				w.Fatal(err)
			}
			return []step{r.saying(w, restore)}
		},
		end: func(w *world, r release) { w.wantStanding(r.namespace, registry.Standing{}) },
	},
	{
		name: "a version is signed anew",
		prepare: func(w *world, r release, event eventOf) []step {
			before := w.publisher(w.bucket, w.index, newKey(w.T, "next"))
			for _, s := range w.uploaded(event, r.inOrder("linux_amd64.zip")...) {
				if err := s(w.Context(), before); err != nil {
					w.Fatal(err)
				}
			}
			return []step{r.signingAnew}
		},
		end: func(w *world, r release) {
			w.wantListed(r.namespace+"/widget", "1.0.0 linux_amd64")
			if got := w.provider(r.namespace, "widget", "1.0.0").Release.Keys[0].KeyID; got != w.key.PublicKey().KeyID {
				w.Errorf("it is signed with %s", got)
			}
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
			got = append(got, w.s3.Tags(w.T, object.Key, object.Version)[inbox.StatusTag])
		}
	}
	if strings.Join(got, " ") != want {
		w.Errorf("the uploads are %q, want %q", got, want)
	}
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
		m, err := catalogtest.ModuleVersion(w.Context(), w.index, registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"}, mustVersion(w.T, version))
		if err != nil {
			w.Error(err)
		}
		w.read(m.Address.ArchiveKey(m.Version, m.Archive))
	}
}
