package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/larder-registry/larder/internal/credentials"
)

const (
	absentModule   = "larder-doctor/absent/null/"
	absentProvider = "larder-doctor/absent/"
)

// api sends a request of a protocol, with the token.
func (v *visit) api(ctx context.Context, method string, u *url.URL, headers ...string) (answer, error) {
	headers = append(headers, "X-Terraform-Version", clientVersion)
	if v.Token != "" {
		headers = append(headers, "Authorization", "Bearer "+v.Token)
	}
	return v.client.ask(ctx, method, u, headers...)
}

// under returns an address below each offered protocol. It does not encode the paths.
func (v *visit) under(modulePath, providerPath string) (all []*url.URL) {
	for _, at := range []struct {
		base *url.URL
		path string
	}{{v.modules, modulePath}, {v.providers, providerPath}} {
		if at.base == nil || at.path == "" {
			continue
		}
		u, err := url.Parse(at.base.String() + at.path)
		if err == nil {
			all = append(all, u)
		}
	}
	return all
}

// versionsOfAbsent returns the addresses of the versions of a module and a provider that do not
// exist.
func (v *visit) versionsOfAbsent() []*url.URL {
	return v.under(absentModule+"versions", absentProvider+"versions")
}

// absent returns addresses that do not exist.
func (v *visit) absent() []*url.URL {
	all := v.versionsOfAbsent()
	all = append(all, v.under(absentModule+"1.0.0/download", absentProvider+"1.0.0/download/linux/amd64")...)
	all = append(all, v.under(absentModule+"1.0.0/absent", absentProvider+"1.0.0/absent")...)
	return append(all, &url.URL{Scheme: "https", Host: v.Host, Path: "/larder-doctor/absent"})
}

// closed says whether a status is the answer of a registry that requires a token to a request
// without a valid one. The check of access reports it.
func closed(status int) bool { return status == http.StatusUnauthorized }

// checkAbsent asks for addresses that do not exist. The clients explain an error by its status;
// 403 would be "unauthorized", a redirect a login page.
func (v *visit) checkAbsent(ctx context.Context) {
	var status, shape []string
	for _, u := range v.absent() {
		got, err := v.api(ctx, http.MethodGet, u)
		switch {
		case err != nil:
			status = append(status, fmt.Sprintf("%s: %v", u.Path, err))
		case got.status != http.StatusNotFound && !closed(got.status):
			status = append(status, fmt.Sprintf("%s: %d", u.Path, got.status))
		case !isErrorDocument(got):
			shape = append(shape, fmt.Sprintf("%s: %s %s", u.Path, got.header.Get("Content-Type"), quote(string(got.body))))
		}
	}
	v.verdict("errors.not-found", status, "addresses that do not exist are 404",
		"answer 404 for addresses that do not exist, on every path: a gateway's own answers mislead the clients, so route all paths to the registry")
	v.verdict("errors.shape", shape, "errors are JSON",
		`answer {"errors":["…"]} as application/json: anything else comes from something before the registry, such as a gateway without a $default route`)
}

// checkMethods sends methods that would change something.
func (v *visit) checkMethods(ctx context.Context) {
	var wrong []string
	for _, u := range append(v.versionsOfAbsent(), v.discovery) {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			got, err := v.api(ctx, method, u)
			switch {
			case err != nil:
				wrong = append(wrong, fmt.Sprintf("%s %s: %v", method, u.Path, err))
			case closed(got.status) && u != v.discovery:
			case got.status != http.StatusMethodNotAllowed || !allowsReading(got.header):
				wrong = append(wrong, fmt.Sprintf("%s %s: %d, Allow %s", method, u.Path, got.status, quote(got.header.Get("Allow"))))
			}
		}
	}
	v.verdict("errors.method", wrong, "other methods than GET and HEAD are 405", "answer 405 with Allow: GET, HEAD")
}

func allowsReading(h http.Header) bool {
	allowed := strings.Split(strings.ReplaceAll(h.Get("Allow"), " ", ""), ",")
	return slices.Contains(allowed, http.MethodGet) && slices.Contains(allowed, http.MethodHead)
}

// checkHead compares HEAD with GET.
func (v *visit) checkHead(ctx context.Context) {
	plain := []string{"Accept-Encoding", "identity"} // so that both have the same length
	var wrong []string
	for _, u := range append(v.versionsOfAbsent(), v.discovery) {
		get, err := v.api(ctx, http.MethodGet, u, plain...)
		if err == nil {
			var head answer
			if head, err = v.api(ctx, http.MethodHead, u, plain...); err == nil {
				err = sameHead(get, head)
			}
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", u.Path, err))
		}
	}
	v.verdict("paths.head", wrong, "HEAD is answered as GET", "route HEAD to the same handler as GET")
}

func sameHead(get, head answer) error {
	if head.status != get.status {
		return fmt.Errorf("HEAD is %d, GET is %d", head.status, get.status)
	}
	if want, got := get.header.Get("Content-Type"), head.header.Get("Content-Type"); got != want {
		return fmt.Errorf("the Content-Type of HEAD is %s, that of GET %s", quote(got), quote(want))
	}
	if stated := head.header.Get("Content-Length"); stated != "" && stated != strconv.Itoa(len(get.body)) {
		return fmt.Errorf("HEAD states %s bytes, GET has %d", quote(stated), len(get.body))
	}
	return nil
}

// checkTrailingSlash asks with an extra slash. The registry may take that for the same address
// or not, but must not redirect: the clients would lose their token.
func (v *visit) checkTrailingSlash(ctx context.Context) {
	slashed := v.discovery.JoinPath("/")
	var wrong []string
	for _, u := range append(v.under(absentModule+"versions/", absentProvider+"versions/"), slashed) {
		got, err := v.api(ctx, http.MethodGet, u)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", u.Path, err))
			continue
		}
		here := u == slashed && got.status == http.StatusOK
		if got.status != http.StatusNotFound && !here && !closed(got.status) {
			wrong = append(wrong, fmt.Sprintf("%s: %d", u.Path, got.status))
		}
	}
	v.verdict("paths.trailing-slash", wrong, "an extra slash does not redirect", "answer as without the slash, or 404; no redirect and no 403")
}

// nasty are paths that are not addresses, each for a module and a provider. An empty one is not
// sent.
var nasty = []struct{ module, provider string }{
	{"%2e%2e/network/aws/versions", "%2e%2e/widget/versions"},
	{"acme/..%2fnetwork/aws/versions", "acme/..%2fwidget/versions"},
	{"acme/net%00work/aws/versions", "acme/wid%00get/versions"},
	{"acme/%ff/aws/versions", "acme/%ff/versions"},
	{"acme/%c0%ae%c0%ae/aws/versions", "acme/%c0%ae%c0%ae/versions"},
	{"acme/net%3fwork/aws/versions", "acme/wid%23get/versions"},
	{"w%C3%AFre/network/aws/versions", "w%C3%AFre/widget/versions"},
	{"-acme/network/aws/versions", "acme/wid--get/versions"},
	{strings.Repeat("a", 65) + "/network/aws/versions", strings.Repeat("a", 65) + "/widget/versions"},
	{absentModule + "1.0.0%20build.5/download", absentProvider + "%2e%2e/download/linux/amd64"},
	{absentModule + "latest/download", absentProvider + "1.0.0/download/Linux/AMD64"},
}

// checkEncoded sends paths that mislead a server that decodes too much, or twice.
func (v *visit) checkEncoded(ctx context.Context) {
	var wrong []string
	for _, path := range nasty {
		for _, u := range v.under(path.module, path.provider) {
			got, err := v.api(ctx, http.MethodGet, u)
			switch {
			case err != nil:
				wrong = append(wrong, fmt.Sprintf("%s: %v", u.EscapedPath(), err))
			case got.status != http.StatusNotFound && got.status != http.StatusBadRequest && !closed(got.status):
				wrong = append(wrong, fmt.Sprintf("%s: %d", u.EscapedPath(), got.status))
			}
		}
	}
	v.verdict("paths.encoded", wrong, "malformed addresses are 400 or 404",
		"decode each segment of the path once, and refuse malformed names; behind a gateway, see how it passes the path on")
}

// checkAccess says whether the registry lets us read, and so whether the visit can go on.
func (v *visit) checkAccess(ctx context.Context) bool {
	for _, u := range v.versionsOfAbsent() {
		got, err := v.api(ctx, http.MethodGet, u)
		switch {
		case err != nil:
			v.Fail("access", "see that the registry runs, and look into its log", "%s: %v", u.Path, err)
			return false
		case got.status == http.StatusUnauthorized:
			v.refused()
			return false
		case got.status != http.StatusNotFound:
			return false // errors.not-found has reported it
		}
	}
	if v.Token == "" {
		v.OK("access", "everybody who reaches the registry may read")
		return true
	}
	v.OK("access", "the token is taken")
	return true
}

func (v *visit) refused() {
	advice := "give a token in a variable that --token-env names"
	if !strings.Contains(v.Host, ":") { // shells take no colon in a variable's name
		advice = "give a token in " + credentials.TokenVariable(v.Host) + ", or in a variable that --token-env names"
	}
	switch {
	case v.Token != "":
		v.Fail("access", "get another token: this one is unknown, expired or revoked", "the token is refused")
	case v.Module != nil || v.Provider != nil:
		v.Fail("access", advice, "reading needs a token, so nothing can be installed without one")
	default:
		v.Warn("access", advice, "reading needs a token: the rest was not checked")
	}
}
