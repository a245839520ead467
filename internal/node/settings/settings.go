// Package settings is what an operator can set on a single node: each setting
// is an environment variable and a flag, of which the flag wins. Settings that
// are wrong or contradict each other are refused by name.
package settings

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/spf13/pflag"

	"github.com/larder-registry/larder/internal/hostname"
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

// A setting is one row of the table: the names under which an operator
// sets it, and what becomes of the value.
type setting struct {
	env, flag, standard, usage string
	apply                      func(*Settings, string) error
}

func (s setting) String() string { return fmt.Sprintf("%s (--%s)", s.env, s.flag) }

// table is all settings.
var table = []setting{
	{"LARDER_ADDR", "addr", "127.0.0.1:8443", "`host:port` on which the registry listens",
		func(s *Settings, v string) error { s.Addr = v; return checkListen(v) }},
	{"LARDER_S3_ADDR", "s3-addr", "127.0.0.1:9443", "`host:port` on which the S3 endpoint listens",
		func(s *Settings, v string) error { s.S3Addr = v; return checkListen(v) }},
	{"LARDER_DATA", "data", ".larder", "`folder` for all that must survive a restart",
		func(s *Settings, v string) (err error) { s.Data, err = filepath.Abs(v); return err }},
	{"LARDER_AUTH", "auth", string(AuthOpen), "who may read, `open|required` (required: with a token); must be said where others than this machine reach the registry",
		func(s *Settings, v string) error { s.Auth = Auth(v); return s.Auth.check() }},
	{"LARDER_HOSTNAME", "hostname", "", "the registry's `host` in source addresses, if not the one it listens on",
		func(s *Settings, v string) (err error) { s.Hostname, err = parseHostname(v); return err }},
	{"LARDER_TLS_CERT", "tls-cert", "", "`file` with the registry's certificate chain (PEM), if not from the local CA",
		func(s *Settings, v string) (err error) { s.TLSCert, err = filepath.Abs(v); return err }},
	{"LARDER_TLS_KEY", "tls-key", "", "`file` with the private key of that certificate (PEM)",
		func(s *Settings, v string) (err error) { s.TLSKey, err = filepath.Abs(v); return err }},
	{"LARDER_S3_URL", "s3-url", "", "`URL` of the S3 endpoint as clients see it, if not the address it listens on",
		func(s *Settings, v string) (err error) { s.S3URL, err = parseURL(v); return err }},
	{"LARDER_INBOX_DAYS", "inbox-days", "30", "`days` after which uploads are removed that are published, or came to another end; 0 for never",
		func(s *Settings, v string) (err error) { s.InboxDays, err = parseDays(v); return err }},
	{"LARDER_MIRROR_UPSTREAMS", "mirror-upstreams", "", "`patterns` of other registries' providers that the mirror fetches when they are asked for, like registry.terraform.io/hashicorp/*",
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
	{"LARDER_TRUSTED_PROXIES", "trusted-proxies", "", "`addresses` of reverse proxies that are believed when they say, in X-Forwarded-For, who asked them, like 127.0.0.1,10.0.0.0/8",
		func(s *Settings, v string) (err error) { s.TrustedProxies, err = parseProxies(v); return err }},
	{"LARDER_LOG", "log", string(LogText), "how lines of the log are written, `text|json`",
		func(s *Settings, v string) error { s.Log = LogFormat(v); return s.Log.check() }},
}

// AddFlags defines a flag for each setting.
func AddFlags(flags *pflag.FlagSet) {
	for _, row := range table {
		flags.String(row.flag, row.standard, fmt.Sprintf("%s [%s]", row.usage, row.env))
	}
}

// Load reads the settings from the flags that AddFlags defined and from an
// environment like [os.Environ], where an empty variable counts as not set. A
// variable that begins with LARDER_ and that nobody knows is an error: what is
// misspelt would leave its setting as it is by default, which may be less safe.
//
// Errors name the variable and the flag, and say what to do.
func Load(flags *pflag.FlagSet, environ []string) (Settings, error) {
	env := variables(environ)
	if err := checkKnown(env); err != nil {
		return Settings{}, err
	}
	s := Settings{AuthSaid: env["LARDER_AUTH"] != "" || flags.Changed("auth")}
	for _, row := range table {
		value := env[row.env]
		if value == "" || flags.Changed(row.flag) {
			var err error
			if value, err = flags.GetString(row.flag); err != nil {
				return Settings{}, err
			}
		}
		if value == "" && row.standard == "" {
			continue
		}
		if value == "" {
			return Settings{}, fmt.Errorf("%s is empty: leave it out for %q", row, row.standard)
		}
		if err := row.apply(&s, value); err != nil {
			return Settings{}, fmt.Errorf("%s is %q: %w", row, value, err)
		}
	}
	if err := s.check(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// prefix is how the names of all variables begin that are for Larder.
const prefix = "LARDER_"

// variables are those of an environment that are for Larder and not empty.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, prefix) && value != "" {
			env[name] = value
		}
	}
	return env
}

// ofClients are variables for clients of a registry, which a shell may have that
// starts one: those of the env file, and of the examples for pipelines.
var ofClients = []string{"LARDER_BUCKET", "LARDER_ENV", "LARDER_HOST", "LARDER_ID_TOKEN", "LARDER_VERSION"}

// ofKubernetes are the names of the variables that Kubernetes gives to all
// containers beside a service whose name begins with "larder".
// https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
var ofKubernetes = regexp.MustCompile(`^LARDER_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

// checkKnown refuses variables that are no settings, and nothing else that is known.
func checkKnown(env map[string]string) error {
	var unknown, known []string
	for _, row := range table {
		known = append(known, row.env)
	}
	for name := range env {
		if !slices.Contains(known, name) && !slices.Contains(ofClients, name) && !ofKubernetes.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	slices.Sort(known)
	return fmt.Errorf("%s: no such setting, is it misspelt? The settings are %s: unset what is none of them",
		strings.Join(unknown, ", "), strings.Join(known, ", "))
}

// check finds what is wrong between settings.
func (s Settings) check() error {
	switch {
	case (s.TLSCert == "") != (s.TLSKey == ""):
		return fmt.Errorf("LARDER_TLS_CERT and LARDER_TLS_KEY belong together: set both, or neither for a certificate of the local CA")
	case s.Login.Issuer != "" && s.Login.ClientID == "":
		return fmt.Errorf("LARDER_LOGIN_ISSUER is set, and LARDER_LOGIN_CLIENT_ID (--login-client-id) is not: register the registry as a client at %s, and set the ID that it has there", s.Login.Issuer)
	case s.Login.Issuer == "" && (s.Login.ClientID != "" || s.Login.SecretFile != ""):
		return fmt.Errorf("LARDER_LOGIN_CLIENT_ID or LARDER_LOGIN_CLIENT_SECRET_FILE is set, and LARDER_LOGIN_ISSUER (--login-issuer) is not: set the URL of the provider that people log in with")
	case s.Addr == s.S3Addr && !strings.HasSuffix(s.Addr, ":0"):
		return fmt.Errorf("LARDER_ADDR and LARDER_S3_ADDR are both %q: give the S3 endpoint a port of its own", s.Addr)
	}
	if s.Hostname == "" {
		if err := checkReachable(s.Addr); err != nil {
			return fmt.Errorf("LARDER_ADDR (--addr) is %q: %w", s.Addr, err)
		}
	}
	if host, _, _ := net.SplitHostPort(s.S3Addr); s.S3URL == "" && isEveryInterface(host) {
		return fmt.Errorf("LARDER_S3_ADDR (--s3-addr) is %q, every interface: set LARDER_S3_URL to the URL that clients use, like https://s3.example.com:9443", s.S3Addr)
	}
	return nil
}

// CheckExposure refuses to let everybody read at an address that others than
// this machine reach, unless an operator has said so. The address is the one on
// which the registry really listens, whatever name it was given by.
func (s Settings) CheckExposure(bound netip.Addr) error {
	if s.Auth != AuthOpen || s.AuthSaid || bound.Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("LARDER_ADDR (--addr) is %q, which others than this machine can reach, and nothing says that they may read: "+
		"set LARDER_AUTH=required (--auth required) so that reading needs a token, or LARDER_AUTH=open (--auth open) to let everybody read who reaches that address", s.Addr)
}

// CheckDownloads refuses to serve others than this machine what they would have to
// download from the loopback address, which is their own machine. The address is the
// one on which the registry really listens.
func (s Settings) CheckDownloads(bound netip.Addr) error {
	if bound.Unmap().IsLoopback() || !hostname.IsLoopback(s.S3Host()) {
		return nil
	}
	return fmt.Errorf("LARDER_ADDR (--addr) is %q, which others than this machine can reach, but clients download from the S3 endpoint, "+
		"and %s leads each of them to their own machine: "+
		"set LARDER_S3_ADDR (--s3-addr) to an address that they reach, too, or LARDER_S3_URL (--s3-url) to the URL at which they reach it",
		s.Addr, cmp.Or(s.S3URL, s.S3Addr))
}

// Host returns the registry's host as it stands in source addresses, given the
// port on which it really listens.
func (s Settings) Host(port int) string {
	if s.Hostname != "" {
		return s.Hostname
	}
	host, _, _ := net.SplitHostPort(s.Addr)
	return svchost.ForDisplay(net.JoinHostPort(host, strconv.Itoa(port)))
}

// S3Endpoint returns the URL at which clients reach the S3 endpoint, given the
// port on which it really listens.
func (s Settings) S3Endpoint(port int) string {
	if s.S3URL != "" {
		return s.S3URL
	}
	host, _, _ := net.SplitHostPort(s.S3Addr)
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// S3Host returns the name or address in that URL.
func (s Settings) S3Host() string {
	u, err := url.Parse(s.S3Endpoint(0))
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// ServerName returns the name or address that the registry's certificate is
// for: the host of source addresses, international names in their ASCII form.
func (s Settings) ServerName() string {
	name, err := svchost.ForComparison(s.Host(443))
	if err != nil {
		return ""
	}
	host, _, _ := strings.Cut(name.String(), ":")
	return host
}

// WebHost returns the registry's host as it stands in URLs and as browsers send
// it, international names in their ASCII form, given the port on which it really
// listens.
func (s Settings) WebHost(port int) string {
	host := s.Host(port)
	name, err := svchost.ForComparison(host)
	if err != nil {
		return host
	}
	return name.String()
}

// CertificateHosts returns the names and addresses under which the registry
// and its bucket are reached, for the certificates of the local CA.
func (s Settings) CertificateHosts() []string {
	hosts := []string{"127.0.0.1", "::1", "localhost"}
	for _, addr := range []string{s.Addr, s.S3Addr} {
		if host, _, _ := net.SplitHostPort(addr); !isEveryInterface(host) {
			hosts = append(hosts, host)
		}
	}
	hosts = append(hosts, s.ServerName(), s.S3Host())
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func (a Auth) check() error {
	if a != AuthOpen && a != AuthRequired {
		return fmt.Errorf("choose %q or %q", AuthOpen, AuthRequired)
	}
	return nil
}

func checkListen(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("write host and port, like 127.0.0.1:8443")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port: write a number from 0 (any free port) to 65535", port)
	}
	return nil
}

// checkReachable finds out whether clients can write the address in a source
// address: that takes a hostname with a dot.
func checkReachable(addr string) error {
	host, _, _ := net.SplitHostPort(addr)
	if isEveryInterface(host) {
		return fmt.Errorf("that is every interface: set LARDER_HOSTNAME to the name that clients use, like registry.example.com:8443")
	}
	if strings.Contains(host, ":") {
		return fmt.Errorf("an IPv6 address cannot stand in a source address: set LARDER_HOSTNAME to a name for it")
	}
	if !strings.Contains(host, ".") {
		return fmt.Errorf("module addresses need a dot in the hostname: use 127.0.0.1, or set LARDER_HOSTNAME to a name with a dot")
	}
	if _, err := svchost.ForComparison(host); err != nil {
		return fmt.Errorf("not a hostname that can stand in a source address: %w", err)
	}
	return nil
}

func isEveryInterface(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}

// maxDays is the most that an operator can say, as on AWS.
const maxDays = 3650

func parseDays(value string) (int, error) {
	days, err := strconv.Atoi(value)
	if err != nil || days < 0 || days > maxDays {
		return 0, fmt.Errorf("%q is not a number of days: give one from 0 to %d", value, maxDays)
	}
	return days, nil
}

// parseHostname normalises a hostname as Terraform does with those in source
// addresses: lower case, without the port 443.
func parseHostname(value string) (string, error) {
	if strings.ContainsAny(value, "/@?#") {
		return "", fmt.Errorf("write just the host, like registry.example.com, without https:// and path")
	}
	name, err := svchost.ForComparison(value)
	if err != nil {
		return "", fmt.Errorf("not a hostname: %w", err)
	}
	host, port, hasPort := strings.Cut(name.String(), ":")
	if !strings.Contains(host, ".") {
		return "", fmt.Errorf("module addresses need a dot in the hostname: use a name like registry.example.com")
	}
	if n, err := strconv.Atoi(port); hasPort && (err != nil || n < 1) {
		return "", fmt.Errorf("%q is not a port: write a number from 1 to 65535", port)
	}
	return name.ForDisplay(), nil
}

func parseURL(value string) (string, error) {
	const want = "write scheme, host and port alone, like https://s3.example.com:9443"
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		strings.TrimRight(u.Path, "/") != "" {
		return "", fmt.Errorf("not the URL of an S3 endpoint: %s", want)
	}
	if u.Scheme != "https" {
		return "", fmt.Errorf("the S3 endpoint is reached by https: %s", want)
	}
	return "https://" + strings.ToLower(u.Host), nil
}

func checkIssuer(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("not the URL of a provider: write it as its discovery document has it, like https://login.example.com")
	}
	return nil
}

// parseProxies reads addresses and networks, with commas between them.
func parseProxies(value string) (all []netip.Prefix, err error) {
	for text := range strings.SplitSeq(value, ",") {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); single == nil {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
			if addr.Zone() != "" {
				return nil, fmt.Errorf("write %q without a zone", text)
			}
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is no address and no network: write them with commas between, like 127.0.0.1,10.0.0.0/8", text)
		case network.Addr().Is4In6():
			return nil, fmt.Errorf("write %q without ::ffff: at its beginning", text)
		case network.Bits() == 0:
			return nil, fmt.Errorf("%q is everybody, and everybody could say to be another: write the addresses of the proxies alone", text)
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

// parseScopes reads scopes of OAuth 2.0: RFC 6749, section 3.3.
func parseScopes(value string) ([]string, error) {
	foreign := func(c rune) bool { return c != ' ' && (c < '!' || c > '~' || c == '"' || c == '\\') }
	scopes := strings.Fields(value)
	if strings.ContainsFunc(value, foreign) || !slices.Contains(scopes, "openid") {
		return nil, fmt.Errorf("write scopes with spaces between them, of which one is openid, like \"openid profile groups\"")
	}
	return scopes, nil
}
