package child

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// mode makes this test binary a parent or its child.
const mode = "LARDER_TEST_CHILD"

// longest is how long a process of this test lives at most.
const longest = 30 * time.Second

func init() {
	if os.Getenv(mode) == "parent" {
		runtime.LockOSThread() // no other goroutine gets the first thread, which never ends
	}
}

func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "parent":
		if err := beParent(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "child":
		for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			fmt.Println("alive")
		}
	default:
		os.Exit(m.Run())
	}
}

// beParent starts a child from a thread that ends, says so in its output, and waits.
func beParent() error {
	child := exec.Command(os.Args[0])
	child.Env, child.Stdout = append(os.Environ(), mode+"=child"), os.NewFile(3, "pipe")
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and does not unlock it: the thread ends
		failed <- Begin(child)
	}()
	if err := <-failed; err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond) // until the thread has ended
	fmt.Println("the thread has ended")
	time.Sleep(longest)
	return nil
}

// TestChildrenEndWithTheirParent kills a parent: its child ends. It does not end with the
// thread that asked for it.
func TestChildrenEndWithTheirParent(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	parent := exec.Command(os.Args[0])
	parent.Env, parent.ExtraFiles, parent.Stderr = append(os.Environ(), mode+"=parent"), []*os.File{to}, os.Stderr
	said, err := parent.StdoutPipe()
	if err == nil {
		err = parent.Start()
	}
	to.Close()
	if err != nil {
		t.Fatal(err)
	}
	_, err = bufio.NewReader(said).ReadString('\n')
	if err == nil {
		err = from.SetReadDeadline(time.Now().Add(longest / 2))
	}
	lines := bufio.NewReader(from)
	for range 100 { // more than the child wrote until now
		if err == nil {
			_, err = lines.ReadString('\n')
		}
	}
	if err != nil {
		t.Errorf("the child ended before its parent: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // it was killed
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("the child outlives its parent: %v", err)
	}
}
