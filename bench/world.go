package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/bench/internal/child"
	"github.com/larder-registry/larder/bench/internal/dynamostand"
	"github.com/larder-registry/larder/bench/internal/lambdadoor"
	"github.com/larder-registry/larder/bench/internal/load"
	"github.com/larder-registry/larder/bench/internal/servers"
)

// world is all that is measured, running.
type world struct {
	folder   string // everything that is written
	settings settings

	stand     *child.Process
	floors    *child.Process
	functions *child.Process
	bolt      *child.Process
	node      *node
	lambdas   map[string]*lambdadoor.Function // by the function's name, and the echo

	tokens []string // good at every door but the node's; all but the first are used once
	stops  []func() error
}

// tokens is how many tokens there are.
const tokens = 100

// open starts everything and fills it. The caller calls close, also after an error.
func open(ctx context.Context, s settings) (*world, error) {
	w, err := newWorld(s)
	if err != nil {
		return w, err
	}
	if w.stand, err = w.serve(ctx, servers.Stand); err != nil {
		return w, err
	}
	if err := w.fill(ctx); err != nil {
		return w, err
	}
	for _, start := range []struct {
		door string
		do   func(context.Context) error
	}{
		{doorBolt, w.startBolt}, {doorFunctions, w.startFunctions}, {doorLambda, w.startLambdas}, {doorNode, w.startNode},
	} {
		if s.wants(start.door) {
			if err := start.do(ctx); err != nil {
				return w, err
			}
		}
	}
	w.floors, err = w.serve(ctx, servers.Floors)
	return w, err
}

// newWorld is a world in which nothing runs. The caller calls close, also after an error.
func newWorld(s settings) (*world, error) {
	w := &world{settings: s, lambdas: map[string]*lambdadoor.Function{}}
	folder, err := os.MkdirTemp(s.cache, "run-")
	if err != nil {
		return w, err
	}
	w.stops = append(w.stops, func() error { return os.RemoveAll(folder) })
	w.folder, err = filepath.Abs(folder)
	return w, err
}

// close stops everything that runs, the last one first.
func (w *world) close() error {
	var errs []error
	for n := len(w.stops) - 1; n >= 0; n-- {
		errs = append(errs, w.stops[n]())
	}
	return errors.Join(errs...)
}

// serve starts one of the servers of package servers: this program itself.
func (w *world) serve(ctx context.Context, name string) (*child.Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	env := []string{servers.Mode + "=" + name, servers.Folder + "=" + w.folder}
	if w.stand != nil {
		env = append(env, servers.StandURL+"="+w.standURL())
	}
	p, err := child.Start(ctx, filepath.Join(w.folder, name+".log"), env, program)
	if err != nil {
		return nil, err
	}
	w.stops = append(w.stops, p.Stop)
	return p, nil
}

func (w *world) standURL() string { return "http://" + w.stand.Addr }

func (w *world) startBolt(ctx context.Context) (err error) {
	w.bolt, err = w.serve(ctx, servers.Bolt)
	return err
}

func (w *world) startFunctions(ctx context.Context) (err error) {
	w.functions, err = w.serve(ctx, servers.Functions)
	return err
}

// functionEnv is the environment of the functions.
func (w *world) functionEnv() []string {
	return []string{
		"LARDER_TABLE=" + servers.Table, "LARDER_BUCKET=" + servers.Bucket, "AWS_REGION=" + servers.Region,
		"AWS_ACCESS_KEY_ID=" + servers.AccessKey, "AWS_SECRET_ACCESS_KEY=" + servers.SecretKey, "AWS_SESSION_TOKEN=" + servers.SessionToken,
		"AWS_ENDPOINT_URL_DYNAMODB=" + w.standURL(), "TMPDIR=" + w.folder,
	}
}

// echo is the name of the floor among the functions.
const echo = "echo"

func (w *world) startLambdas(context.Context) error {
	for _, name := range []string{"discovery", "versions", "download", "catalog", echo} {
		f, err := lambdadoor.Start(filepath.Join(w.settings.functions, name, "bootstrap"), filepath.Join(w.folder, name+".log"), w.functionEnv())
		if err != nil {
			return err
		}
		w.lambdas[name] = f
		w.stops = append(w.stops, func() error { f.Stop(); return nil })
	}
	return nil
}

// setDelay delays every answer of the stand-in.
func (w *world) setDelay(ctx context.Context, delay time.Duration) error {
	_, err := w.control(ctx, http.MethodPut, dynamostand.DelayPath, delay.String())
	return err
}

// counts is what the stand-in has counted.
func (w *world) counts(ctx context.Context) (counts dynamostand.Counts, err error) {
	body, err := w.control(ctx, http.MethodGet, dynamostand.CountsPath, "")
	if err == nil {
		err = json.Unmarshal(body, &counts)
	}
	return counts, err
}

func (w *world) control(ctx context.Context, method, path, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, w.standURL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: status %d: %.100q", method, path, response.StatusCode, answer)
	}
	return answer, err
}

// node is a running "larder serve".
type node struct {
	command *exec.Cmd
	ended   chan struct{} // closed when it has ended
	status  error         // once it has
	folder  string
	server  load.Server
}

// startNode starts a node that has the data, and makes a token.
func (w *world) startNode(ctx context.Context) (err error) {
	folder := filepath.Join(w.folder, "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(w.folder, servers.CatalogFile), filepath.Join(folder, servers.CatalogFile)); err != nil {
		return err
	}
	if err := w.openNode(ctx, folder); err != nil {
		return err
	}
	w.node.server.Token, err = w.node.larder(ctx, w.settings.larder, "token", "create", "--name", "bench", "--scope", "read *")
	return err
}

// openNode starts a node over a data folder, until the world is closed.
func (w *world) openNode(ctx context.Context, folder string) (err error) {
	if w.node, err = runNode(ctx, w.settings.larder, folder); err != nil {
		return err
	}
	w.stops = append(w.stops, w.node.stop)
	return nil
}

// runNode starts a node over a data folder, and waits until it serves.
func runNode(ctx context.Context, larder, folder string) (*node, error) {
	log, err := os.Create(filepath.Join(filepath.Dir(folder), filepath.Base(folder)+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	n := &node{folder: folder, command: exec.CommandContext(ctx, larder, "serve"), ended: make(chan struct{})}
	n.command.Env = n.env("LARDER_ADDR=127.0.0.1:0", "LARDER_S3_ADDR=127.0.0.1:0", "LARDER_AUTH=required")
	n.command.Stdout, n.command.Stderr = log, log
	if err := child.Begin(n.command); err != nil {
		return nil, err
	}
	go func() {
		n.status = n.command.Wait()
		close(n.ended)
	}()
	host, err := n.waitForHost()
	if err != nil {
		said, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("%w: %s", err, said[max(0, len(said)-2000):]), n.stop())
	}
	authority, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	if err != nil {
		return nil, errors.Join(err, n.stop())
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	n.server = load.Server{Addr: host, PID: n.command.Process.Pid, TLS: &tls.Config{RootCAs: roots}}
	return n, nil
}

// env is the environment of the node's process. The settings of another node, which the
// caller's shell may have, are not in it: with its host name, that node would be asked.
func (n *node) env(more ...string) []string {
	others := slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "LARDER_") })
	return append(append(others, "LARDER_DATA="+n.folder), more...)
}

// startTimeout is how long a node may take to serve.
const startTimeout = 5 * time.Minute

// waitForHost waits for the file that a node writes when it serves.
func (n *node) waitForHost() (string, error) {
	deadline := time.After(startTimeout)
	for {
		env, _ := n.readEnv() // at first there is no file
		if host := env["LARDER_HOST"]; host != "" {
			return host, nil
		}
		select {
		case <-n.ended:
			return "", fmt.Errorf("the node has ended: %w", n.status)
		case <-deadline:
			return "", errors.New("the node does not serve")
		case <-time.After(time.Millisecond):
		}
	}
}

// readEnv is the variables of the file that a node writes for its users.
func (n *node) readEnv() (map[string]string, error) {
	env, err := os.ReadFile(filepath.Join(n.folder, "env"))
	values := map[string]string{}
	for line := range strings.Lines(string(env)) {
		if assignment, ok := strings.CutPrefix(line, "export "); ok {
			name, value, _ := strings.Cut(strings.TrimSpace(assignment), "=")
			values[name] = strings.Trim(value, `'"`)
		}
	}
	return values, err
}

// transport sends requests to the node: it trusts its certificate.
func (n *node) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: n.server.TLS, MaxIdleConnsPerHost: 32}
}

// larder runs a command of the node, and returns what it prints.
func (n *node) larder(ctx context.Context, larder string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, larder, args...)
	command.Env = n.env()
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("larder %s: %w: %s", strings.Join(args, " "), err, said.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

// stop asks the node to end, and waits for that.
func (n *node) stop() error {
	if err := n.command.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-n.ended
	return n.status
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}
