package localca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
)

// Whoever trusts the CA trusts it for the names of the node, whatever its key
// signs, and may not overlook that.
func TestConstrained(t *testing.T) {
	ca := load(t, openDir(t), now, "Registry.example.com", "192.0.2.7", "2001:db8::7")
	if !ca.cert.PermittedDNSDomainsCritical || len(ca.cert.PermittedIPRanges) != 4 || len(ca.cert.PermittedDNSDomains) != 2 {
		t.Errorf("for %v and %v, critical %v", ca.cert.PermittedDNSDomains, ca.cert.PermittedIPRanges, ca.cert.PermittedDNSDomainsCritical)
	}
	for host, trusted := range map[string]bool{
		"registry.example.com": true, "localhost": true, "127.0.0.1": true, "::1": true, "192.0.2.7": true, "2001:db8::7": true,
		"registry.terraform.io": false, "example.com": false, "badregistry.example.com": false,
		"127.0.0.2": false, "192.0.2.8": false, "2001:db8::8": false, "10.0.0.1": false,
	} {
		if err := verify(ca, issue(t, ca, now, host), host, now); (err == nil) != trusted {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// unconstrained is the CA of a node from before CAs had constraints.
func unconstrained(t *testing.T, dir *datadir.Dir, change func(*x509.Certificate)) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Larder local CA 01234567"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	change(template)
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	data, err := encode(cert, key)
	if err == nil {
		err = dir.WriteFile(datadir.CA, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A CA for other names than the node has, or for all, is replaced, and its key is
// gone. One for the same names stays, in whatever order they come.
func TestReplaced(t *testing.T) {
	all := func(c *x509.Certificate) {
		c.PermittedDNSDomains = []string{"localhost", "registry.example.com"}
		for _, host := range []string{"127.0.0.1", "::1"} {
			ip := net.ParseIP(host)
			if v4 := ip.To4(); v4 != nil {
				ip = v4
			}
			c.PermittedIPRanges = append(c.PermittedIPRanges, &net.IPNet{IP: ip, Mask: net.CIDRMask(8*len(ip), 8*len(ip))})
		}
	}
	tests := []struct {
		name string
		was  func(*x509.Certificate)
		want string // what it was for; empty for no other CA
	}{
		{"the same", func(c *x509.Certificate) { all(c); c.PermittedDNSDomainsCritical = true }, ""},
		{"for all names", func(*x509.Certificate) {}, "any name"},
		{"constraints that need not be obeyed", all, "any name"},
		{"a network", func(c *x509.Certificate) {
			all(c)
			c.PermittedDNSDomainsCritical = true
			c.PermittedIPRanges[0].Mask = net.CIDRMask(8, 32)
		}, "any name"},
		{"names alone", func(c *x509.Certificate) {
			all(c)
			c.PermittedDNSDomainsCritical, c.PermittedIPRanges = true, nil
		}, "localhost, registry.example.com"},
		{"another name", func(c *x509.Certificate) {
			all(c)
			c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"localhost", "old.example.com"}
		}, "localhost, old.example.com, 127.0.0.1, ::1"},
		{"one name more", func(c *x509.Certificate) {
			all(c)
			c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, append(c.PermittedDNSDomains, "x.example.com")
		}, "localhost, registry.example.com, x.example.com, 127.0.0.1, ::1"},
	}
	for _, tt := range tests {
		dir := openDir(t)
		old := unconstrained(t, dir, tt.was)
		ca := load(t, dir, now, "registry.example.com", "127.0.0.1")
		kept, err := os.ReadFile(dir.Path(datadir.CA))
		if err != nil {
			t.Fatal(err)
		}
		if same := string(kept) == string(old); same != (tt.want == "") || ca.Replaced() != tt.want {
			t.Errorf("%s: the same %v, took the place of one for %q, want %q", tt.name, same, ca.Replaced(), tt.want)
		}
		if err := verify(ca, issue(t, ca, now, "registry.example.com"), "registry.example.com", now); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if again := load(t, dir, now, "127.0.0.1", "localhost", "REGISTRY.example.com"); !again.cert.Equal(ca.cert) || again.Replaced() != "" {
			t.Errorf("%s: replaced at the next start, too (%s)", tt.name, again.Replaced())
		}
		if public, err := os.ReadFile(dir.Path(datadir.CACert)); err != nil || string(public) != string(ca.CertificatePEM()) {
			t.Errorf("%s: another certificate lies beside it (%v)", tt.name, err)
		}
	}
}

// Programs that are not written in Go take the chain by name and by address, and
// refuse what the CA may not sign: those of the AWS CLI and of curl.
func TestOtherClients(t *testing.T) {
	ca := load(t, openDir(t), time.Now(), "registry.example.com")
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, ca.CertificatePEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	const python = `import http.client, socket, ssl, sys
host, port = sys.argv[1], int(sys.argv[2])
context = ssl.create_default_context(cafile=sys.argv[3])
with context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname=host) as s:
    s.sendall(b"GET / HTTP/1.0\r\n\r\n")
    print(s.recv(99))`
	clients := map[string]func(host, port string) []string{
		"curl": func(host, port string) []string {
			return []string{"--silent", "--show-error", "--fail", "--noproxy", "*", "--cacert", file, "--connect-to", host + ":" + port + ":127.0.0.1:" + port, "https://" + host + ":" + port}
		},
		"python3": func(host, port string) []string { return []string{"-c", python, host, port, file} },
	}
	for name, arguments := range clients {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Logf("there is no %s", name)
			continue
		}
		for host, trusted := range map[string]bool{"127.0.0.1": true, "registry.example.com": true, "localhost": true, "registry.terraform.io": false, "192.0.2.1": false} {
			issued, err := ca.Issue([]string{host}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			pair, err := tls.X509KeyPair(issued, issued)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			server.Config.ErrorLog = nil
			server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
			server.StartTLS()
			_, port, err := net.SplitHostPort(server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), program, arguments(host, port)...).CombinedOutput()
			server.Close()
			if (err == nil) != trusted {
				t.Errorf("%s, %s: %v %s", name, host, err, out)
			}
			if !trusted && !strings.Contains(string(out), "certificate") {
				t.Errorf("%s, %s: refused for another reason: %s", name, host, out)
			}
		}
	}
}
