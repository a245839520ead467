// Package envfile writes the script that a shell sources so that the AWS CLI, Terraform
// and OpenTofu use a single node.
package envfile

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/shell"
)

// Values are the values of the script's variables.
type Values struct {
	// S3URL is the URL of the S3 endpoint.
	S3URL string
	// Region and Bucket are where to upload to.
	Region, Bucket string
	// AccessKeyID and SecretAccessKey are the operator's.
	AccessKeyID, SecretAccessKey string
	// Host is the registry's host as in source addresses.
	Host string
}

// Write writes the file (datadir.Env, mode 0600), and beside it the certificates that
// clients must trust: roots, which are in PEM, and the local CA's.
func Write(dir *datadir.Dir, v Values, roots []byte) error {
	ca, err := os.ReadFile(dir.Path(datadir.CACert))
	if err != nil {
		return fmt.Errorf("environment file: %w", err)
	}
	if err := removeStale(dir, ca); err != nil {
		return fmt.Errorf("environment file: %w", err)
	}
	if err := dir.WriteFile(datadir.Bundle, bundle(roots, ca)); err != nil {
		return fmt.Errorf("environment file: %w", err)
	}
	if err := dir.WriteFile(datadir.Env, []byte(render(dir, v))); err != nil {
		return fmt.Errorf("environment file: %w", err)
	}
	return nil
}

// ofShells is the beginning of the names of the bundles that shells write.
var ofShells = strings.TrimSuffix(datadir.Bundle, ".pem") + "-"

// removeStale removes bundles of shells that are of no use any more: half written ones,
// and bundles with the certificate of an earlier local CA. A shell that uses one gets
// another when it sources the script again.
func removeStale(dir *datadir.Dir, ca []byte) error {
	entries, err := os.ReadDir(dir.Path(""))
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ofShells) || !e.Type().IsRegular() {
			continue
		}
		data, err := os.ReadFile(dir.Path(e.Name()))
		if err != nil {
			return fmt.Errorf("read the data folder: %w", err)
		}
		if strings.HasSuffix(e.Name(), ".pem") && bytes.HasSuffix(data, ca) {
			continue
		}
		if err := dir.Remove(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// changed are the variables that the script sets or unsets.
var changed = []string{
	"SSL_CERT_FILE", "AWS_CA_BUNDLE", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
	"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
	"AWS_REGION", "AWS_DEFAULT_REGION", "LARDER_BUCKET", "LARDER_HOST", "LARDER_DATA",
}

// sourced is the variable that says that a shell has sourced the script.
const sourced = "LARDER_ENV"

// saved is the name of the variable in which the script keeps the old value of another.
// It is not exported, so the programs that the shell starts do not get it.
func saved(variable string) string { return "larder_was_" + variable }

// save returns the part of the script that keeps the shell's own values, unless the shell
// has sourced the script before.
func save() string {
	var b strings.Builder
	fmt.Fprintf(&b, "if [ -z \"${%s+x}\" ]; then\n", sourced)
	for _, variable := range changed {
		fmt.Fprintf(&b, "\tunset %[2]s; if [ -n \"${%[1]s+x}\" ]; then %[2]s=$%[1]s; fi\n", variable, saved(variable))
	}
	b.WriteString("fi\n")
	return b.String()
}

// Unset returns a script that gives a shell which has sourced the file its old values
// back. In other shells it does nothing.
func Unset() string {
	var b strings.Builder
	fmt.Fprintf(&b, "if [ -n \"${%s+x}\" ]; then\n", sourced)
	for _, variable := range changed {
		fmt.Fprintf(&b, "\tif [ -n \"${%[2]s+x}\" ]; then export %[1]s=\"$%[2]s\"; else unset %[1]s; fi; unset %[2]s\n", variable, saved(variable))
	}
	fmt.Fprintf(&b, "\tunset %s\nfi\n", sourced)
	return b.String()
}

// render returns the script. It is POSIX sh, for dash, bash, zsh and others, and works
// under set -e and set -u.
//
// SSL_CERT_FILE replaces the roots that a program trusts. If the shell has one already,
// its certificates go into a bundle named after their checksum, so that the script finds
// the same file when it is sourced again.
func render(dir *datadir.Dir, v Values) string {
	return fmt.Sprintf(`# Written by larder serve, for this shell:  . %[1]s
# The shell's own AWS settings come back with:  eval "$(larder env --unset)"
%[11]slarder_bundle=%[2]s
case ${SSL_CERT_FILE:-} in
'' | %[2]s) ;;
%[3]s*.pem)
	if [ -r "$SSL_CERT_FILE" ]; then larder_bundle=$SSL_CERT_FILE; fi ;;
*)
	if [ -r "$SSL_CERT_FILE" ]; then
		larder_bundle=%[3]s$(cat "$SSL_CERT_FILE" %[4]s | cksum | tr -cs '0-9\n' -).pem
		if ! { { cat "$SSL_CERT_FILE" && echo && cat %[4]s; } >"$larder_bundle.$$" && mv -f "$larder_bundle.$$" "$larder_bundle"; }; then
			rm -f "$larder_bundle.$$"
			larder_bundle=%[2]s
		fi
	fi ;;
esac
export SSL_CERT_FILE="$larder_bundle"
export AWS_CA_BUNDLE="$larder_bundle"
unset larder_bundle
unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN AWS_SECURITY_TOKEN AWS_IGNORE_CONFIGURED_ENDPOINT_URLS
export AWS_ENDPOINT_URL_S3=%[5]s
export AWS_ACCESS_KEY_ID=%[6]s
export AWS_SECRET_ACCESS_KEY=%[7]s
export AWS_REGION=%[8]s
export AWS_DEFAULT_REGION=%[8]s
export LARDER_BUCKET=%[9]s
export LARDER_HOST=%[10]s
export LARDER_DATA=%[12]s
export LARDER_ENV=%[1]s
`,
		shell.Quote(dir.Path(datadir.Env)), shell.Quote(dir.Path(datadir.Bundle)),
		shell.Quote(dir.Path(ofShells)), shell.Quote(dir.Path(datadir.CACert)),
		shell.Quote(v.S3URL), shell.Quote(v.AccessKeyID), shell.Quote(v.SecretAccessKey), shell.Quote(v.Region), shell.Quote(v.Bucket), shell.Quote(v.Host),
		save(), shell.Quote(dir.Path("")))
}

// systemBundles are the files in which systems keep their root certificates: Debian and
// Alpine, Fedora and RHEL, openSUSE, OpenELEC, CentOS, macOS and the BSDs.
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
	"/usr/local/etc/ssl/cert.pem",
}

// SystemRoots returns the root certificates that clients trust without us, in PEM: those
// of the file that SSL_CERT_FILE names, unless it is one of ours, or else the system's. It
// returns nil if there are none.
func SystemRoots(dir *datadir.Dir, getenv func(string) string) ([]byte, error) {
	candidates := systemBundles
	if own := getenv("SSL_CERT_FILE"); own != "" && filepath.Dir(own) != dir.Path("") {
		candidates = []string{own}
	}
	for _, path := range candidates {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the system's root certificates: %w", err)
		}
		return data, nil
	}
	return nil, nil
}

// bundle joins files of certificates, with each certificate once and nothing else.
func bundle(files ...[]byte) []byte {
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, rest := range files {
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if block.Type == "CERTIFICATE" && !seen[string(block.Bytes)] {
				seen[string(block.Bytes)] = true
				out.Write(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
			}
		}
	}
	return out.Bytes()
}
