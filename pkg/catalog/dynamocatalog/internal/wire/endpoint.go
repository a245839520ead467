package wire

import (
	"fmt"
	"net/url"

	"github.com/larder-registry/larder/internal/awsregion"
)

// endpoint is the URL that requests go to: one that is given, or else Amazon's for a region.
func endpoint(given, region string) (*url.URL, error) {
	if !awsregion.IsName(region) {
		return nil, fmt.Errorf("the region %q of DynamoDB is not a name such as eu-central-1", region)
	}
	if given == "" {
		return &url.URL{Scheme: "https", Host: "dynamodb." + region + "." + awsregion.Domain(region), Path: "/"}, nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the endpoint %q of DynamoDB is not a URL such as https://dynamodb.example.com", given)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery, u.ForceQuery, u.Fragment = "", false, "" // the SDK leaves them out, too
	return u, nil
}
