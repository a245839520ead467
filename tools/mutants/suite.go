package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// suite is the tests of a package, built with the mutants of a room.
type suite struct {
	binary, dir string
	tests       []test
}

type test struct {
	name    string
	took    time.Duration
	reaches map[int]bool
}

// build makes the tests of a package, and runs each by itself to see which mutants it reaches. A
// package without tests has no suite.
func (b *bench) build(ctx context.Context, r *room, pkg string) (*suite, error) {
	dir, err := b.goCommand(ctx, "list", "-f", "{{.Dir}}", pkg)
	if err != nil {
		return nil, err
	}
	s := &suite{binary: filepath.Join(b.scratch, "suite"+strconv.Itoa(b.next())), dir: strings.TrimSpace(string(dir))}
	if _, err := b.goCommand(ctx, "test", "-c", "-vet=off", "-o", s.binary, "-overlay", r.overlay, pkg); err != nil {
		return nil, err
	}
	if _, err := os.Stat(s.binary); errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	names, err := b.runTests(ctx, s, nil, "-test.list=^(Test|Example|Fuzz)")
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(names) {
		s.tests = append(s.tests, test{name: name})
	}
	return s, b.each(len(s.tests), func(i int) error { return b.measure(ctx, s, &s.tests[i]) })
}

// measure runs a test on the clean code.
func (b *bench) measure(ctx context.Context, s *suite, t *test) error {
	reached := filepath.Join(b.scratch, "reached"+strconv.Itoa(b.next()))
	defer os.Remove(reached)
	start := time.Now()
	out, err := b.runTests(ctx, s, []string{reachedVariable + "=" + reached}, only(t.name))
	if err != nil {
		return fmt.Errorf("%s fails without any mutant: %w\n%s", t.name, err, out)
	}
	t.took, t.reaches = time.Since(start), map[int]bool{}
	data, err := os.ReadFile(reached)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if id, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			t.reaches[id] = true
		}
	}
	return nil
}

func only(names ...string) string {
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	return "-test.run=^(" + strings.Join(names, "|") + ")$"
}

// verdict is what became of a mutant.
type verdict string

const (
	killed     verdict = "killed"
	timedOut   verdict = "timed out"
	survived   verdict = "survived"
	notReached verdict = "not reached"
)

// quick is how long a test may take to be among the first for a mutant. Most mutants need no other
// test.
const quick = time.Second

// judge runs the tests that reach a mutant, the quick ones first.
func (b *bench) judge(ctx context.Context, s *suite, id int) verdict {
	var first, then []test
	for _, t := range s.tests {
		switch {
		case !t.reaches[id]:
		case t.took <= quick:
			first = append(first, t)
		default:
			then = append(then, t)
		}
	}
	result := notReached
	for _, tests := range [][]test{first, then} {
		if len(tests) == 0 {
			continue
		}
		if result = b.show(ctx, s, tests, id); result != survived {
			break
		}
	}
	return result
}

// show runs some tests with a mutant, and returns their verdict.
func (b *bench) show(ctx context.Context, s *suite, tests []test, id int) verdict {
	var names []string
	limit := 10 * time.Second
	for _, t := range tests {
		names = append(names, t.name)
		limit += 4 * t.took
	}
	if b.timeout > 0 {
		limit = b.timeout
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := b.runTests(limited, s, []string{activeVariable + "=" + strconv.Itoa(id)}, only(names...), "-test.failfast")
	switch {
	case limited.Err() != nil:
		return timedOut
	case err != nil:
		return killed
	default:
		return survived
	}
}

// runTests runs a test binary as `go test` does, in the package's own folder, with a folder for
// temporary files that is deleted afterwards.
func (b *bench) runTests(ctx context.Context, s *suite, env []string, args ...string) (string, error) {
	temporary := filepath.Join(b.scratch, strconv.Itoa(b.next()))
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return "", err
	}
	defer os.RemoveAll(temporary)
	var out bytes.Buffer
	limit := "unlimited"
	if b.memory > 0 {
		limit = strconv.Itoa(b.memory << 20)
	}
	script := []string{"-c", `ulimit -v "$0" 2>/dev/null; exec "$@"`, limit, s.binary, "-test.timeout=0", "-test.count=1"}
	cmd := command(ctx, "sh", append(script, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &out
	cmd.Env = append(append(os.Environ(), "TMPDIR="+temporary), env...)
	err := cmd.Run()
	return out.String(), err
}

// command is a command that ends, with all that it started, when the context does.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// each calls a function with the numbers up to n, several at a time.
func (b *bench) each(n int, do func(int) error) error {
	var group sync.WaitGroup
	errs := make([]error, n)
	slots := make(chan struct{}, b.parallel)
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			errs[i] = do(i)
			<-slots
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
