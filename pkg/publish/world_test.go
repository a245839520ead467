package publish_test

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

// world is a registry on a bucket and a catalog, and its users.
type world struct {
	*testing.T
	s3     blobtest.User
	bucket blob.Bucket
	index  catalog.Index
	key    *signing.Key
	heard  *audience
	*parts

	openCatalog   func(*testing.T) emptyCatalog
	bucketThrough func(caller) blob.Bucket
	indexThrough  func(caller) catalog.Index
}

// parts is the rooms that publish and keep what is published, as the assembly puts them
// together.
type parts struct {
	*publish.Publisher
	*inbox.Inbox
	*versions
	*upkeep.Walks
	Keys *authorkeys.Keys
}

type versions = versionlog.Log // by a name that is not [testing.T.Log]

func assemble(c publishing.Config) *parts {
	p := publishing.New(c)
	return &parts{p.Publisher, p.Inbox, p.Log, p.Walks, p.Keys}
}

// Resign is the walk.
func (p *parts) Resign(ctx context.Context, after string) upkeep.Walk {
	return p.Walks.Resign(ctx, after)
}

// newWorld is a world on a real S3 and on bbolt.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, onS3, onBolt)
}

func newWorldOn(t *testing.T, openStorage func(*testing.T) storage, openCatalog func(*testing.T) emptyCatalog) *world {
	t.Helper()
	s := openStorage(t)
	w := &world{T: t, s3: s.user, bucket: s.bucket, bucketThrough: s.through, openCatalog: openCatalog, key: newKey(t, "registry"), heard: &audience{}}
	w.index = w.newCatalog()
	w.parts = w.publisher(w.bucket, w.index, w.key)
	return w
}

// in is the same world for a subtest.
func (w *world) in(t *testing.T) *world {
	inner := *w
	inner.T = t
	return &inner
}

// onBothCatalogs runs a test on a real S3 with each of the catalogs that there
// are.
func onBothCatalogs(t *testing.T, test func(w *world)) {
	t.Helper()
	for _, c := range catalogs {
		t.Run(c.name, func(t *testing.T) { test(newWorldOn(t, onS3, c.open)) })
	}
}

// newCatalog is an empty catalog of the world's kind.
func (w *world) newCatalog() catalog.Index {
	w.Helper()
	c := w.openCatalog(w.T)
	w.indexThrough = c.through
	return c.index
}

func (w *world) publisher(b blob.Bucket, i catalog.Index, s versionlog.Signer) *parts {
	return w.telling(b, i, s, w.heard.hear)
}

// through is a publisher all of whose calls go through a caller.
func (w *world) through(c caller) *parts {
	return w.telling(w.bucketThrough(c), w.indexThrough(c), faultySigner{c, w.key}, func(ctx context.Context, o inbox.Outcome) error {
		return c.call("announce "+o.Key, func() error { return w.heard.hear(ctx, o) })
	})
}

func (w *world) telling(b blob.Bucket, i catalog.Index, s versionlog.Signer, announce func(context.Context, inbox.Outcome) error) *parts {
	config := w.config()
	config.Bucket, config.Index, config.Signer, config.Announce = b, i, s, announce
	return assemble(config)
}

// config is that of a publisher on the world's own bucket and catalog, which nobody
// hears.
func (w *world) config() publishing.Config {
	return publishing.Config{Bucket: w.bucket, Index: w.index, Signer: w.key, Scratch: w.TempDir(), Log: slog.New(slog.DiscardHandler)}
}

// audience hears the outcomes that are announced.
type audience struct {
	lock     sync.Mutex
	outcomes map[string]bool // object version and status
}

func (a *audience) hear(_ context.Context, o inbox.Outcome) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	if a.outcomes == nil {
		a.outcomes = map[string]bool{}
	}
	a.outcomes[o.Version+" "+string(o.Status)] = true
	return nil
}

func (a *audience) heard(o inbox.Outcome) bool {
	a.lock.Lock()
	defer a.lock.Unlock()
	return a.outcomes[o.Version+" "+string(o.Status)]
}

// newKey is a signing key of the registry or of an author. Making RSA keys is
// slow, so tests share them by name.
func newKey(t *testing.T, name string) *signing.Key {
	t.Helper()
	keysLock.Lock()
	defer keysLock.Unlock()
	if keys[name] == nil {
		var err error
		if keys[name], err = makeKey(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	return keys[name]
}

func makeKey(ctx context.Context, name string) (*signing.Key, error) {
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

// upload puts an object into the inbox and publishes it as its event would.
func (w *world) upload(key string, body []byte) inbox.Outcome {
	w.Helper()
	return w.deliver(key, w.s3.Upload(w.T, key, body, nil))
}

func (w *world) deliver(key, version string) inbox.Outcome {
	w.Helper()
	outcome, err := w.Publish(w.Context(), blob.Object{Key: key, Version: version})
	if err != nil {
		w.Fatalf("%s: %v", key, err)
	}
	if got := w.s3.Tags(w.T, key, version)[inbox.StatusTag]; got != string(outcome.Status) {
		w.Errorf("%s: the outcome is %s, its tag says %q", key, outcome.Status, got)
	}
	return outcome
}

// want checks an outcome: its status, and words of its first reason.
func (w *world) want(o inbox.Outcome, status inbox.Status, words ...string) {
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

// provider is what the catalog knows of a provider version.
func (w *world) provider(namespace, typ, version string) registry.ProviderVersion {
	w.Helper()
	s, err := catalogtest.ProviderVersion(w.Context(), w.index, registry.ProviderAddress{Namespace: namespace, Type: typ}, mustVersion(w.T, version))
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		w.Fatal(err)
	}
	return s
}

// listed is the versions of a provider or module, and of a provider the
// platforms: "1.0.0 linux_amd64 linux_arm64".
func (w *world) listed(address string) []string {
	w.Helper()
	parts := strings.Split(address, "/")
	var l registry.Listing
	var err error
	if len(parts) == 2 {
		l, err = w.index.Listing(w.Context(), registry.ProviderAddress{Namespace: parts[0], Type: parts[1]}, nil)
	} else {
		l, err = w.index.Listing(w.Context(), registry.ModuleAddress{Namespace: parts[0], Name: parts[1], System: parts[2]}, nil)
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

// keysUnder is every current key under a prefix.
func (w *world) keysUnder(prefix string) []string {
	w.Helper()
	var found []string
	for object, err := range w.bucket.List(w.Context(), prefix, "") {
		if err != nil {
			w.Fatal(err)
		}
		found = append(found, object.Key)
	}
	return found
}

func (w *world) read(key string) []byte {
	w.Helper()
	body, _, err := w.bucket.Open(w.Context(), key, "")
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

// served is the SHA256SUMS of a version, once its signature is verified with
// the key that is served beside it.
func (w *world) served(s registry.ProviderVersion) string {
	w.Helper()
	if s.Release == nil {
		w.Fatalf("%s %s has no release", s.Address, s.Version)
	}
	document := w.read(s.Address.SHA256SUMSKey(s.Version, *s.Release))
	signature := w.read(s.Address.SignatureKey(s.Version, *s.Release))
	keys, err := signing.ParseKeyFile([]byte(s.Release.Keys[0].ASCIIArmor))
	if err != nil {
		w.Fatal(err)
	}
	if _, err := signing.Verify(keys, document, signature); err != nil {
		w.Errorf("the signature over SHA256SUMS: %v", err)
	}
	return string(document)
}

func mustVersion(t *testing.T, s string) registry.Version {
	t.Helper()
	v, err := registry.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func zipOf(files map[string]string) []byte {
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

func tarOf(files map[string]string) []byte {
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

// widget is a package of the provider type widget. Different contents make
// different bytes.
func widget(content string) []byte {
	return zipOf(map[string]string{"terraform-provider-widget_v1": content})
}
