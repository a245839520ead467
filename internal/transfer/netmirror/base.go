package netmirror

import (
	"fmt"
	"net/url"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"
)

// ownPath is the path of a registry's mirror.
const ownPath = "/v1/mirror/"

// ParseBase reads the name of a mirror: the host of a registry, or the URL of any mirror. It
// returns the mirror's URL, with the host as the clients send it and a path that ends in a
// slash, and that host, with its port unless that is 443, with which a token is looked up.
func ParseBase(text string) (base *url.URL, host string, err error) {
	bad := func(why string) error {
		return fmt.Errorf("%q is not a mirror such as registry.example.com or https://mirror.example.com/providers/: %s", text, why)
	}
	rest, hasScheme := strings.CutPrefix(text, "https://")
	if !hasScheme && strings.Contains(text, "://") {
		return nil, "", bad("the clients use only https")
	}
	if strings.ContainsAny(rest, "@?#") {
		return nil, "", bad("it has more than a host and a path")
	}
	name, path, hasPath := strings.Cut(rest, "/")
	known, err := svchost.ForComparison(name)
	if err != nil {
		return nil, "", bad(err.Error())
	}
	address := "https://" + known.String() + "/" + path
	if !hasPath || path == "" {
		address = "https://" + known.String() + ownPath
	}
	base, err = url.Parse(strings.TrimSuffix(address, "/") + "/")
	if err != nil || base.Hostname() == "" {
		return nil, "", bad("its host or path cannot be read")
	}
	return base, known.String(), nil
}
