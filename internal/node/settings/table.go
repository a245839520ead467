package settings

import (
	"fmt"
	"path/filepath"

	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/spf13/pflag"
)

// A setting is one row of the table: its names, its default and help, and what reads its
// value.
type setting struct {
	env, flag, standard, usage string
	apply                      func(*Settings, string) error
}

func (s setting) String() string { return fmt.Sprintf("%s (--%s)", s.env, s.flag) }

// table lists all settings.
var table = []setting{
	{"LARDER_ADDR", "addr", "127.0.0.1:8443", "`host:port` on which the registry listens",
		func(s *Settings, v string) error { s.Addr = v; return checkListen(v) }},
	{"LARDER_S3_ADDR", "s3-addr", "127.0.0.1:9443", "`host:port` on which the S3 endpoint listens",
		func(s *Settings, v string) error { s.S3Addr = v; return checkListen(v) }},
	{"LARDER_DATA", "data", ".larder", "`folder` for all data of the node",
		func(s *Settings, v string) (err error) { s.Data, err = filepath.Abs(v); return err }},
	{"LARDER_AUTH", "auth", string(AuthOpen), "who may read, `open|required` (required: with a token); must be set if others than this machine reach the registry",
		func(s *Settings, v string) error { s.Auth = Auth(v); return s.Auth.check() }},
	{"LARDER_HOSTNAME", "hostname", "", "the registry's `host` in source addresses, if not the one it listens on",
		func(s *Settings, v string) (err error) { s.Hostname, err = parseHostname(v); return err }},
	{"LARDER_TLS_CERT", "tls-cert", "", "`file` with the registry's certificate chain (PEM), if not from the local CA",
		func(s *Settings, v string) (err error) { s.TLSCert, err = filepath.Abs(v); return err }},
	{"LARDER_TLS_KEY", "tls-key", "", "`file` with the private key of that certificate (PEM)",
		func(s *Settings, v string) (err error) { s.TLSKey, err = filepath.Abs(v); return err }},
	{"LARDER_S3_URL", "s3-url", "", "`URL` of the S3 endpoint as clients see it, if not the address it listens on",
		func(s *Settings, v string) (err error) { s.S3URL, err = parseURL(v); return err }},
	{"LARDER_INBOX_DAYS", "inbox-days", "30", "`days` after which uploads with a final outcome, such as published, are removed; 0 for never",
		func(s *Settings, v string) (err error) { s.InboxDays, err = parseDays(v); return err }},
	{"LARDER_MIRROR_UPSTREAMS", "mirror-upstreams", "", "`patterns` of other registries' providers that the mirror fetches when clients ask for them, like registry.terraform.io/hashicorp/*",
		func(s *Settings, v string) (err error) {
			s.MirrorUpstreams, err = pullthrough.ParsePatterns(v)
			return err
		}},
	{"LARDER_MIRROR_PLATFORMS", "mirror-platforms", pullthrough.DefaultPlatforms, "`platforms` for which it fetches them, or all",
		func(s *Settings, v string) (err error) {
			s.MirrorPlatforms, err = pullthrough.ParsePlatforms(v)
			return err
		}},
	{"LARDER_LOGIN_ISSUER", "login-issuer", "", "`URL` of the OpenID Connect provider that people log in with, exactly as it names itself",
		func(s *Settings, v string) error { s.Login.Issuer = v; return checkIssuer(v) }},
	{"LARDER_LOGIN_CLIENT_ID", "login-client-id", "", "the registry's client `ID` at that provider",
		func(s *Settings, v string) error { s.Login.ClientID = v; return nil }},
	{"LARDER_LOGIN_CLIENT_SECRET_FILE", "login-client-secret-file", "", "`file` with the client's secret, if it has one",
		func(s *Settings, v string) (err error) { s.Login.SecretFile, err = filepath.Abs(v); return err }},
	{"LARDER_LOGIN_SCOPES", "login-scopes", "openid profile email", "`scopes` that the provider is asked for, with spaces between them",
		func(s *Settings, v string) (err error) { s.Login.Scopes, err = parseScopes(v); return err }},
	{"LARDER_TRUSTED_PROXIES", "trusted-proxies", "", "`addresses` of reverse proxies that are trusted to name the client in X-Forwarded-For, like 127.0.0.1,10.0.0.0/8",
		func(s *Settings, v string) (err error) { s.TrustedProxies, err = parseProxies(v); return err }},
	{"LARDER_LOG", "log", string(LogText), "format of the log, `text|json`",
		func(s *Settings, v string) error { s.Log = LogFormat(v); return s.Log.check() }},
}

// AddFlags defines a flag for each setting.
func AddFlags(flags *pflag.FlagSet) {
	for _, row := range table {
		flags.String(row.flag, row.standard, fmt.Sprintf("%s [%s]", row.usage, row.env))
	}
}
