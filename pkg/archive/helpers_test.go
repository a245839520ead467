package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"
)

// A member is an entry to be put into an archive, under whatever name and of
// whatever kind a test needs. A name that ends in a slash is a folder.
type member struct {
	name string
	body string
	mode fs.FileMode // 0644 unless set
}

func (m member) fileMode() fs.FileMode {
	if m.mode == 0 {
		return 0o644
	}
	return m.mode
}

// files returns one member for each name, with its name as its content.
func files(names ...string) []member {
	var members []member
	for _, name := range names {
		m := member{name: name}
		if !strings.HasSuffix(name, "/") {
			m.body = "content of " + name
		}
		members = append(members, m)
	}
	return members
}

// count returns how many files there are among the members, and their size.
func count(members []member) (files int, size int64) {
	for _, m := range members {
		if !strings.HasSuffix(m.name, "/") {
			files++
			size += int64(len(m.body))
		}
	}
	return files, size
}

func zipOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := zip.NewWriter(&buf)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Store}
		if m.body != "" {
			h.Method = zip.Deflate
		}
		h.SetMode(m.fileMode())
		w, err := zw.CreateHeader(h)
		check(t, err)
		_, err = io.WriteString(w, m.body)
		check(t, err)
	}
	check(t, zw.Close())
	return buf.Bytes()
}

// rawZip returns a zip of entries with exactly these headers.
func rawZip(t testing.TB, body []byte, headers ...*zip.FileHeader) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := zip.NewWriter(&buf)
	for _, h := range headers {
		if h.CompressedSize64 == 0 {
			h.CompressedSize64 = uint64(len(body))
		}
		w, err := zw.CreateRaw(h)
		check(t, err)
		_, err = w.Write(body)
		check(t, err)
	}
	check(t, zw.Close())
	return buf.Bytes()
}

// stored returns the header of a stored file with the given content.
func stored(name, body string) *zip.FileHeader {
	return &zip.FileHeader{
		Name:               name,
		Method:             zip.Store,
		CRC32:              crc32.ChecksumIEEE([]byte(body)),
		UncompressedSize64: uint64(len(body)),
	}
}

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var headers []*tar.Header
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: int64(m.fileMode().Perm()), Size: int64(len(m.body)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(m.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		headers = append(headers, h)
	}
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for i, h := range headers {
		check(t, tw.WriteHeader(h))
		_, err := io.WriteString(tw, members[i].body)
		check(t, err)
	}
	check(t, tw.Close())
	return buf.Bytes()
}

func tarGzOf(t testing.TB, members ...member) []byte {
	t.Helper()
	return gzipOf(t, tarOf(t, members...))
}

// rawTarGz returns a tar.gz of headers alone, each followed by its Size in
// zero bytes.
func rawTarGz(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, h := range headers {
		check(t, tw.WriteHeader(h))
		if h.Typeflag == tar.TypeReg {
			_, err := tw.Write(make([]byte, h.Size))
			check(t, err)
		}
	}
	check(t, tw.Close())
	return gzipOf(t, buf.Bytes())
}

func gzipOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	_, err := zw.Write(data)
	check(t, err)
	check(t, zw.Close())
	return buf.Bytes()
}

// archiveOf returns the members in the given format.
func archiveOf(t testing.TB, format Format, members ...member) []byte {
	t.Helper()
	if format == Zip {
		return zipOf(t, members...)
	}
	return tarGzOf(t, members...)
}

// deflated returns chunk n times over as a deflate stream that is not ended.
// One compressed chunk is as good as the next, so it takes no time.
func deflated(t testing.TB, chunk []byte, n int) []byte {
	t.Helper()
	var buf bytes.Buffer
	fw, err := flate.NewWriter(&buf, flate.BestCompression)
	check(t, err)
	var start int
	for range 2 { // the second one refers back to the first, as all that follow do
		start = buf.Len()
		_, err = fw.Write(chunk)
		check(t, err)
		check(t, fw.Flush())
	}
	return append(buf.Bytes(), bytes.Repeat(buf.Bytes()[start:], n-2)...)
}

// gzipped returns a gzip stream that expands to data and n times chunk, and is
// not ended.
func gzipped(t testing.TB, data, chunk []byte, n int) []byte {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	_, err := zw.Write(data)
	check(t, err)
	check(t, zw.Flush())
	return append(buf.Bytes(), deflated(t, chunk, n)...)
}

func checkModuleBytes(data []byte, format Format) (Module, error) {
	return CheckModule(context.Background(), bytes.NewReader(data), int64(len(data)), format)
}

func checkProviderBytes(data []byte) (Package, error) {
	return CheckProvider(context.Background(), bytes.NewReader(data), int64(len(data)), Provider{Type: "widget"})
}

// wantViolation checks that err is Violations, one of which contains want, and
// that all of them are sentences.
func wantViolation(t *testing.T, err error, want string) {
	t.Helper()
	var violations Violations
	if !errors.As(err, &violations) {
		t.Fatalf("error is %v; want violations with %q", err, want)
	}
	for _, v := range violations {
		if !strings.HasSuffix(v, ".") {
			t.Errorf("violation is not a sentence: %s", v)
		}
	}
	if !strings.Contains(strings.Join(violations, "\n"), want) {
		t.Errorf("violations:\n%s\nwant %q among them", strings.Join(violations, "\n"), want)
	}
}

// hashDir is what dirhash makes of a folder with the members in it.
func hashDir(t testing.TB, members ...member) string {
	t.Helper()
	dir := t.TempDir()
	for _, m := range members {
		name := filepath.Join(dir, filepath.FromSlash(m.name))
		if strings.HasSuffix(m.name, "/") {
			check(t, os.MkdirAll(name, 0o700))
			continue
		}
		check(t, os.MkdirAll(filepath.Dir(name), 0o700))
		check(t, os.WriteFile(name, []byte(m.body), 0o600))
	}
	h1, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	check(t, err)
	return h1
}

// A meter counts what is read of an archive, and from the n-th read on fails
// with err, if that is set, or in that one alone.
type meter struct {
	io.ReaderAt
	reads, bytes int
	n            int
	err          error
	once         bool
	fail         func()
}

func (m *meter) ReadAt(p []byte, off int64) (int, error) {
	m.reads++
	if m.fail != nil && m.reads == m.n {
		m.fail()
	}
	if m.err != nil && (m.reads == m.n || m.reads > m.n && !m.once) {
		return 0, m.err
	}
	n, err := m.ReaderAt.ReadAt(p, off)
	m.bytes += n
	return n, err
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
