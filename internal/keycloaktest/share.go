package keycloaktest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// With runs a command while a Keycloak starts beside it, which all tests of the command share,
// and stops it after the command. The error is that of the command: a test that needs Keycloak
// reports why it does not run. If the context is canceled, the command is asked to end.
func With(ctx context.Context, name string, args ...string) error {
	if !program.Fetched() {
		return fmt.Errorf("%s", missing)
	}
	keycloak, err := launch()
	if err != nil {
		return err
	}
	defer keycloak.stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := http.Server{Handler: keycloak.answers(), ReadHeaderTimeout: time.Second}
	defer server.Close()
	go server.Serve(listener) //nolint:errcheck // it ends when it is closed

	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), variable+"=http://"+listener.Addr().String())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}

// answers answers requests with the URL of Keycloak, when it serves, or with the reason why it
// does not.
func (p *process) answers() http.Handler {
	await := sync.OnceValues(func() (*Server, error) { return p.await(context.Background()) })
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		server, err := await()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(server)
	})
}

// ask asks the handler of answers.
func ask(ctx context.Context, url string) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		reason, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the Keycloak that is shared: %s", reason)
	}
	server := new(Server)
	return server, json.NewDecoder(response.Body).Decode(server)
}
