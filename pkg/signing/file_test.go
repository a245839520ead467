package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLoadOrCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing-key.pem")
	before := time.Now().Truncate(time.Second)
	type outcome struct {
		signer  crypto.Signer
		created time.Time
		err     error
	}
	other := make(chan outcome)
	go func() { // finds no key either, since it takes long to make one
		signer, created, err := LoadOrCreate(path)
		other <- outcome{signer, created, err}
	}()
	signer, created, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	if o := <-other; o.err != nil || !o.created.Equal(created) || !signer.Public().(*rsa.PublicKey).Equal(o.signer.Public()) {
		t.Errorf("a call at the same time finds another key or time, error %v", o.err)
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
	if _, _, err := LoadOrCreate(path); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "store a new signing key: ") {
		t.Errorf("error is %v", err)
	}
}

// A link to nowhere is not a key, and no key replaces it.
func TestLoadOrCreateThroughALinkToNowhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "signing-key.pem")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadOrCreate(path); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "open the signing key: ") {
		t.Errorf("error is %v", err)
	}
	if to, err := os.Readlink(path); err != nil || to != "nowhere" {
		t.Errorf("the link leads to %q, error %v", to, err)
	}
}

// Nothing is said of a key that its disk did not give.
func TestLoadOrCreateCannotRead(t *testing.T) {
	const path = "/proc/self/mem" // a file whose first bytes nobody can read
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Skip("it needs a file that can be opened and not read")
	}
	if _, _, err := LoadOrCreate(path); !errors.Is(err, syscall.EIO) || !strings.HasPrefix(err.Error(), "read the signing key: ") {
		t.Errorf("error is %v", err)
	}
}

// A key that the disk has no room for leaves nothing behind that could pass for one.
func TestWriteNewWithoutRoom(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	small := limit
	small.Cur = 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := writeNew(filepath.Join(folder, "key"), make([]byte, 11)); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("error is %v", err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder holds %v, error %v", entries, err)
	}
	if err := writeNew(filepath.Join(folder, "key"), make([]byte, 10)); err != nil {
		t.Error(err)
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
	t.Run("as large as may be", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "signing-key.pem")
		if err := os.WriteFile(path, append(bytes.Clone(good), bytes.Repeat([]byte("\n"), maxPrivateFile-len(good))...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := LoadOrCreate(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("folder", func(t *testing.T) {
		if _, _, err := LoadOrCreate(t.TempDir()); err == nil || !strings.Contains(err.Error(), "regular file") {
			t.Errorf("error is %v", err)
		}
	})
}
