package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/localca"
	"github.com/larder-registry/larder/internal/node/settings"
)

// authority issues what an operator brings.
type authority struct {
	t  *testing.T
	ca *localca.CA
}

func newAuthority(t *testing.T, at time.Time, hosts ...string) authority {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "ca"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ca, err := localca.Load(dir, at, hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return authority{t, ca}
}

// issue returns a certificate and its key.
func (a authority) issue(at time.Time, hosts ...string) (cert, key []byte) {
	a.t.Helper()
	both, err := a.ca.Issue(hosts, at)
	if err != nil {
		a.t.Fatal(err)
	}
	end := []byte("-----END CERTIFICATE-----\n")
	cert, key, _ = bytes.Cut(both, end)
	return append(cert, end...), key
}

// bring writes a certificate and its key to files, and returns its serial number.
func (a authority) bring(certFile, keyFile string, at time.Time, hosts ...string) (serial string) {
	a.t.Helper()
	cert, key := a.issue(at, hosts...)
	pair, err := tls.X509KeyPair(cert, key)
	if err := errors.Join(err, os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		a.t.Fatal(err)
	}
	return pair.Leaf.SerialNumber.String()
}

// A certificate in two files is used as soon as both fit together, and the one before
// until then.
func TestBroughtCertificate(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	is := newAuthority(t, now, "registry.example.com", "s3.example.com", "other.example.com")
	folder := t.TempDir()
	set := settings.Settings{Addr: "192.0.2.1:443", Hostname: "registry.example.com", S3URL: "https://s3.example.com",
		TLSCert: filepath.Join(folder, "tls.crt"), TLSKey: filepath.Join(folder, "tls.key")}
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	both := []string{"registry.example.com", "s3.example.com"}
	is.bring(set.TLSCert, set.TLSKey, now, both...)
	var log bytes.Buffer
	b, err := openBrought(set, logtest.Timeless(&log), now)
	if err != nil {
		t.Fatal(err)
	}
	sees := func(what, want string) {
		t.Helper()
		want = strings.NewReplacer("CERT", set.TLSCert, "KEY", set.TLSKey).Replace(want)
		got := log.String()
		log.Reset()
		if got != want {
			t.Errorf("%s: the log says\n%swant\n%s", what, got, want)
		}
	}
	const stays = `level=ERROR msg="the certificate files are no good, so the certificate before them stays; they are read again every minute" error=`
	apart := stays + `"the certificate in CERT and the key in KEY cannot be used together: tls: private key does not match public key"` + "\n"
	look := func(what string, renewed bool, want string) {
		t.Helper()
		now = now.Add(time.Minute)
		before := b.current.Load().pair.Leaf
		if got := b.look(now); got != renewed || b.current.Load().pair.Leaf.Equal(before) == renewed {
			t.Errorf("%s: renewed %t, want %t", what, got, renewed)
		}
		sees(what, want)
	}
	sees("the first", "")
	look("nothing is new", false, "")

	next, nextKey := is.issue(now, both...)
	write(set.TLSCert, next)
	look("one of two", false, apart)
	look("one of two, still", false, "")
	now = now.Add(complainAgain)
	look("one of two, for an hour", false, apart)
	write(set.TLSKey, nextKey)
	look("both", true, `level=INFO msg="the certificate was renewed" file=CERT for="registry.example.com, s3.example.com" ends=2026-05-01T12:01:00Z`+"\n")

	for _, bad := range []struct {
		what, says string
		at         time.Time
		hosts      []string
	}{
		{"for another name", `"the certificate in CERT is for other.example.com, clients will look for registry.example.com: set LARDER_HOSTNAME to a name that it is for"`, now, []string{"other.example.com"}},
		{"no longer for the bucket", `"the certificate in CERT is for registry.example.com, and no longer for s3.example.com, the S3 endpoint"`, now, []string{"registry.example.com"}},
		{"ended", `"the certificate in CERT ended on 2025-07-30"`, time.Date(2025, 5, 1, 12, 0, 0, 0, time.UTC), both},
		{"of tomorrow", `"the certificate in CERT is not valid before 2026-02-28T23:00:00Z: is this machine's clock right?"`, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), both},
	} {
		is.bring(set.TLSCert, set.TLSKey, bad.at, bad.hosts...)
		look(bad.what, false, stays+bad.says+"\n")
	}
	write(set.TLSKey, bytes.Repeat([]byte("x"), maxPEM+1))
	look("too large", false, stays+`"KEY has more than 1048576 bytes, so it is no file of a certificate or key"`+"\n")
	if err := os.Remove(set.TLSKey); err != nil {
		t.Fatal(err)
	}
	look("gone", false, stays+`"open KEY: no such file or directory"`+"\n")
	if err := syscall.Mkfifo(set.TLSKey, 0o600); err != nil {
		t.Fatal(err)
	}
	look("a pipe", false, stays+`"KEY is no regular file, and must be one: it is read again and again"`+"\n")
	if err := os.Remove(set.TLSKey); err != nil {
		t.Fatal(err)
	}
	write(set.TLSCert, next)
	write(set.TLSKey, nextKey)
	look("the old ones again", false, "")
	if err := os.Remove(set.TLSKey); err != nil {
		t.Fatal(err)
	}
	look("gone again, and said again", false, stays+`"open KEY: no such file or directory"`+"\n")
}

// Kubernetes changes both files at once, by a link to another folder.
func TestBroughtCertificateBehindLinks(t *testing.T) {
	now := time.Now()
	is := newAuthority(t, now, "registry.example.com")
	folder := t.TempDir()
	link := func(version string) {
		t.Helper()
		at := filepath.Join(folder, version)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		is.bring(filepath.Join(at, "tls.crt"), filepath.Join(at, "tls.key"), now, "registry.example.com")
		next := filepath.Join(folder, "..data_tmp")
		if err := errors.Join(os.Symlink(version, next), os.Rename(next, filepath.Join(folder, "..data"))); err != nil {
			t.Fatal(err)
		}
	}
	link("..one")
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := openBrought(settings.Settings{Addr: "192.0.2.1:443", Hostname: "registry.example.com",
		TLSCert: filepath.Join(folder, "tls.crt"), TLSKey: filepath.Join(folder, "tls.key")}, slog.New(slog.DiscardHandler), now)
	if err != nil || b.look(now) {
		t.Fatal("not what was written first", err)
	}
	if link("..two"); !b.look(now) {
		t.Error("the new one is not used")
	}
}

// Who forgets to renew is told once a day, and no sooner than that helps.
func TestCertificateThatEndsSoonIsTold(t *testing.T) {
	begin := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	is := newAuthority(t, begin, "registry.example.com")
	folder := t.TempDir()
	set := settings.Settings{Addr: "192.0.2.1:443", Hostname: "registry.example.com",
		TLSCert: filepath.Join(folder, "tls.crt"), TLSKey: filepath.Join(folder, "tls.key")}
	is.bring(set.TLSCert, set.TLSKey, begin, "registry.example.com") // for 90 days, to 1 April
	var log bytes.Buffer
	b, err := openBrought(set, logtest.Timeless(&log), begin)
	if err != nil {
		t.Fatal(err)
	}
	end := begin.Add(90 * 24 * time.Hour)
	soon := `level=WARN msg="the certificate ends soon: renew it" file=` + set.TLSCert + " ends=2026-04-01T12:00:00Z\n"
	over := `level=ERROR msg="the certificate has ended, and clients refuse it: renew it" file=` + set.TLSCert + " ends=2026-04-01T12:00:00Z\n"
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{end.Add(-endsSoon - time.Second), ""},
		{end.Add(-endsSoon), soon},
		{end.Add(-endsSoon + warnAgain - time.Second), ""},
		{end.Add(-endsSoon + warnAgain), soon},
		{end.Add(time.Hour), over},
	} {
		if b.warnOfEnd(tt.at); log.String() != tt.want {
			t.Errorf("%v before its end: %q, want %q", end.Sub(tt.at), &log, tt.want)
		}
		log.Reset()
	}
	short := *b.current.Load().pair
	leaf := *short.Leaf
	leaf.NotBefore = end.Add(-6 * 24 * time.Hour) // as some public CAs issue them
	short.Leaf = &leaf
	b.current.Store(&usable{pair: &short})
	for before, want := range map[time.Duration]string{2*24*time.Hour + time.Second: "", 2 * 24 * time.Hour: soon} {
		b.warned = time.Time{}
		if b.warnOfEnd(end.Add(-before)); log.String() != want {
			t.Errorf("of six days, %v before its end: %q, want %q", before, &log, want)
		}
		log.Reset()
	}
}

// A certificate that is renewed while the node serves is shown at both of its ports:
// after a while, and at once after SIGHUP, which ends nothing.
func TestCertificateIsRenewedWhileItServes(t *testing.T) {
	is := newAuthority(t, time.Now(), "registry.example.com", "127.0.0.1")
	folder := t.TempDir()
	set := localSettings(t)
	set.Hostname = "registry.example.com"
	set.TLSCert, set.TLSKey = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	renew := func() (serial string) {
		t.Helper()
		return is.bring(set.TLSCert, set.TLSKey, time.Now(), "registry.example.com", "127.0.0.1")
	}
	for name, hangup := range map[string]bool{"after a while": false, "after SIGHUP": true} {
		t.Run(name, func(t *testing.T) {
			set := set
			set.Data = localSettings(t).Data
			first := renew()
			n := &node{settings: set, lookEvery: time.Hour}
			if !hangup {
				n.lookEvery = 20 * time.Millisecond
			}
			r := startNode(t, n)
			at := []net.Addr{n.listener.Addr(), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n.bucket.Port}}
			shown := func() (both [2]string) {
				for i, addr := range at {
					conn, err := tls.Dial("tcp", addr.String(), &tls.Config{InsecureSkipVerify: true}) // the test looks at it, it does not trust it
					if err != nil {
						t.Fatal(err)
					}
					both[i] = conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
					conn.Close()
				}
				return both
			}
			if got := shown(); got != [2]string{first, first} {
				t.Fatalf("at first %s, want %s", got, first)
			}
			if hangup {
				hangUp(t)
				r.log.Await(t, "SIGHUP: the certificates were looked at, and none was renewed")
			}
			second := renew()
			if hangup {
				hangUp(t)
			}
			eventually(t, func() error {
				if got := shown(); got != [2]string{second, second} {
					return fmt.Errorf("still %s, want %s\n%s", got, second, r.log)
				}
				return nil
			})
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}
