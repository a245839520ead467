package archive

import (
	"archive/zip"
	"encoding/binary"
	"iter"
	"math"
)

// A localHeader is what stands before an entry's content: APPNOTE.TXT 4.3.7. The
// clients go by the central directory alone. Whoever reads a zip as a stream goes
// by these, and so do unzip and scanners in part.
type localHeader struct {
	flags, method        uint16
	checksum             uint32
	compressed, expanded uint64
	name                 string
	extra                []byte
}

// locate returns where the content of an entry begins, and notes what the header
// before it says otherwise than the directory. The error is that of DataOffset.
func (in *inspection) locate(f *zip.File) (offset int64, err error) {
	if offset, err = f.DataOffset(); err != nil {
		return 0, err
	}
	if h, ok := in.localHeader(offset); ok {
		if problem := h.problem(f); problem != "" {
			in.violate("%s %s", quote(f.Name), problem)
		}
	}
	return offset, nil
}

// localHeader reads the header that DataOffset has just looked at: the package zip
// does not say where it is, but has read nothing since. All of them together take
// no more room than the directory may.
func (in *inspection) localHeader(content int64) (h localHeader, ok bool) {
	const fixed = 30
	start := in.src.last
	if in.headers += content - start; in.headers > in.rules.directory {
		in.exceed("The headers before the entries of the zip take more than %s.", bytesText(in.rules.directory))
		return h, false
	}
	b := make([]byte, max(fixed, content-start))
	if _, err := in.src.ReadAt(b, start); err != nil {
		return h, false // that the content does not lie within the archive is said elsewhere
	}
	name := fixed + int(binary.LittleEndian.Uint16(b[26:]))
	h = localHeader{
		flags:      binary.LittleEndian.Uint16(b[6:]),
		method:     binary.LittleEndian.Uint16(b[8:]),
		checksum:   binary.LittleEndian.Uint32(b[14:]),
		compressed: uint64(binary.LittleEndian.Uint32(b[18:])),
		expanded:   uint64(binary.LittleEndian.Uint32(b[22:])),
		name:       string(b[fixed:name]),
		extra:      b[name:],
	}
	h.widen()
	return h, true
}

// widen takes sizes that have no room in the header from the field for them:
// APPNOTE.TXT 4.5.3.
func (h *localHeader) widen() {
	const id = 1
	for field := range extraFields(h.extra) {
		if field.id != id {
			continue
		}
		for _, size := range []*uint64{&h.expanded, &h.compressed} {
			if *size == math.MaxUint32 && len(field.data) >= 8 {
				*size, field.data = binary.LittleEndian.Uint64(field.data), field.data[8:]
			}
		}
		return
	}
}

// problem says what the header says otherwise than the directory, or "". Where the
// sizes and the checksum follow the content, it need not have them.
func (h localHeader) problem(f *zip.File) string {
	const follow = 1 << 3 // APPNOTE.TXT 4.4.4
	same := func(here, there uint64) bool { return here == there || here == 0 && h.flags&follow != 0 }
	switch {
	case h.name != f.Name:
		return "is named " + quote(h.name) + " in the header before its content; which of them counts is not the same everywhere."
	case hasAnotherName(h.name, h.extra):
		return "has another name in a Unicode path field (0x7075) before its content; which of them counts is not the same everywhere."
	case h.method != f.Method, !same(uint64(h.checksum), uint64(f.CRC32)),
		!same(h.compressed, f.CompressedSize64), !same(h.expanded, f.UncompressedSize64):
		return "has another size, checksum or compression in the header before its content than in the directory; which of them counts is not the same everywhere."
	default:
		return ""
	}
}

// hasAnotherName says whether an entry has a field that gives it another name
// than its own: APPNOTE.TXT 4.6.9. The clients take no notice of it; unzip, 7-Zip
// and Python, and so scanners, do.
func hasAnotherName(name string, extra []byte) bool {
	const id, versionAndChecksum = 0x7075, 1 + 4
	for field := range extraFields(extra) {
		if field.id == id && len(field.data) >= versionAndChecksum && string(field.data[versionAndChecksum:]) != name {
			return true
		}
	}
	return false
}

// An extraField is what an entry says beside its header's own fields: APPNOTE.TXT
// 4.5.
type extraField struct {
	id   uint16
	data []byte
}

// extraFields is every field that is there as a whole. Nobody reads others.
func extraFields(extra []byte) iter.Seq[extraField] {
	return func(yield func(extraField) bool) {
		for len(extra) >= 4 {
			size := int(binary.LittleEndian.Uint16(extra[2:]))
			if size > len(extra)-4 || !yield(extraField{binary.LittleEndian.Uint16(extra), extra[4 : 4+size]}) {
				return
			}
			extra = extra[4+size:]
		}
	}
}
