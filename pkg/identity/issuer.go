package identity

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// issuer is an issuer with its cached answers.
type issuer struct {
	verifier  *Verifier
	url       string
	discovery *cached[discovery]
	keys      *cached[keySet]
}

func newIssuer(v *Verifier, url string) *issuer {
	i := &issuer{verifier: v, url: url}
	i.discovery = newCached(v.now, i.askDiscovery)
	i.keys = newCached(v.now, i.askKeys)
	return i
}

// discovery has the fields of a discovery document that are needed (OpenID Connect
// Discovery 1.0, section 3).
type discovery struct {
	Issuer        string   `json:"issuer"`
	Keys          string   `json:"jwks_uri"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	TokenAuth     []string `json:"token_endpoint_auth_methods_supported"`
}

func (i *issuer) askDiscovery(ctx context.Context) (*discovery, error) {
	if err := checkURL(i.url); err != nil {
		return nil, unavailable(i.url, "it %v", err)
	}
	data, err := i.verifier.get(ctx, i.url, strings.TrimSuffix(i.url, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return nil, err
	}
	var d discovery
	if json.Unmarshal(data, &d) != nil {
		return nil, unavailable(i.url, "its discovery document cannot be read")
	}
	if d.Issuer != i.url {
		return nil, unavailable(i.url, "its discovery document is that of %.200q, which is not the same, letter by letter", d.Issuer)
	}
	if err := checkURL(d.Keys); err != nil {
		return nil, unavailable(i.url, "the jwks_uri of its discovery document %v", err)
	}
	return &d, nil
}

func (i *issuer) askKeys(ctx context.Context) (*keySet, error) {
	d, _, err := i.discovery.get(ctx)
	if err != nil {
		return nil, err
	}
	data, err := i.verifier.get(ctx, i.url, d.Keys)
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(data)
	if err != nil {
		return nil, unavailable(i.url, "%v", err)
	}
	return keys, nil
}

// verify verifies that a token is signed by the issuer.
func (i *issuer) verify(ctx context.Context, jws *jose.JSONWebSignature) error {
	keys, asked, err := i.keys.get(ctx)
	if err != nil {
		return i.fault(err)
	}
	signed, known := keys.verify(jws)
	if !known && !asked { // perhaps a newer key
		newer, err := i.keys.renew(ctx, keys)
		switch {
		case err != nil:
			return i.fault(err)
		case newer == keys:
			return tooSoon(i.url)
		}
		signed, known = newer.verify(jws)
	}
	switch {
	case signed:
		return nil
	case known:
		return invalid("the signature of the identity token is wrong; was it copied whole?")
	default:
		return invalid("the identity token is not signed by a key that %.200s publishes", i.url)
	}
}

// fault is an error with a text for users, also if a context ended.
func (i *issuer) fault(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return unavailable(i.url, "%s", explain(err))
}

// checkURL says why no request may be sent to a URL.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "":
		return errors.New("is not an https:// URL")
	case u.User != nil || u.Fragment != "":
		return errors.New("has a user name or a fragment")
	}
	return nil
}
