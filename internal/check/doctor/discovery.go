package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/size"
)

const (
	// maxDiscovery is the largest discovery document that the clients read, in
	// bytes.
	maxDiscovery = 1 << 20

	// maxHops is how many redirects from discovery the clients follow.
	maxHops = 3

	// discoveryTime is the shortest time that a client waits.
	discoveryTime = 5 * time.Second
)

// asJSON is the header with which the clients ask for the document.
var asJSON = []string{"Accept", "application/json"}

// checkDiscovery finds the addresses of the protocols, and checks whether the clients would
// find them, too. First is the registry's own answer.
func (v *visit) checkDiscovery(ctx context.Context, first answer, err error) bool {
	got, ok := v.discover(ctx, first, err)
	if !ok || !v.checkDiscoveryAnswer(got) {
		return false
	}
	var services map[string]json.RawMessage
	if err := json.Unmarshal(got.body, &services); err != nil || services == nil {
		v.Fail("discovery.document", `answer an object, like {"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/"}`,
			"it is not a JSON object: %s", quote(string(got.body)))
		return false
	}
	v.OK("discovery.document", "%s", size.Count(len(services), "service"))
	v.modules = v.checkService(got.url, services, "modules")
	v.providers = v.checkService(got.url, services, "providers")
	v.checkLogin(services["login.v1"])
	v.checkOtherServices(services)
	v.checkAnonymous(ctx, got)
	return v.modules != nil || v.providers != nil
}

// discover gets the document as the clients do: it follows the redirects of the first answer.
func (v *visit) discover(ctx context.Context, got answer, err error) (answer, bool) {
	const advice = "answer at the host itself: every client follows redirects in its own way"
	at := v.discovery
	for hop := 0; ; hop++ {
		if err != nil {
			v.Fail("discovery.status", "see that the registry runs, and look into its log", "no answer from %s: %v", at.Redacted(), err)
			return answer{}, false
		}
		if got.status < 300 || got.status > 399 {
			v.reportHops(hop, got.url, advice)
			return got, true
		}
		if hop == maxHops {
			v.Fail("discovery.redirects", advice, "more than %d redirects, the last from %s", maxHops, at.Host)
			return answer{}, false
		}
		next, unreadable := at.Parse(got.header.Get("Location"))
		if unreadable != nil || next.Scheme != "https" {
			v.Fail("discovery.redirects", advice, "%d leads to %s", got.status, quote(got.header.Get("Location")))
			return answer{}, false
		}
		at = next
		got, err = v.client.ask(ctx, http.MethodGet, at, asJSON...)
	}
}

func (v *visit) reportHops(hops int, final *url.URL, advice string) {
	if hops == 0 {
		v.OK("discovery.redirects", "none")
		return
	}
	v.Warn("discovery.redirects", advice, "%d, to %s", hops, final.Host)
}

// checkDiscoveryAnswer checks everything but the document.
func (v *visit) checkDiscoveryAnswer(got answer) bool {
	if got.status != http.StatusOK {
		advice := "answer 200 to everybody; a 404 means to the clients that there is no registry here"
		if got.status == http.StatusUnauthorized || got.status == http.StatusForbidden {
			advice = "answer 200 to everybody: the clients ask before they know where to send a token"
		}
		v.Fail("discovery.status", advice, "%d", got.status)
		return false
	}
	v.OK("discovery.status", "200")
	stated := got.header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(stated); err != nil || media != "application/json" {
		v.Fail("discovery.content-type", "state Content-Type: application/json; the clients read only that here", "%s", quote(stated))
		return false
	}
	v.OK("discovery.content-type", "%s", quote(stated))
	if len(got.body) > maxDiscovery {
		v.Fail("discovery.size", "name only services", "%d bytes: the clients read %d", len(got.body), maxDiscovery)
		return false
	}
	v.OK("discovery.size", "%d bytes", len(got.body))
	if got.took >= discoveryTime {
		v.Fail("discovery.time", "give the function more memory, or find out what it waits for: some clients wait for 5 s, cold start included",
			"%v", got.took.Round(time.Millisecond))
		return true
	}
	v.OK("discovery.time", "%v", got.took.Round(time.Millisecond))
	return true
}

// checkService finds the address of a protocol.
func (v *visit) checkService(document *url.URL, services map[string]json.RawMessage, protocol string) *url.URL {
	check, id := "discovery."+protocol, protocol+".v1"
	raw, ok := services[id]
	if !ok {
		v.Warn(check, "name "+id+" if the registry has "+protocol, "no %s: the clients find no %s here", id, protocol)
		return nil
	}
	base, problem := parseService(document, raw)
	if problem != "" {
		v.Fail(check, fmt.Sprintf(`write %q: "/v1/%s/"`, id, protocol), "%s is %s: %s", id, quote(string(raw)), problem)
		return nil
	}
	if !strings.HasSuffix(base.Path, "/") {
		v.Fail(check, "end it with a slash: the clients for providers append to it without one", "%s is %s, without a slash at its end", id, quote(string(raw)))
		base.Path += "/" // as the clients for modules do, so that the rest can be checked
		return base
	}
	v.OK(check, "%s", base)
	return base
}

// parseService reads the address of a service, and says why the clients could
// not use it.
func parseService(document *url.URL, raw json.RawMessage) (base *url.URL, problem string) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil, "it is not a string"
	}
	base, err := document.Parse(text)
	switch {
	case err != nil:
		return nil, "it is not a URL"
	case base.Scheme != "https":
		return nil, "it is not https, and everybody could read the token that is sent there"
	case base.User != nil || base.RawQuery != "" || base.Host == "":
		return nil, "it has more than host and path, or no host"
	}
	base.Fragment = ""
	return base, ""
}

// loginService is the part of login.v1 that the clients read.
type loginService struct {
	Client     string
	GrantTypes []string `json:"grant_types"`
	Authz      string
	Token      string
	Ports      []int
}

// checkLogin checks the service for `terraform login`, if there is one.
func (v *visit) checkLogin(raw json.RawMessage) {
	if raw == nil {
		return
	}
	wrong := loginProblems(raw)
	v.verdict("discovery.login", wrong, "login.v1 is complete", "mend login.v1, or take it out: `terraform login` does not work with it")
}

func loginProblems(raw json.RawMessage) (wrong []string) {
	var login loginService
	if err := json.Unmarshal(raw, &login); err != nil {
		return []string{"login.v1: " + jsonProblem(err)}
	}
	require := func(good bool, problem string) {
		if !good {
			wrong = append(wrong, problem)
		}
	}
	require(login.Client != "", "login.v1 has no client")
	require(login.Token != "", "login.v1 has no token endpoint")
	authz := len(login.GrantTypes) == 0 || slices.Contains(login.GrantTypes, "authz_code")
	require(!authz || login.Authz != "", "login.v1 has no authz endpoint")
	// The upper end is not tried.
	ports := len(login.Ports) == 0 || len(login.Ports) == 2 && login.Ports[0] >= 1024 && login.Ports[0] < login.Ports[1] && login.Ports[1] <= 65535
	require(ports, "the ports of login.v1 are not a range from 1024 to 65535")
	return wrong
}

// checkOtherServices warns about services that make the clients expect more than a registry.
func (v *visit) checkOtherServices(services map[string]json.RawMessage) {
	var others []string
	for id := range services {
		if !slices.Contains([]string{"modules.v1", "providers.v1", "login.v1"}, id) {
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return
	}
	slices.Sort(others)
	v.Warn("discovery.services", "name only the services that exist", "it also names %s", quote(strings.Join(others, ", ")))
}

// checkAnonymous asks with wrong credentials: the clients send the credentials that they have,
// even expired ones.
func (v *visit) checkAnonymous(ctx context.Context, want answer) {
	var wrong []string
	for _, authorization := range []string{"Bearer larder-doctor", "Basic bGFyZGVyOmRvY3Rvcg=="} {
		scheme, _, _ := strings.Cut(authorization, " ")
		got, err := v.client.ask(ctx, http.MethodGet, want.url, "Authorization", authorization)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("with wrong %s credentials: %v", scheme, err))
		case got.status != http.StatusOK:
			wrong = append(wrong, fmt.Sprintf("%d to wrong %s credentials", got.status, scheme))
		}
	}
	v.verdict("discovery.anonymous", wrong, "wrong credentials do not matter", "do not check credentials here: an expired token would lock its owner out")
}
