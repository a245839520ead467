// Package publishtest is a registry for tests, with its users: a bucket and a catalog on any
// engine, what publishes on them and keeps what is published, releases and keys of authors,
// and faults in all calls that leave the process.
package publishtest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/upkeep"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// World is a registry on a bucket and a catalog, and its users.
type World struct {
	*testing.T
	S3     blobtest.User
	Bucket blob.Bucket
	Index  publishing.Index
	Key    *signing.Key
	Heard  *Audience
	*Parts

	openCatalog   func(*testing.T) EmptyCatalog
	BucketThrough func(Caller) blob.Bucket
	indexThrough  func(Caller) publishing.Index
}

// Parts is the rooms that publish and keep what is published, as the assembly puts them
// together.
type Parts struct {
	*publish.Publisher
	*inbox.Inbox
	*versions
	*upkeep.Walks
	Keys *authorkeys.Keys
}

type versions = versionlog.Log // by a name that is not [testing.T.Log]

// Assemble puts the parts together.
func Assemble(c publishing.Config) *Parts {
	p := publishing.New(c)
	return &Parts{p.Publisher, p.Inbox, p.Log, p.Walks, p.Keys}
}

// Resign is the walk.
func (p *Parts) Resign(ctx context.Context, after string) upkeep.Walk {
	return p.Walks.Resign(ctx, after)
}

// NewWorld is a world on a real S3 and on bbolt.
func NewWorld(t *testing.T) *World {
	t.Helper()
	return NewWorldOn(t, OnS3, OnBolt)
}

// NewWorldOn is a world on a bucket and a catalog.
func NewWorldOn(t *testing.T, openStorage func(*testing.T) Storage, openCatalog func(*testing.T) EmptyCatalog) *World {
	t.Helper()
	s := openStorage(t)
	w := &World{T: t, S3: s.user, Bucket: s.bucket, BucketThrough: s.through, openCatalog: openCatalog, Key: NewKey(t, "registry"), Heard: &Audience{}}
	w.Index = w.NewCatalog()
	w.Parts = w.PartsOn(w.Bucket, w.Index, w.Key)
	return w
}

// In is the same world for a subtest.
func (w *World) In(t *testing.T) *World {
	inner := *w
	inner.T = t
	return &inner
}

// OnBothCatalogs runs a test on a real S3 with each of the catalogs that there
// are.
func OnBothCatalogs(t *testing.T, test func(w *World)) {
	t.Helper()
	for _, c := range Catalogs {
		t.Run(c.Name, func(t *testing.T) { test(NewWorldOn(t, OnS3, c.Open)) })
	}
}

// NewCatalog is an empty catalog of the world's kind.
func (w *World) NewCatalog() publishing.Index {
	w.Helper()
	c := w.openCatalog(w.T)
	w.indexThrough = c.through
	return c.Index
}

// PartsOn is the parts on another bucket, catalog or signer.
func (w *World) PartsOn(b blob.Bucket, i publishing.Index, s versionlog.Signer) *Parts {
	return w.telling(b, i, s, w.Heard.Hear)
}

// Through is a publisher all of whose calls go through a caller.
func (w *World) Through(c Caller) *Parts {
	return w.telling(w.BucketThrough(c), w.indexThrough(c), FaultySigner{c, w.Key}, func(ctx context.Context, o inbox.Outcome) error {
		return c.Call("announce "+o.Key, func() error { return w.Heard.Hear(ctx, o) })
	})
}

func (w *World) telling(b blob.Bucket, i publishing.Index, s versionlog.Signer, announce func(context.Context, inbox.Outcome) error) *Parts {
	config := w.Config()
	config.Bucket, config.Index, config.Signer, config.Announce = b, i, s, announce
	return Assemble(config)
}

// Config is that of a publisher on the world's own bucket and catalog, which nobody
// hears.
func (w *World) Config() publishing.Config {
	return publishing.Config{Bucket: w.Bucket, Index: w.Index, Signer: w.Key, Reader: Reader{}, Scratch: w.TempDir(), Logger: slog.New(slog.DiscardHandler)}
}

// Audience hears the outcomes that are announced.
type Audience struct {
	lock     sync.Mutex
	Outcomes map[string]bool // object version and status
}

// Hear notes an outcome.
func (a *Audience) Hear(_ context.Context, o inbox.Outcome) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.Outcomes == nil {
		a.Outcomes = map[string]bool{}
	}
	a.Outcomes[o.Version+" "+string(o.Status)] = true
	return nil
}

// Heard says whether an outcome was announced.
func (a *Audience) Heard(o inbox.Outcome) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	return a.Outcomes[o.Version+" "+string(o.Status)]
}

// NewKey is a signing key of the registry or of an author. Making RSA keys is
// slow, so tests share them by name.
func NewKey(t *testing.T, name string) *signing.Key {
	t.Helper()
	keysLock.Lock()
	defer keysLock.Unlock()
	if keys[name] == nil {
		var err error
		if keys[name], err = MakeKey(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return keys[name]
}

// MakeKey makes a signing key of the registry or of an author.
func MakeKey(ctx context.Context, name string) (*signing.Key, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return signing.NewKey(ctx, private, time.Now().Add(-time.Hour), name)
}

var (
	keysLock sync.Mutex
	keys     = map[string]*signing.Key{}
)

// Upload puts an object into the inbox and publishes it as its event would.
func (w *World) Upload(key string, body []byte) inbox.Outcome {
	w.Helper()
	return w.Deliver(key, w.S3.Upload(w.T, key, body, nil))
}

// Deliver publishes an object version, as its event would.
func (w *World) Deliver(key, version string) inbox.Outcome {
	w.Helper()
	outcome, err := w.Publish(w.Context(), blob.Object{Key: key, Version: version})
	if err != nil {
		w.Fatalf("%s: %v", key, err)
	}
	if got := w.S3.Tags(w.T, key, version)[inbox.StatusTag]; got != string(outcome.Status) {
		w.Errorf("%s: the outcome is %s, its tag says %q", key, outcome.Status, got)
	}
	return outcome
}

// Want checks an outcome: its status, and words of its first reason.
func (w *World) Want(o inbox.Outcome, status inbox.Status, words ...string) {
	w.Helper()
	reason := strings.Join(o.Reasons, " / ")
	if o.Status != status {
		w.Errorf("%s: %s (%s), want %s", o.Key, o.Status, reason, status)
	}
	for _, word := range words {
		if !strings.Contains(reason, word) {
			w.Errorf("%s: the reason %q does not say %q", o.Key, reason, word)
		}
	}
}

// Provider is what the catalog knows of a provider version.
func (w *World) Provider(namespace, typ, version string) registry.ProviderVersion {
	w.Helper()
	s, err := catalogtest.ProviderVersion(w.Context(), w.Index, registry.ProviderAddress{Namespace: namespace, Type: typ}, MustVersion(w.T, version))
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		w.Fatal(err)
	}
	return s
}

// Listed is the versions of a provider or module, and of a provider the
// platforms: "1.0.0 linux_amd64 linux_arm64".
func (w *World) Listed(address string) []string {
	w.Helper()
	parts := strings.Split(address, "/")
	var l registry.Listing
	var err error
	if len(parts) == 2 {
		l, err = catalog.Listing(w.Context(), w.Index, registry.ProviderAddress{Namespace: parts[0], Type: parts[1]})
	} else {
		l, err = catalog.Listing(w.Context(), w.Index, registry.ModuleAddress{Namespace: parts[0], Name: parts[1], System: parts[2]})
	}
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		w.Fatal(err)
	}
	var lines []string
	for _, entry := range l {
		line := entry.Version.String()
		for _, platform := range entry.Platforms {
			line += " " + platform.String()
		}
		lines = append(lines, line)
	}
	return lines
}

// KeysUnder is every current key under a prefix.
func (w *World) KeysUnder(prefix string) []string {
	w.Helper()
	var found []string
	for object, err := range w.Bucket.List(w.Context(), prefix, "") {
		if err != nil {
			w.Fatal(err)
		}
		found = append(found, object.Key)
	}
	return found
}

// Read is the current object under a key.
func (w *World) Read(key string) []byte {
	w.Helper()
	body, _, err := w.Bucket.Open(w.Context(), key, "")
	if err != nil {
		w.Fatalf("%s: %v", key, err)
	}
	defer body.Close()
	var data bytes.Buffer
	if _, err := data.ReadFrom(body); err != nil {
		w.Fatal(err)
	}
	return data.Bytes()
}

// Served is the SHA256SUMS of a version, once its signature is verified with
// the key that is served beside it.
func (w *World) Served(s registry.ProviderVersion) string {
	w.Helper()
	if s.Release == nil {
		w.Fatalf("%s %s has no release", s.Address, s.Version)
	}
	document := w.Read(s.Address.SHA256SUMSKey(s.Version, *s.Release))
	signature := w.Read(s.Address.SignatureKey(s.Version, *s.Release))
	keys, err := signing.ParseKeyFile([]byte(s.Release.Keys[0].ASCIIArmor))
	if err != nil {
		w.Fatal(err)
	}
	if _, err := signing.Verify(keys, document, signature); err != nil {
		w.Errorf("the signature over SHA256SUMS: %v", err)
	}
	return string(document)
}

// MustVersion parses a version.
func MustVersion(t *testing.T, s string) registry.Version {
	t.Helper()
	v, err := registry.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ZipOf is a zip of files.
func ZipOf(files map[string]string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	w.Close()
	return out.Bytes()
}

// TarOf is a tar.gz of files.
func TarOf(files map[string]string) []byte {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err)
		}
	}
	w.Close()
	compressed.Close()
	return out.Bytes()
}

// Widget is a package of the provider type widget. Different contents make
// different bytes.
func Widget(content string) []byte {
	return ZipOf(map[string]string{"terraform-provider-widget_v1": content})
}

// Docs is the documentation of a widget, with some content.
func Docs(content string) []byte {
	return ZipOf(map[string]string{"docs/index.md": "# Widgets\n\n" + content + "\n", "docs/resources/frame.md": "# widget_frame\n"})
}

// VPC is the address of a module.
var VPC = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}

// UploadFiles uploads files, one after the other, and returns the last outcome.
func (w *World) UploadFiles(files []File) (last inbox.Outcome) {
	w.Helper()
	for _, f := range files {
		last = w.Upload(f.Key, f.Body)
	}
	return last
}

// What tests speak of often.
var (
	Widgets  = registry.ProviderAddress{Namespace: "acme", Type: "widget"}
	Withdraw = registry.Standing{State: registry.Withdrawn}
	Restore  = registry.Standing{State: registry.Restored}
)

// Deprecate is the standing of a deprecated version.
func Deprecate(message string) registry.Standing {
	return registry.Standing{State: registry.Deprecated, Message: message}
}

// Logging is a publisher on a world's bucket and a catalog, and what it has logged
// since that was asked for last: lines without their times.
func (w *World) Logging(i publishing.Index) (p *Parts, logged func() []string) {
	var log bytes.Buffer
	p = Assemble(publishing.Config{
		Bucket: w.Bucket, Index: i, Signer: w.Key, Reader: Reader{}, Scratch: w.TempDir(), Logger: logtest.Timeless(&log),
	})
	return p, func() (lines []string) {
		for line := range strings.Lines(log.String()) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		log.Reset()
		return lines
	}
}
