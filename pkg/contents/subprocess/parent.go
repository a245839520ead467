package subprocess

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/larder-registry/larder/pkg/contents"
)

// run lets a process do a task and returns its document. It writes the texts of a provider
// to texts. The error is a stoppedError if the archive is to blame.
func (r *Reader) run(ctx context.Context, task task, file io.ReaderAt, texts io.Writer) ([]byte, error) {
	select {
	case r.room <- struct{}{}:
		defer func() { <-r.room }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, r.maxWait)
	defer cancel()
	command, err := reexec(limited)
	if err != nil {
		return nil, err
	}
	said := &head{limit: maxErrorBytes}
	command.Stderr = said
	served := serving{file: file, size: task.size, texts: texts}
	document, err := served.process(command, task)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case served.failed != nil:
		return nil, fmt.Errorf("reading the archive: %w", served.failed)
	case errors.As(err, new(*startError)):
		return nil, err
	case err == nil:
		return document, nil
	case errors.Is(err, wroteTooMuch):
		return nil, wroteTooMuch
	default:
		return nil, verdict(limited, command.ProcessState, said.Bytes())
	}
}

// reexec is the command that starts this executable under the name of the reader.
func reexec(ctx context.Context) (*exec.Cmd, error) {
	path, err := ownExecutable()
	if err != nil {
		return nil, fmt.Errorf("finding the executable of this process: %w", err)
	}
	command := exec.CommandContext(ctx, path)
	command.Args = []string{processName}
	command.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"} // and nothing of the environment of this process
	command.WaitDelay = time.Second
	closeOnExec()
	return command, nil
}

// verdict says why a process has ended without a document.
func verdict(ctx context.Context, state *os.ProcessState, said []byte) stoppedError {
	switch {
	case state.ExitCode() == memoryStatus, bytes.Contains(said, []byte("out of memory")), bytes.Contains(said, []byte("allocate")):
		return tookTooMuch // the last is what the race detector says
	case ctx.Err() != nil, state.UserTime()+state.SystemTime() > MaxTime*3/4: // it is killed at MaxTime, by another clock
		return tookTooLong
	default:
		return brokenOff
	}
}

// A startError says that a process could not be started.
type startError struct{ err error }

func (e *startError) Error() string { return "starting the reader: " + e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// serving is what a process is served with.
type serving struct {
	file   io.ReaderAt
	size   int64
	texts  io.Writer
	failed error // of the file
}

// process starts a command, serves it, waits for its end and returns its document.
func (s *serving) process(command *exec.Cmd, task task) ([]byte, error) {
	in, err := command.StdinPipe()
	if err != nil {
		return nil, &startError{err}
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, &startError{err}
	}
	if err := command.Start(); err != nil {
		return nil, &startError{err}
	}
	document, err := s.serve(in, bufio.NewReader(out), task)
	in.Close() //nolint:errcheck // the process may have ended
	if err != nil {
		command.Process.Kill() //nolint:errcheck // likewise
	}
	ended := command.Wait()
	if err == nil {
		err = ended
	}
	return document, err
}

// serve answers a process until it has sent its document.
func (s *serving) serve(in io.Writer, out io.Reader, task task) ([]byte, error) {
	if err := task.send(in); err != nil {
		return nil, err
	}
	part := make([]byte, 4+maxPart)
	for written := 0; ; {
		f, err := receiveFrame(out)
		if err != nil {
			return nil, err
		}
		switch f.kind {
		case documentFrame:
			document := make([]byte, f.length)
			_, err := io.ReadFull(out, document)
			return document, err
		case textFrame:
			if written += int(f.length); written > contents.MaxTexts {
				return nil, wroteTooMuch
			}
			if _, err := io.CopyN(s.texts, out, int64(f.length)); err != nil {
				return nil, err
			}
		case partFrame:
			if err := s.sendPart(in, f, part); err != nil {
				return nil, err
			}
		}
	}
}

// sendPart sends the part of the archive that a frame asks for. Past the end it is shorter.
func (s *serving) sendPart(in io.Writer, f frame, buf []byte) error {
	part := buf[4 : 4+max(0, min(int64(f.length), s.size-f.offset))]
	if len(part) > 0 {
		n, err := s.file.ReadAt(part, f.offset)
		if n < len(part) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			s.failed = err
			return err
		}
	}
	binary.BigEndian.PutUint32(buf, uint32(len(part)))
	_, err := in.Write(buf[:4+len(part)])
	return err
}

// A head keeps the first bytes that are written to it.
type head struct {
	bytes.Buffer
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.limit - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
