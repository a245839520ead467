// Package s3test starts a real S3 for tests: a gateway on a loopback port over a temporary folder,
// with one versioned bucket. It also plays the users, who reach the bucket without the registry.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
)

const (
	startTimeout = 30 * time.Second
	portAttempts = 5 // another process may take the free port that was found

	maxCopy     = 5 << 30 // bytes, as on S3
	maxRequests = 1024
	maxParts    = 10_000 // as on S3
)

// Server is a running S3. Its bucket's credentials may do everything.
type Server struct {
	Endpoint  string // http://127.0.0.1:<port>; the bucket is in the path
	Region    string
	AccessKey string
	SecretKey string
	Bucket    string // versioned, and empty at first
}

// Start starts an S3 that stops when the test ends. The gateway keeps its state in globals and in
// the working directory. So there is only one at a time, a test that starts one cannot be
// parallel, and the working directory is changed until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartIn(t, t.TempDir())
}

// StartIn is Start with a folder in which it keeps all data. It also has the data of an earlier
// one in the folder.
func StartIn(t testing.TB, dir string) *Server {
	t.Helper()
	s := &Server{Region: "us-east-1", AccessKey: "test", SecretKey: "test-secret", Bucket: "larder-test"}
	var err error
	for range portAttempts {
		if err = s.start(t, dir); err == nil {
			if _, missing := os.Stat(filepath.Join(dir, objectsFolder, s.Bucket)); missing != nil {
				s.createBucket(t)
			}
			return s
		}
	}
	t.Fatalf("start the gateway: %v", err)
	return nil
}

// start serves until the test ends, or returns why it cannot.
func (s *Server) start(t testing.TB, dir string) error {
	backend, err := newBackend(t, dir)
	if err != nil {
		return err
	}
	address, err := freePort()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	listening, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- embedgw.RunVersityGW(ctx, backend, &embedgw.Config{
			RootUserAccess:    s.AccessKey,
			RootUserSecret:    s.SecretKey,
			Region:            s.Region,
			Ports:             []string{address},
			MaxConnections:    maxRequests,
			MaxRequests:       maxRequests,
			MultipartMaxParts: maxParts,
			Quiet:             true,
			S3Options:         []s3api.Option{s3api.WithOnListen(func() { close(listening) })},
		})
	}()
	select {
	case <-listening:
	case err := <-done:
		stop()
		return err
	case <-time.After(startTimeout):
		stop()
		return errors.Join(fmt.Errorf("not listening after %v", startTimeout), <-done)
	}
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("stop the gateway: %v", err)
		}
	})
	s.Endpoint = "http://" + address
	return nil
}

// objectsFolder is the folder of the current versions of all objects.
const objectsFolder = "objects"

// newBackend keeps objects in a folder, and their metadata in extended
// attributes: the gateway's other way, files beside the objects, gives a new
// version the tags of the one before.
func newBackend(t testing.TB, dir string) (*posix.Posix, error) {
	objects, versions := filepath.Join(dir, objectsFolder), filepath.Join(dir, "versions")
	for _, folder := range []string{objects, versions} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	if err := (meta.XattrMeta{}).Test(objects); err != nil {
		return nil, fmt.Errorf("%w: set TMPDIR to a folder on one that has them", err)
	}
	t.Chdir(objects) // the gateway would do so itself, and for good
	return posix.New(objects, meta.XattrMeta{}, posix.PosixOpts{VersioningDir: versions, CopyObjectThreshold: maxCopy})
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
