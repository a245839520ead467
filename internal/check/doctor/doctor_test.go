package doctor

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/larder-registry/larder/internal/check/findings"
)

// options visit all of a registry.
func (l *live) options() Options {
	roots := x509.NewCertPool()
	roots.AddCert(l.Certificate())
	return Options{Host: l.host(), Roots: roots, Module: &Module{Address: networkModule}, Provider: &Provider{Address: widgetProvider}}
}

// examine visits a registry, and holds that no finding tells a secret.
func examine(t *testing.T, o Options) *findings.List {
	t.Helper()
	list := &findings.List{Each: func(f findings.Finding) { t.Logf("%-4s %s: %s", f.Result, f.Check, f.Found) }}
	Run(t.Context(), o, list)
	for _, f := range list.All() {
		if text := f.Found + f.Advice; strings.Contains(text, "s3cret") || strings.Contains(text, goodToken) {
			t.Errorf("%s tells a secret: %s", f.Check, text)
		}
		if text := f.Found + f.Advice; strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Errorf("%s tells a terminal what to do: %q", f.Check, text)
		}
		if (f.Advice == "") != (f.Result == findings.OK) {
			t.Errorf("%s is %s with the advice %q", f.Check, f.Result, f.Advice)
		}
	}
	return list
}

// checks are those that ended with a result.
func checks(list *findings.List, r findings.Result) (names []string) {
	for _, f := range list.All() {
		if f.Result == r {
			names = append(names, f.Check)
		}
	}
	return names
}

// A good registry passes every check, each once, and logs nothing of the visit's connections.
func TestWell(t *testing.T) {
	l := newLive(t)
	list := examine(t, l.options())
	l.Close() // waits for the connections
	if len(l.broken) > 0 {
		t.Errorf("the registry logged %q", l.broken)
	}
	if bad := list.Count(findings.Warn) + list.Count(findings.Fail); bad > 0 || len(list.All()) < 35 {
		t.Errorf("%d of %d findings are bad", bad, len(list.All()))
	}
	names := checks(list, findings.OK)
	slices.Sort(names)
	if once := slices.Compact(slices.Clone(names)); len(once) != len(names) {
		t.Errorf("a check is there twice: %v", names)
	}
	for _, f := range list.All() {
		if strings.HasPrefix(f.Found, "1 ") && strings.HasSuffix(f.Found, "s") || f.Check == "provider.keys" && f.Found != "1 signing key" {
			t.Errorf("%s: %s", f.Check, f.Found)
		}
	}
}

// Most registries say nothing of packages, and both clients install from them.
func TestWithoutPackages(t *testing.T) {
	l := newLive(t)
	l.breaks = onPath(getProvider, replace(`"packages"`, `"x"`))
	list := examine(t, l.options())
	if bad := list.Count(findings.Warn) + list.Count(findings.Fail); bad > 0 || slices.Contains(checks(list, findings.OK), "provider.size") {
		t.Errorf("%d findings are bad", bad)
	}
}

// What a registry calls its paths is told, but for what a terminal would obey.
func TestEscapesForATerminal(t *testing.T) {
	l := newLive(t)
	l.breaks = onPath(discoveryPath, replace("/v1/modules/", "/v1/%1b]0;x%07%c2%9b31m/modules/"))
	if told := fmt.Sprint(examine(t, l.options()).All()); !strings.Contains(told, "]0;x") {
		t.Errorf("nothing is told of the path: %s", told)
	}
}

// onPath breaks the answers to reading requests whose path ends with a suffix.
func onPath(suffix string, breaks func(*reply)) func(*http.Request, *reply) {
	return func(r *http.Request, a *reply) {
		if (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.HasSuffix(r.URL.Path, suffix) {
			breaks(a)
		}
	}
}

func header(name, value string) func(*reply) { return func(a *reply) { a.header.Set(name, value) } }
func status(code int) func(*reply)           { return func(a *reply) { a.status = code } }
func body(text string) func(*reply)          { return func(a *reply) { a.body = []byte(text) } }

func replace(old, new string) func(*reply) { return func(a *reply) { a.replace(old, new) } }

const (
	discoveryPath = "/.well-known/terraform.json"
	listModule    = "/acme/network/aws/versions"
	getModule     = "/acme/network/aws/1.2.0/download"
	listProvider  = "/acme/widget/versions"
	sumsPath      = "_SHA256SUMS"
)

var getProvider = "/acme/widget/1.0.0/download/" + strings.ReplaceAll(thisPlatform().String(), "_", "/")

// Every registry that is broken in one way fails the one check for it.
func TestBroken(t *testing.T) {
	tests := []struct {
		check  string
		name   string
		breaks func(*http.Request, *reply)
	}{
		{"discovery.status", "not found", onPath(discoveryPath, status(404))},
		{"discovery.status", "wants a token", onPath(discoveryPath, status(401))},
		{"discovery.redirects", "in a circle", onPath(discoveryPath, func(a *reply) { a.status = 302; a.header.Set("Location", discoveryPath) })},
		{"discovery.status", "elsewhere, where nobody answers", onPath(discoveryPath, func(a *reply) { a.status = 302; a.header.Set("Location", "https://127.0.0.1:1/") })},
		{"discovery.redirects", "to http", onPath(discoveryPath, func(a *reply) { a.status = 302; a.header.Set("Location", "http://127.0.0.1/") })},
		{"discovery.content-type", "html", onPath(discoveryPath, header("Content-Type", "text/html"))},
		{"discovery.content-type", "malformed", onPath(discoveryPath, header("Content-Type", "application/json; charset"))},
		{"discovery.size", "too large", onPath(discoveryPath, func(a *reply) { a.body = append(a.body, strings.Repeat(" ", maxDiscovery)...) })},
		{"discovery.document", "a list", onPath(discoveryPath, body(`[]`))},
		{"discovery.document", "null", onPath(discoveryPath, body(`null`))},
		{"discovery.modules", "no slash", onPath(discoveryPath, replace("/v1/modules/", "/v1/modules"))},
		{"discovery.providers", "no slash", onPath(discoveryPath, replace("/v1/providers/", "/v1/providers"))},
		{"discovery.login", "no client", onPath(discoveryPath, replace(`{"mod`, `{"login.v1":{"authz":"/a","token":"/t"},"mod`))},
		{"discovery.login", "one port", onPath(discoveryPath, replace(`{"mod`, `{"login.v1":{"client":"c","authz":"/a","token":"/t","ports":[10000,10000]},"mod`))},
		{"discovery.anonymous", "looks at tokens", func(r *http.Request, a *reply) {
			if r.URL.Path == discoveryPath && r.Header.Get("Authorization") != "" {
				a.status = 401
			}
		}},

		{"errors.not-found", "403 of a gateway", onPath("/larder-doctor/absent", func(a *reply) { a.status = 403; a.body = []byte(`{"message":"Missing Authentication Token"}`) })},
		{"errors.not-found", "a login page", onPath("/absent/1.0.0/download/linux/amd64", func(a *reply) { a.status = 302; a.header.Set("Location", "/login") })},
		{"errors.shape", "a gateway's own", onPath("/larder-doctor/absent", body(`{"message":"Not Found"}`))},
		{"errors.shape", "html", onPath("/larder-doctor/absent", header("Content-Type", "text/html"))},
		{"errors.method", "404 to POST", func(r *http.Request, a *reply) {
			if r.Method == http.MethodPost {
				a.status = 404
			}
		}},
		{"errors.method", "no Allow", func(_ *http.Request, a *reply) { a.header.Del("Allow") }},
		{"paths.head", "no route", func(r *http.Request, a *reply) {
			if r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, "/versions") {
				a.status = 405
			}
		}},
		{"paths.head", "another length", func(r *http.Request, a *reply) {
			if r.Method == http.MethodHead {
				a.header.Set("Content-Length", "1")
			}
		}},
		{"paths.trailing-slash", "a redirect", onPath("/versions/", func(a *reply) { a.status = 301; a.header.Set("Location", "versions") })},
		{"paths.encoded", "an internal error", onPath("\x00work/aws/versions", status(500))},
		{"paths.encoded", "unpacked twice", onPath("/../network/aws/versions", status(200))},

		{"module.versions", "not there", onPath(listModule, status(404))},
		{"module.document", "null for a module", onPath(listModule, body(`{"modules":[null]}`))},
		{"module.document", "null for a version", onPath(listModule, body(`{"modules":[{"versions":[null]}]}`))},
		{"module.document", "no modules", onPath(listModule, body(`{"modules":[]}`))},
		{"module.document", "a wrong type", onPath(listModule, body(`{"modules":[{"versions":[{"version":"1.2.0","submodules":{}}]}]}`))},
		{"module.version-numbers", "a leading v", onPath(listModule, replace(`"1.0.0"`, `"v1.0.0"`))},
		{"module.version-numbers", "twins", onPath(listModule, replace(`"1.0.0"`, `"1.2.0+b"`))},
		{"module.version-numbers", "none", onPath(listModule, body(`{"modules":[{"versions":[]}]}`))},
		{"module.download", "an error", onPath(getModule, status(500))},
		{"module.download", "no header", onPath(getModule, func(a *reply) { a.header.Del("X-Terraform-Get") })},
		{"module.download", "200 without a body", onPath(getModule, status(200))},
		{"module.location", "http", onPath(getModule, func(a *reply) {
			a.header.Set("X-Terraform-Get", strings.Replace(a.header.Get("X-Terraform-Get"), "https:", "http:", 1))
		})},
		{"module.location", "no archive", onPath(getModule, header("X-Terraform-Get", "./module?"+secret))},
		{"module.archive", "a URL to nothing", onPath(".tar.gz", status(404))},
		{"module.archive", "empty", onPath(".tar.gz", body(""))},
		{"module.encoding", "gzip", onPath(".tar.gz", header("Content-Encoding", "gzip"))},
		{"module.checksum", "other bytes", onPath(".tar.gz", func(a *reply) { a.body = append(a.body, 0) })},
		{"module.format", "said to be a zip", onPath(getModule, func(a *reply) {
			a.header.Set("X-Terraform-Get", strings.Replace(a.header.Get("X-Terraform-Get"), "archive=tar.gz", "archive=zip", 1))
		})},
		{"module.head", "length 0", func(r *http.Request, a *reply) {
			if r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, ".tar.gz") {
				a.status = 200
				a.header.Set("Content-Length", "0")
			}
		}},

		{"provider.versions", "an error", onPath(listProvider, status(503))},
		{"provider.document", "null for a version", onPath(listProvider, body(`{"versions":[null]}`))},
		{"provider.document", "null for a platform", onPath(listProvider, body(`{"versions":[{"version":"1.0.0","platforms":[null]}]}`))},
		{"provider.document", "a wrong type", onPath(listProvider, body(`{"versions":[{"version":1}]}`))},
		{"provider.version-numbers", "a leading v", onPath(listProvider, replace(`"1.0.0"`, `"v1.0.0"`))},
		{"provider.platform", "none at all", onPath(listProvider, body(`{"versions":[{"version":"1.0.0"}]}`))},
		{"provider.download", "not found", onPath(getProvider, status(404))},
		{"provider.download", "a wrong type", onPath(getProvider, replace(`"filename":"`, `"filename":7,"x":"`))},
		{"provider.fields", "upper case", onPath(getProvider, replace(`"os":"`, `"os":"X`))},
		{"provider.fields", "another file", onPath(getProvider, replace(`"filename":"`, `"filename":"x`))},
		{"provider.fields", "a short shasum", onPath(getProvider, replace(`"shasum":"`, `"shasum":"0`))},
		{"provider.fields", "an old protocol", onPath(getProvider, replace(`"5.0"`, `"4.0"`))},
		{"provider.fields", "no download_url", onPath(getProvider, replace(`"download_url"`, `"x"`))},
		{"provider.fields", "packages of another platform", onPath(getProvider, replace(`"packages":{"`+thisPlatform().String(), `"packages":{"plan9_mips`))},
		{"provider.fields", "packages of no platform", onPath(getProvider, replace(`"packages":{`, `"packages":{"linux":{},`))},
		{"provider.fields", "packages without a size", onPath(getProvider, replace(`"package_size"`, `"x"`))},
		{"provider.fields", "packages with another zh", onPath(getProvider, replace(`"zh:`, `"zh:0`))},
		{"provider.fields", "packages with a hash of no kind", onPath(getProvider, replace(`"hashes":[`, `"hashes":["00",`))},
		{"provider.size", "another", onPath(getProvider, replace(`"package_size":`, `"package_size":1`))},
		{"provider.keys", "none", onPath(getProvider, replace(`"gpg_public_keys"`, `"x"`))},
		{"provider.keys", "null", onPath(getProvider, replace(`"gpg_public_keys":[`, `"gpg_public_keys":[null,`))},
		{"provider.keys", "a trust signature", onPath(getProvider, replace(`"trust_signature":""`, `"trust_signature":"x"`))},
		{"provider.keys", "no armor", onPath(getProvider, replace(`-----BEGIN PGP`, `PGP`))},
		{"provider.shasums", "not there", onPath(sumsPath, status(403))},
		{"provider.shasums", "a blank line", onPath(sumsPath, func(a *reply) { a.body = append(a.body, '\n') })},
		{"provider.shasum", "another file", func(r *http.Request, a *reply) {
			onPath(sumsPath, replace("widget", "gadget"))(r, a) // its signature is of no use then, either
		}},
		{"provider.signature", "not there", onPath(sumsPath+".sig", status(403))},
		{"provider.signature", "armored", onPath(sumsPath+".sig", body("-----BEGIN PGP SIGNATURE-----"))},
		{"provider.signature", "over other bytes", onPath(sumsPath, func(a *reply) { a.body = append(a.body, hexSum(nil)+"  another\n"...) })},
		{"provider.archive", "a URL to nothing", onPath(".zip", status(404))},
		{"provider.encoding", "gzip", onPath(".zip", header("Content-Encoding", "gzip"))},
		{"provider.checksum", "other bytes", onPath(".zip", func(a *reply) { a.body = append(a.body, 0) })},
		{"provider.head", "length 0", func(r *http.Request, a *reply) {
			if r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, ".zip") {
				a.status = 200
				a.header.Set("Content-Length", "0")
			}
		}},
	}
	also := map[string][]string{"provider.shasum": {"provider.signature"}, "provider.checksum": {"provider.size"}}
	l := newLive(t)
	for _, tt := range tests {
		t.Run(tt.check+"/"+tt.name, func(t *testing.T) {
			l.breaks = tt.breaks
			failed := checks(examine(t, l.options()), findings.Fail)
			if want := append([]string{tt.check}, also[tt.check]...); !slices.Equal(failed, want) {
				t.Errorf("failed: %v, want %v", failed, want)
			}
		})
	}
}

// What works, but should not stay as it is.
func TestWarnings(t *testing.T) {
	otherPlatform := replace(`"os":"`+thisPlatform().OS, `"os":"plan9`)
	tests := []struct {
		check  string
		breaks func(*http.Request, *reply)
	}{
		{"discovery.services", onPath(discoveryPath, replace(`{"mod`, `{"tfe.v2":"/api/","mod`))},
		{"module.location", onPath(getModule, func(a *reply) {
			location, _, _ := strings.Cut(a.header.Get("X-Terraform-Get"), "&checksum=")
			a.header.Set("X-Terraform-Get", location)
		})},
		{"module.encoding", onPath(".tar.gz", header("Content-Encoding", "aws-chunked"))},
		{"provider.encoding", onPath(".zip", header("Content-Encoding", "aws-chunked"))},
		{"provider.platform", func(r *http.Request, a *reply) {
			r.URL.Path = strings.Replace(r.URL.Path, "/plan9/", "/"+thisPlatform().OS+"/", 1)
			onPath(listProvider, otherPlatform)(r, a)
		}},
	}
	l := newLive(t)
	for _, tt := range tests {
		l.breaks = tt.breaks
		if warned := checks(examine(t, l.options()), findings.Warn); !slices.Equal(warned, []string{tt.check}) {
			t.Errorf("warned: %v, want %s", warned, tt.check)
		}
	}
}

// The certificate, each fault of it by itself.
func TestTLS(t *testing.T) {
	l := newLive(t)
	leaf := l.Certificate()
	_, port, _ := strings.Cut(l.host(), ":")
	ended := newLive(t)
	ended.Close()
	at := func(now time.Time) func(*Options) {
		return func(o *Options) { o.Now = func() time.Time { return now } }
	}
	tests := []struct {
		check  string
		result findings.Result
		change func(*Options)
	}{
		{"tls.connect", findings.Fail, func(o *Options) { o.Host = ended.host() }},
		{"tls.name", findings.Fail, func(o *Options) { o.Host = "localhost:" + port }},
		{"tls.chain", findings.Fail, func(o *Options) { o.Roots = x509.NewCertPool() }},
		{"tls.expiry", findings.Fail, at(leaf.NotAfter.Add(time.Hour))},
		{"tls.expiry", findings.Fail, at(leaf.NotBefore.Add(-time.Hour))},
		{"tls.expiry", findings.Warn, at(leaf.NotAfter.Add(-time.Hour))},
	}
	for _, tt := range tests {
		o := l.options()
		tt.change(&o)
		list := examine(t, o)
		if got := checks(list, tt.result); !slices.Equal(got, []string{tt.check}) {
			t.Errorf("%s: %v, want %s", tt.result, got, tt.check)
		}
		// Who cannot trust the certificate sends nothing.
		if stopped := len(checks(list, findings.OK)) < 5; stopped != (tt.result == findings.Fail) {
			t.Errorf("%s: went on with %v", tt.check, checks(list, findings.OK))
		}
	}
}

// A certificate is renewed fourteen days before its end, and one that lives for less than six weeks in the last third.
func TestExpiry(t *testing.T) {
	const day = 24 * time.Hour
	begin := time.Now()
	for life, soon := range map[time.Duration]time.Duration{90 * day: 14 * day, 43 * day: 14 * day, 42 * day: 14 * day, 30 * day: 10 * day, 6 * day: 2 * day} {
		for left, want := range map[time.Duration]findings.Result{soon + time.Second: findings.OK, soon - time.Second: findings.Warn, -time.Second: findings.Fail} {
			leaf := &x509.Certificate{NotBefore: begin, NotAfter: begin.Add(life)}
			var list findings.List
			v := &visit{Options: Options{Now: func() time.Time { return leaf.NotAfter.Add(-left) }}, List: &list}
			v.checkExpiry(leaf)
			if list.Count(want) != 1 {
				t.Errorf("%v before the end of one for %v: %+v, want %s", left, life, list.All(), want)
			}
		}
	}
}

// Discovery that takes longer than the clients wait.
func TestSlowDiscovery(t *testing.T) {
	l := newLive(t)
	var passed atomic.Int64 // since the beginning, on a clock that only this registry moves
	start := time.Now()
	l.breaks = onPath(discoveryPath, func(*reply) { passed.Add(int64(discoveryTime)) })
	o := l.options()
	o.Now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	if failed := checks(examine(t, o), findings.Fail); !slices.Equal(failed, []string{"discovery.time"}) {
		t.Errorf("failed: %v", failed)
	}
}

// A registry that wants a token, for visitors with and without one.
func TestAccess(t *testing.T) {
	l := newLive(t)
	l.closed = true
	tests := []struct {
		token, result string
		module        *Module
	}{
		{goodToken, "ok", &Module{Address: networkModule}},
		{"stale", "FAIL", nil},
		{"", "warn", nil},
		{"", "FAIL", &Module{Address: networkModule}},
	}
	for _, tt := range tests {
		o := l.options()
		o.Token, o.Module = tt.token, tt.module
		if o.Module == nil {
			o.Provider = nil
		}
		list := examine(t, o)
		for _, f := range list.All() {
			if want := findings.Result(tt.result); f.Check == "access" && f.Result != want {
				t.Errorf("access with %q is %s, want %s", tt.token, f.Result, want)
			}
		}
		if n := len(checks(list, findings.Fail)); tt.result != "FAIL" && n > 0 || n > 1 {
			t.Errorf("with %q: %v failed", tt.token, checks(list, findings.Fail))
		}
	}
	if len(l.tokens) > 0 {
		t.Errorf("the bucket was shown a token %d times", len(l.tokens))
	}
}

// What is asked for by name is what is looked at, or said not to be there.
func TestVersionAndPlatform(t *testing.T) {
	tests := []struct{ module, provider, platform, failed string }{
		{"acme/network/aws@1.2", "acme/widget@1.0.0", thisPlatform().String(), ""},
		{"acme/network/aws@9.0.0", "acme/widget", "", "module.version"},
		{"acme/network/aws", "acme/widget@9.0.0", "", "provider.version"},
		{"acme/network/aws", "acme/widget", "plan9_mips", "provider.platform"},
		{"acme/nothing/aws", "acme/widget", "", "module.versions"},
		{"acme/network/aws", "acme/nothing", "", "provider.versions"},
	}
	l := newLive(t)
	for _, tt := range tests {
		o := l.options()
		var err error
		if o.Module, err = ParseModule(tt.module); err != nil {
			t.Fatal(err)
		}
		if o.Provider, err = ParseProvider(tt.provider, tt.platform); err != nil {
			t.Fatal(err)
		}
		if failed := strings.Join(checks(examine(t, o), findings.Fail), " "); failed != tt.failed {
			t.Errorf("%s %s %s: failed %q, want %q", tt.module, tt.provider, tt.platform, failed, tt.failed)
		}
	}
}

// What a registry does not offer cannot be installed.
func TestServiceNotOffered(t *testing.T) {
	l := newLive(t)
	for _, protocol := range []string{"module", "provider"} {
		l.breaks = onPath(discoveryPath, replace(fmt.Sprintf("%ss.v1", protocol), "x"))
		list := examine(t, l.options())
		if failed := checks(list, findings.Fail); !slices.Equal(failed, []string{protocol + ".versions"}) {
			t.Errorf("without %ss: failed %v", protocol, failed)
		}
	}
}
