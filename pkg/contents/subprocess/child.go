package subprocess

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/contents/reader"
)

// processName is the name under which the executable is started to read an archive.
const processName = "larder-contents-reader"

// The statuses of a process that has not read its archive.
const (
	failedStatus = 3
	memoryStatus = 4
	orphanStatus = 5
)

// init reads an archive, and ends the process, if that was started for it. It does so before
// main and before any test: no command has to remember to call it, and none that forgets to
// can start itself again and again.
func init() {
	if len(os.Args) != 1 || os.Args[0] != processName {
		return
	}
	if err := read(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(failedStatus)
	}
	os.Exit(0)
}

// hook is called with the task before it is done. Only tests set it.
var hook func(t task, out io.Writer)

func read(in io.Reader, out io.Writer) error {
	parent := os.Getppid()
	if err := limit(); err != nil {
		return err
	}
	go watch(parent)
	t, err := receiveTask(in)
	if err != nil {
		return err
	}
	if hook != nil {
		hook(t, out)
	}
	document, err := do(t, &remote{in: in, out: out, size: t.size}, out)
	if err != nil {
		return err
	}
	return frame{kind: documentFrame, length: uint32(len(document))}.send(out, document)
}

// do returns the document of a task.
func do(t task, file io.ReaderAt, out io.Writer) ([]byte, error) {
	ctx := context.Background() // the parent ends the process
	switch t.kind {
	case moduleTask:
		return contents.EncodeModule(reader.ReadModule(ctx, file, t.size, t.format)), nil
	case readmesTask:
		return contents.EncodeModule(reader.ReadReadmes(ctx, file, t.size, t.format)), nil
	case providerTask:
		texts := bufio.NewWriterSize(textWriter{out}, maxPart)
		p, err := reader.ReadProvider(ctx, file, t.size, texts)
		if err == nil {
			err = texts.Flush()
		}
		return contents.EncodeProvider(p), err
	default:
		return nil, fmt.Errorf("the task %q is unknown", t.kind)
	}
}

// textWriter sends what is written to it as texts.
type textWriter struct{ out io.Writer }

func (w textWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(len(p), n+maxPart)]
		if err := (frame{kind: textFrame, length: uint32(len(part))}).send(w.out, part); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// softMemory is how much memory the garbage collector tries to keep to, in bytes.
const softMemory = MaxMemory * 3 / 4

// limit limits this process. What the operating system cannot limit, watch does.
func limit() error {
	debug.SetMemoryLimit(softMemory)
	debug.SetMaxStack(MaxMemory / 4)
	return limitResources()
}

// watch ends the process when it has too much memory, or its parent is gone: nobody else would
// end it before its time is used up.
func watch(parent int) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(20 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64()-sample[1].Value.Uint64() > MaxMemory {
			os.Exit(memoryStatus)
		}
		if os.Getppid() != parent {
			os.Exit(orphanStatus)
		}
	}
}

// A remote is the archive, which is with the parent. Decoders read it in small pieces from
// its beginning to its end, or from a few places: so it keeps the last part.
type remote struct {
	in    io.Reader
	out   io.Writer
	size  int64
	start int64 // of the part in the archive
	part  []byte
	room  [maxPart]byte
	err   error
}

func (r *remote) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		at := off + int64(n)
		if at >= r.size || at < 0 {
			return n, io.EOF
		}
		if at < r.start || at >= r.start+int64(len(r.part)) {
			if err := r.ask(at); err != nil {
				return n, err
			}
		}
		n += copy(p[n:], r.part[at-r.start:])
	}
	return n, nil
}

// ask asks for the part that begins at an offset, or a little before it.
func (r *remote) ask(at int64) error {
	if r.err != nil {
		return r.err
	}
	const alignment = 64 << 10 // the directory of a zip is read backwards
	r.start = at - at%alignment
	length := min(maxPart, r.size-r.start)
	r.part = nil
	r.err = frame{kind: partFrame, length: uint32(length), offset: r.start}.send(r.out, nil)
	if r.err == nil {
		r.err = r.receive(length)
	}
	return r.err
}

func (r *remote) receive(length int64) error {
	var header [4]byte
	if _, err := io.ReadFull(r.in, header[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(header[:])
	if int64(n) != length {
		return io.ErrUnexpectedEOF
	}
	_, err := io.ReadFull(r.in, r.room[:n])
	r.part = r.room[:n]
	return err
}
