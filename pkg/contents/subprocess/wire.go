package subprocess

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// A task is what a process is to do. It is the first thing that it is sent.
type task struct {
	kind   taskKind
	format archive.Format
	size   int64 // of the archive in bytes
}

type taskKind byte

const (
	moduleTask   taskKind = 'm'
	readmesTask  taskKind = 'r'
	providerTask taskKind = 'p'
)

const taskLength = 1 + 1 + 8

func (t task) send(w io.Writer) error {
	data := binary.BigEndian.AppendUint64([]byte{byte(t.kind), byte(t.format)}, uint64(t.size))
	_, err := w.Write(data)
	return err
}

func receiveTask(r io.Reader) (task, error) {
	var data [taskLength]byte
	_, err := io.ReadFull(r, data[:])
	return task{taskKind(data[0]), archive.Format(data[1]), int64(binary.BigEndian.Uint64(data[2:]))}, err
}

// A frame is what a process sends: its kind, a length, and for a part of the archive where
// that begins. The text and the document follow their frames.
type frame struct {
	kind   frameKind
	length uint32
	offset int64
}

type frameKind byte

const (
	partFrame     frameKind = 'r' // asks for a part of the archive. The answer is its length and the part
	textFrame     frameKind = 't' // more of the texts of a provider
	documentFrame frameKind = 'd' // the document, which is the last
)

const (
	frameLength = 1 + 4 + 8
	maxPart     = 256 << 10 // bytes of a part, or of a text in one frame
)

func (f frame) send(w io.Writer, content []byte) error {
	data := binary.BigEndian.AppendUint32([]byte{byte(f.kind)}, f.length)
	data = binary.BigEndian.AppendUint64(data, uint64(f.offset))
	_, err := w.Write(append(data, content...))
	return err
}

// receiveFrame reads a frame and checks it: its sender has seen foreign bytes.
func receiveFrame(r io.Reader) (frame, error) {
	var data [frameLength]byte
	if _, err := io.ReadFull(r, data[:]); err != nil {
		return frame{}, err
	}
	f := frame{frameKind(data[0]), binary.BigEndian.Uint32(data[1:]), int64(binary.BigEndian.Uint64(data[5:]))}
	limit := uint32(maxPart)
	switch f.kind {
	case partFrame, textFrame:
	case documentFrame:
		limit = contents.MaxDocument
	default:
		return f, fmt.Errorf("a frame of the unknown kind %q", f.kind)
	}
	if f.length > limit || f.offset < 0 {
		return f, fmt.Errorf("a frame %q of %d bytes at %d", f.kind, f.length, f.offset)
	}
	return f, nil
}
