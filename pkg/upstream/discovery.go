package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
)

const (
	discoveryPath = "/.well-known/terraform.json"
	service       = "providers.v1"

	// maxBases is how many hosts' base URLs are remembered.
	maxBases = 100
)

// base is the base URL of the provider registry protocol at a provider's origin.
func (c *Client) base(ctx context.Context, a registry.ProviderAddress) (*url.URL, error) {
	if !a.Mirrored() {
		return nil, errors.New("this registry is its origin")
	}
	if base, ok := c.bases.Get(a.Hostname, time.Now()); ok {
		return base, nil
	}
	base, err := c.discover(ctx, &url.URL{Scheme: "https", Host: a.Hostname, Path: discoveryPath})
	if err != nil {
		return nil, err
	}
	c.bases.Put(a.Hostname, base, time.Now(), c.limits.discovery)
	return base, nil
}

// discover asks for a discovery document. As the clients do, it insists on the
// media type, and resolves against the URL at which the document was found.
func (c *Client) discover(ctx context.Context, u *url.URL) (*url.URL, error) {
	found, err := c.get(ctx, u, typeJSON, maxDiscovery)
	if err != nil {
		return nil, err
	}
	contentType := found.header.Get("Content-Type")
	if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != typeJSON {
		return nil, newFaultf("%s is no discovery document: its type is %q and not %s", where(u), contentType, typeJSON)
	}
	base, err := readDiscovery(found.url, found.body)
	if err != nil {
		return nil, newFault(where(u), err)
	}
	return base, nil
}

// readDiscovery reads a discovery document that was found at u.
func readDiscovery(u *url.URL, body []byte) (*url.URL, error) {
	var services map[string]json.RawMessage
	if err := json.Unmarshal(body, &services); err != nil {
		return nil, fmt.Errorf("it is no discovery document: %w", err)
	}
	var reference string
	if err := json.Unmarshal(services[service], &reference); err != nil {
		return nil, fmt.Errorf("the host offers no provider registry (no %s)", service)
	}
	base, err := resolve(u, reference)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", service, err)
	}
	return base, nil
}
