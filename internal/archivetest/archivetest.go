// Package archivetest makes the archives that tests upload. The registry takes them. They have
// nothing to run.
package archivetest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"
)

// Module returns the archive of a module with the file main.tf, a .tar.gz. Another content makes
// other bytes.
func Module(tb testing.TB, content string) []byte {
	tb.Helper()
	var data bytes.Buffer
	compressed := gzip.NewWriter(&data)
	archive := tar.NewWriter(compressed)
	err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "main.tf", Size: int64(len(content)), Mode: 0o644})
	if err == nil {
		_, err = io.WriteString(archive, content)
	}
	if err := errors.Join(err, archive.Close(), compressed.Close()); err != nil {
		tb.Fatal(err)
	}
	return data.Bytes()
}

// Provider returns a package of a provider with one executable file, a .zip. Another content
// makes other bytes.
func Provider(tb testing.TB, executable, content string) []byte {
	tb.Helper()
	var data bytes.Buffer
	archive := zip.NewWriter(&data)
	header := &zip.FileHeader{Name: executable, Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err == nil {
		_, err = io.WriteString(file, content)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		tb.Fatal(err)
	}
	return data.Bytes()
}

// ZH returns the hash of a package that an origin signs.
func ZH(zip []byte) string {
	sum := sha256.Sum256(zip)
	return "zh:" + hex.EncodeToString(sum[:])
}

// H1 returns the hash of a package that clients compute.
func H1(tb testing.TB, zip []byte) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "package.zip")
	if err := os.WriteFile(file, zip, 0o600); err != nil {
		tb.Fatal(err)
	}
	hash, err := dirhash.HashZip(file, dirhash.Hash1)
	if err != nil {
		tb.Fatal(err)
	}
	return hash
}
