package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// dexVersion is that of the provider of identities, as the Makefile has it built.
const dexVersion = "0.0.0-20260806151424-ab64ed778070"

// dex is a company's provider of identities, which knows people with passwords, as the registry is set to use it.
type dex struct {
	addr   string // 127.0.0.1:<port>
	issuer string
	secret string // of the registry as its client; a public one has none
	ca     *authority

	reserved net.Listener // until it starts
}

const dexClient = "larder"

// The people whom it knows, all by the same password.
const (
	ada      = "ada@example.com" // of the group platform
	bob      = "bob@example.com" // of the group sales
	password = "correct horse"
	hashed   = "$2a$10$U.PK1vLUZ4yaXVq3ipa8SeyJoij8/gmmrcyxMMkab5vSbBjnBOj.K" // by bcrypt
)

// planDex chooses where a provider will be, which the registry has to know before the provider can know the registry.
func planDex(t testing.TB, secret string) *dex {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	addr := listener.Addr().String()
	return &dex{addr, "https://" + addr + "/dex", secret, newAuthority(t), listener}
}

// start runs it until the test ends, for a registry that browsers know as host.
func (d *dex) start(t testing.TB, host string) {
	t.Helper()
	chain, key := d.ca.issue(t)
	client := map[string]any{"id": dexClient, "name": "Larder", "redirectURIs": []string{"https://" + host + "/v1/login/callback"}}
	if d.secret == "" {
		client["public"] = true
	} else {
		client["secret"] = d.secret
	}
	config, err := json.Marshal(map[string]any{
		"issuer":           d.issuer,
		"storage":          map[string]any{"type": "memory"},
		"web":              map[string]any{"https": d.addr, "tlsCert": chain, "tlsKey": key},
		"oauth2":           map[string]any{"skipApprovalScreen": true},
		"staticClients":    []any{client},
		"enablePasswordDB": true,
		"staticPasswords":  []any{person(ada, "platform"), person(bob, "sales")},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(d.ca.dir, "dex.json")
	writeFile(t, file, string(config))

	var log bytes.Buffer // read when the process has ended
	cmd := exec.Command(filepath.Join(built, "dex-"+dexVersion), "serve", file)
	cmd.Env = environment(nil)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &log, &log, ownGroup()
	if err := errors.Join(d.reserved.Close(), cmd.Start()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		if t.Failed() {
			t.Logf("the log of Dex:\n%s", &log)
		}
	})
	d.await(t, ended)
}

func person(email, group string) map[string]any {
	return map[string]any{"email": email, "username": email, "userID": "id-" + email, "hash": hashed, "groups": []string{group}}
}

// await waits until it answers.
func (d *dex) await(t testing.TB, ended <-chan struct{}) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(d.ca.cert)
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}}
	eventually(t, func() error {
		select {
		case <-ended:
			t.Fatal("Dex ended before it answered")
		default:
		}
		resp, err := client.Get(d.issuer + "/.well-known/openid-configuration")
		if err != nil {
			return err
		}
		return errors.Join(resp.Body.Close(), expectStatus(resp, http.StatusOK))
	})
}

func expectStatus(resp *http.Response, status int) error {
	if resp.StatusCode != status {
		return fmt.Errorf("status %s, want %d", resp.Status, status)
	}
	return nil
}
