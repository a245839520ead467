package publishtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// Release is what an author uploads for one version of <namespace>/widget.
type Release struct {
	Namespace string
	version   string
	Files     map[string][]byte // by name, without SHA256SUMS and signature
	Sums      []byte
	Signature []byte
	Key       *signing.Key
}

// ManifestJSON is a registry manifest.
const ManifestJSON = `{"version":1,"metadata":{"protocol_versions":["6.0"]}}`

// NewRelease is a release of version 1.0.0, which the author has signed.
func NewRelease(t *testing.T, namespace string) Release {
	t.Helper()
	return NewReleaseOf(t, namespace, "1.0.0")
}

// NewReleaseOf is a release of a version, which the author has signed.
func NewReleaseOf(t *testing.T, namespace, version string) Release {
	t.Helper()
	linux, darwin, manifest := ProviderName("widget", version, "linux_amd64.zip"), ProviderName("widget", version, "darwin_arm64.zip"), ProviderName("widget", version, "manifest.json")
	r := Release{Namespace: namespace, version: version, Key: NewKey(t, "author"), Files: map[string][]byte{
		linux: Widget("amd64"), darwin: Widget("arm64"), manifest: []byte(ManifestJSON),
	}}
	r.Sums = []byte(Line(r.Files, linux) + Line(r.Files, darwin) + Line(r.Files, manifest))
	r.Sign(t, r.Key)
	return r
}

// Line is the line of a file in SHA256SUMS.
func Line(files map[string][]byte, name string) string {
	sum := sha256.Sum256(files[name])
	return hex.EncodeToString(sum[:]) + "  " + name + "\n"
}

// Sign signs the SHA256SUMS.
func (r *Release) Sign(t *testing.T, key *signing.Key) {
	t.Helper()
	var err error
	if r.Signature, err = key.Sign(t.Context(), r.Sums); err != nil {
		t.Fatal(err)
	}
}

// Uploads is every file of the release by its key in the inbox.
func (r *Release) Uploads() map[string][]byte {
	all := map[string][]byte{
		r.SumsKey():                           r.Sums,
		r.SumsKey() + ".sig":                  r.Signature,
		"keys/" + r.Namespace + "/author.asc": []byte(r.Key.PublicKey().ASCIIArmor),
	}
	for name, body := range r.Files {
		all["providers/"+r.Namespace+"/widget/"+name] = body
	}
	return all
}

// SumsKey is the key of SHA256SUMS in the inbox.
func (r *Release) SumsKey() string {
	return "providers/" + r.Namespace + "/widget/" + ProviderName("widget", r.version, "SHA256SUMS")
}

// Status is what the tags of an upload say became of it.
func (w *World) Status(key string) inbox.Status {
	w.Helper()
	return inbox.Status(w.S3.Tags(w.T, key, "")[inbox.StatusTag])
}

// Step is an event, or what an operator does.
type Step func(ctx context.Context, p *Parts) error

// Saying is an operator's word on version 1.0.0 of the provider and the module.
func (r *Release) Saying(w *World, to registry.Standing) Step {
	v := MustVersion(w.T, "1.0.0")
	return func(ctx context.Context, p *Parts) error {
		_, _, err := p.SetStanding(ctx, registry.Subject{Address: registry.ProviderAddress{Namespace: r.Namespace, Type: "widget"}, Version: v}, to)
		if err == nil {
			_, _, err = p.SetStanding(ctx, registry.Subject{Address: registry.ModuleAddress{Namespace: r.Namespace, Name: "vpc", System: "aws"}, Version: v}, to)
		}
		return err
	}
}

// SigningAnew signs the namespace's one version with the publisher's key.
func (r *Release) SigningAnew(ctx context.Context, p *Parts) error {
	next, stop := iter.Pull2(p.Resign(ctx, registry.RecordsPrefix+"providers/"+r.Namespace+"/"))
	defer stop()
	_, err, _ := next()
	return err
}

// File is an upload to come.
type File struct {
	Key  string
	Body []byte
}

// InOrder is some of a release's files.
func (r *Release) InOrder(names ...string) (files []File) {
	for _, name := range names {
		key := "providers/" + r.Namespace + "/widget/" + ProviderName("widget", r.version, name)
		if name == "author.asc" {
			key = "keys/" + r.Namespace + "/" + name
		}
		files = append(files, File{key, r.Uploads()[key]})
	}
	return files
}

// ModuleFile is an archive of a namespace's module.
func (r *Release) ModuleFile(name string, files map[string]string) File {
	f := File{"modules/" + r.Namespace + "/vpc/aws/" + name, TarOf(files)}
	if strings.HasSuffix(name, ".zip") {
		f.Body = ZipOf(files)
	}
	return f
}

// OtherPackage is a package with bytes that no release of an author lists.
func (r *Release) OtherPackage() File {
	f := r.InOrder("linux_amd64.zip")[0]
	return File{strings.Replace(f.Key, "/widget/", "/widget/1.0.0/", 1), Widget("other")}
}

// WantListed wants the versions of a module or provider to be these.
func (w *World) WantListed(address string, want ...string) {
	w.Helper()
	if got := w.Listed(address); !slices.Equal(got, want) {
		w.Errorf("%s lists %q, want %q", address, got, want)
	}
}

// CheckServable checks that what is listed of a namespace can be served.
func (w *World) CheckServable(namespace string) {
	w.Helper()
	for _, line := range w.Listed(namespace + "/widget") {
		s := w.Provider(namespace, "widget", "1.0.0")
		w.Served(s)
		for _, pkg := range s.Packages {
			if _, ok := s.Package(pkg.Platform); ok {
				w.Read(s.Address.PackageKey(s.Version, pkg))
			}
		}
		if line == "1.0.0" {
			w.Errorf("%s is listed without a platform", namespace)
		}
	}
	for _, version := range w.Listed(namespace + "/vpc/aws") {
		m, err := catalogtest.ModuleVersion(w.Context(), w.Index, registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"}, MustVersion(w.T, version))
		if err != nil {
			w.Error(err)
		}
		w.Read(m.Address.ArchiveKey(m.Version, m.Archive))
	}
}

// ProviderName is the name of a file of a provider's release.
func ProviderName(typ, version, rest string) string {
	return "terraform-provider-" + typ + "_" + version + "_" + rest
}

// WidgetFolder is the folder of acme/widget in the inbox.
const WidgetFolder = "providers/acme/widget/"

// PackageKey is the key of a package of acme/widget in the inbox.
func PackageKey(version, platform string) string {
	return WidgetFolder + "terraform-provider-widget_" + version + "_" + platform + ".zip"
}

// Mirrored is the folder of a mirrored widget in the inbox.
const Mirrored = "mirror/registry.terraform.io/acme/widget/"
