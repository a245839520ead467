package publish_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// A scenario is what happens to a registry in a namespace while its calls go
// wrong.
type scenario struct {
	name string

	// prepare makes what is there before, without faults, and returns what
	// is to happen, in its order. Each of it may be done again.
	prepare func(w *world, r publishtest.Release, event eventOf) []publishtest.Step

	// end checks what there is in the end.
	end func(w *world, r publishtest.Release)
}

// eventOf is how a deployment tells of an upload.
type eventOf func(key, version string) publishtest.Step

// byHint tells that there is something new under a key, as one machine does.
func byHint(key, _ string) publishtest.Step {
	return func(ctx context.Context, p *publishtest.Parts) error { return p.PublishKey(ctx, key) }
}

// byEvent tells of an object version, as S3 does.
func byEvent(key, version string) publishtest.Step {
	return func(ctx context.Context, p *publishtest.Parts) error {
		_, err := p.Publish(ctx, blob.Object{Key: key, Version: version})
		return err
	}
}

// published uploads and publishes a package and a module without faults.
func (w *world) published(r publishtest.Release) (files []publishtest.File) {
	w.Helper()
	files = append(r.InOrder("linux_amd64.zip"), r.ModuleFile("1.0.0.zip", map[string]string{"main.tf": ""}))
	w.Want(w.UploadFiles(files), inbox.Published)
	return files
}

// wantStanding checks how version 1.0.0 is listed, of the provider and of the
// module.
func (w *world) wantStanding(namespace string, want registry.Standing) {
	w.Helper()
	provider, err := catalog.Listing(w.Context(), w.Index, registry.ProviderAddress{Namespace: namespace, Type: "widget"})
	module, errModule := catalog.Listing(w.Context(), w.Index, registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"})
	if err := errors.Join(err, errModule); err != nil {
		w.Fatal(err)
	}
	v := publishtest.MustVersion(w.T, "1.0.0")
	if got, of := provider.Find(v).Standing, module.Find(v).Standing; got != want || of != want {
		w.Errorf("the provider stands as %+v, the module as %+v, want %+v", got, of, want)
	}
}

// wantDocuments checks that versions of the module have documents, which say what their archives
// say as they are served.
func (w *world) wantDocuments(namespace string, versions ...string) {
	w.Helper()
	for _, version := range versions {
		m, err := catalogtest.ModuleVersion(w.Context(), w.Index, registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"}, publishtest.MustVersion(w.T, version))
		if err != nil {
			w.Fatal(err)
		}
		document, err := contents.DecodeModule(w.Read(registry.ContentsKey(contents.Reader, m.Archive.SHA256)))
		served := bytes.NewReader(w.Read(m.Address.ArchiveKey(m.Version, m.Archive)))
		want, errRead := publishtest.Reader{}.Module(w.Context(), served, served.Size(), m.Archive.Format)
		if err := errors.Join(err, errRead); err != nil || !reflect.DeepEqual(document, want) {
			w.Errorf("%s has the document %+v, %v, want %+v", version, document, err, want)
		}
	}
}

// uploaded puts files into the bucket, and tells of them in their order.
func (w *world) uploaded(event eventOf, files ...publishtest.File) (steps []publishtest.Step) {
	w.Helper()
	for _, f := range files {
		steps = append(steps, event(f.Key, w.S3.Upload(w.T, f.Key, f.Body, nil)))
	}
	return steps
}

var scenarios = []scenario{
	{
		name: "modules, one of them with a wrapper",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			return w.uploaded(event,
				r.ModuleFile("1.0.0.zip", map[string]string{"vpc/main.tf": ""}),
				r.ModuleFile("1.1.0.tar.gz", map[string]string{"main.tf": ""}))
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/vpc/aws", "1.0.0", "1.1.0")
			w.wantStatuses(r.Namespace, "published published")
			w.wantDocuments(r.Namespace, "1.0.0", "1.1.0")
		},
	},
	{
		name: "an author's release, whose key comes last",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			files := r.InOrder("manifest.json", "linux_amd64.zip", "darwin_arm64.zip", "SHA256SUMS.sig", "SHA256SUMS", "author.asc")
			return w.uploaded(event, files...)
		},
		end: endsWithTheAuthorsRelease,
	},
	{
		name: "a key that completes a release",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			for _, f := range r.InOrder("linux_amd64.zip", "darwin_arm64.zip", "manifest.json", "SHA256SUMS", "SHA256SUMS.sig") {
				w.Upload(f.Key, f.Body)
			}
			return w.uploaded(event, r.InOrder("author.asc")...)
		},
		end: endsWithTheAuthorsRelease,
	},
	{
		name: "a manifest that waits for the author's release",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			w.Want(w.UploadFiles(r.InOrder("linux_amd64.zip", "darwin_arm64.zip", "author.asc")), inbox.Published)
			w.first(r.Namespace, time.Now().Add(-time.Hour))
			return w.uploaded(event, r.InOrder("manifest.json", "SHA256SUMS", "SHA256SUMS.sig")...)
		},
		end: endsWithTheAuthorsRelease,
	},
	{
		name: "packages and a manifest without an author",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			return w.uploaded(event, r.InOrder("linux_amd64.zip", "manifest.json", "darwin_arm64.zip")...)
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/widget", "1.0.0 darwin_arm64 linux_amd64")
			w.wantStatuses(r.Namespace, "published published published")
			if s := w.Provider(r.Namespace, "widget", "1.0.0"); s.Release.Author || strings.Count(w.Served(s), "\n") != 2 {
				w.Errorf("served is %+v", s.Release)
			}
		},
	},
	{
		name: "documentation before and after a package, and other bytes of it",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			files := r.InOrder("docs.zip", "linux_amd64.zip", "docs.zip", "docs.zip")
			first, again, other := files[0], files[2], files[3]
			first.Body, again.Body, other.Body = publishtest.Docs("first"), publishtest.Docs("first"), publishtest.Docs("other")
			other.Key = strings.Replace(other.Key, "/widget/", "/widget/1.0.0/", 1)
			w.Upload(first.Key, first.Body)
			return w.uploaded(event, files[1], again, other)
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/widget", "1.0.0 linux_amd64")
			w.wantDocs(r.Namespace, publishtest.Docs("first"))
		},
	},
	{
		name: "documentation that contradicts an author's release, whose key comes last",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			w.documented(&r, publishtest.Docs("right"))
			files := r.InOrder("SHA256SUMS", "SHA256SUMS.sig", "docs.zip", "linux_amd64.zip", "author.asc")
			files[2].Body = publishtest.Docs("other")
			return w.uploaded(event, files...)
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/widget", "1.0.0 linux_amd64")
			w.wantStatuses(r.Namespace, "published published published rejected published")
			if s := w.Provider(r.Namespace, "widget", "1.0.0"); s.Docs != nil || !s.Release.Author {
				w.Errorf("the version has the documentation %+v and the release %+v", s.Docs, s.Release)
			}
		},
	},
	{
		name: "other bytes",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			module := r.ModuleFile("1.0.0.zip", map[string]string{"main.tf": ""})
			w.Upload(module.Key, module.Body)
			first := r.InOrder("linux_amd64.zip")[0]
			w.Upload(first.Key, first.Body)
			return w.uploaded(event, r.OtherPackage(), r.ModuleFile("1.0.0.tgz", map[string]string{"main.tf": ""}))
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/vpc/aws", "1.0.0")
			w.WantListed(r.Namespace+"/widget", "1.0.0 linux_amd64")
			w.wantStatuses(r.Namespace, "rejected published rejected published")
		},
	},
	{
		name: "the same bytes again",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			module := r.ModuleFile("1.0.0.zip", map[string]string{"vpc/main.tf": ""})
			files := append(r.InOrder("linux_amd64.zip", "manifest.json"), module)
			for _, f := range files {
				w.Upload(f.Key, f.Body)
			}
			return w.uploaded(event, files...)
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/vpc/aws", "1.0.0")
			w.WantListed(r.Namespace+"/widget", "1.0.0 linux_amd64")
			w.wantStatuses(r.Namespace, "published published published published published published")
		},
	},
	{
		name: "an author's release that contradicts a package",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			other := r.OtherPackage()
			w.Upload(other.Key, other.Body)
			return w.uploaded(event, r.InOrder("author.asc", "SHA256SUMS.sig", "SHA256SUMS")...)
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/widget", "1.0.0 linux_amd64")
			w.wantStatuses(r.Namespace, "published published rejected pending")
		},
	},
	{
		name: "a package that contradicts an author's release, whose key comes last",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			files := r.InOrder("SHA256SUMS", "SHA256SUMS.sig", "linux_amd64.zip", "darwin_arm64.zip", "author.asc")
			files[2].Body = publishtest.Widget("other")
			return w.uploaded(event, files...)
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/widget", "1.0.0 darwin_arm64")
			w.wantStatuses(r.Namespace, "published published published published rejected")
		},
	},
	{
		name: "a version is deprecated",
		prepare: func(w *world, r publishtest.Release, _ eventOf) []publishtest.Step {
			w.published(r)
			return []publishtest.Step{r.Saying(w.World, publishtest.Deprecate("use 2.0.0"))}
		},
		end: func(w *world, r publishtest.Release) { w.wantStanding(r.Namespace, publishtest.Deprecate("use 2.0.0")) },
	},
	{
		name: "a version is withdrawn, and uploaded again",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			files := w.published(r)
			return append([]publishtest.Step{r.Saying(w.World, publishtest.Withdraw)}, w.uploaded(event, append(files, r.InOrder("darwin_arm64.zip")...)...)...)
		},
		end: func(w *world, r publishtest.Release) {
			w.wantStanding(r.Namespace, publishtest.Withdraw)
			w.wantStatuses(r.Namespace, "published published published published published")
		},
	},
	{
		name: "a version is restored",
		prepare: func(w *world, r publishtest.Release, _ eventOf) []publishtest.Step {
			w.published(r)
			if err := r.Saying(w.World, publishtest.Withdraw)(w.Context(), w.Parts); err != nil {
				w.Fatal(err)
			}
			return []publishtest.Step{r.Saying(w.World, publishtest.Restore)}
		},
		end: func(w *world, r publishtest.Release) { w.wantStanding(r.Namespace, registry.Standing{}) },
	},
	{
		name: "a version is signed anew",
		prepare: func(w *world, r publishtest.Release, event eventOf) []publishtest.Step {
			before := w.PartsOn(w.Bucket, w.Index, publishtest.NewKey(w.T, "next"))
			for _, s := range w.uploaded(event, r.InOrder("linux_amd64.zip")...) {
				if err := s(w.Context(), before); err != nil {
					w.Fatal(err)
				}
			}
			return []publishtest.Step{r.SigningAnew}
		},
		end: func(w *world, r publishtest.Release) {
			w.WantListed(r.Namespace+"/widget", "1.0.0 linux_amd64")
			if got := w.Provider(r.Namespace, "widget", "1.0.0").Release.Keys[0].KeyID; got != w.Key.PublicKey().KeyID {
				w.Errorf("it is signed with %s", got)
			}
		},
	},
}

func endsWithTheAuthorsRelease(w *world, r publishtest.Release) {
	w.Helper()
	w.WantListed(r.Namespace+"/widget", "1.0.0 darwin_arm64 linux_amd64")
	w.wantStatuses(r.Namespace, "published published published published published published")
	if s := w.Provider(r.Namespace, "widget", "1.0.0"); !s.Release.Author || w.Served(s) != string(r.Sums) {
		w.Error("the author's release is not served in the end")
	}
}

// wantStatuses checks the tags of all uploads of a namespace: keys, modules,
// providers, in the order of their keys, and the newest of a key first.
func (w *world) wantStatuses(namespace, want string) {
	w.Helper()
	var got []string
	for _, folder := range []string{"keys/", "modules/", "providers/"} {
		for object, err := range w.Bucket.Versions(w.Context(), folder+namespace+"/", "") {
			if err != nil {
				w.Fatal(err)
			}
			got = append(got, w.S3.Tags(w.T, object.Key, object.Version)[inbox.StatusTag])
		}
	}
	if strings.Join(got, " ") != want {
		w.Errorf("the uploads are %q, want %q", got, want)
	}
}
