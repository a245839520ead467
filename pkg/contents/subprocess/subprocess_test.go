package subprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/pkg/contents"
)

// The hooks. A task asks for one by its size, for a process of the reader has neither an
// environment nor arguments.
const (
	hookPanic = 1_000_001 + iota
	hookLoop
	hookSleep
	hookHog
	hookHogAtOnce
	hookStack
	hookExit
	hookUnknownFrame
	hookLongFrame
	hookNegativePart
	hookTexts
	hookNoDocument
	hookPagesBeyond
	hookEnvironment
	hookFiles
)

// It is a variable because variables are set before any init.
var _ = setHook()

func setHook() bool {
	hook = misbehave
	return true
}

var sink [][]byte

// misbehave does what a task asks for.
func misbehave(t task, out io.Writer) {
	if t.kind == readmesTask {
		return
	}
	switch t.size {
	case hookPanic:
		panic("this is meant")
	case hookLoop:
		for sum := 0; ; sum++ {
			_ = sum
		}
	case hookSleep:
		time.Sleep(time.Hour)
	case hookHog:
		for {
			page := bytes.Repeat([]byte("x"), 1<<20)
			sink = append(sink, page)
		}
	case hookHogAtOnce:
		sink = append(sink, bytes.Repeat([]byte("x"), 4<<30))
	case hookStack:
		fmt.Fprint(io.Discard, deeper(0))
	case hookExit:
		os.Exit(0)
	case hookUnknownFrame:
		frame{kind: 'x'}.send(out, nil)
	case hookLongFrame:
		frame{kind: documentFrame, length: contents.MaxDocument + 1}.send(out, nil)
	case hookNegativePart:
		frame{kind: partFrame, length: 1, offset: -1}.send(out, nil)
	case hookTexts:
		for text := make([]byte, maxPart); ; {
			textWriter{out}.Write(text)
		}
	case hookNoDocument:
		frame{kind: documentFrame, length: 2}.send(out, []byte("[]"))
		os.Exit(0)
	case hookPagesBeyond:
		document := contents.EncodeProvider(contents.Provider{Pages: []contents.Page{{Offset: 1, Length: 1}}})
		frame{kind: documentFrame, length: uint32(len(document))}.send(out, document)
		os.Exit(0)
	case hookFiles:
		document := contents.EncodeModule(contents.Module{Root: contents.Part{Readme: strings.Join(openFiles(), "\n")}})
		frame{kind: documentFrame, length: uint32(len(document))}.send(out, document)
		os.Exit(0)
	case hookEnvironment:
		environment := strings.Join(os.Environ(), " ")
		document := contents.EncodeModule(contents.Module{Root: contents.Part{Readme: environment}})
		frame{kind: documentFrame, length: uint32(len(document))}.send(out, document)
		os.Exit(0)
	}
}

func deeper(n int) int {
	if n < 0 {
		return 0
	}
	var room [1 << 10]byte
	room[n%len(room)] = 1
	return deeper(n+1) + int(room[(n+1)%len(room)])
}

// zeros is an archive of zeros.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

func TestModule(t *testing.T) {
	data := archivetest.Module(t, `variable "region" {}`)
	m, err := New().Module(context.Background(), bytes.NewReader(data), int64(len(data)), "tar.gz")
	if err != nil || len(m.Problems) > 0 || len(m.Root.Inputs) != 1 || m.Root.Inputs[0].Name != "region" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestBadArchive(t *testing.T) {
	data := "no archive"
	m, err := New().Module(context.Background(), strings.NewReader(data), int64(len(data)), "zip")
	if err != nil || len(m.Problems) != 1 || !strings.Contains(m.Problems[0], "The file is not a zip archive") {
		t.Errorf("module: got %+v, %v", m, err)
	}
	p, _, err := New().Provider(context.Background(), strings.NewReader(data), int64(len(data)))
	if err != nil || len(p.Problems) != 1 || !strings.Contains(p.Problems[0], "The file is not a zip archive") {
		t.Errorf("provider: got %+v, %v", p, err)
	}
	if _, err := New().Module(context.Background(), strings.NewReader(data), int64(len(data)), "rar"); err == nil || err.Error() != `"rar" is not a format of module archives` {
		t.Errorf("format: got %v", err)
	}
}

// TestStopped holds that a process that misbehaves is ended, and what is said of it.
func TestStopped(t *testing.T) {
	const configuration = " The configuration is not shown."
	for _, test := range []struct {
		name string
		size int64
		time time.Duration // 0: MaxWait
		want stoppedError
	}{
		{"panics", hookPanic, 0, brokenOff},
		{"loops", hookLoop, 2 * time.Second, tookTooLong},
		{"sleeps", hookSleep, 2 * time.Second, tookTooLong},
		{"hoards", hookHog, 0, tookTooMuch},
		{"hoards at once", hookHogAtOnce, 0, tookTooMuch},
		{"recurses", hookStack, 0, brokenOff},
		{"exits", hookExit, 0, brokenOff},
		{"sends an unknown frame", hookUnknownFrame, 0, brokenOff},
		{"sends a long document", hookLongFrame, 0, brokenOff},
		{"asks for what is before the archive", hookNegativePart, 0, brokenOff},
		{"sends too many texts", hookTexts, 0, wroteTooMuch},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := New()
			if test.time > 0 {
				reader.maxWait = test.time
			}
			p, texts, err := reader.Provider(context.Background(), zeros{}, test.size)
			if test.size == hookStack && slices.Equal(p.Problems, []string{tookTooMuch.Error()}) {
				test.want = tookTooMuch // the stack takes more with the race detector
			}
			if want := (contents.Provider{Problems: []string{test.want.Error()}, Stopped: true}); err != nil || texts != nil || !reflect.DeepEqual(p, want) {
				t.Errorf("provider: got %+v, %v; want %+v", p, err, want)
			}
			m, err := reader.Module(context.Background(), zeros{}, test.size, "zip")
			if err != nil || !m.Stopped || len(m.Problems) != 2 || m.Problems[0] != test.want.Error()+configuration || !strings.Contains(m.Problems[1], "is not a zip archive") {
				t.Errorf("module: got %+v, %v; want %q", m, err, test.want)
			}
		})
	}
}

// TestProcessorTime takes the whole processor time, which only Linux limits.
func TestProcessorTime(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("takes 10 seconds of the processor, on Linux")
	}
	reader := New()
	reader.maxWait = 5 * time.Minute
	p, _, err := reader.Provider(context.Background(), zeros{}, hookLoop)
	if err != nil || len(p.Problems) != 1 || p.Problems[0] != tookTooLong.Error() {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestWrongDocuments(t *testing.T) {
	for _, size := range []int64{hookNoDocument, hookPagesBeyond} {
		p, texts, err := New().Provider(context.Background(), zeros{}, size)
		if err != nil || texts != nil || !p.Stopped || !reflect.DeepEqual(p.Problems, []string{brokenOff.Error()}) {
			t.Errorf("provider: got %+v, %v", p, err)
		}
	}
	m, err := New().Module(context.Background(), zeros{}, hookNoDocument, "zip")
	if err != nil || !m.Stopped || !reflect.DeepEqual(m.Problems, []string{brokenOff.Error()}) {
		t.Errorf("module: got %+v, %v", m, err)
	}
}

func TestNoEnvironment(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	m, err := New().Module(context.Background(), zeros{}, hookEnvironment, "zip")
	if err != nil || m.Root.Readme != "GOMAXPROCS=1 GOTRACEBACK=none" {
		t.Errorf("the environment is %q, %v", m.Root.Readme, err)
	}
}

// brokenFile fails from an offset on.
type brokenFile struct {
	data []byte
	from int64
	err  error
}

func (f brokenFile) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, f.err
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

// TestErrors holds that what is no fault of the archive is an error.
func TestErrors(t *testing.T) {
	data := archivetest.Module(t, "")
	size := int64(len(data))
	failure := errors.New("the disk is broken")
	_, err := New().Module(context.Background(), brokenFile{data, 0, failure}, size, "tar.gz")
	if !errors.Is(err, failure) {
		t.Errorf("module: got %v; want %v", err, failure)
	}
	_, _, err = New().Provider(context.Background(), brokenFile{data, 0, failure}, size)
	if !errors.Is(err, failure) {
		t.Errorf("provider: got %v; want %v", err, failure)
	}
	if _, err = New().Module(context.Background(), bytes.NewReader(data), size+1, "tar.gz"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is shorter than it is said to be: got %v", err)
	}

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New().Module(ended, bytes.NewReader(data), size, "tar.gz"); !errors.Is(err, context.Canceled) {
		t.Errorf("the context is done: got %v", err)
	}
	ending, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := New().Provider(ending, zeros{}, hookSleep); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context ends: got %v", err)
	}
	full := New()
	for range MaxProcesses {
		full.room <- struct{}{}
	}
	if _, err := full.Module(ending, bytes.NewReader(data), size, "tar.gz"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("no process may start: got %v", err)
	}
}

func TestMany(t *testing.T) {
	data := archivetest.Module(t, `variable "region" {}`)
	reader := New()
	var all sync.WaitGroup
	for range 3 * MaxProcesses {
		all.Go(func() {
			m, err := reader.Module(context.Background(), bytes.NewReader(data), int64(len(data)), "tar.gz")
			if err != nil || len(m.Problems) > 0 {
				t.Errorf("got %+v, %v", m, err)
			}
		})
	}
	all.Wait()
}

func FuzzReceiveFrame(f *testing.F) {
	f.Add([]byte("r\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02"))
	f.Add([]byte("d\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := receiveFrame(bytes.NewReader(data))
		if err == nil && (got.offset < 0 || got.length > contents.MaxDocument || got.kind != documentFrame && got.length > maxPart) {
			t.Errorf("%q is %+v", data, got)
		}
	})
}
