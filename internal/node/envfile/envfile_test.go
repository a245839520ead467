package envfile

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/localca"
)

var values = Values{
	S3URL: "https://127.0.0.1:9443", Region: "us-east-1", Bucket: "larder",
	AccessKeyID: "KEY", SecretAccessKey: `sec'ret $HOME "x"`, Host: "127.0.0.1:8443",
}

// write writes the file for a new node in a data folder with a name that is
// hard on shells.
func write(t *testing.T, name string, roots []byte) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	if _, err := localca.Load(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, values, roots); err != nil {
		t.Fatal(err)
	}
	return dir
}

// someRoots returns root certificates that belong to nobody here.
func someRoots(t *testing.T) []byte {
	t.Helper()
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	ca, err := localca.Load(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return ca.CertificatePEM()
}

// shells are the ones that the file is sourced by, under set -eu as well.
var shells = [][]string{{"sh", "-c"}, {"sh", "-euc"}, {"bash", "-c"}, {"bash", "-euc"}}

// run runs a script that finds the file to source in $1, in a shell with
// nothing but env in its environment, and returns what it prints.
func run(t *testing.T, shell []string, dir *datadir.Dir, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command(shell[0], append(shell[1:], script, "test", dir.Path(datadir.Env))...)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %v\n%s", shell, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func countCertificates(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("BEGIN CERTIFICATE"))
}

var folderNames = []string{"data", "with space", `quo'te" $HOME * \`, "ümlaut;&|"}

func TestVariables(t *testing.T) {
	for _, name := range folderNames {
		dir := write(t, name, someRoots(t))
		want := map[string]string{
			"AWS_ENDPOINT_URL_S3":   values.S3URL,
			"AWS_ACCESS_KEY_ID":     values.AccessKeyID,
			"AWS_SECRET_ACCESS_KEY": values.SecretAccessKey,
			"AWS_REGION":            values.Region,
			"AWS_DEFAULT_REGION":    values.Region,
			"AWS_CA_BUNDLE":         dir.Path(datadir.Bundle),
			"SSL_CERT_FILE":         dir.Path(datadir.Bundle),
			"LARDER_BUCKET":         values.Bucket,
			"LARDER_HOST":           values.Host,
			"LARDER_DATA":           dir.Path(""),
			"LARDER_ENV":            dir.Path(datadir.Env),
		}
		for _, shell := range shells {
			for variable, value := range want {
				if got := run(t, shell, dir, `. "$1"; printenv `+variable); got != value {
					t.Errorf("%v, folder %q: %s is %q, want %q", shell, name, variable, got, value)
				}
			}
		}
	}
}

func TestUnsets(t *testing.T) {
	dir := write(t, "data", nil)
	for _, shell := range shells {
		for _, variable := range []string{
			"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
			"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "larder_bundle",
		} {
			script := `. "$1"; echo "<${` + variable + `-unset}>"`
			if got := run(t, shell, dir, script, variable+"=x"); got != "<unset>" {
				t.Errorf("%v: %s is %s", shell, variable, got)
			}
		}
	}
}

// After Unset a shell has what it had before, however often it sourced the file, and a
// shell that it started has none of what is the file's.
func TestUnset(t *testing.T) {
	before := []string{"AWS_PROFILE=dev", "AWS_ACCESS_KEY_ID=AKIA", `AWS_SECRET_ACCESS_KEY=a'b "c" $d *`, "AWS_SESSION_TOKEN=", "LARDER_DATA=/elsewhere", "SSL_CERT_FILE=/etc/hosts", "OTHER=x"}
	listed := func(vars ...string) (script string) { // of this environment, exported
		return `for v in ` + strings.Join(append(vars, sourced, "OTHER"), " ") + `; do printf '%s=' "$v"; printenv "$v" || echo; done`
	}
	for _, name := range folderNames {
		dir := write(t, name, nil)
		undo := filepath.Join(t.TempDir(), "undo")
		if err := os.WriteFile(undo, []byte(Unset()), 0o600); err != nil {
			t.Fatal(err)
		}
		env := append([]string{"UNDO=" + undo}, before...)
		for _, shell := range shells {
			had := run(t, shell, dir, listed(changed...), env...)
			for what, script := range map[string]string{
				"once":              `. "$1"; eval "$(cat "$UNDO")"; `,
				"twice":             `. "$1"; . "$1"; . "$UNDO"; `,
				"never":             `. "$UNDO"; `,
				"again and again":   `. "$1"; . "$UNDO"; . "$1"; . "$UNDO"; . "$UNDO"; `,
				"changed meanwhile": `. "$1"; export AWS_PROFILE=other; . "$UNDO"; `,
			} {
				if got := run(t, shell, dir, script+listed(changed...), env...); got != had {
					t.Errorf("%v, folder %q, sourced %s:\n%s\nwant\n%s", shell, name, what, got, had)
				}
			}
			if left := run(t, shell, dir, `. "$1"; . "$UNDO"; set`, env...); strings.Contains(left, "larder_") {
				t.Errorf("%v: something is left:\n%s", shell, left)
			}
			if inherited := run(t, shell, dir, `. "$1"; printenv`, env...); strings.Contains(inherited, "AKIA") {
				t.Errorf("%v: what is started has the key of before:\n%s", shell, inherited)
			}
			inner := `. "$1"; sh -euc '. "$1"; . "$UNDO"; ` + strings.ReplaceAll(listed(changed...), "'", `'\''`) + `' inner "$1"`
			for line := range strings.Lines(run(t, shell, dir, inner, env...)) {
				if variable, value, _ := strings.Cut(strings.TrimSpace(line), "="); value != "" && variable != "OTHER" {
					t.Errorf("%v: a shell within has %s", shell, line)
				}
			}
		}
	}
}

func TestKeepsRootsOfTheShell(t *testing.T) {
	for _, name := range folderNames {
		dir := write(t, name, append(someRoots(t), someRoots(t)...))
		roots := someRoots(t)
		own := filepath.Join(t.TempDir(), "my roots.pem")
		// Without a newline at its end, as some tools write them.
		if err := os.WriteFile(own, bytes.TrimSpace(roots), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, shell := range shells {
			bundle := run(t, shell, dir, `. "$1"; . "$1"; printenv SSL_CERT_FILE`, "SSL_CERT_FILE="+own)
			trusts(t, bundle, roots)
			trusts(t, bundle, read(t, dir.Path(datadir.CACert)))
			if n := countCertificates(t, bundle); n != 2 {
				t.Errorf("%v: %d certificates after sourcing twice, want 2", shell, n)
			}
			again := run(t, shell, dir, `. "$1"; printenv AWS_CA_BUNDLE`, "SSL_CERT_FILE="+own)
			if again != bundle {
				t.Errorf("%v: another bundle in another shell: %q and %q", shell, bundle, again)
			}
		}
		made, err := filepath.Glob(filepath.Join(escapeGlob(dir.Path("")), "ca-bundle-*"))
		if err != nil || len(made) != 1 {
			t.Errorf("folder %q: bundles %q, %v, want one", name, made, err)
		}
	}
}

// escapeGlob has filepath.Glob take a path literally.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`).Replace(path)
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// trusts fails the test unless a client that trusts the file trusts cert.
func trusts(t *testing.T, file string, cert []byte) {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(read(t, file))
	block, _ := pem.Decode(cert)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parsed.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// Two nodes of one shell: the second trusts the first as well.
func TestAnotherNodesBundle(t *testing.T) {
	first, second := write(t, "first", someRoots(t)), write(t, "second", someRoots(t))
	bundle := run(t, shells[1], second, `. "$1"; printenv SSL_CERT_FILE`, "SSL_CERT_FILE="+first.Path(datadir.Bundle))
	trusts(t, bundle, read(t, first.Path(datadir.CACert)))
	trusts(t, bundle, read(t, second.Path(datadir.CACert)))
}

func TestMissingFilesOfTheShell(t *testing.T) {
	dir := write(t, "data", nil)
	for _, missing := range []string{"/nonexistent/roots.pem", dir.Path("ca-bundle-1-2.pem")} {
		for _, shell := range shells {
			if got := run(t, shell, dir, `. "$1"; printenv SSL_CERT_FILE`, "SSL_CERT_FILE="+missing); got != dir.Path(datadir.Bundle) {
				t.Errorf("%v: SSL_CERT_FILE=%s became %s", shell, missing, got)
			}
		}
	}
}

// Where a shell cannot write a bundle of its own, it has that of everybody, and leaves
// nothing.
func TestNoRoomForABundle(t *testing.T) {
	dir := write(t, "data", nil)
	own := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(own, someRoots(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, shell := range shells {
		cmd := exec.Command(shell[0], append(shell[1:], `ulimit -f 0; . "$1"; printenv SSL_CERT_FILE`, "test", dir.Path(datadir.Env))...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + own}
		if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != dir.Path(datadir.Bundle) {
			t.Errorf("%v: %q, %v", shell, out, err)
		}
	}
	wantBundles(t, dir)
}

// wantBundles compares what shells have written.
func wantBundles(t *testing.T, dir *datadir.Dir, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir.Path(""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "ca-bundle-") {
			got = append(got, dir.Path(e.Name()))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
}

// A start removes what a shell has left half written, and bundles of another CA than
// the present one. After that, a shell that has such a one gets another by sourcing the
// script again.
func TestStaleBundles(t *testing.T) {
	dir := write(t, "data", someRoots(t))
	own := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(own, someRoots(t), 0o600); err != nil {
		t.Fatal(err)
	}
	source := func(certificates string) string {
		return run(t, shells[1], dir, `. "$1"; printenv SSL_CERT_FILE`, "SSL_CERT_FILE="+certificates)
	}
	bundle := source(own)
	for _, killed := range []string{bundle + ".123", dir.Path("ca-bundle-1-2.pem")} { // before the CA's certificate was written, and after
		if err := os.WriteFile(killed, read(t, own), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(bundle+".124", read(t, bundle), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, values, nil); err != nil {
		t.Fatal(err)
	}
	wantBundles(t, dir, bundle)
	if again := source(bundle); again != bundle {
		t.Errorf("a shell has %s in the place of %s", again, bundle)
	}

	if _, err := localca.Load(dir, time.Now(), "registry.example.com"); err != nil { // another name, another CA
		t.Fatal(err)
	}
	if err := Write(dir, values, nil); err != nil {
		t.Fatal(err)
	}
	wantBundles(t, dir)
	trusts(t, source(bundle), read(t, dir.Path(datadir.CACert)))
}

func TestWriteAgainDoesNotGrow(t *testing.T) {
	roots := someRoots(t)
	dir := write(t, "data", roots)
	if n := countCertificates(t, dir.Path(datadir.Bundle)); n != 2 {
		t.Errorf("%d certificates, want 2", n)
	}
	if err := Write(dir, values, read(t, dir.Path(datadir.Bundle))); err != nil {
		t.Fatal(err)
	}
	if n := countCertificates(t, dir.Path(datadir.Bundle)); n != 2 {
		t.Errorf("%d certificates, want 2", n)
	}
	if info, err := os.Stat(dir.Path(datadir.Env)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v, want mode 600", info, err)
	}
}

func TestSystemRoots(t *testing.T) {
	dir := write(t, "data", nil)
	system := filepath.Join(t.TempDir(), "system.pem")
	own := filepath.Join(t.TempDir(), "own.pem")
	for _, path := range []string{system, own} {
		if err := os.WriteFile(path, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := systemBundles
	t.Cleanup(func() { systemBundles = before })
	tests := []struct {
		bundles []string
		env     string
		want    string
	}{
		{[]string{"/nonexistent", system}, "", system},
		{[]string{system}, own, own},
		{[]string{system}, dir.Path(datadir.Bundle), system}, // started from a shell that sourced the file
		{[]string{"/nonexistent"}, "", ""},
		{[]string{system}, "/nonexistent", ""},
	}
	for _, tt := range tests {
		systemBundles = tt.bundles
		got, err := SystemRoots(dir, func(string) string { return tt.env })
		if err != nil || string(got) != tt.want {
			t.Errorf("%v with SSL_CERT_FILE=%q: %q, %v, want %q", tt.bundles, tt.env, got, err, tt.want)
		}
	}
}
