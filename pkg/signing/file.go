package signing

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	newKeyBits     = 4096
	maxPrivateFile = 64 << 10
	pemType        = "PRIVATE KEY"
	createdHeader  = "Created"
)

// LoadOrCreate returns the RSA key kept in the file at path and the time it was
// created; [NewKey] needs both. Without such a file, it makes a key of 4096 bits and
// stores it there, with mode 0600, in a folder that must exist. A crash leaves the whole
// file or no file. If several callers do so at once, all get the key that was stored
// first.
//
// The file is PKCS #8 in PEM, with the creation time as a header. A damaged file, or one
// that others than its owner may access, is an error. No file is ever overwritten.
func LoadOrCreate(path string) (crypto.Signer, time.Time, error) {
	key, created, err := load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, created, err
	}
	if err := create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, time.Time{}, fmt.Errorf("store a new signing key: %w", err)
	}
	return load(path)
}

func load(path string) (crypto.Signer, time.Time, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("open the signing key: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the signing key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, time.Time{}, fmt.Errorf("signing key %s: it is not a regular file", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, time.Time{}, fmt.Errorf("signing key %s: others than its owner may access it (mode %04o): "+
			"if nobody else can have read it, run chmod 600 on it", path, mode)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxPrivateFile+1))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read the signing key: %w", err)
	}
	key, created, err := decodeKey(data)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("signing key %s: %w: restore it from a backup, "+
			"or move it away to start with a new key", path, err)
	}
	return key, created, nil
}

// create stores a new key at path, unless a file is there (fs.ErrExist).
func create(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, newKeyBits)
	if err != nil {
		return err
	}
	data, err := encodeKey(key, time.Now())
	if err != nil {
		return err
	}
	return writeNew(path, data)
}

// writeNew writes a file that appears at path whole. It never replaces another file: so it
// makes a link and does not rename.
func writeNew(path string, data []byte) error {
	folder := filepath.Dir(path)
	file, err := os.CreateTemp(folder, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	return syncFolder(folder)
}

func syncFolder(folder string) error {
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func encodeKey(key *rsa.PrivateKey, created time.Time) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{
		Type:    pemType,
		Headers: map[string]string{createdHeader: created.UTC().Format(time.RFC3339)},
		Bytes:   der,
	}), nil
}

func decodeKey(data []byte) (crypto.Signer, time.Time, error) {
	if len(data) > maxPrivateFile {
		return nil, time.Time{}, fmt.Errorf("it is larger than %d bytes", maxPrivateFile)
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != pemType || len(bytes.TrimSpace(rest)) > 0 {
		return nil, time.Time{}, fmt.Errorf("it is not one PEM block of type %q", pemType)
	}
	created, err := time.Parse(time.RFC3339, block.Headers[createdHeader])
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("its PEM header %q holds no time of RFC 3339", createdHeader)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, time.Time{}, errors.New("it does not hold a private key in PKCS #8 form")
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, time.Time{}, fmt.Errorf("it holds a %T and not an RSA key", parsed)
	}
	return key, created.UTC(), nil
}
