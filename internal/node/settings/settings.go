// Package settings has all settings of a single node. Each setting is an environment variable
// and a flag; the flag wins. Settings that are wrong or contradict each other are refused by
// name.
//
// A new setting is a field of [Settings] and a row in the table of table.go.
package settings

import (
	"fmt"
	"io"
	"log/slog"
	"net/netip"

	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
)

// Settings is a valid set of settings.
type Settings struct {
	// Addr is the host:port on which the registry listens with TLS. An empty host is every
	// interface, port 0 any free one.
	Addr string
	// S3Addr is the same for the bucket.
	S3Addr string
	// Data is the absolute path of the data folder.
	Data string
	// Auth says whether reading needs a token. AuthSet says whether the operator has set
	// it.
	Auth    Auth
	AuthSet bool
	// Hostname is the registry's host as in source addresses, with its port unless that is
	// 443. Empty: the address it listens on.
	Hostname string
	// TLSCert and TLSKey are the absolute paths of the registry's own certificate chain and
	// private key in PEM. Empty: the local CA issues a certificate.
	TLSCert, TLSKey string
	// S3URL is the URL at which clients reach the bucket's endpoint, without a
	// path. Empty: the address it listens on.
	S3URL string
	// InboxDays is the number of days after which uploads with a final outcome are removed.
	// 0: never.
	InboxDays int
	// MirrorUpstreams are the providers of other registries that the mirror
	// fetches when a client asks for them. Empty: none.
	MirrorUpstreams []pullthrough.Pattern
	// MirrorPlatforms are the platforms for which it fetches them. Nil: all.
	MirrorPlatforms []registry.Platform
	// Login says where people log in.
	Login Login
	// TrustedProxies are the addresses of reverse proxies that are trusted to say from which
	// address a request came. Empty: none.
	TrustedProxies []netip.Prefix
	// Log is the format of the log.
	Log LogFormat
}

// LogFormat is the format of the log.
type LogFormat string

const (
	// LogText is for people, a line like "INFO request method=GET …".
	LogText LogFormat = "text"
	// LogJSON is for programs, a JSON object in each line.
	LogJSON LogFormat = "json"
)

// Logger writes to out in that format. Text goes to the output of [slog.Default].
func (f LogFormat) Logger(out io.Writer) *slog.Logger {
	if f == LogJSON {
		return slog.New(slog.NewJSONHandler(out, nil))
	}
	return slog.Default()
}

func (f LogFormat) check() error {
	if f != LogText && f != LogJSON {
		return fmt.Errorf("choose %q or %q", LogText, LogJSON)
	}
	return nil
}

// Login is the registry as a client of the company's identity provider.
type Login struct {
	// Issuer is the provider's https:// URL, exactly as in the claim iss of its identity
	// tokens. Empty: nobody can log in.
	Issuer string
	// ClientID is the registry's client ID at the provider.
	ClientID string
	// SecretFile is the absolute path of the file with the client's secret. Empty: the
	// client has no secret.
	SecretFile string
	// Scopes are the scopes that the registry asks the provider for.
	Scopes []string
}

// Auth says who may read.
type Auth string

const (
	// AuthOpen lets everyone who can connect read.
	AuthOpen Auth = "open"
	// AuthRequired requires a token from everyone.
	AuthRequired Auth = "required"
)

func (a Auth) check() error {
	if a != AuthOpen && a != AuthRequired {
		return fmt.Errorf("choose %q or %q", AuthOpen, AuthRequired)
	}
	return nil
}
