package serve

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/localca"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/spf13/pflag"
)

func TestMain(m *testing.M) {
	// Roots of the machine have no part in the tests.
	os.Unsetenv("SSL_CERT_FILE")
	if os.Getenv(asOrigin) != "" {
		if err := serveAsOrigin(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// running is a node that serves.
type running struct {
	data     string
	out, log *logtest.Log
	stop     func() error
}

// localSettings are the defaults, on ports and a data folder of the test.
func localSettings(t *testing.T) settings.Settings {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil { // the test's own is for others, too
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	settings.AddFlags(flags)
	set, err := settings.Load(flags, []string{"LARDER_ADDR=127.0.0.1:0", "LARDER_S3_ADDR=127.0.0.1:0", "LARDER_DATA=" + data})
	if err != nil {
		t.Fatal(err)
	}
	set.Auth = settings.AuthOpen
	return set
}

// start starts a node and returns when it says that it serves. One at a time
// is possible in a process.
func start(t *testing.T, set settings.Settings) *running {
	t.Helper()
	return startNode(t, &node{settings: set})
}

// startNode starts a node that the test has prepared. It logs to the test.
func startNode(t *testing.T, n *node) *running {
	t.Helper()
	r := &running{data: n.settings.Data, out: &logtest.Log{}, log: &logtest.Log{}}
	n.logger = slog.New(slog.NewTextHandler(r.log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.run(ctx, r.out) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	r.await(t, ended)
	return r
}

// await returns when the node says that it serves, and has it stop with the test.
func (r *running) await(t *testing.T, ended chan error) {
	t.Helper()
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	for deadline := time.Now().Add(30 * time.Second); r.out.String() == ""; time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the node ended: %v\n%s", err, r.log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the node does not serve: %s", r.log)
		}
	}
}

// env returns a variable as a shell has it that sources the node's file.
func (r *running) env(t *testing.T, variable string) string {
	t.Helper()
	out, err := exec.Command("sh", "-euc", `. "$1"; printenv "$2"`, "test", filepath.Join(r.data, datadir.Env), variable).Output()
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return strings.TrimSpace(string(out))
}

// client trusts what a client does that has sourced the node's file.
func (r *running) client(t *testing.T) *http.Client {
	t.Helper()
	bundle, err := os.ReadFile(r.env(t, "SSL_CERT_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestServes(t *testing.T) {
	set := localSettings(t)
	r := start(t, set)
	host := r.env(t, "LARDER_HOST")
	response, err := r.client(t).Get("https://" + host + "/nothing/here")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusNotFound || !strings.HasPrefix(string(body), `{"errors":[`) {
		t.Errorf("%s: %s", response.Status, body)
	}
	bucket, err := r.client(t).Get(r.env(t, "AWS_ENDPOINT_URL_S3") + "/" + r.env(t, "LARDER_BUCKET"))
	if err != nil {
		t.Fatal(err)
	}
	bucket.Body.Close()
	if bucket.StatusCode != http.StatusForbidden {
		t.Errorf("anonymous access to the bucket: %s", bucket.Status)
	}
	for _, want := range []string{host, "LARDER_AUTH=open", set.Data, ". " + filepath.Join(set.Data, "env"), "aws s3 cp", `source = "` + host + `/acme/widget"`} {
		if !strings.Contains(r.out.String(), want) {
			t.Errorf("the banner does not say %q:\n%s", want, r.out)
		}
	}
	for _, secret := range []string{r.env(t, "AWS_SECRET_ACCESS_KEY"), "PRIVATE KEY"} {
		if strings.Contains(r.out.String()+r.log.String(), secret) {
			t.Errorf("a secret was printed")
		}
	}
}

// The log says who came, by either port: by the address that a trusted proxy names.
func TestClientsInTheLog(t *testing.T) {
	set := localSettings(t)
	set.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	r := start(t, set)
	for from, want := range map[string]string{"": "127.0.0.1", "198.51.100.7": "198.51.100.7"} {
		for url, line := range map[string]string{
			"https://" + r.env(t, "LARDER_HOST") + "/nothing?secret=1":          "msg=request method=GET path=/nothing status=404 bytes=44 client=" + want + " ",
			r.env(t, "AWS_ENDPOINT_URL_S3") + "/larder/registry/x.zip?secret=1": "msg=download key=registry/x.zip status=403 bytes=124 client=" + want + " ",
		} {
			request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if from != "" {
				request.Header.Set("X-Forwarded-For", from)
			}
			answer(t, r.client(t), request)
			r.log.Await(t, line)
		}
	}
	if strings.Contains(r.log.String(), "secret") {
		t.Errorf("a query is in the log:\n%s", r.log)
	}
}

func TestStopAndStartAgain(t *testing.T) {
	set := localSettings(t)
	first := start(t, set)
	key, secret := first.env(t, "AWS_ACCESS_KEY_ID"), first.env(t, "AWS_SECRET_ACCESS_KEY")
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(set.Data, datadir.Env)); !os.IsNotExist(err) {
		t.Errorf("after a stop, %v: the file tells of a node that does not serve", err)
	}
	before := files(t, set.Data)
	again := start(t, set)
	for name, was := range before {
		is, err := os.Stat(filepath.Join(set.Data, name))
		if err != nil || !os.SameFile(is, was) || !is.ModTime().Equal(was.ModTime()) && name != "lock" && name != datadir.Catalog {
			t.Errorf("%s was written anew, for which there may be no room (%v)", name, err)
		}
	}
	if again.env(t, "AWS_ACCESS_KEY_ID") != key || again.env(t, "AWS_SECRET_ACCESS_KEY") != secret {
		t.Error("other access keys after a restart")
	}
}

// A registry whose files are lost says so when it starts. A new one has lost nothing.
func TestLostFilesAreTold(t *testing.T) {
	set := localSettings(t)
	for _, lost := range []string{"", "", datadir.SigningKey, datadir.Access} {
		if lost != "" {
			if err := os.Remove(filepath.Join(set.Data, lost)); err != nil {
				t.Fatal(err)
			}
		}
		r := start(t, set)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, file := range []string{datadir.SigningKey, datadir.Access} {
			if strings.Contains(r.log.String(), "put the file back from a backup\" file="+filepath.Join(set.Data, file)) {
				told = append(told, file)
			}
		}
		if strings.Join(told, ", ") != lost {
			t.Errorf("without %q, %q are told as lost:\n%s", lost, told, r.log)
		}
	}
}

// files are those of a data folder, but for the bucket's.
func files(t *testing.T, data string) map[string]os.FileInfo {
	t.Helper()
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]os.FileInfo{}
	for _, e := range entries {
		if info, err := e.Info(); err != nil {
			t.Fatal(err)
		} else if info.Mode().IsRegular() {
			found[e.Name()] = info
		}
	}
	if len(found) < 8 {
		t.Fatalf("%d files are too few", len(found))
	}
	return found
}

func TestRunRefuses(t *testing.T) {
	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer occupied.Close()
	held, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	tests := []struct {
		name   string
		change func(*settings.Settings)
		says   string
	}{
		{"occupied registry address", func(c *settings.Settings) { c.Addr = occupied.Addr().String() }, "LARDER_ADDR"},
		{"occupied S3 address", func(c *settings.Settings) { c.S3Addr = occupied.Addr().String() }, "LARDER_S3_ADDR"},
		{"folder of another server", func(c *settings.Settings) { c.Data = held.Path("") }, "LARDER_DATA"},
		{"open to all interfaces, and nobody said so", func(c *settings.Settings) { c.Addr, c.Hostname = ":0", "registry.example.com" }, "LARDER_AUTH=open"},
		{"downloads from everybody's own machine", func(c *settings.Settings) {
			c.Addr, c.Hostname, c.Auth = ":0", "registry.example.com", settings.AuthRequired
		}, "LARDER_S3_URL"},
		{"missing certificate", func(c *settings.Settings) { c.TLSCert, c.TLSKey = "/nonexistent", "/nonexistent" }, "LARDER_TLS_CERT"},
	}
	for _, tt := range tests {
		set := localSettings(t)
		tt.change(&set)
		err := Run(t.Context(), set, slog.New(slog.DiscardHandler), io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want an error that names %s", tt.name, err, tt.says)
		}
		if set.Data == held.Path("") {
			continue
		}
		dir, err := datadir.Open(set.Data)
		if err != nil {
			t.Errorf("%s: the folder is still held: %v", tt.name, err)
			continue
		}
		dir.Close()
	}
}

// An operator may say that everybody may read who reaches the registry, and that
// nobody may without a token; a name of this machine's loopback needs no word.
func TestServesWhereOthersReachIt(t *testing.T) {
	for name, change := range map[string]func(*settings.Settings){
		"open, said": func(c *settings.Settings) { c.Addr, c.AuthSet, c.S3URL = ":0", true, "https://s3.example.com" },
		"required": func(c *settings.Settings) {
			c.Addr, c.Auth, c.S3URL = ":0", settings.AuthRequired, "https://s3.example.com"
		},
		"a name, and local": func(c *settings.Settings) { c.Addr = "localhost:0" },
	} {
		set := localSettings(t)
		set.Hostname = "registry.example.com"
		change(&set)
		if err := start(t, set).stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A node whose data others can read does not serve, and leaves it as it is.
func TestDataOfOthersIsRefused(t *testing.T) {
	set := localSettings(t)
	if err := start(t, set).stop(); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o777, datadir.SigningKey: 0o644, datadir.Access: 0o640, datadir.S3Credentials: 0o604} {
		path := filepath.Join(set.Data, name)
		before, err := os.Stat(path)
		if err == nil {
			err = os.Chmod(path, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
		err = Run(t.Context(), set, slog.New(slog.DiscardHandler), io.Discard)
		if err == nil || !strings.Contains(err.Error(), "chmod go= "+path) {
			t.Errorf("%q with mode %o: %v", name, mode, err)
		}
		if err := os.Chmod(path, before.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	if err := start(t, set).stop(); err != nil {
		t.Error(err)
	}
}

// The data of a node from before CAs had constraints, made as it was made then,
// serves on: with a new CA, of which the log tells once. What env trusts is the
// registry's names alone.
func TestUpgradeOfTheCA(t *testing.T) {
	set := localSettings(t)
	set.Hostname = "registry.example.com"
	if err := start(t, set).stop(); err != nil {
		t.Fatal(err)
	}
	old := oldCA(t, set.Data)
	for _, name := range []string{datadir.CACert, datadir.Bundle} { // for colleagues
		if err := os.Chmod(filepath.Join(set.Data, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, set)
	if log := r.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "new local CA") || !strings.Contains(log, `the_old_one_was_for="any name"`) {
		t.Errorf("the log does not tell of the new CA:\n%s", log)
	}
	bundle, err := os.ReadFile(r.env(t, "SSL_CERT_FILE"))
	if err != nil || bytes.Contains(bundle, old) {
		t.Errorf("env still trusts the old CA (%v)", err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dir, err := datadir.Open(set.Data)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := localca.Load(dir, time.Now(), set.CertificateHosts()...)
	if err != nil || ca.Replaced() != "" {
		t.Fatal(err, ca.Replaced())
	}
	for host, trusted := range map[string]bool{"registry.example.com": true, "127.0.0.1": true, "registry.terraform.io": false, "192.0.2.1": false} {
		issued, err := ca.Issue([]string{host}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(issued, issued)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); (err == nil) != trusted {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if r := start(t, set); strings.Contains(r.log.String(), "new local CA") {
		t.Error("it tells of it at the next start, too")
	}
}

// oldCA puts a CA for all names in the place of a node's, and returns its certificate.
func oldCA(t *testing.T, data string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "Larder local CA"}, SerialNumber: big.NewInt(1), NotBefore: time.Now(), NotAfter: time.Now().AddDate(9, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	both := slices.Concat(public, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	if err := os.WriteFile(filepath.Join(data, datadir.CA), both, 0o600); err != nil {
		t.Fatal(err)
	}
	return public
}

// operators writes a certificate for hosts that the local CA knows nothing of, with its
// key in the same file.
func operators(t *testing.T, at time.Time, hosts ...string) (cert, key string) {
	t.Helper()
	both := filepath.Join(t.TempDir(), "tls.pem")
	first, second := newAuthority(t, at, hosts...).issue(at, hosts...)
	if err := os.WriteFile(both, slices.Concat(first, second), 0o600); err != nil {
		t.Fatal(err)
	}
	return both, both
}

// presented returns the names in the certificate at an address.
func presented(t *testing.T, addr string) []string {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}) // the test looks at it, it does not trust it
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return names(conn.ConnectionState().PeerCertificates[0])
}

// distrusted has a client that trusts nobody come, and holds that the log says what to
// do about it.
func distrusted(t *testing.T, r *running, addr, advice string) {
	t.Helper()
	if conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: x509.NewCertPool()}); err == nil {
		conn.Close()
		t.Fatal("a client trusts a certificate that nobody vouches for")
	}
	r.log.Await(t, advice)
}

func TestOperatorsCertificate(t *testing.T) {
	tests := []struct {
		name     string
		hosts    []string
		inBucket bool // whether the bucket has it too
	}{
		{"for the registry", []string{"registry.example.com"}, false},
		{"for both", []string{"registry.example.com", "127.0.0.1"}, true},
	}
	for _, tt := range tests {
		set := localSettings(t)
		set.Hostname = "registry.example.com"
		set.TLSCert, set.TLSKey = operators(t, time.Now(), tt.hosts...)
		addr, err := net.Listen("tcp", "127.0.0.1:0") // to know the address, which the hostname hides
		if err != nil {
			t.Fatal(err)
		}
		set.Addr = addr.Addr().String()
		addr.Close()
		r := start(t, set)
		distrusted(t, r, set.Addr, "authority that issued the certificate in "+set.TLSCert)
		if tt.inBucket {
			distrusted(t, r, strings.TrimPrefix(r.env(t, "AWS_ENDPOINT_URL_S3"), "https://"), "authority that issued the certificate in "+set.TLSCert)
		} else {
			distrusted(t, r, strings.TrimPrefix(r.env(t, "AWS_ENDPOINT_URL_S3"), "https://"), "have it trust the certificate in "+filepath.Join(set.Data, datadir.CACert))
		}
		if says := strings.Contains(r.out.String(), "clients must trust: "+filepath.Join(set.Data, datadir.CACert)+"\n"); says == tt.inBucket {
			t.Errorf("%s: the banner is\n%s", tt.name, r.out)
		}
		if got := r.env(t, "LARDER_HOST"); got != set.Hostname {
			t.Errorf("%s: host %q", tt.name, got)
		}
		if got := presented(t, set.Addr); len(got) != len(tt.hosts) {
			t.Errorf("%s: the registry has the certificate for %q", tt.name, got)
		}
		bucket := strings.TrimPrefix(r.env(t, "AWS_ENDPOINT_URL_S3"), "https://")
		if got := presented(t, bucket); (len(got) == len(tt.hosts)) != tt.inBucket {
			t.Errorf("%s: the bucket has the certificate for %q", tt.name, got)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOperatorsCertificateIsRefused(t *testing.T) {
	tests := []struct {
		name, says string
		at         time.Time
		hosts      []string
	}{
		{"for another host", "LARDER_HOSTNAME", time.Now(), []string{"other.example.com", "10.0.0.1"}},
		{"ended", "ended on", time.Now().AddDate(-1, 0, 0), []string{"127.0.0.1"}},
	}
	for _, tt := range tests {
		set := localSettings(t)
		set.TLSCert, set.TLSKey = operators(t, tt.at, tt.hosts...)
		err := Run(t.Context(), set, slog.New(slog.DiscardHandler), io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), set.TLSCert) {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

func TestCertificatesAreRenewed(t *testing.T) {
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	now := time.Now()
	certs, err := loadCertificates(dir, localSettings(t), slog.New(slog.DiscardHandler), now)
	if err != nil {
		t.Fatal(err)
	}
	get := func(at time.Time) *x509.Certificate {
		if _, err := certs.refresh(at); err != nil {
			t.Fatal(err)
		}
		cert, err := certs.tlsConfig().GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return cert.Leaf
	}
	first := get(now)
	if !get(now.AddDate(0, 0, 30)).Equal(first) {
		t.Error("renewed long before its end")
	}
	due := first.NotAfter.AddDate(0, 0, -15)
	second := get(due)
	if second.Equal(first) || !second.NotAfter.After(first.NotAfter) {
		t.Error("not renewed before its end")
	}
	if !get(due).Equal(second) {
		t.Error("renewed twice")
	}
}

// The banner says who may read, and what those need who want to.
func TestBanner(t *testing.T) {
	const command = "  # a token, for a credentials \"registry.example.com\" block of the CLI configuration\n  larder token create --data /d --name NAME --scope \"read *\"\n  . env\n"
	for name, test := range map[string]struct {
		banner    banner
		says, not []string
	}{
		"open":     {banner{Open: true}, []string{"everyone who can connect (LARDER_AUTH=open)\n\nNext, in another terminal:\n\n  . env\n"}, []string{"token", "log in"}},
		"required": {banner{}, []string{", where clients download, too\n  data  ", "who has a token (LARDER_AUTH=required)\n\n", command}, []string{"everyone", "log in"}},
		"local CA": {banner{TrustedBy: "/d/ca.pem"}, []string{", where clients download, too\n                          with a certificate of the local CA, which clients must trust: /d/ca.pem\n  data  "}, nil},
		"login":    {banner{Login: "https://login.example.com"}, []string{"(LARDER_AUTH=required)\n  people log in at        https://login.example.com\n\n", command}, []string{"everyone"}},
	} {
		test.banner.Host, test.banner.Env, test.banner.Token = "registry.example.com", "env", "larder token create --data /d"
		var out bytes.Buffer
		if err := writeBanner(&out, test.banner); err != nil {
			t.Fatal(err)
		}
		for _, want := range test.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: the banner does not say %q:\n%s", name, want, &out)
			}
		}
		for _, unwanted := range test.not {
			if strings.Contains(out.String(), unwanted) {
				t.Errorf("%s: the banner says %q:\n%s", name, unwanted, &out)
			}
		}
	}
}

// What an earlier release has left in the bucket's folder keeps no upload from its
// outcome.
func TestOldOutcomeIsNotInTheWay(t *testing.T) {
	const key = "modules/acme/vpc/aws/1.0.0.tgz"
	n := &node{settings: localSettings(t)}
	r := startNode(t, n)
	if err := os.MkdirAll(filepath.Join(r.data, datadir.S3, locals3.Bucket, registry.OutcomeKey(key), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := n.blobs.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		body, _, err := n.blobs.Open(t.Context(), registry.OutcomeKeyByHash(key), "")
		if err == nil {
			body.Close()
			return
		}
		if !errors.Is(err, registry.ErrNotFound) || time.Now().After(deadline) {
			t.Fatalf("%v\n%s", err, r.log)
		}
	}
}
