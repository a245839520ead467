package ownkey_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/larder-registry/larder/internal/assembly/ownkey"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

func newKey(t *testing.T) *signing.Key {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ownkey.New(t.Context(), private, time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestUserID holds the name that stands in every public key of every registry: with
// another one, a key that is there already would have other bytes.
func TestUserID(t *testing.T) {
	ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(newKey(t).PublicKey().ASCIIArmor))
	if err != nil {
		t.Fatal(err)
	}
	for name := range ring[0].Identities {
		if len(ring) != 1 || len(ring[0].Identities) != 1 || name != "Larder registry signing key" {
			t.Errorf("the key is called %q", name)
		}
	}
}

// bucket notes what is created, and fails where it is told to.
type bucket struct {
	blob.Bucket
	created []string
	content string
	fail    map[string]error
}

func (b *bucket) Create(_ context.Context, key string, body []byte) error {
	b.created, b.content = append(b.created, key), b.content+string(body)
	return b.fail[key]
}

// TestKeep holds that a public key is kept under its fingerprint first, and that what is
// there already is no error.
func TestKeep(t *testing.T) {
	key := newKey(t)
	first, lost := registry.OwnKeyKey(key.PublicKey().Fingerprint), errors.New("no storage")
	for name, c := range map[string]struct {
		fail    map[string]error
		created []string
		err     error
	}{
		"nothing is there":          {nil, []string{first, "second"}, nil},
		"both are there":            {map[string]error{first: blob.ErrExists, "second": blob.ErrExists}, []string{first, "second"}, nil},
		"the first cannot be kept":  {map[string]error{first: lost}, []string{first}, lost},
		"the second cannot be kept": {map[string]error{"second": lost}, []string{first, "second"}, lost},
	} {
		b := &bucket{fail: c.fail}
		err := ownkey.Keep(t.Context(), b, key, "second")
		if !errors.Is(err, c.err) || !slices.Equal(b.created, c.created) || b.content != strings.Repeat(key.PublicKey().ASCIIArmor, len(c.created)) {
			t.Errorf("%s: %v, and %q with %q", name, err, b.created, b.content)
		}
	}
}
