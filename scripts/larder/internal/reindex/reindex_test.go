package reindex

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

func TestMain(m *testing.M) { os.Exit(dynamotest.Run(m)) }

// world is a registry that was published to, and a second bucket to which its
// registry/ was copied.
type world struct {
	*testing.T
	s3         *s3test.Server
	from, to   *s3blob.Bucket
	index      *boltcatalog.Catalog // of the first
	publisher  *publish.Publisher
	newBucket  string
	unsignable bool // the publisher's key does not sign
	key        *signing.Key
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, s3: s3test.Start(t), newBucket: "larder-moved"}
	if _, err := w.s3.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &w.newBucket}); err != nil {
		t.Fatal(err)
	}
	w.from, w.to = w.open(w.s3.Bucket), w.open(w.newBucket)
	w.index = w.bolt()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err == nil {
		w.key, err = signing.NewKey(t.Context(), private, time.Now().Add(-time.Hour), "registry")
	}
	if err != nil {
		t.Fatal(err)
	}
	w.publisher = publish.New(publish.Config{
		Bucket: w.from, Index: w.index, Signer: w, Scratch: t.TempDir(), Log: slog.New(slog.DiscardHandler),
	})
	return w
}

func (w *world) open(name string) *s3blob.Bucket {
	w.Helper()
	b, err := s3blob.New(s3blob.Config{
		Bucket: name, Region: w.s3.Region, Endpoint: w.s3.Endpoint, PathStyle: true,
		Credentials: s3blob.StaticCredentials(w.s3.AccessKey, w.s3.SecretKey), URLLifetime: time.Minute,
	})
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func (w *world) bolt() *boltcatalog.Catalog {
	w.Helper()
	c, err := boltcatalog.Open(filepath.Join(w.TempDir(), "catalog.db"))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// PublicKey and Sign are those of the registry that is moved.
func (w *world) PublicKey() signing.PublicKey { return w.key.PublicKey() }

func (w *world) Sign(ctx context.Context, document []byte) ([]byte, error) {
	if w.unsignable {
		return nil, errors.New("the key is not to be had")
	}
	return w.key.Sign(ctx, document)
}

// publish uploads and publishes. What cannot be signed stays accepted.
func (w *world) publish(key string, content string) {
	w.Helper()
	var body bytes.Buffer
	archive := zip.NewWriter(&body)
	f, err := archive.Create("terraform-provider-widget")
	if strings.HasPrefix(key, "modules/") {
		f, err = archive.Create("main.tf")
	}
	if err == nil {
		_, err = io.WriteString(f, content)
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		w.Fatal(err)
	}
	o, err := w.publisher.Publish(w.Context(), key, w.s3.Upload(w.T, key, body.Bytes(), nil))
	if (err != nil) != w.unsignable || err == nil && o.Status != publish.Published {
		w.Fatalf("%s: %+v, %v", key, o, err)
	}
}

// publishAll publishes five versions.
func (w *world) publishAll() {
	w.Helper()
	w.publish("modules/acme/network/aws/1.0.0.zip", "1")
	w.publish("modules/acme/network/aws/1.1.0+build.5.zip", "2")
	for _, name := range []string{"1.0.0_linux_amd64", "1.0.0_darwin_arm64", "1.1.0-rc.1_linux_amd64", "2.0.0_linux_amd64"} {
		w.publish("providers/acme/widget/terraform-provider-widget_"+name+".zip", name)
	}
}

// copyRegistry copies registry/ and nothing else, as `aws s3 sync` does.
func (w *world) copyRegistry() {
	w.Helper()
	for object, err := range w.from.List(w.Context(), registry.Prefix, "") {
		if err != nil {
			w.Fatal(err)
		}
		data := w.read(w.from, object.Key)
		if err := w.to.Put(w.Context(), object.Key, bytes.NewReader(data), int64(len(data))); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) read(b *s3blob.Bucket, key string) []byte {
	w.Helper()
	body, _, err := b.Open(w.Context(), key, "")
	if err != nil {
		w.Fatal(err)
	}
	defer body.Close() //nolint:errcheck // read only
	data, err := io.ReadAll(body)
	if err != nil {
		w.Fatal(err)
	}
	return data
}

var (
	network = registry.ModuleAddress{Namespace: "acme", Name: "network", System: "aws"}
	widget  = registry.ProviderAddress{Namespace: "acme", Type: "widget"}
)

// contents is all that a catalog says of what was published.
func (w *world) contents(c registry.Catalog) (all []any) {
	w.Helper()
	note := func(state any, err error) {
		if err != nil && !errors.Is(err, registry.ErrNotFound) {
			w.Fatal(err)
		}
		all = append(all, state)
	}
	listing, err := c.ModuleVersions(w.Context(), network)
	note(listing, err)
	for _, entry := range listing {
		state, err := c.ModuleVersion(w.Context(), network, entry.Version)
		note(state, err)
	}
	listing, err = c.ProviderVersions(w.Context(), widget)
	note(listing, err)
	for _, entry := range listing {
		state, err := c.ProviderVersion(w.Context(), widget, entry.Version)
		note(state, err)
	}
	return all
}

// checkSame wants a catalog to say what that of the first registry does, and
// every package that it names to be in the new bucket as it was in the old.
func (w *world) checkSame(c registry.Catalog) {
	w.Helper()
	if got, want := w.contents(c), w.contents(w.index); !reflect.DeepEqual(got, want) {
		w.Errorf("the catalog has\n%+v\nwant\n%+v", got, want)
	}
	for _, state := range w.contents(c) {
		var keys []string
		switch s := state.(type) {
		case registry.ModuleVersion:
			keys = append(keys, s.Address.ArchiveKey(s.Version, s.Archive))
		case registry.ProviderVersion:
			keys = append(keys, s.Address.SHA256SUMSKey(s.Version, *s.Release), s.Address.SignatureKey(s.Version, *s.Release))
			for _, pkg := range s.Packages {
				keys = append(keys, s.Address.PackageKey(s.Version, pkg))
			}
		}
		for _, key := range keys {
			if !bytes.Equal(w.read(w.to, key), w.read(w.from, key)) {
				w.Errorf("%s has other bytes", key)
			}
		}
	}
}

// catalogs are the kinds that a catalog can be rebuilt in.
var catalogs = map[string]func(*world) publish.Index{
	"bolt": func(w *world) publish.Index { return w.bolt() },
	"dynamodb": func(w *world) publish.Index {
		engine := dynamotest.Start(w.T)
		c, err := dynamocatalog.New(dynamocatalog.Config{
			Table: engine.CreateTable(w.T, dynamocatalog.TableSchema), Region: engine.Region,
			Credentials: engine.Credentials(), Endpoint: engine.Endpoint,
		})
		if err != nil {
			w.Fatal(err)
		}
		return c
	},
}

// forEachCatalog runs a test for every kind of catalog, with a registry that
// has five versions and was moved.
func forEachCatalog(t *testing.T, test func(w *world, empty publish.Index)) {
	for name, open := range catalogs {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.publishAll()
			w.copyRegistry()
			test(w, open(w))
		})
	}
}

func TestRebuild(t *testing.T) {
	forEachCatalog(t, func(w *world, empty publish.Index) {
		for _, want := range []string{"5 versions: 5 written, 0 were there already\n", "5 versions: 0 written, 5 were there already\n"} {
			var out strings.Builder
			if err := Run(w.Context(), w.to, empty, &out, false); err != nil {
				w.Fatal(err)
			}
			if out.String() != want {
				w.Errorf("it said %q, want %q", out.String(), want)
			}
			w.checkSame(empty)
		}
	})
}

// interrupted is a catalog whose user loses patience after two writes.
type interrupted struct {
	publish.Index
	puts   int
	cancel context.CancelFunc
}

func (i *interrupted) PutModuleVersion(ctx context.Context, m registry.ModuleVersion) error {
	if i.puts++; i.puts > 2 {
		i.cancel()
	}
	return i.Index.PutModuleVersion(ctx, m)
}

func (i *interrupted) PutProviderVersion(ctx context.Context, p registry.ProviderVersion) error {
	if i.puts++; i.puts > 2 {
		i.cancel()
	}
	return i.Index.PutProviderVersion(ctx, p)
}

// A run that is interrupted keeps what it wrote, and the next one does the rest
// and no more.
func TestInterrupted(t *testing.T) {
	forEachCatalog(t, func(w *world, empty publish.Index) {
		ctx, cancel := context.WithCancel(w.Context())
		defer cancel()
		first := &interrupted{empty, 0, cancel}
		var out strings.Builder
		if err := Run(ctx, w.to, first, &out, false); err == nil || !strings.Contains(err.Error(), "run it again") {
			w.Fatalf("interrupted: %v", err)
		}
		if out.String() != "2 versions so far, 2 of them written\n" || first.puts != 3 {
			w.Errorf("after %d writes it said %q", first.puts, out.String())
		}
		second := &interrupted{empty, -100, func() {}}
		if err := Run(w.Context(), w.to, second, io.Discard, false); err != nil {
			w.Fatal(err)
		}
		if puts := second.puts + 100; puts > 3 || puts == 0 {
			w.Errorf("the second run wrote %d versions, want those that the first left", puts)
		}
		w.checkSame(empty)
	})
}

// What is not all signed is told by name, listed as far as it is, and no error.
func TestUnsigned(t *testing.T) {
	w := newWorld(t)
	w.publishAll()
	w.unsignable = true
	w.publish("providers/acme/widget/terraform-provider-widget_2.0.0_plan9_arm.zip", "unsigned")
	w.copyRegistry()
	empty := w.bolt()
	var out strings.Builder
	if err := Run(w.Context(), w.to, empty, &out, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"provider acme/widget 2.0.0: not signed yet for plan9_arm\n", "5 versions: 5 written", "1 not all signed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it said %q and not %q", out.String(), want)
		}
	}
	listing, err := empty.ProviderVersions(t.Context(), widget)
	if err != nil || len(listing) != 3 || len(listing[2].Platforms) != 1 {
		t.Errorf("listed: %+v, %v", listing, err)
	}
}

// What cannot be brought up is told by name, does not keep the others waiting,
// and is an error in the end; too much of it is the end.
func TestFailures(t *testing.T) {
	w := newWorld(t)
	w.publishAll()
	w.copyRegistry()
	for _, tt := range []struct {
		broken int
		want   string
	}{{1, "1 versions could not be brought up"}, {maxFailed + 1, "gave up after 11 versions, of which 11 failed"}} {
		for i := range tt.broken {
			key := registry.RecordKey(fmt.Sprintf("registry/records/modules/acme/broken/aws/1.%d.0/", i), 1)
			if err := w.to.Create(t.Context(), key, []byte(`{"kind":"frobnicated"}`)); err != nil && !errors.Is(err, publish.ErrExists) {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		err := Run(t.Context(), w.to, w.bolt(), &out, false)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d broken: %v, want %q", tt.broken, err, tt.want)
		}
		if !strings.Contains(out.String(), "module acme/broken/aws 1.0.0: ") || !strings.Contains(out.String(), "frobnicated") {
			t.Errorf("%d broken: it said %q", tt.broken, out.String())
		}
	}
}

func TestNothingThere(t *testing.T) {
	w := newWorld(t)
	if err := Run(t.Context(), w.to, w.bolt(), io.Discard, false); err == nil || !strings.Contains(err.Error(), "no records") {
		t.Errorf("an empty bucket: %v", err)
	}
	if err := Run(t.Context(), w.open("no-such-bucket"), w.bolt(), io.Discard, false); err == nil || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("no bucket: %v", err)
	}
}

// On a terminal, the line that tells how far it is leaves nothing behind.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, true)
	p.step(1, "module a/b/c 1.0.0")
	p.step(2, "module a/b/c 1.0.1") // too soon to be drawn
	p.line("done")
	if got, want := out.String(), "\r\x1b[K1 versions, module a/b/c 1.0.0\r\x1b[Kdone\n"; got != want {
		t.Errorf("a terminal gets %q, want %q", got, want)
	}
	out.Reset()
	p = newProgress(&out, false)
	for n := range 2 * stepEvery {
		p.step(n+1, "module a/b/c 1.0.0")
	}
	if got, want := out.String(), "1000 versions so far\n2000 versions so far\n"; got != want {
		t.Errorf("a log gets %q, want %q", got, want)
	}
}

// The environment decides where bucket and table are, as it does for the AWS
// CLI.
func TestDeployment(t *testing.T) {
	w := newWorld(t)
	w.publishAll()
	w.copyRegistry()
	engine := dynamotest.Start(t)
	vars := map[string]string{
		"AWS_ENDPOINT_URL_S3": w.s3.Endpoint, "AWS_ENDPOINT_URL_DYNAMODB": engine.Endpoint,
		"AWS_ACCESS_KEY_ID": w.s3.AccessKey, "AWS_SECRET_ACCESS_KEY": w.s3.SecretKey, "AWS_SESSION_TOKEN": "",
		"AWS_PROFILE": "", "AWS_REGION": "", "AWS_CA_BUNDLE": "", "HOME": t.TempDir(),
	}
	for name, value := range vars {
		t.Setenv(name, value)
	}
	o := Options{Bucket: w.newBucket, Table: engine.CreateTable(t, dynamocatalog.TableSchema), Region: w.s3.Region}
	bucket, index, err := Deployment(t.Context(), o, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), bucket, index, io.Discard, false); err != nil {
		t.Fatal(err)
	}
	w.checkSame(index)

	for _, wrong := range []Options{{Table: "t", Region: "r"}, {Bucket: "b", Region: "r"}, {Bucket: "b", Table: "t"}} {
		if _, _, err := Deployment(t.Context(), wrong, os.Getenv); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
