package front

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/ttlcache"
)

// The log explains in words why real clients send no request.
func TestHandshakesThatFailInWords(t *testing.T) {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := &logtest.Log{}
	read := 0 // of the log
	line := func() string {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			if first, _, whole := strings.Cut(log.String()[read:], "\n"); whole {
				read += len(first) + len("\n")
				return first
			}
			if time.Now().After(deadline) {
				t.Fatal("nothing is logged")
			}
		}
	}
	s := Open(Options{Name: "the test", Listener: listener, Handler: http.NotFoundHandler(), Untrusted: "trust ca.pem",
		TLS:    &tls.Config{MinVersion: tls.VersionTLS12, Certificates: certified.TLS.Certificates},
		Logger: logtest.Timeless(log)})
	defer s.Close()
	at := listener.Addr().String()
	shake := func(config *tls.Config) error {
		conn, err := tls.Dial("tcp", at, config)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
	raw := func(send string) func() error {
		return func() error {
			conn, err := net.Dial("tcp", at)
			if err != nil {
				return err
			}
			defer conn.Close()
			if send == "" {
				return fmt.Errorf("gone")
			}
			if _, err := io.WriteString(conn, send); err != nil {
				return err
			}
			_, _ = io.ReadAll(conn) // until the server closes it
			return fmt.Errorf("refused")
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(certified.Certificate())
	for _, tt := range []struct {
		name string
		dial func() error
		want string
	}{
		{"no trust", func() error { return shake(&tls.Config{}) },
			`level=WARN msg="a client refuses this server's certificate, as a rule because it does not trust it, else because it asked for another host name: trust ca.pem" client=127.0.0.1 error="remote error: tls: bad certificate"`},
		{"no trust by TLS 1.2", func() error {
			return shake(&tls.Config{MaxVersion: tls.VersionTLS12, ServerName: "x.invalid", RootCAs: roots})
		}, ""}, // it was just said
		{"HTTP", raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
			`level=WARN msg="a client sent a request without TLS: its URL must begin with https://" client=127.0.0.1 error="client sent an HTTP request to an HTTPS server"`},
		{"SSH", raw("SSH-2.0-client\r\n"),
			`level=WARN msg="a client does not speak TLS" client=127.0.0.1 error="tls: first record does not look like a TLS handshake"`},
		{"old", func() error {
			return shake(&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		},
			`level=WARN msg="a client is too old: it must speak TLS 1.2 or 1.3" client=127.0.0.1 error="tls: client offered only unsupported versions: [302 301]"`},
		{"gone", raw(""),
			`level=WARN msg="a client went away before TLS began, as health checks and port scans do" client=127.0.0.1 error=EOF`},
		{"no common cipher", func() error {
			return shake(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}})
		}, `level=WARN msg="a TLS handshake failed" client=127.0.0.1 error="tls: no cipher suite supported by both client and server"`},
	} {
		if err := tt.dial(); err == nil {
			t.Errorf("%s: the handshake did not fail", tt.name)
		}
		if tt.want == "" {
			continue
		}
		got := regexp.MustCompile(`; .*"$`).ReplaceAllString(line(), `"`) // detail of newer Go
		if got != tt.want {
			t.Errorf("%s: the log says\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// What other clients than those of Go say of a certificate is told in words, too.
func TestAlertsInWords(t *testing.T) {
	e := &errorLog{untrusted: "trust ca.pem"}
	const refuses = "a client refuses this server's certificate, as a rule because it does not trust it, else because it asked for another host name: trust ca.pem"
	const openSSL = "a client has broken the TLS handshake off, as a rule because it does not trust this server's certificate: trust ca.pem"
	if got := e.inWords("local error: tls: bad record MAC"); got != openSSL {
		t.Errorf("bad record MAC: %q", got)
	}
	for alert, want := range map[string]string{
		"unknown certificate authority": "a client does not trust this server's certificate: trust ca.pem",
		"bad certificate":               refuses,
		"unknown certificate":           refuses,
		"expired certificate":           "a client takes this server's certificate for one that has ended: renew it, or set the client's clock",
		"internal error":                "a TLS handshake failed",
	} {
		if got := e.inWords("remote error: tls: " + alert); got != want {
			t.Errorf("%s: %q", alert, got)
		}
	}
}

// What is said of an address is said again after an hour, and of thousands of them not
// more is remembered than there is room for.
func TestHandshakesThatFailOnceAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		written := func() int { defer b.Reset(); return strings.Count(b.String(), "\n") }
		e := newErrorLog(slog.New(slog.NewTextHandler(&b, nil)), "")
		fail := func(from, why string) { e.Printf("http: TLS handshake error from %s: %s", from, why) }
		for range 3 {
			fail("192.0.2.1:1", "EOF")
			fail("192.0.2.1:2", "read tcp 192.0.2.9:8443->192.0.2.1:2: connection reset by peer")
			fail("192.0.2.1:3", "remote error: tls: unknown certificate authority")
			fail("192.0.2.2:1", "EOF")
		}
		if got := written(); got != 3 {
			t.Errorf("%d lines of two addresses, want 3", got)
		}
		time.Sleep(sayAgain - time.Second)
		if fail("192.0.2.1:1", "EOF"); written() != 0 {
			t.Error("it is said again before the hour is over")
		}
		time.Sleep(time.Second)
		if fail("192.0.2.1:1", "EOF"); written() != 1 {
			t.Error("it is not said again after an hour")
		}
		full, remembered := &errorLog{said: ttlcache.New[said, struct{}](maxSaid)}, 0
		for i := range 2 * maxSaid {
			if !full.isNew(said{fmt.Sprint(i), ""}) {
				t.Fatalf("the %dth is not new", i)
			}
		}
		for i := range 2 * maxSaid {
			if _, ok := full.said.Get(said{fmt.Sprint(i), ""}, time.Now()); ok {
				remembered++
			}
		}
		if remembered != maxSaid {
			t.Errorf("%d are remembered, want %d", remembered, maxSaid)
		}
	})
}
