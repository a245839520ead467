// Package child runs servers in processes of their own, so that what they take of the
// processor is known.
package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// startTimeout is how long a server may take to listen.
const startTimeout = time.Minute

// Process is a server in another process.
type Process struct {
	Addr string // host:port; empty until it is known
	PID  int

	command *exec.Cmd
	input   io.Closer
}

// Start starts a command whose log goes to a file. The first line of its output is the
// address on which it listens, as [Serve] prints it. It ends when its input is closed.
func Start(ctx context.Context, log string, env []string, name string, args ...string) (*Process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &Process{command: exec.CommandContext(ctx, name, args...)}
	p.command.Env, p.command.Stderr = append(os.Environ(), env...), file
	if p.input, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := Begin(p.command); err != nil {
		return nil, err
	}
	p.PID = p.command.Process.Pid
	first := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n') // an empty line says that it failed
		first <- strings.TrimSpace(line)
	}()
	select {
	case p.Addr = <-first:
	case <-time.After(startTimeout):
	}
	if p.Addr == "" {
		said, _ := os.ReadFile(log)
		return nil, errors.Join(fmt.Errorf("%s %s does not listen: %s", name, strings.Join(args, " "), said), p.Stop())
	}
	return p, nil
}

// Stop ends the process, and returns when it has ended.
func (p *Process) Stop() error {
	p.input.Close()
	ended := make(chan error, 1)
	go func() { ended <- p.command.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Second):
		_ = p.command.Process.Kill() // fails if it has just ended
		return <-ended
	}
}

// Serve serves on a free port of the loopback interface, prints its address, and ends when
// the input of this process does.
func Serve(handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is all that counts
		server.Close()
	}()
	if _, err := fmt.Println(listener.Addr()); err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
