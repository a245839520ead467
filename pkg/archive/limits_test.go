package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestRulesAreTheDocumentedLimits(t *testing.T) {
	module := rules{
		expanded:  268_435_456,
		ratioFree: 10_485_760,
		ratio:     200,
		files:     20_000,
		entries:   40_000,
		names:     4_194_304,
		directory: 8_388_608,
		overhead:  134_217_728,
		padding:   1_048_576,
		dotSlash:  true,
	}
	if got := moduleRules(); got != module {
		t.Errorf("modules: got %+v; want %+v", got, module)
	}
	provider := module
	provider.expanded, provider.dotSlash = 8_589_934_592, false
	if got := providerRules(); got != provider {
		t.Errorf("providers: got %+v; want %+v", got, provider)
	}
}

// TestPublicLimits meets the documented limits through the public functions.
// Sizes are declared, not real: they are judged before anything is expanded.
func TestPublicLimits(t *testing.T) {
	many := func(n int) gapped {
		members := files("terraform-provider-widget")
		for i := range n - 1 {
			members = append(members, member{name: fmt.Sprintf("%d.tf", i)})
		}
		return gapped{data: zipOf(t, members...)}
	}
	ratioLimit := RatioFree + MaxRatio*declaring(t, 0, 0).size()
	const notReal = "is damaged" // what is wrong when the limits are kept
	for _, test := range []struct {
		rule             string
		archive          gapped
		module, provider string
	}{
		{"256 MiB", declaring(t, MaxModuleExpanded, 2<<20), notReal, notReal},
		{"256 MiB and a byte", declaring(t, MaxModuleExpanded+1, 2<<20), "The files in the archive take more than 256 MiB together.", notReal},
		{"8 GiB", declaring(t, MaxProviderExpanded, 43<<20), "more than 256 MiB", notReal},
		{"8 GiB and a byte", declaring(t, MaxProviderExpanded+1, 43<<20), "more than 256 MiB", "The files in the archive take more than 8 GiB together."},
		{"all bits", declaring(t, -1, 0), "more than 256 MiB", "more than 8 GiB"},
		{"200:1", declaring(t, ratioLimit, 0), notReal, notReal},
		{"200:1 and a byte", declaring(t, ratioLimit+1, 0), "more than 200 times its size, beyond the first 10 MiB.", "more than 200 times its size"},
		{"20,000 files", many(MaxFiles), "", ""},
		{"20,001 files", many(MaxFiles + 1), "The archive holds more than 20000 files.", "The archive holds more than 20000 files."},
	} {
		t.Run(test.rule, func(t *testing.T) {
			want := func(err error, violation string) {
				t.Helper()
				if violation == "" {
					check(t, err)
					return
				}
				wantViolation(t, err, violation)
			}
			_, err := CheckModule(context.Background(), test.archive, test.archive.size(), Zip)
			want(err, test.module)
			_, err = CheckProvider(context.Background(), test.archive, test.archive.size(), Provider{Type: "widget"})
			want(err, test.provider)
		})
	}
}

// A gapped is data with a gap of zero bytes before the one at the index at.
type gapped struct {
	data    []byte
	at, gap int64
}

func (g gapped) size() int64 { return int64(len(g.data)) + g.gap }

func (g gapped) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		switch at := off + int64(i); {
		case at >= g.size():
			return i, io.EOF
		case at < g.at:
			p[i] = g.data[at]
		case at < g.at+g.gap:
			p[i] = 0
		default:
			p[i] = g.data[at-g.gap]
		}
	}
	return len(p), nil
}

// declaring returns a provider zip that says it expands to the given size, with
// a gap before its central directory to make it as large as it needs to be. Its
// one file is damaged from the first byte on.
func declaring(t *testing.T, expanded, gap int64) gapped {
	t.Helper()
	data := rawZip(t, []byte{0xff}, &zip.FileHeader{
		Name:               "terraform-provider-widget",
		Method:             zip.Deflate,
		UncompressedSize64: uint64(expanded),
	})
	at := bytes.Index(data, []byte("PK\x01\x02"))
	end := bytes.Index(data, []byte("PK\x05\x06"))
	binary.LittleEndian.PutUint32(data[end+16:], uint32(int64(at)+gap))
	return gapped{data, int64(at), gap}
}

// TestLimits meets each limit, made small, exactly and by one more.
func TestLimits(t *testing.T) {
	small := rules{expanded: 100, ratioFree: 1000, ratio: 1, files: 3, entries: 5, names: 60, directory: 10_000, overhead: 100_000, padding: 1024, dotSlash: true}
	with := func(change func(*rules)) rules {
		r := small
		change(&r)
		return r
	}
	sized := func(sizes ...int) []member {
		var members []member
		for i, n := range sizes {
			members = append(members, member{name: fmt.Sprintf("%d.tf", i), body: strings.Repeat("x", n)})
		}
		return members
	}
	for _, test := range []struct {
		rule    string
		rules   rules
		members []member
		want    string
	}{
		{"size", small, sized(40, 60), ""},
		{"size and a byte", small, sized(40, 61), "more than 100 bytes together"},
		{"size after size", small, sized(101, 1<<20), "more than 100 bytes together"},
		{"ratio", with(func(r *rules) { r.ratio, r.ratioFree = 0, 100 }), sized(40, 60), ""},
		{"ratio and a byte", with(func(r *rules) { r.ratio, r.ratioFree = 0, 99 }), sized(40, 60), "more than 0 times its size"},
		{"files", small, files("a", "b", "c.tf"), ""},
		{"files and one", small, files("a", "b", "c", "d"), "more than 3 files."},
		{"entries", small, files("a/b/c/d/e.tf"), ""},
		{"entries and one", small, files("a/b/c/d/e/f"), "more than 5 files and folders"},
		{"folder entries", small, files("a.tf", "b/", "c/", "d/", "e/"), ""},
		{"folder entries and one", small, files("a", "b/", "c/", "d/", "e/", "f/"), "5"},
		{"names", small, files(strings.Repeat("n", 57) + ".tf"), ""},
		{"names and a byte", small, files("a", strings.Repeat("n", 60)), "more than 60 bytes together"},
	} {
		for _, format := range []Format{Zip, TarGz} {
			t.Run(test.rule+"/"+format.String(), func(t *testing.T) {
				data := archiveOf(t, format, test.members...)
				_, err := checkModule(inspect(context.Background(), bytes.NewReader(data), int64(len(data)), test.rules), format)
				if test.want == "" {
					check(t, err)
					return
				}
				wantViolation(t, err, test.want)
			})
		}
	}
}

// TestTarLength meets the limit on a tar with all that is in it, exactly and by one
// byte more.
func TestTarLength(t *testing.T) {
	tarball := tarOf(t, files("main.tf")...)
	data := gzipOf(t, tarball)
	for over, want := range map[int64]string{0: "", 1: fmt.Sprintf("The tar takes more than %d bytes, headers and padding included.", len(tarball)-1)} {
		rules := moduleRules()
		rules.expanded, rules.overhead = 100, int64(len(tarball))-100-over
		_, err := checkModule(inspect(context.Background(), bytes.NewReader(data), int64(len(data)), rules), TarGz)
		if want == "" {
			check(t, err)
			continue
		}
		wantViolation(t, err, want)
	}
}

// TestTarBombs counts how much is read of archives that expand to 4 GiB each,
// under limits that are made small. All are refused long before their end.
func TestTarBombs(t *testing.T) {
	small := moduleRules()
	small.expanded, small.overhead = 16<<20, 8<<20
	mebibyte := make([]byte, 1<<20)
	const n = 4 << 10
	header := func(h *tar.Header) []byte {
		var buf bytes.Buffer
		tw := tar.NewWriter(&buf)
		check(t, tw.WriteHeader(h))
		if h.Size == 0 {
			check(t, tw.Flush())
		}
		return buf.Bytes()
	}
	main := tarOf(t, files("main.tf")...)[:1024] // header and content, without the end
	global := header(&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": strings.Repeat("x", 1<<10)}})
	globals := bytes.Repeat(global, len(mebibyte)/len(global))
	if len(globals)%512 != 0 {
		t.Fatalf("global headers of %d bytes", len(globals))
	}
	for _, test := range []struct {
		rule string
		data []byte
		want string
		most int // MiB that may be expanded
	}{
		{"one file", gzipped(t, header(&tar.Header{Typeflag: tar.TypeReg, Name: "zero", Size: 4 << 30}), mebibyte, n), "more than 16 MiB together", 1},
		{"many files", gzipped(t, nil, append(header(&tar.Header{Typeflag: tar.TypeReg, Name: "zero", Size: 1 << 20}), mebibyte...), n), "more than 16 MiB together", 20},
		{"padding", gzipped(t, append(main, make([]byte, 1024)...), mebibyte, n), "more than 1 MiB of padding", 3},
		{"vendor entry that is skipped", gzipped(t, vendorEntry(header), mebibyte, n), "takes more than 24 MiB, headers and padding included", 26},
		{"global headers", gzipped(t, nil, globals, n), "takes more than 24 MiB, headers and padding included", 26},
	} {
		t.Run(test.rule, func(t *testing.T) {
			m := &meter{ReaderAt: bytes.NewReader(test.data)}
			_, err := checkModule(inspect(context.Background(), m, int64(len(test.data)), small), TarGz)
			wantViolation(t, err, test.want)
			if violations, _ := errors.AsType[Violations](err); !strings.Contains(violations[len(violations)-1], test.want) {
				t.Errorf("the violations are %q; want %q to be the last", violations, test.want)
			}
			// Buffers read ahead by up to 64 KiB.
			if most := len(test.data)/n*test.most + 64<<10; m.bytes > most {
				t.Errorf("%d of %d bytes were read; want at most %d", m.bytes, len(test.data), most)
			}
		})
	}
}

// vendorEntry is the header of an entry that no one knows, of 4 GiB.
func vendorEntry(header func(*tar.Header) []byte) []byte {
	h := header(&tar.Header{Typeflag: tar.TypeReg, Name: "zero", Size: 4 << 30})
	h[156] = 'Q'
	fixTarChecksum(h)
	return h
}

// TestZipBombs counts how much is read of zips that expand to 4 GiB.
func TestZipBombs(t *testing.T) {
	zeros := deflated(t, make([]byte, 1<<20), 4<<10)
	file := func(name string, size uint64) *zip.FileHeader {
		return &zip.FileHeader{Name: name, Method: zip.Deflate, UncompressedSize64: size}
	}
	for _, test := range []struct {
		rule    string
		data    []byte
		module  string
		plugin  string
		maxRead int
	}{
		{"says so", rawZip(t, zeros, file("terraform-provider-widget", 4<<30)), "256 MiB", "more than 200 times", 80 << 10},
		{"says less", rawZip(t, zeros, file("terraform-provider-widget", 1<<20)), "is damaged", "is damaged", 80 << 10},
		{"overlapping", overlappingZip(t, 7000, 600<<10), "more than 256 MiB", "more than 200 times", 2 << 20},
		{"overlapping within the limits", overlappingZip(t, 15, 600<<10), "share the same bytes", "share the same bytes", 80 << 10},
	} {
		t.Run(test.rule, func(t *testing.T) {
			m := &meter{ReaderAt: bytes.NewReader(test.data)}
			_, err := CheckModule(context.Background(), m, int64(len(test.data)), Zip)
			wantViolation(t, err, test.module)
			_, err = CheckProvider(context.Background(), m, int64(len(test.data)), Provider{Type: "widget"})
			wantViolation(t, err, test.plugin)
			if m.bytes > 2*test.maxRead {
				t.Errorf("%d of %d bytes were read", m.bytes, len(test.data))
			}
		})
	}
}

// overlappingZip returns a zip of n names for the same compressed file.
func overlappingZip(t *testing.T, n, size int) []byte {
	t.Helper()
	body := strings.Repeat("x", size)
	one := zipOf(t, member{name: "00000.tf", body: body})
	zr, err := zip.NewReader(bytes.NewReader(one), int64(len(one)))
	check(t, err)
	offset, err := zr.File[0].DataOffset()
	check(t, err)
	descriptor := 16
	local := one[:int(offset)+int(zr.File[0].CompressedSize64)+descriptor]
	directory := one[len(local) : len(one)-22]
	end := bytes.Clone(one[len(one)-22:])

	data := bytes.Clone(local)
	for i := range n {
		entry := bytes.Clone(directory)
		copy(entry[46:], fmt.Sprintf("%05d.tf", i))
		data = append(data, entry...)
	}
	return append(data, zipEnd(end, n, len(directory)*n)...)
}

// zipEnd states a number of entries and the size of their directory in an end
// of central directory record.
func zipEnd(end []byte, entries, size int) []byte {
	binary.LittleEndian.PutUint16(end[8:], uint16(entries))
	binary.LittleEndian.PutUint16(end[10:], uint16(entries))
	binary.LittleEndian.PutUint32(end[12:], uint32(size))
	return end
}

// hugeDirectory returns a zip of n empty files that says it holds n modulo
// 65,536 of them, which the standard library finds no fault with.
func hugeDirectory(t *testing.T, n int) []byte {
	t.Helper()
	one := zipOf(t, member{name: "x"})
	start := bytes.Index(one, []byte("PK\x01\x02"))
	directory, end := one[start:len(one)-22], bytes.Clone(one[len(one)-22:])
	data := append(bytes.Clone(one[:start]), bytes.Repeat(directory, n)...)
	return append(data, zipEnd(end, n, len(directory)*n)...)
}

func TestZipDirectory(t *testing.T) {
	for _, test := range []struct {
		rule string
		data []byte
		want string
		most uint64 // bytes that may be allocated
	}{
		{"says 40,001 entries", hugeDirectory(t, MaxEntries+1), "says that it holds 40001 entries; at most 40000", 1 << 20},
		{"says 40,001 entries and is nothing else", zipEnd(zipOf(t), MaxEntries+1, 0), "says that it holds 40001 entries; at most 40000", 1 << 20},
		{"says 2 to the 40 entries", claimEntries(t, 1<<40), "says that it holds 1099511627776 entries", 1 << 20},
		{"says none of 12 MiB", hugeDirectory(t, 4<<16), "central directory of the zip takes more than 8 MiB", 128 << 20},
		{"says none of 6 MiB", hugeDirectory(t, 2<<16), `"x" appears more than once`, 128 << 20},
	} {
		t.Run(test.rule, func(t *testing.T) {
			var err error
			allocated := allocatedBy(func() { _, err = checkModuleBytes(test.data, Zip) })
			wantViolation(t, err, test.want)
			if allocated > test.most {
				t.Errorf("%d bytes were allocated; want at most %d", allocated, test.most)
			}
		})
	}
}

// The headers before all entries, folders included, have as much room as the
// directory has.
func TestZipHeaders(t *testing.T) {
	data := zipOf(t, files("a/", "a/main.tf", "a/x.tf")...)
	room := int64(3*30 + len("a/"+"a/main.tf"+"a/x.tf"))
	for limit, want := range map[int64]string{
		room:     "",
		room - 1: fmt.Sprintf("The headers before the entries of the zip take more than %d bytes.", room-1),
	} {
		rules := moduleRules()
		rules.directory = limit
		in := inspect(t.Context(), bytes.NewReader(data), int64(len(data)), rules)
		read := len(in.checkZip())
		if got := strings.Join(in.violations, "\n"); got != want || read != 2 || (len(in.files) == 0) != in.exceeded {
			t.Errorf("of %d bytes: %q, and %d files were read; want %q", limit, got, len(in.files), want)
		}
	}
}

// TestZip64 checks a zip in the form for more than 4 GiB: the number of its entries and the
// place of their directory are in a record of their own.
func TestZip64(t *testing.T) {
	small := zipOf(t, member{name: "main.tf"}, member{name: "outputs.tf"})
	want, err := checkModuleBytes(small, Zip)
	check(t, err)
	end := bytes.Clone(small[len(small)-22:])
	le := binary.LittleEndian
	end64 := append([]byte("PK\x06\x06"), make([]byte, 52)...)
	le.PutUint64(end64[4:], 44) // of the record, without this and what is before
	le.PutUint64(end64[24:], 2) // entries
	le.PutUint64(end64[32:], 2)
	le.PutUint64(end64[40:], uint64(le.Uint32(end[12:]))) // the size of the directory, and where it is
	le.PutUint64(end64[48:], uint64(le.Uint32(end[16:])))
	locator := append([]byte("PK\x06\x07"), make([]byte, 16)...)
	le.PutUint64(locator[8:], uint64(len(small)-22))
	le.PutUint32(locator[16:], 1)
	for at := 8; at < 20; at++ {
		end[at] = 0xff
	}
	large := slices.Concat(small[:len(small)-22], end64, locator, end)
	got, err := checkModuleBytes(large, Zip)
	if err != nil || got.H1 != want.H1 {
		t.Errorf("it is %+v, %v, want %+v", got, err, want)
	}
	copy(large[len(small)-22:], "XX") // what the number stands in is none
	_, err = checkModuleBytes(large, Zip)
	wantViolation(t, err, "says that it holds 65535 entries")
}

// claimEntries returns a zip with a zip64 end that states n entries.
func claimEntries(t *testing.T, n uint64) []byte {
	t.Helper()
	one := zipOf(t, member{name: "x"})
	data, end := one[:len(one)-22], bytes.Clone(one[len(one)-22:])
	offset := len(data)
	end64 := make([]byte, 56)
	copy(end64, "PK\x06\x06")
	binary.LittleEndian.PutUint64(end64[32:], n)
	locator := make([]byte, 20)
	copy(locator, "PK\x06\x07")
	binary.LittleEndian.PutUint64(locator[8:], uint64(offset))
	binary.LittleEndian.PutUint32(locator[16:], 1)
	data = append(append(bytes.Clone(data), end64...), locator...)
	return append(data, zipEnd(end, 0xffff, 0)...)
}

func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMemory checks and unwraps archives of 16 MiB of content; a small and
// constant part of that is allocated. The race detector makes pools forget, so
// that it is not always the same.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	const most = 4 << 20
	for _, format := range []Format{Zip, TarGz} {
		data := largeArchive(t, format)
		r, size := bytes.NewReader(data), int64(len(data))
		var m Module
		var err error
		if n := allocatedBy(func() { m, err = CheckModule(context.Background(), r, size, format) }); n > most {
			t.Errorf("%v: checking allocated %d bytes; want at most %d", format, n, most)
		}
		check(t, err)
		if m.Expanded != 16<<20 {
			t.Errorf("%v: got %d bytes expanded", format, m.Expanded)
		}
		if n := allocatedBy(func() { err = Unwrap(context.Background(), r, size, format, m.Wrapper, io.Discard) }); n > most {
			t.Errorf("%v: unwrapping allocated %d bytes; want at most %d", format, n, most)
		}
		check(t, err)
		if format == Zip {
			n := allocatedBy(func() { _, err = CheckProvider(context.Background(), r, size, Provider{Type: "widget"}) })
			if n > most {
				t.Errorf("checking a provider allocated %d bytes; want at most %d", n, most)
			}
			wantViolation(t, err, "terraform-provider-widget")
		}
	}
}

// largeArchive holds 16 files of 1 MiB each, which compress to about a hundredth.
func largeArchive(t *testing.T, format Format) []byte {
	t.Helper()
	random := make([]byte, 16<<10)
	_, err := rand.NewChaCha8([32]byte{}).Read(random)
	check(t, err)
	body := bytes.Repeat(random, 64)
	var buf bytes.Buffer
	gz, err := gzip.NewWriterLevel(&buf, gzip.BestSpeed)
	check(t, err)
	tw, zw := tar.NewWriter(gz), zip.NewWriter(&buf)
	for i := range 16 {
		name := fmt.Sprintf("w/%d.tf", i)
		var w io.Writer = tw
		if format == Zip {
			w, err = zw.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		} else {
			err = tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(body))})
		}
		check(t, err)
		_, err = w.Write(body)
		check(t, err)
	}
	if format == Zip {
		err = zw.Close()
	} else {
		err = errors.Join(tw.Close(), gz.Close())
	}
	check(t, err)
	return buf.Bytes()
}
