package locals3

import (
	"os"
	"slices"
	"sync"
)

// openFiles are the files of objects that are being read without the endpoint. The storage
// replaces a file as a whole, but a deletion keeps the file as its marker. The marker's
// content is removed only when nobody reads the file any more.
type openFiles struct {
	mu    sync.Mutex
	files []*openFile
}

// openFile is a file with one reader or more.
type openFile struct {
	info    os.FileInfo
	readers int
	marker  *os.File // to be emptied after the last reader, or nil
}

// add notes that a file has one reader more.
func (o *openFiles) add(file os.FileInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.index(file); i >= 0 {
		o.files[i].readers++
		return
	}
	o.files = append(o.files, &openFile{info: file, readers: 1})
}

// remove notes that a file has one reader less.
func (o *openFiles) remove(file os.FileInfo) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.index(file)
	f := o.files[i]
	if f.readers--; f.readers > 0 {
		return
	}
	if f.marker != nil {
		emptyNow(f.marker)
	}
	o.files = slices.Delete(o.files, i, i+1)
}

// empty removes the content of a delete marker, and closes it, when the file has no reader.
func (o *openFiles) empty(marker *os.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	info, err := marker.Stat()
	if err != nil {
		_ = marker.Close() // it keeps its content
		return
	}
	i := o.index(info)
	switch {
	case i < 0:
		emptyNow(marker)
	case o.files[i].marker != nil: // it was deleted twice
		_ = marker.Close()
	default:
		o.files[i].marker = marker
	}
}

// index returns the place of a file, or -1. There are few files, so the search is short.
func (o *openFiles) index(file os.FileInfo) int {
	return slices.IndexFunc(o.files, func(f *openFile) bool { return os.SameFile(f.info, file) })
}

func emptyNow(marker *os.File) {
	_ = marker.Truncate(0) // if this fails, it is still a marker
	_ = marker.Close()
}
