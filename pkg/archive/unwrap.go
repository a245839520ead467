package archive

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// zipEpoch is 1 January 1980, the earliest date that a zip can state.
const zipEpoch = 1<<5 | 1

// Unwrap writes to w an archive of the same format with the content of the folder wrapper,
// so that the root of the module is its root. Entries keep their order and their
// executable bit, and lose their times and owners. The same archive gives the same bytes,
// as long as the gzip compressor of the Go release is the same. The files of a zip are not
// compressed anew.
//
// [CheckModule] must have accepted the archive, and wrapper must be the [Module.Wrapper]
// that it returned. The unwrapped archive is the same module and keeps all rules: those of
// names hold for any part of a path, and CheckModule has checked its size.
//
// Errors are those of r, w and ctx, or say that the archive is not the accepted one. After
// an error, what was written must not be used.
func Unwrap(ctx context.Context, r io.ReaderAt, size int64, format Format, wrapper string, w io.Writer) error {
	return unwrap(newSource(ctx, r, size), format, wrapper, w)
}

func unwrap(src *source, format Format, wrapper string, w io.Writer) error {
	var err error
	switch format {
	case Zip:
		err = unwrapZip(src, wrapper, w)
	case TarGz:
		err = unwrapTarGz(src, wrapper, w)
	default:
		err = fmt.Errorf("%v is not a format of module archives", format)
	}
	switch { // the original error, which a decoder may hide
	case src.err != nil:
		err = src.err
	case src.short:
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("unwrapping the module in %s: %w", quote(wrapper), err)
	}
	return nil
}

// unwrapZip copies files as they are compressed.
func unwrapZip(src *source, wrapper string, w io.Writer) error {
	zr, err := zip.NewReader(src, src.size)
	if err != nil {
		return err
	}
	zw := zip.NewWriter(w)
	for _, f := range zr.File {
		name, err := unwrapName(f.Name, wrapper)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := copyZipFile(zw, f, name); err != nil {
			return err
		}
	}
	return zw.Close()
}

func copyZipFile(zw *zip.Writer, f *zip.File, name string) error {
	const nameIsUTF8 = 1 << 11
	h := &zip.FileHeader{
		Name:          name,
		ReaderVersion: 20, // APPNOTE.TXT 4.4.3.2: folders and deflate
		Flags:         nameIsUTF8,
		//lint:ignore SA1019 CreateRaw writes this field, and ignores Modified.
		ModifiedDate: zipEpoch,
	}
	if f.Mode().IsDir() {
		h.SetMode(fs.ModeDir | 0o755)
		_, err := zw.CreateRaw(h)
		return err
	}
	h.SetMode(fileMode(f.Mode()))
	h.Method, h.CRC32 = f.Method, f.CRC32
	h.CompressedSize64, h.UncompressedSize64 = f.CompressedSize64, f.UncompressedSize64
	dst, err := zw.CreateRaw(h)
	if err != nil {
		return err
	}
	content, err := f.OpenRaw()
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, content)
	return err
}

// fileMode is the mode of an unwrapped file: all that it keeps is whether it is executable.
func fileMode(mode fs.FileMode) fs.FileMode {
	if mode&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func unwrapTarGz(src *source, wrapper string, w io.Writer) error {
	stream, err := newTarStream(src, moduleRules())
	if err != nil {
		return err
	}
	gz := gzip.NewWriter(w)
	tw := tar.NewWriter(gz)
	if err := copyTarEntries(tw, tar.NewReader(stream), wrapper); err != nil {
		return err
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return gz.Close()
}

func copyTarEntries(tw *tar.Writer, tr *tar.Reader, wrapper string) error {
	buf := make([]byte, 64<<10)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := unwrapName(h.Name, wrapper)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := tw.WriteHeader(unwrappedHeader(h, name)); err != nil {
			return err
		}
		if _, err := io.CopyBuffer(tw, tr, buf); err != nil {
			return err
		}
	}
}

func unwrappedHeader(h *tar.Header, name string) *tar.Header {
	if h.Typeflag == tar.TypeDir {
		return &tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimSuffix(name, "/") + "/", Mode: 0o755}
	}
	return &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Size:     h.Size,
		Mode:     int64(fileMode(fs.FileMode(h.Mode & 0o777))),
	}
}

// unwrapName returns a name as seen from inside the wrapper, "" for the wrapper
// itself and the root.
func unwrapName(name, wrapper string) (string, error) {
	name = strings.TrimPrefix(name, "./")
	switch name {
	case "", ".", wrapper, wrapper + "/":
		return "", nil
	}
	inside, ok := strings.CutPrefix(name, wrapper+"/")
	if !ok {
		return "", fmt.Errorf("%s lies outside of it", quote(name))
	}
	return inside, nil
}
