package oldertest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/signing"
)

// NewPrivateKey writes a new private key of so many bits as a data folder has one.
func NewPrivateKey(t *testing.T, path string, bits int) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Headers: map[string]string{"Created": time.Now().UTC().Format(time.RFC3339)}, Bytes: der})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// PrivateKey reads a private key of the folder, and when it was made.
func (f Folder) PrivateKey(t *testing.T, name string) (crypto.Signer, time.Time) {
	t.Helper()
	data, err := os.ReadFile(f.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem") // Git's own may be read by others, and is refused
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	key, created, err := signing.LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	return key, created
}
