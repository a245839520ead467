// Package subprocess reads what archives say of themselves in processes of their own. The
// libraries that read configuration were not made for hostile input: they can panic, and can
// take any time and memory. A process that does so is ended, and its document says that.
//
// The process is this same executable. It begins under another name, and [init] of this
// package then reads one archive instead of starting the program. It gets no environment, no
// arguments and no file but two pipes. The archive stays with its parent, who sends the parts
// that the process asks for.
//
// A process has [MaxTime] and [MaxMemory]. It ends with its parent.
package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/contents"
)

// Limits of a process.
const (
	// MaxTime is how much processor time it may take, and MaxWait how long it may take
	// altogether: a machine may do much else, and the same archive is to have the same
	// document there. Only Linux limits the processor time.
	MaxTime = 10 * time.Second
	MaxWait = 3 * MaxTime

	// MaxMemory is how much it may allocate, in bytes.
	MaxMemory = 512 << 20

	// MaxProcesses is how many of a [Reader] run at the same time.
	MaxProcesses = 2
)

// A Reader reads archives. It may be used by many goroutines.
type Reader struct {
	room    chan struct{} // has an element for each process
	maxWait time.Duration
}

// New returns a Reader.
func New() *Reader {
	return &Reader{room: make(chan struct{}, MaxProcesses), maxWait: MaxWait}
}

// Module reads an archive of a module that [archive.CheckModule] has accepted. format is
// "zip" or "tar.gz". What is wrong with the archive is among the problems of the document.
// The error says that ctx is done, the archive cannot be read from the disk, or no process
// can be started.
func (r *Reader) Module(ctx context.Context, file io.ReaderAt, size int64, format string) (contents.Module, error) {
	task := task{kind: moduleTask, size: size}
	switch format {
	case archive.Zip.String():
		task.format = archive.Zip
	case archive.TarGz.String():
		task.format = archive.TarGz
	default:
		return contents.Module{}, fmt.Errorf("%q is not a format of module archives", format)
	}
	document, err := r.run(ctx, task, file, io.Discard)
	if stopped, ok := errors.AsType[stoppedError](err); ok {
		return r.readmes(ctx, task, file, stopped)
	}
	if err != nil {
		return contents.Module{}, err
	}
	m, err := contents.DecodeModule(document)
	if err != nil {
		return contents.Module{Problems: []string{brokenOff.Error()}, Stopped: true}, nil
	}
	return m, nil
}

// readmes reads the READMEs alone, after the configuration has stopped the reader.
func (r *Reader) readmes(ctx context.Context, task task, file io.ReaderAt, stopped stoppedError) (contents.Module, error) {
	task.kind = readmesTask
	document, err := r.run(ctx, task, file, io.Discard)
	if err != nil && !errors.As(err, new(stoppedError)) {
		return contents.Module{}, err
	}
	var m contents.Module
	if err == nil {
		if read, err := contents.DecodeModule(document); err == nil {
			m = read
		}
	}
	kept := m.Problems[:min(len(m.Problems), contents.MaxProblems-1)]
	m.Problems, m.Stopped = append([]string{stopped.Error() + " The configuration is not shown."}, kept...), true
	return m, nil
}

// Provider reads a zip of a provider's documentation that [archive.CheckDocs] has accepted.
// texts are the Markdown of all pages, at most [contents.MaxTexts] bytes: the pages say where
// theirs lies. The error is as for [Reader.Module].
func (r *Reader) Provider(ctx context.Context, file io.ReaderAt, size int64) (p contents.Provider, texts []byte, err error) {
	var written bytes.Buffer
	document, err := r.run(ctx, task{kind: providerTask, size: size}, file, &written)
	if stopped, ok := errors.AsType[stoppedError](err); ok {
		return contents.Provider{Problems: []string{stopped.Error()}, Stopped: true}, nil, nil
	}
	if err != nil {
		return contents.Provider{}, nil, err
	}
	p, err = contents.DecodeProvider(document)
	if err != nil || !within(p.Pages, int64(written.Len())) {
		return contents.Provider{Problems: []string{brokenOff.Error()}, Stopped: true}, nil, nil
	}
	return p, written.Bytes(), nil
}

// within says whether all pages lie in a text of a length.
func within(pages []contents.Page, length int64) bool {
	for _, page := range pages {
		if page.Offset < 0 || page.Length < 0 || page.Offset > length || page.Length > length-page.Offset {
			return false
		}
	}
	return true
}

// A stoppedError says, as a sentence, why a process has not read an archive to its end. The
// archive is to blame.
type stoppedError string

func (e stoppedError) Error() string { return string(e) }

// The reasons.
const (
	tookTooLong   stoppedError = "The reader was stopped because something in the archive takes it more than 10 seconds."
	tookTooMuch   stoppedError = "The reader was stopped because something in the archive takes it more than 512 MiB of memory."
	wroteTooMuch  stoppedError = "The reader was stopped because it wrote more than it may."
	brokenOff     stoppedError = "The reader broke off: something in the archive is beyond it."
	maxErrorBytes              = 16 << 10 // of what a process writes to its standard error
)
