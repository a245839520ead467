package doctor

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// list gets the versions of a module or provider.
func (v *visit) list(ctx context.Context, section string, base *url.URL, address fmt.Stringer) (body []byte, ok bool) {
	at := base.JoinPath(address.String(), "versions")
	got, err := v.api(ctx, http.MethodGet, at)
	check := section + ".versions"
	switch {
	case err != nil:
		v.Fail(check, "see that the registry runs, and look into its log", "%v", err)
	case got.status == http.StatusNotFound && v.wantsToken(ctx, at):
		v.Fail(check, fmt.Sprintf("if it is published, the token's scopes are too narrow: a token with \"read %ss:%s\" sees it, and larder token list shows what this one may read; else see the outcome of its upload, in its tags",
			section, address), "the registry shows no %s %s to this token", section, address)
	case got.status == http.StatusNotFound:
		v.Fail(check, "see the outcome of its upload, in its tags", "there is no %s %s", section, address)
	case got.status != http.StatusOK:
		v.Fail(check, "look into the registry's log", "%d: %s", got.status, quote(string(got.body)))
	default:
		v.OK(check, "200 for %s", address)
		return got.body, true
	}
	return nil, false
}

// wantsToken says whether the registry requires tokens. It answers 404 also if the scopes of a
// token do not match.
func (v *visit) wantsToken(ctx context.Context, u *url.URL) bool {
	if v.Token == "" {
		return false
	}
	got, err := v.client.ask(ctx, http.MethodGet, u)
	return err == nil && closed(got.status)
}

// checkNumbers reads the versions of a list. It returns nil if the visit cannot go on.
func (v *visit) checkNumbers(section string, texts []string) []registry.Version {
	const advice = "list full semantic versions without a leading v, and no two that differ only after a plus"
	var wrong []string
	var versions []registry.Version
	seen := map[string]string{}
	for _, text := range texts {
		version, err := registry.ParseVersion(text)
		if err != nil {
			wrong = append(wrong, quote(text)+" is not a full semantic version")
			continue
		}
		if twin, twice := seen[version.Key()]; twice {
			wrong = append(wrong, fmt.Sprintf("%s and %s are the same version to the clients", twin, text))
			continue
		}
		seen[version.Key()] = text
		versions = append(versions, version)
	}
	if len(texts) == 0 {
		wrong = append(wrong, "there are none")
	}
	v.verdict(section+".version-numbers", wrong, "full semantic versions", advice)
	if len(wrong) > 0 {
		return nil
	}
	return versions
}

// choose chooses the version to install: the given one, else the newest, and a pre-release only
// if there is nothing else.
func (v *visit) choose(section string, address fmt.Stringer, want *registry.Version, listed []registry.Version) (registry.Version, bool) {
	best := listed[0]
	for _, version := range listed {
		if want != nil && version.Key() == want.Key() {
			return version, true
		}
		if newer(version, best) {
			best = version
		}
	}
	if want != nil {
		v.Fail(section+".version", "choose one that is listed", "%s has no version %s", address, want)
		return registry.Version{}, false
	}
	return best, true
}

func newer(a, b registry.Version) bool {
	if preA, preB := isPrerelease(a), isPrerelease(b); preA != preB {
		return preB
	}
	return a.Compare(b) > 0
}

func isPrerelease(v registry.Version) bool { return strings.Contains(v.Key(), "-") }
