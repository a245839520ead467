// Package settings is what an operator can set on a single node: each setting
// is an environment variable and a flag, of which the flag wins. Settings that
// are wrong or contradict each other are refused by name.
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
	// Addr is the host:port on which the registry listens with TLS. An empty
	// host stands for every interface, port 0 for any free one.
	Addr string
	// S3Addr is the host:port on which the bucket listens with TLS, likewise.
	S3Addr string
	// Data is the absolute path of the data folder.
	Data string
	// Auth says whether reading needs a token. Whether an operator has said so
	// is AuthSaid.
	Auth     Auth
	AuthSaid bool
	// Hostname is the registry's host as it stands in source addresses, with
	// its port unless that is 443. Empty: the address it listens on.
	Hostname string
	// TLSCert and TLSKey are the absolute paths of the registry's own
	// certificate chain and private key in PEM. Empty: one of the local CA's.
	TLSCert, TLSKey string
	// S3URL is the URL at which clients reach the bucket's endpoint, without a
	// path. Empty: the address it listens on.
	S3URL string
	// InboxDays is after how many days uploads are removed that came to their end.
	// 0: never.
	InboxDays int
	// MirrorUpstreams are the providers of other registries that the mirror
	// fetches when a client asks for them. Empty: none.
	MirrorUpstreams []pullthrough.Pattern
	// MirrorPlatforms are those for which it fetches them. Nil: all.
	MirrorPlatforms []registry.Platform
	// Login says where people log in.
	Login Login
	// TrustedProxies are the addresses of reverse proxies that are believed when
	// they say from which address a request came. Empty: none.
	TrustedProxies []netip.Prefix
	// Log is how lines of the log are written.
	Log LogFormat
}

// LogFormat is how lines of the log are written.
type LogFormat string

const (
	// LogText is for people, a line like "INFO request method=GET …".
	LogText LogFormat = "text"
	// LogJSON is for programs, a JSON object in each line.
	LogJSON LogFormat = "json"
)

// Logger writes to out in that format. Text is written where [slog.Default] does.
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

// Login is how the registry is known to the company's identity provider.
type Login struct {
	// Issuer is the provider's https:// URL, exactly as it stands in the claim
	// iss of its identity tokens. Empty: nobody can log in.
	Issuer string
	// ClientID is the registry's at the provider.
	ClientID string
	// SecretFile is the absolute path of the file with the client's secret.
	// Empty: there is none.
	SecretFile string
	// Scopes are what the registry asks the provider for.
	Scopes []string
}

// Auth says who may read.
type Auth string

const (
	// AuthOpen lets everyone read who can connect.
	AuthOpen Auth = "open"
	// AuthRequired wants a token from everyone.
	AuthRequired Auth = "required"
)

func (a Auth) check() error {
	if a != AuthOpen && a != AuthRequired {
		return fmt.Errorf("choose %q or %q", AuthOpen, AuthRequired)
	}
	return nil
}
