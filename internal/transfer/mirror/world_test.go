package mirror

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/internal/transfer/netmirror"
	"github.com/larder-registry/larder/internal/transfer/upload"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/protocol"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/upstream"
)

// long is more time than any of this takes.
const long = time.Minute

// filesHost is where a world's archives are.
const filesHost = "files.example.com"

// world is a whole registry over a real S3. It answers as whatever host it is asked:
// as the origin of its providers, and as a mirror.
type world struct {
	*testing.T
	inbox     *upload.Inbox
	bucket    *s3blob.Bucket
	transport http.RoundTripper // on which every host is this registry
	damage    func(path string, body []byte) []byte
}

// newWorld starts a registry of a hostname, under which it mirrors nothing.
func newWorld(t *testing.T, hostname string) *world {
	t.Helper()
	server := s3test.Start(t)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "AWS_ENDPOINT_URL_S3": server.Endpoint, "AWS_REGION": server.Region,
		"AWS_ACCESS_KEY_ID": server.AccessKey, "AWS_SECRET_ACCESS_KEY": server.SecretKey,
	} {
		t.Setenv(name, value)
	}
	w := &world{T: t, damage: func(_ string, body []byte) []byte { return body }}
	w.inbox = must(upload.Open(t.Context(), upload.Options{Bucket: server.Bucket, Timeout: long}))(t)
	w.bucket = must(s3blob.New(s3blob.Config{
		Bucket: server.Bucket, Region: server.Region, Endpoint: server.Endpoint, PathStyle: true,
		Credentials: s3blob.StaticCredentials(server.AccessKey, server.SecretKey),
	}))(t)
	index := must(boltcatalog.Open(filepath.Join(t.TempDir(), "catalog")))(t)
	key := must(signing.NewKey(t.Context(), must(rsa.GenerateKey(rand.Reader, 2048))(t), time.Now().Add(-time.Hour), "test"))(t)
	quiet := slog.New(slog.DiscardHandler)
	publisher := publishing.New(publishing.Config{
		Bucket: w.bucket, Index: index, Signer: key, Scratch: t.TempDir(), Logger: quiet, Hostname: hostname,
	})
	w.serve(protocol.New(protocol.Config{
		Reader: catalog.NewReader(catalog.ReaderConfig{Catalog: index, Logger: quiet}), Presigner: presigner{}, Hostname: hostname, Logger: quiet,
		Open: true,
	}))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.publishAll(ctx, publisher) })
	t.Cleanup(func() { cancel(); running.Wait(); index.Close() })
	return w
}

// must is the value that there is without an error.
func must[V any](value V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// presigner gives the URLs of archives on filesHost.
type presigner struct{}

func (presigner) PresignGet(_ context.Context, key string) (string, error) {
	return "https://" + filesHost + "/" + key, nil
}

// serve answers on the world's transport.
func (w *world) serve(handler http.Handler) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(response http.ResponseWriter, r *http.Request) {
		if r.Host != filesHost {
			r.Header.Del("Accept-Encoding") // so that an answer can be damaged
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, r)
			response.Header().Set("Content-Type", recorder.Header().Get("Content-Type"))
			response.WriteHeader(recorder.Code)
			_, _ = response.Write(w.damage(r.URL.Path, recorder.Body.Bytes()))
			return
		}
		content, _, err := w.bucket.Open(r.Context(), strings.TrimPrefix(r.URL.Path, "/"), "")
		if err != nil {
			response.WriteHeader(http.StatusForbidden)
			return
		}
		defer content.Close()
		body, err := io.ReadAll(content)
		if err != nil {
			w.Error(err)
		}
		_, _ = response.Write(w.damage(r.URL.Path, body))
	}))
	w.Cleanup(server.Close)
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // whatever the host, it is the server
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	w.transport = transport
	w.Cleanup(transport.CloseIdleConnections)
}

// publishAll publishes every upload until the context ends.
func (w *world) publishAll(ctx context.Context, publisher publishing.Registry) {
	seen := map[string]bool{}
	for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		for object, err := range w.bucket.Versions(ctx, "", "") {
			if ctx.Err() != nil || err != nil {
				break
			}
			if id := object.Key + " " + object.Version; !seen[id] && !strings.HasPrefix(object.Key, registry.Prefix) {
				seen[id] = true
				if err := publisher.PublishKey(ctx, object.Key); err != nil && ctx.Err() == nil {
					w.Errorf("publish %s: %v", object.Key, err)
				}
			}
		}
	}
}

// own publishes packages of the registry's own provider acme/widget, named
// version_os_arch.
func (w *world) own(names ...string) {
	w.Helper()
	dir := w.TempDir()
	var paths []string
	for _, name := range names {
		path := filepath.Join(dir, "terraform-provider-widget_"+name+".zip")
		if err := os.WriteFile(path, archivetest.Provider(w.T, "terraform-provider-widget", name), 0o600); err != nil {
			w.Fatal(err)
		}
		paths = append(paths, path)
	}
	files := must(upload.Release("acme/widget", paths))(w.T)
	if _, err := w.inbox.Publish(w.Context(), files, io.Discard, quiet()); err != nil {
		w.Fatal(err)
	}
}

func quiet() *progress.Progress { return progress.New(io.Discard, false) }

func (w *world) origin() *upstream.Client {
	return upstream.New(upstream.Config{Transport: w.transport})
}

// mirror is the client of the world's own mirror.
func (w *world) mirror() *netmirror.Client {
	base, _, err := netmirror.ParseBase("larder.example.com")
	if err != nil {
		w.Fatal(err)
	}
	return netmirror.New(netmirror.Options{Base: base, Transport: w.transport})
}

// mirrored is the packages, as version_os_arch, that the mirror has of a provider.
func (w *world) mirrored(address string) string {
	w.Helper()
	c := must(ParseChoice(address, ""))(w.T)
	versions, err := w.mirror().Versions(w.Context(), c.Address)
	if errors.Is(err, registry.ErrNotFound) {
		return ""
	} else if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, v := range versions {
		for _, a := range must(w.mirror().Archives(w.Context(), c.Address, v))(w.T) {
			names = append(names, v.String()+"_"+a.Platform.String())
		}
	}
	return strings.Join(names, " ")
}
