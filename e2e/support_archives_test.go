package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// entry is one member of an archive to be made.
type entry struct {
	name string
	body []byte
	mode fs.FileMode // 0644 where it is zero
	kind byte        // a tar type flag; zero for a regular file
	link string      // what a link points to
}

// zipOf makes a zip archive.
func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		header.SetMode(e.permissions())
		member, err := w.CreateHeader(header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := member.Write(e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rawMember is a zip member as its header describes it, true or not.
type rawMember struct {
	header *zip.FileHeader
	packed []byte
}

// stored is a member that is not compressed.
func stored(name string, body []byte) rawMember {
	header := &zip.FileHeader{
		Name: name, CRC32: crc32.ChecksumIEEE(body),
		CompressedSize64: uint64(len(body)), UncompressedSize64: uint64(len(body)),
	}
	header.SetMode(0o755)
	return rawMember{header, body}
}

func rawZip(t testing.TB, members ...rawMember) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		member, err := w.CreateRaw(m.header)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := member.Write(m.packed); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tarGzOf makes a gzipped tar archive.
func tarGzOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		if err := w.WriteHeader(e.tarHeader()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (e entry) permissions() fs.FileMode {
	if e.mode == 0 {
		return 0o644
	}
	return e.mode
}

func (e entry) tarHeader() *tar.Header {
	header := &tar.Header{
		Name: e.name, Typeflag: e.kind, Linkname: e.link,
		Mode: int64(e.permissions().Perm()), Size: int64(len(e.body)),
	}
	switch e.kind {
	case 0:
		header.Typeflag = tar.TypeReg
	case tar.TypeXGlobalHeader:
		header.Name, header.Mode = "", 0
		header.PAXRecords = map[string]string{"comment": "0123456789abcdef0123456789abcdef01234567"}
	}
	return header
}

// folder returns the files below a folder as entries, each name with prefix before it.
func folder(t testing.TB, dir, prefix string) []entry {
	t.Helper()
	var entries []entry
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		entries = append(entries, entry{name: prefix + path, body: body, mode: info.Mode()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// executable is the executable of a provider zip.
func executable(name string) entry {
	return entry{name: name, body: []byte("#!/bin/sh\necho " + name + "\n"), mode: 0o755}
}

// providerZip makes a small package of the provider type at version. The text makes it differ from others.
func providerZip(t testing.TB, typ, version, says string) []byte {
	t.Helper()
	return zipOf(t, executable("terraform-provider-"+typ+"_v"+version), entry{name: "README.md", body: []byte(says)})
}

// largePackage makes a package of the provider type at 1.0.0 that is a little larger than size, in bytes.
func largePackage(t testing.TB, typ string, size int) []byte {
	t.Helper()
	binary := executable("terraform-provider-" + typ + "_v1.0.0")
	return rawZip(t, stored(binary.name, binary.body), stored("data", noise(size)))
}

// tinyModule makes a small module archive. The text makes it differ from others.
func tinyModule(t testing.TB, says string) []byte {
	t.Helper()
	return tarGzOf(t, entry{name: "main.tf", body: []byte("# " + says + "\n")})
}

// saveAs writes an archive to a file of the given name, for the AWS CLI to upload.
func saveAs(t testing.TB, name string, archive []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// noise returns bytes that do not compress; always the same.
func noise(size int) []byte {
	body := make([]byte, size)
	rand.NewChaCha8([32]byte{}).Read(body)
	return body
}
