package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// registry is a data folder and the `larder serve` that runs on it.
type registry struct {
	data   string            // LARDER_DATA
	vars   map[string]string // what sourcing data/env sets; the same after a restart
	host   string            // LARDER_HOST, as module and provider addresses have it
	bucket string            // LARDER_BUCKET
	http   *http.Client      // trusts the registry's CA and nothing else that it would not trust anyway
	s3     *s3.Client

	process *exec.Cmd
	ended   chan struct{} // closed when process has ended
	exit    error         // how it ended, once ended is closed
}

// start runs a registry on a new data folder for as long as the test runs.
func start(t testing.TB) *registry {
	t.Helper()
	r := &registry{data: filepath.Join(t.TempDir(), "data")}
	r.resume(t)
	t.Cleanup(func() {
		r.kill()
		if t.Failed() {
			t.Logf("the registry's log ends:\n%s", r.logTail())
		}
	})
	return r
}

// common is the shared registry once a test has asked for it, and commonErr why it did not start.
var (
	common     *registry
	commonErr  error
	commonOnce sync.Once
)

// sharedRegistry returns the registry that all tests use which neither stop theirs nor need it empty. Each keeps to
// namespaces of its own.
func sharedRegistry(t testing.TB) *registry {
	t.Helper()
	commonOnce.Do(func() {
		common = &registry{data: filepath.Join(scratch, "shared")}
		commonErr = common.launch()
	})
	if commonErr != nil {
		t.Fatal(commonErr)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the shared registry's log ends:\n%s", common.logTail())
		}
	})
	return common
}

// stopShared ends the shared registry.
func stopShared() {
	if common != nil && commonErr == nil {
		common.kill()
	}
}

// resume starts the registry's process, again or for the first time, and waits until it serves.
func (r *registry) resume(t testing.TB) {
	t.Helper()
	if err := r.launch(); err != nil {
		t.Fatal(err)
	}
}

// launch starts the process on the addresses that it had before, or on free ones, and waits for its env file.
func (r *registry) launch() error {
	if err := os.Remove(r.envFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.OpenFile(r.data+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	cmd := exec.Command(larder, "serve")
	cmd.Dir = filepath.Dir(r.data)
	cmd.Env = environment(r.settings())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	r.process, r.ended = cmd, make(chan struct{})
	go func() {
		r.exit = cmd.Wait()
		close(r.ended)
	}()
	if err := r.awaitEnv(); err != nil {
		r.kill()
		return fmt.Errorf("larder serve: %w\n%s", err, r.logTail())
	}
	return r.connect()
}

// settings are the environment of `larder serve`.
func (r *registry) settings() map[string]string {
	settings := map[string]string{
		"LARDER_DATA":    r.data,
		"LARDER_ADDR":    "127.0.0.1:0",
		"LARDER_S3_ADDR": "127.0.0.1:0",
	}
	if r.host != "" {
		settings["LARDER_ADDR"] = r.host
		settings["LARDER_S3_ADDR"] = strings.TrimPrefix(r.vars["AWS_ENDPOINT_URL_S3"], "https://")
	}
	return settings
}

func (r *registry) envFile() string { return filepath.Join(r.data, "env") }

// awaitEnv waits until the process has written its env file, which it does when it serves.
func (r *registry) awaitEnv() error {
	deadline := time.After(patience)
	for {
		if _, err := os.Stat(r.envFile()); err == nil {
			return nil
		}
		select {
		case <-r.ended:
			return fmt.Errorf("it ended before it served: %v", r.exit)
		case <-deadline:
			return errors.New("no env file yet")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// connect reads the env file as a shell does and makes the clients that the tests speak through.
func (r *registry) connect() error {
	vars, err := source(r.envFile())
	if err != nil {
		return err
	}
	r.vars, r.host, r.bucket = vars, vars["LARDER_HOST"], vars["LARDER_BUCKET"]
	bundle, err := os.ReadFile(vars["SSL_CERT_FILE"])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("no certificate in %s", vars["SSL_CERT_FILE"])
	}
	r.http = &http.Client{
		Timeout:       patience,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r.s3 = s3.New(s3.Options{
		Region:       vars["AWS_REGION"],
		BaseEndpoint: aws.String(vars["AWS_ENDPOINT_URL_S3"]),
		Credentials:  credentials.NewStaticCredentialsProvider(vars["AWS_ACCESS_KEY_ID"], vars["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient:   r.http,
		UsePathStyle: true,
	})
	return nil
}

// source returns what sourcing an env file under `set -eu` sets. The shell that does it has an AWS profile and a
// session token, which must be gone afterwards.
func source(file string) (map[string]string, error) {
	stray := map[string]string{"AWS_PROFILE": "stray", "AWS_SESSION_TOKEN": "stray"}
	out, err := command{env: stray, argv: []string{"sh", "-euc", `. "$1"; env`, "sh", file}}.run()
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "LARDER_") || name == "SSL_CERT_FILE" {
			vars[name] = value
		}
	}
	return vars, nil
}

// stop ends the process as an operator does, and fails the test unless it ends cleanly.
func (r *registry) stop(t testing.TB) {
	t.Helper()
	if err := r.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.ended:
		if r.exit != nil {
			t.Fatalf("larder serve ended on SIGTERM with %v\n%s", r.exit, r.logTail())
		}
	case <-time.After(patience):
		t.Fatalf("larder serve runs on after SIGTERM\n%s", r.logTail())
	}
}

// kill ends the process at once, with all that it started: `kill -9`. Killing a dead one does nothing.
func (r *registry) kill() {
	select {
	case <-r.ended:
	default:
		_ = syscall.Kill(-r.process.Process.Pid, syscall.SIGKILL)
		<-r.ended
	}
}

// logTail returns the last lines of what the process wrote.
func (r *registry) logTail() []byte {
	const lines = 20
	log, _ := os.ReadFile(r.data + ".log")
	all := bytes.SplitAfter(log, []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], nil)
}
