package settings

import (
	"cmp"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/spf13/pflag"
)

func load(t *testing.T, env map[string]string, args ...string) (Settings, error) {
	t.Helper()
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	return Load(flags, environ)
}

func TestDefaults(t *testing.T) {
	got, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs(".larder")
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := pullthrough.ParsePlatforms(pullthrough.DefaultPlatforms)
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Addr: "127.0.0.1:8443", S3Addr: "127.0.0.1:9443", Data: data, Auth: AuthOpen, InboxDays: 30, MirrorPlatforms: platforms,
		Login: Login{Scopes: []string{"openid", "profile", "email"}}, Log: LogText}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFlagWinsOverEnvironment(t *testing.T) {
	env := map[string]string{"LARDER_ADDR": "127.0.0.1:1", "LARDER_AUTH": "required", "LARDER_DATA": ""}
	got, err := load(t, env, "--addr", "127.0.0.1:2")
	if err != nil {
		t.Fatal(err)
	}
	if got.Addr != "127.0.0.1:2" {
		t.Errorf("address %q: the flag did not win", got.Addr)
	}
	if got.Auth != AuthRequired {
		t.Errorf("auth %q: the variable was not read", got.Auth)
	}
	if filepath.Base(got.Data) != ".larder" {
		t.Errorf("data %q: an empty variable is not the default", got.Data)
	}
}

func TestAccepted(t *testing.T) {
	for _, env := range []map[string]string{
		{"LARDER_ADDR": "127.0.0.1:0", "LARDER_S3_ADDR": "127.0.0.1:0"},
		{"LARDER_ADDR": "registry.example.com:443"},
		{"LARDER_INBOX_DAYS": "0"},
		{"LARDER_INBOX_DAYS": "3650"},
		{"LARDER_ADDR": ":8443", "LARDER_HOSTNAME": "registry.example.com"},
		{"LARDER_ADDR": "localhost:8443", "LARDER_HOSTNAME": "registry.example.com:8443"},
		{"LARDER_ADDR": "[::1]:8443", "LARDER_HOSTNAME": "registry.example.com"},
		{"LARDER_S3_ADDR": "0.0.0.0:9443", "LARDER_S3_URL": "https://s3.example.com/"},
		{"LARDER_S3_ADDR": "localhost:9443"},
		{"LARDER_TLS_CERT": "c.pem", "LARDER_TLS_KEY": "k.pem"},
		{"LARDER_LOGIN_ISSUER": "https://login.example.com/tenant/", "LARDER_LOGIN_CLIENT_ID": "larder", "LARDER_LOGIN_SCOPES": "groups  openid"},
		{"LARDER_LOGIN_SCOPES": "openid !~"},
		{"LARDER_HOSTNAME": "registry.example.com:1"},
		{"LARDER_BUCKET": "larder", "LARDER_ENV": "/data/env", "LARDER_HOST": "127.0.0.1:8443", "LARDER_VERSION": "v1.0.0", "LARDER_ID_TOKEN": "x"},
		{"LARDER_SERVICE_HOST": "10.0.0.1", "LARDER_SERVICE_PORT": "8443", "LARDER_SERVICE_PORT_HTTPS": "8443", "LARDER_PORT": "tcp://10.0.0.1:8443",
			"LARDER_PORT_8443_TCP": "tcp://10.0.0.1:8443", "LARDER_PORT_8443_TCP_PROTO": "tcp", "LARDER_PORT_8443_TCP_PORT": "8443", "LARDER_PORT_8443_TCP_ADDR": "10.0.0.1"},
		{"LARDER_S3_SERVICE_HOST": "10.0.0.1", "LARDER_S3_SERVICE_PORT": "9443", "LARDER_S3_PORT": "tcp://10.0.0.1:9443", "LARDER_S3_PORT_9443_TCP_ADDR": "10.0.0.1"},
		{"LARDER_AUHT": "", "LARDER": "x", "larder_auth": "x", "MY_LARDER_AUTH": "x"},
	} {
		if _, err := load(t, env); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		env  map[string]string
		says []string // parts of the error: which variable, and what to do
	}{
		{map[string]string{"LARDER_AUHT": "required"}, []string{"LARDER_AUHT:", "misspelt", "LARDER_ADDR, LARDER_AUTH, LARDER_DATA"}},
		{map[string]string{"LARDER_TLS_KEYS": "x", "LARDER_AUTH": "required", "LARDER_": "x"}, []string{"LARDER_, LARDER_TLS_KEYS: there is no such setting"}},
		{map[string]string{"LARDER_TABLE": "larder"}, []string{"LARDER_TABLE:"}},
		{map[string]string{"LARDER_PORTS": "8443"}, []string{"LARDER_PORTS:"}},
		{map[string]string{"LARDER_ADDR": "8443"}, []string{"LARDER_ADDR", "--addr", "127.0.0.1:8443"}},
		{map[string]string{"LARDER_ADDR": "127.0.0.1"}, []string{"LARDER_ADDR", "host and port"}},
		{map[string]string{"LARDER_ADDR": "127.0.0.1:https"}, []string{"LARDER_ADDR", "not a port"}},
		{map[string]string{"LARDER_ADDR": "127.0.0.1:65536"}, []string{"LARDER_ADDR", "not a port"}},
		{map[string]string{"LARDER_ADDR": "127.0.0.1:-1"}, []string{"LARDER_ADDR", "not a port"}},
		{map[string]string{"LARDER_ADDR": "localhost:8443"}, []string{"LARDER_ADDR", "need a dot", "127.0.0.1"}},
		{map[string]string{"LARDER_ADDR": ":8443"}, []string{"LARDER_ADDR", "LARDER_HOSTNAME"}},
		{map[string]string{"LARDER_ADDR": "0.0.0.0:8443"}, []string{"LARDER_ADDR", "LARDER_HOSTNAME"}},
		{map[string]string{"LARDER_ADDR": "[::]:8443"}, []string{"LARDER_ADDR", "LARDER_HOSTNAME"}},
		{map[string]string{"LARDER_ADDR": "[::1]:8443"}, []string{"LARDER_ADDR", "IPv6", "LARDER_HOSTNAME"}},
		{map[string]string{"LARDER_ADDR": "not_a.host name:8443"}, []string{"LARDER_ADDR", "not a hostname"}},
		{map[string]string{"LARDER_S3_ADDR": "9443"}, []string{"LARDER_S3_ADDR", "--s3-addr"}},
		{map[string]string{"LARDER_S3_ADDR": ":9443"}, []string{"LARDER_S3_ADDR", "LARDER_S3_URL"}},
		{map[string]string{"LARDER_S3_ADDR": "127.0.0.1:8443"}, []string{"LARDER_ADDR", "LARDER_S3_ADDR"}},
		{map[string]string{"LARDER_AUTH": "none"}, []string{"LARDER_AUTH", `"open"`, `"required"`}},
		{map[string]string{"LARDER_HOSTNAME": "https://registry.example.com"}, []string{"LARDER_HOSTNAME", "without https://"}},
		{map[string]string{"LARDER_HOSTNAME": "registry.example.com/"}, []string{"LARDER_HOSTNAME", "path"}},
		{map[string]string{"LARDER_HOSTNAME": "localhost:8443"}, []string{"LARDER_HOSTNAME", "dot"}},
		{map[string]string{"LARDER_HOSTNAME": "registry..com"}, []string{"LARDER_HOSTNAME", "not a hostname"}},
		{map[string]string{"LARDER_HOSTNAME": "registry.example.com:0"}, []string{"LARDER_HOSTNAME", "not a port"}},
		{map[string]string{"LARDER_HOSTNAME": "registry.example.com:99999"}, []string{"LARDER_HOSTNAME", "65535"}},
		{map[string]string{"LARDER_TLS_CERT": "c.pem"}, []string{"LARDER_TLS_CERT", "LARDER_TLS_KEY"}},
		{map[string]string{"LARDER_TLS_KEY": "k.pem"}, []string{"LARDER_TLS_CERT", "LARDER_TLS_KEY"}},
		{map[string]string{"LARDER_INBOX_DAYS": "-1"}, []string{"LARDER_INBOX_DAYS (--inbox-days)", `"-1" is not a number of days: give one from 0 to 3650`}},
		{map[string]string{"LARDER_INBOX_DAYS": "3651"}, []string{"LARDER_INBOX_DAYS", "from 0 to 3650"}},
		{map[string]string{"LARDER_INBOX_DAYS": "a week"}, []string{"LARDER_INBOX_DAYS", `"a week"`}},
		{map[string]string{"LARDER_S3_URL": "http://s3.example.com"}, []string{"LARDER_S3_URL", "https"}},
		{map[string]string{"LARDER_MIRROR_UPSTREAMS": "*/*/*"}, []string{"LARDER_MIRROR_UPSTREAMS", "hostname"}},
		{map[string]string{"LARDER_MIRROR_PLATFORMS": "linux"}, []string{"LARDER_MIRROR_PLATFORMS", "linux_amd64"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "https://login.example.com"}, []string{"LARDER_LOGIN_CLIENT_ID", "--login-client-id"}},
		{map[string]string{"LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER", "--login-issuer"}},
		{map[string]string{"LARDER_LOGIN_CLIENT_SECRET_FILE": "secret"}, []string{"LARDER_LOGIN_ISSUER", "--login-issuer"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "http://login.example.com", "LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER", "https://"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "login.example.com", "LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER", "https://"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "https://login.example.com?a=b", "LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "https://login.example.com#a", "LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "https://me:secret@login.example.com", "LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "https://login.example.com:x", "LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER"}},
		{map[string]string{"LARDER_LOGIN_ISSUER": "https:///tenant", "LARDER_LOGIN_CLIENT_ID": "larder"}, []string{"LARDER_LOGIN_ISSUER"}},
		{map[string]string{"LARDER_LOGIN_SCOPES": "profile"}, []string{"LARDER_LOGIN_SCOPES", "openid"}},
		{map[string]string{"LARDER_LOGIN_SCOPES": "openid,profile"}, []string{"LARDER_LOGIN_SCOPES", "spaces"}},
		{map[string]string{"LARDER_LOGIN_SCOPES": "openid \""}, []string{"LARDER_LOGIN_SCOPES", "spaces"}},
		{map[string]string{"LARDER_LOGIN_SCOPES": "openid \\"}, []string{"LARDER_LOGIN_SCOPES", "spaces"}},
		{map[string]string{"LARDER_LOGIN_SCOPES": "openid\tprofile"}, []string{"LARDER_LOGIN_SCOPES", "spaces"}},
		{map[string]string{"LARDER_LOGIN_SCOPES": "openid \x7f"}, []string{"LARDER_LOGIN_SCOPES", "spaces"}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "proxy.example.com"}, []string{"LARDER_TRUSTED_PROXIES (--trusted-proxies)", `"proxy.example.com" is not an address or network`, "127.0.0.1,10.0.0.0/8"}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "10.0.0.1,"}, []string{`"" is not an address`}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "10.0.0.0/33"}, []string{`"10.0.0.0/33" is not an address`}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "10.0.0.1 10.0.0.2"}, []string{"with commas between"}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "10.0.0.1,0.0.0.0/0"}, []string{`"0.0.0.0/0" is everybody`}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "::/0"}, []string{`"::/0" is everybody`}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "::ffff:10.0.0.1"}, []string{"without ::ffff:"}},
		{map[string]string{"LARDER_TRUSTED_PROXIES": "fe80::1%eth0"}, []string{"without a zone"}},
		{map[string]string{"LARDER_LOG": "xml"}, []string{"LARDER_LOG (--log)", `"text" or "json"`}},
		{map[string]string{"LARDER_S3_URL": "s3.example.com:9443"}, []string{"LARDER_S3_URL", "https://s3.example.com:9443"}},
		{map[string]string{"LARDER_S3_URL": "https://s3.example.com/larder"}, []string{"LARDER_S3_URL"}},
		{map[string]string{"LARDER_S3_URL": "https://me:secret@s3.example.com"}, []string{"LARDER_S3_URL"}},
		{map[string]string{"LARDER_S3_URL": "https://:9443"}, []string{"LARDER_S3_URL"}},
		{map[string]string{"LARDER_S3_URL": "https://s3.example.com:x"}, []string{"LARDER_S3_URL"}},
		{map[string]string{"LARDER_S3_URL": "https://s3.example.com?a=b"}, []string{"LARDER_S3_URL"}},
		{map[string]string{"LARDER_S3_URL": "https://s3.example.com#a"}, []string{"LARDER_S3_URL"}},
	}
	for _, tt := range tests {
		_, err := load(t, tt.env)
		if err == nil {
			t.Errorf("%v was accepted", tt.env)
			continue
		}
		for _, want := range tt.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q does not say %q", tt.env, err, want)
			}
		}
	}
}

func TestEmptyFlagIsRefusedWhereAValueIsNeeded(t *testing.T) {
	for _, flag := range []string{"--addr", "--s3-addr", "--data", "--auth"} {
		if _, err := load(t, nil, flag+"="); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%s: got %v, want an error that names the flag", flag, err)
		}
	}
}

func TestHost(t *testing.T) {
	tests := []struct {
		env  map[string]string
		port int
		want string
	}{
		{nil, 8443, "127.0.0.1:8443"},
		{map[string]string{"LARDER_ADDR": "127.0.0.1:0"}, 40123, "127.0.0.1:40123"},
		{map[string]string{"LARDER_ADDR": "registry.example.com:443"}, 443, "registry.example.com"},
		{map[string]string{"LARDER_HOSTNAME": "Registry.Example.com:443"}, 8443, "registry.example.com"},
		{map[string]string{"LARDER_HOSTNAME": "registry.example.com:9000"}, 8443, "registry.example.com:9000"},
		{map[string]string{"LARDER_HOSTNAME": "bücher.example"}, 8443, "bücher.example"},
	}
	for _, tt := range tests {
		c, err := load(t, tt.env)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Host(tt.port); got != tt.want {
			t.Errorf("%v on port %d: host %q, want %q", tt.env, tt.port, got, tt.want)
		}
	}
}

func TestS3Endpoint(t *testing.T) {
	tests := []struct{ addr, url, want, host string }{
		{"127.0.0.1:0", "", "https://127.0.0.1:1234", "127.0.0.1"},
		{"[::1]:0", "", "https://[::1]:1234", "::1"},
		{":9443", "https://S3.example.com/", "https://s3.example.com", "s3.example.com"},
	}
	for _, tt := range tests {
		c, err := load(t, map[string]string{"LARDER_S3_ADDR": tt.addr, "LARDER_S3_URL": tt.url})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.S3Endpoint(1234); got != tt.want {
			t.Errorf("%s %s: endpoint %q, want %q", tt.addr, tt.url, got, tt.want)
		}
		if got := c.S3Host(); got != tt.host {
			t.Errorf("%s %s: host %q, want %q", tt.addr, tt.url, got, tt.host)
		}
	}
}

func TestCertificateHosts(t *testing.T) {
	local := []string{"127.0.0.1", "::1", "localhost"}
	tests := []struct {
		env  map[string]string
		name string
		also []string
	}{
		{nil, "127.0.0.1", nil},
		{map[string]string{"LARDER_ADDR": "Registry.example.com:443"}, "registry.example.com",
			[]string{"Registry.example.com", "registry.example.com"}},
		{map[string]string{
			"LARDER_ADDR":     ":8443",
			"LARDER_S3_ADDR":  "10.0.0.7:9443",
			"LARDER_HOSTNAME": "bücher.example:8443",
			"LARDER_S3_URL":   "https://S3.example.com:9443",
		}, "xn--bcher-kva.example", []string{"10.0.0.7", "xn--bcher-kva.example", "s3.example.com"}},
	}
	for _, tt := range tests {
		c, err := load(t, tt.env)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ServerName(); got != tt.name {
			t.Errorf("%v: server name %q, want %q", tt.env, got, tt.name)
		}
		want := append(slices.Clone(local), tt.also...)
		slices.Sort(want)
		if got := c.CertificateHosts(); !slices.Equal(got, want) {
			t.Errorf("%v: got %q, want %q", tt.env, got, want)
		}
	}
}

// Where others than this machine reach the registry, an operator says who may
// read, or it does not serve.
func TestCheckExposure(t *testing.T) {
	said := func(env map[string]string, args ...string) Settings {
		t.Helper()
		c, err := load(t, env, args...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	unsaid := said(nil)
	tests := []struct {
		name     string
		settings Settings
		bound    string
		serves   bool
	}{
		{"loopback", unsaid, "127.0.0.1", true},
		{"all of 127/8 is loopback", unsaid, "127.8.9.10", true},
		{"loopback of IPv6", unsaid, "::1", true},
		{"loopback of IPv4 in IPv6", unsaid, "::ffff:127.0.0.1", true},
		{"every interface", unsaid, "0.0.0.0", false},
		{"every interface, IPv6", unsaid, "::", false},
		{"private", unsaid, "10.0.0.1", false},
		{"private of IPv4 in IPv6", unsaid, "::ffff:10.0.0.1", false},
		{"private of IPv6", unsaid, "fd00::1", false},
		{"of the link", unsaid, "fe80::1", false},
		{"public", unsaid, "192.0.2.1", false},
		{"an empty variable says nothing", said(map[string]string{"LARDER_AUTH": ""}), "192.0.2.1", false},
		{"open by the variable", said(map[string]string{"LARDER_AUTH": "open"}), "192.0.2.1", true},
		{"open by the flag", said(nil, "--auth", "open"), "::", true},
		{"required by the variable", said(map[string]string{"LARDER_AUTH": "required"}), "::", true},
		{"required by the flag", said(nil, "--auth", "required"), "192.0.2.1", true},
		{"required, though nobody said so", Settings{Addr: "192.0.2.1:443", Auth: AuthRequired}, "192.0.2.1", true},
	}
	for _, tt := range tests {
		err := tt.settings.CheckExposure(netip.MustParseAddr(tt.bound))
		if (err == nil) != tt.serves {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil {
			continue
		}
		for _, want := range []string{tt.settings.Addr, "LARDER_ADDR", "LARDER_AUTH=required", "LARDER_AUTH=open"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", tt.name, err, want)
			}
		}
	}
}

// Where others than this machine reach the registry, they reach what they download.
func TestCheckDownloads(t *testing.T) {
	for _, tt := range []struct {
		s3Addr, s3URL, bound string
		serves               bool
	}{
		{"127.0.0.1:9443", "", "127.0.0.1", true},
		{"127.0.0.1:9443", "", "::1", true},
		{"127.0.0.1:9443", "", "192.0.2.1", false},
		{"127.0.0.1:9443", "", "0.0.0.0", false},
		{"127.0.0.1:9443", "", "::", false},
		{"[::1]:9443", "", "10.0.0.1", false},
		{"localhost:9443", "", "10.0.0.1", false},
		{"LOCALHOST:9443", "", "10.0.0.1", false},
		{"192.0.2.1:9443", "", "192.0.2.1", true},
		{"s3.example.com:9443", "", "192.0.2.1", true},
		{"127.0.0.1:9443", "https://s3.example.com", "192.0.2.1", true},
		{"0.0.0.0:9443", "https://127.0.0.1:9443", "192.0.2.1", false},
		{"0.0.0.0:9443", "https://localhost", "192.0.2.1", false},
	} {
		c, err := load(t, map[string]string{"LARDER_S3_ADDR": tt.s3Addr, "LARDER_S3_URL": tt.s3URL})
		if err != nil {
			t.Fatal(err)
		}
		err = c.CheckDownloads(netip.MustParseAddr(tt.bound))
		if (err == nil) != tt.serves {
			t.Errorf("%+v: %v", tt, err)
		}
		for _, want := range []string{"LARDER_ADDR", "and " + cmp.Or(tt.s3URL, tt.s3Addr) + " is their own machine", "LARDER_S3_ADDR", "LARDER_S3_URL"} {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %q does not say %q", tt, err, want)
			}
		}
	}
}

func TestTrustedProxies(t *testing.T) {
	got, err := load(t, map[string]string{"LARDER_TRUSTED_PROXIES": "127.0.0.1, 10.1.2.3/8,::1,2001:db8::1/64"})
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("2001:db8::/64")}
	if !slices.Equal(got.TrustedProxies, want) {
		t.Errorf("got %v, want %v", got.TrustedProxies, want)
	}
}

func TestLogFormats(t *testing.T) {
	got, err := load(t, map[string]string{"LARDER_LOG": "json"})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	got.Log.Logger(&out).Info("request", "status", 200)
	if line := out.String(); !strings.HasPrefix(line, `{"time":"`) || !strings.HasSuffix(line, `,"level":"INFO","msg":"request","status":200}`+"\n") {
		t.Errorf("JSON: %s", line)
	}
	if LogText.Logger(&out) != slog.Default() {
		t.Error("text is not written as by default")
	}
}

// The settings that are there to copy are settings.
func TestSettingsToCopy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "systemd", "larder.env"))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			env[name] = value
		}
	}
	got, err := load(t, env)
	if err != nil {
		t.Fatal(err)
	}
	everywhere := netip.MustParseAddr("192.0.2.1")
	if err := errors.Join(got.CheckExposure(everywhere), got.CheckDownloads(everywhere)); err != nil {
		t.Error(err)
	}
	if len(env) != 8 || got.Hostname != "registry.example.com" {
		t.Errorf("read %q", env)
	}
}

// docs/single-node.md names every setting.
func TestSettingsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "single-node.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table {
		for _, name := range []string{row.env, "--" + row.flag} {
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/single-node.md does not name %s", name)
			}
		}
	}
}
