package signing

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLoadOrCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing-key.pem")
	before := time.Now().Truncate(time.Second)
	signer, created, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	if bits := signer.Public().(*rsa.PublicKey).N.BitLen(); bits != 4096 {
		t.Errorf("the new key has %d bits", bits)
	}
	if created.Before(before) || created.After(time.Now()) || created.Nanosecond() != 0 {
		t.Errorf("creation time is %s, made between %s and now", created, before)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode is %v, error %v", info.Mode(), err)
	}
	again, createdAgain, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	if !signer.Public().(*rsa.PublicKey).Equal(again.Public()) || !created.Equal(createdAgain) {
		t.Error("the second call finds another key or time")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, want the key file alone", entries)
	}
	if _, err := NewKey(context.Background(), again, createdAgain, "Test"); err != nil {
		t.Error(err)
	}
}

func TestLoadOrCreateNeedsTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "signing-key.pem")
	if err := writeNew(path, []byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

func TestWriteNewNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := writeNew(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := writeNew(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error is %v, want fs.ErrExist", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "first" {
		t.Errorf("the file holds %q, error %v", data, err)
	}
}

func TestLoadOrCreateRejects(t *testing.T) {
	good, err := encodeKey(rsaKey(), created)
	if err != nil {
		t.Fatal(err)
	}
	onCurve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(onCurve)
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]string{createdHeader: "2025-01-01T00:00:00Z"}
	tests := map[string]struct {
		data []byte
		mode fs.FileMode
		want string
	}{
		"readable by the group": {good, 0o640, "chmod 600"},
		"writable by others":    {good, 0o602, "chmod 600"},
		"empty":                 {nil, 0o600, "not one PEM block"},
		"not PEM":               {[]byte("secret\n"), 0o600, "not one PEM block"},
		"cut short":             {good[:len(good)/2], 0o600, "not one PEM block"},
		"followed by more":      {append(bytes.Clone(good), "more\n"...), 0o600, "not one PEM block"},
		"too large":             {make([]byte, maxPrivateFile+1), 0o600, "larger than"},
		"other PEM":             {pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: header, Bytes: der}), 0o600, "not one PEM block"},
		"no creation time":      {pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), 0o600, `"Created"`},
		"damaged":               {pem.EncodeToMemory(&pem.Block{Type: pemType, Headers: header, Bytes: der[:20]}), 0o600, "PKCS #8"},
		"ECDSA":                 {pem.EncodeToMemory(&pem.Block{Type: pemType, Headers: header, Bytes: der}), 0o600, "not an RSA key"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "signing-key.pem")
			if err := os.WriteFile(path, test.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, test.mode); err != nil { // whatever the umask is
				t.Fatal(err)
			}
			_, _, err := LoadOrCreate(path)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error is %v, want it to name the file and say %q", err, test.want)
			}
			if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, test.data) {
				t.Errorf("the file was changed (error %v)", err)
			}
		})
	}
	t.Run("folder", func(t *testing.T) {
		if _, _, err := LoadOrCreate(t.TempDir()); err == nil || !strings.Contains(err.Error(), "regular file") {
			t.Errorf("error is %v", err)
		}
	})
}
