package localca

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func openDir(t *testing.T) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func load(t *testing.T, dir *datadir.Dir, at time.Time, hosts ...string) *CA {
	t.Helper()
	ca, err := Load(dir, at, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func issue(t *testing.T, ca *CA, at time.Time, hosts ...string) *x509.Certificate {
	t.Helper()
	data, err := ca.Issue(hosts, at)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

// verify is what a client does that trusts ca alone.
func verify(ca *CA, leaf *x509.Certificate, host string, at time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertificatePEM())
	_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: at})
	return err
}

func TestIssue(t *testing.T) {
	ca := load(t, openDir(t), now, "registry.example.com")
	leaf := issue(t, ca, now, "127.0.0.1", "::1", "localhost", "registry.example.com")
	for _, host := range []string{"127.0.0.1", "::1", "localhost", "registry.example.com"} {
		if err := verify(ca, leaf, host, now); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"127.0.0.2", "example.com", "a.registry.example.com"} {
		if err := verify(ca, leaf, host, now); err == nil {
			t.Errorf("%s: accepted", host)
		}
	}
	if err := verify(load(t, openDir(t), now), leaf, "localhost", now); err == nil {
		t.Error("accepted by a client that trusts another CA")
	}
	if leaf.IsCA {
		t.Error("a server certificate may sign others")
	}
}

func TestLifetimes(t *testing.T) {
	ca := load(t, openDir(t), now)
	const day = 24 * time.Hour
	leaf := issue(t, ca, now, "localhost")
	if got := leaf.NotAfter.Sub(leaf.NotBefore); got >= 398*day {
		t.Errorf("a server certificate is valid for %v, some clients take less than 398 days", got)
	}
	if !leaf.NotAfter.Add(-renewBefore).After(now) {
		t.Error("a new server certificate is due for renewal at once")
	}
	almost := now.AddDate(9, 11, 20)
	if err := verify(ca, issue(t, ca, almost, "localhost"), "localhost", almost); err != nil {
		t.Errorf("before the CA's end: %v", err)
	}
	if last := issue(t, ca, almost, "localhost"); last.NotAfter.After(ca.cert.NotAfter) {
		t.Errorf("a server certificate ends at %v, after its CA (%v)", last.NotAfter, ca.cert.NotAfter)
	}
}

// A certificate is found good again as long as it is the one that would be issued,
// and not yet due for another.
func TestDue(t *testing.T) {
	dir := openDir(t)
	ca, other := load(t, dir, now, "registry.example.com"), load(t, openDir(t), now, "registry.example.com")
	hosts := []string{"127.0.0.1", "::1", "Registry.example.com"}
	issued, err := ca.Issue(hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	due := now.Add(leafLifetime - renewBefore)
	for _, tt := range []struct {
		name   string
		ca     *CA
		issued []byte
		hosts  []string
		at     time.Time
		good   bool
	}{
		{"as it was issued", ca, issued, hosts, now, true},
		{"after a restart", load(t, dir, now, "registry.example.com"), issued, hosts, now, true},
		{"names in another order", ca, issued, []string{"registry.example.com", "::1", "127.0.0.1"}, now, true},
		{"on the last day", ca, issued, hosts, due, true},
		{"due", ca, issued, hosts, due.Add(time.Second), false},
		{"ended", ca, issued, hosts, now.AddDate(1, 0, 0), false},
		{"when it begins", ca, issued, hosts, now.Add(-skew), true},
		{"before it begins", ca, issued, hosts, now.Add(-skew - time.Second), false},
		{"of another CA", other, issued, hosts, now, false},
		{"a name more", ca, issued, append([]string{"localhost"}, hosts...), now, false},
		{"a name less", ca, issued, hosts[:2], now, false},
		{"an address less", ca, issued, hosts[1:], now, false},
		{"no key", ca, issued[:bytes.Index(issued, []byte("-----BEGIN PRIVATE"))], hosts, now, false},
		{"nothing", ca, nil, hosts, now, false},
	} {
		got, good := tt.ca.Due(tt.issued, tt.hosts, tt.at)
		if good != tt.good || good && !got.Equal(due) {
			t.Errorf("%s: %v, %t, want %v, %t", tt.name, got, good, due, tt.good)
		}
	}
}

func TestLoadFindsTheSameAgain(t *testing.T) {
	dir := openDir(t)
	first := load(t, dir, now)
	if err := dir.Remove(datadir.CACert); err != nil { // as if killed between the two files
		t.Fatal(err)
	}
	again := load(t, dir, now.AddDate(1, 0, 0))
	if !first.cert.Equal(again.cert) {
		t.Error("another CA after a restart")
	}
	public, err := os.ReadFile(dir.Path(datadir.CACert))
	if err != nil || !bytes.Equal(public, first.CertificatePEM()) {
		t.Errorf("the certificate beside it: %q, %v", public, err)
	}
	if bytes.Contains(public, []byte("PRIVATE")) {
		t.Error("the certificate for others holds a private key")
	}
	for _, name := range []string{datadir.CA, datadir.CACert} {
		if info, err := os.Stat(dir.Path(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, want mode 600", name, info.Mode(), err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	ended := openDir(t)
	load(t, ended, now)
	damaged := openDir(t)
	if err := damaged.WriteFile(datadir.CA, []byte("not PEM")); err != nil {
		t.Fatal(err)
	}
	notCA := openDir(t)
	leaf, err := load(t, openDir(t), now).Issue([]string{"localhost"}, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := notCA.WriteFile(datadir.CA, leaf); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]*datadir.Dir{"ended": ended, "damaged": damaged, "not a CA": notCA} {
		_, err := Load(dir, now.AddDate(11, 0, 0))
		if err == nil || !strings.Contains(err.Error(), dir.Path(datadir.CA)) {
			t.Errorf("%s: got %v, want an error that names the file", name, err)
		}
	}
}
