package kmskey_test

import (
	"context"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/functions/internal/kmskey"
	"github.com/larder-registry/larder/internal/kmstest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/awskms"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// world is a KMS with a key, and a bucket that nothing is in.
type world struct {
	*testing.T
	kms    *kmstest.Server
	bucket *s3blob.Bucket
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s3 := s3test.Start(t)
	bucket, err := s3blob.New(s3blob.Config{
		Bucket: s3.Bucket, Region: s3.Region, Endpoint: s3.Endpoint, PathStyle: true,
		Credentials: s3blob.StaticCredentials(s3.AccessKey, s3.SecretKey),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, kmstest.Start(t, 4096), bucket}
}

func (w *world) config() awskms.Config {
	return awskms.Config{
		KeyARN: w.kms.Key().ARN(), Endpoint: w.kms.Endpoint, Credentials: s3blob.StaticCredentials("id", "secret"),
	}
}

func (w *world) open() *signing.Key {
	w.Helper()
	key, err := kmskey.Open(w.Context(), w.bucket, w.config())
	if err != nil {
		w.Fatal(err)
	}
	return key
}

func (w *world) stored() string { return registry.SignerKeyKey(w.kms.Key().ID) }

func (w *world) read(key string) string {
	w.Helper()
	body, _, err := w.bucket.Open(w.Context(), key, "")
	if err != nil {
		w.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		w.Fatal(err)
	}
	return string(content)
}

// expectRequests checks what KMS was asked so far.
func (w *world) expectRequests(when string, want map[string]int) {
	w.Helper()
	if got := w.kms.Requests(); !maps.Equal(got, want) {
		w.Errorf("%s: KMS was asked %v, want %v", when, got, want)
	}
}

// TestOpen checks that the public key is made once, by the first process, and is the same
// for all.
func TestOpen(t *testing.T) {
	w := newWorld(t)
	first := w.open()
	w.expectRequests("the first", map[string]int{kmstest.DescribeKey: 1, kmstest.GetPublicKey: 1, kmstest.Sign: 1})
	public := first.PublicKey()
	for _, key := range []string{registry.OwnKeyKey(public.Fingerprint), w.stored()} {
		if got := w.read(key); got != public.ASCIIArmor {
			t.Errorf("%s is %q, want the public key", key, got)
		}
	}
	second := w.open()
	w.expectRequests("the second", map[string]int{kmstest.DescribeKey: 1, kmstest.GetPublicKey: 1, kmstest.Sign: 1})
	if second.PublicKey() != public {
		t.Errorf("the second has the key %+v, the first %+v", second.PublicKey(), public)
	}
	signature, err := second.Sign(t.Context(), []byte("document"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signing.Verify([]signing.PublicKey{public}, []byte("document"), signature); err != nil {
		t.Errorf("the second signs what the first's key does not verify: %v", err)
	}
}

func TestOpenAtOnce(t *testing.T) {
	w := newWorld(t)
	var running sync.WaitGroup
	keys := make([]*signing.Key, 8)
	for i := range keys {
		running.Go(func() {
			var err error
			if keys[i], err = kmskey.Open(t.Context(), w.bucket, w.config()); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for _, key := range keys {
		if key == nil || key.PublicKey().ASCIIArmor != w.read(w.stored()) {
			t.Error("one has another key than what is stored")
		}
	}
}

// TestOpenAfterDeath checks that one who died between two steps is made good.
func TestOpenAfterDeath(t *testing.T) {
	for name, alive := range map[string]int{"before the first": 0, "between them": 1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			dying := &mortal{Bucket: w.bucket, alive: alive}
			if _, err := kmskey.Open(t.Context(), dying, w.config()); err == nil {
				t.Fatal("nothing failed")
			}
			public := w.open().PublicKey()
			if w.read(w.stored()) != public.ASCIIArmor || w.read(registry.OwnKeyKey(public.Fingerprint)) != public.ASCIIArmor {
				t.Error("the public key is not stored")
			}
		})
	}
}

// mortal is a bucket that dies after so many creations.
type mortal struct {
	*s3blob.Bucket
	alive int
}

func (m *mortal) Create(ctx context.Context, key string, body []byte) error {
	if m.alive--; m.alive < 0 {
		return context.DeadlineExceeded
	}
	return m.Bucket.Create(ctx, key, body)
}

func TestOpenFails(t *testing.T) {
	t.Run("a key that cannot sign", func(t *testing.T) {
		w := newWorld(t)
		w.kms.Change(func(k *kmstest.Key) { k.State = "Disabled" })
		if _, err := kmskey.Open(t.Context(), w.bucket, w.config()); err == nil || !strings.Contains(err.Error(), "disabled") {
			t.Errorf("Open = %v", err)
		}
		for object, err := range w.bucket.List(t.Context(), "", "") {
			t.Errorf("stored: %v, %v", object, err)
		}
	})
	t.Run("another key is stored", func(t *testing.T) {
		w := newWorld(t)
		if err := w.bucket.Create(t.Context(), w.stored(), []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")); err != nil {
			t.Fatal(err)
		}
		if _, err := kmskey.Open(t.Context(), w.bucket, w.config()); err == nil || !strings.Contains(err.Error(), "stored public key") {
			t.Errorf("Open = %v", err)
		}
	})
	t.Run("an alias", func(t *testing.T) {
		w := newWorld(t)
		cfg := w.config()
		cfg.KeyARN = "arn:aws:kms:us-east-1:111122223333:alias/larder"
		if _, err := kmskey.Open(t.Context(), w.bucket, cfg); err == nil || !strings.Contains(err.Error(), "alias") {
			t.Errorf("Open = %v", err)
		}
	})
	t.Run("no storage", func(t *testing.T) {
		w := newWorld(t)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := kmskey.Open(gone, w.bucket, w.config()); err == nil {
			t.Error("Open did not fail")
		}
		w.expectRequests("without storage", map[string]int{})
	})
}
