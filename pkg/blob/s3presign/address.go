package s3presign

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/larder-registry/larder/internal/awsregion"
	"github.com/larder-registry/larder/internal/awssignature"
)

// address is where the objects of a bucket are.
type address struct {
	base string // scheme and host
	host string // as it is signed: without the scheme's own port
	path string // of the keys, with a slash at its end
}

// locate is the address of a bucket, in the same way as the SDK finds it.
func locate(c Config) (address, error) {
	var errs []error
	switch {
	case c.Bucket == "":
		errs = append(errs, errors.New("no Bucket is set"))
	case !isBucketName(c.Bucket):
		errs = append(errs, errors.New("the Bucket is not the name of a bucket with versioning"))
	}
	switch {
	case c.Region == "":
		errs = append(errs, errors.New("no Region is set"))
	case !isRegion(c.Region):
		errs = append(errs, fmt.Errorf("the Region is %q: that is not the name of a region", c.Region))
	}
	server, err := c.server()
	if err := errors.Join(append(errs, err)...); err != nil {
		return address{}, err
	}
	if !c.PathStyle && canHost(server, c.Bucket) {
		server.Host = c.Bucket + "." + server.Host
	} else {
		server.Path += c.Bucket + "/"
	}
	base := server.Scheme + "://" + server.Host
	return address{base: base, host: awssignature.Host(server), path: server.Path}, nil
}

// server is the S3 server, with a path that ends in a slash.
func (c Config) server() (*url.URL, error) {
	if c.Endpoint == "" {
		return &url.URL{Scheme: "https", Host: "s3." + c.Region + "." + awsregion.Domain(c.Region), Path: "/"}, nil
	}
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Host == "" || endpoint.User != nil ||
		endpoint.RawQuery != "" || endpoint.ForceQuery || endpoint.Fragment != "" || endpoint.RawPath != "" || string(awssignature.AppendEscaped(nil, endpoint.Path, true)) != endpoint.Path {
		return nil, fmt.Errorf("the Endpoint is %q: it must be http:// or https://, a host, and perhaps a port and a path of ASCII letters, digits and -._~/", c.Endpoint)
	}
	if !strings.HasSuffix(endpoint.Path, "/") {
		endpoint.Path += "/"
	}
	return endpoint, nil
}

// canHost says whether the bucket's name can be in front of the server's. No certificate is
// valid for a name with a dot there.
func canHost(server *url.URL, bucket string) bool {
	if _, err := netip.ParseAddr(server.Hostname()); err == nil {
		return false
	}
	if _, err := netip.ParseAddr(bucket); err == nil {
		return false
	}
	for label := range strings.SplitSeq(bucket, ".") {
		if len(label) < 3 || len(label) > 63 || strings.ContainsFunc(label, func(c rune) bool { return c == '_' || 'A' <= c && c <= 'Z' }) {
			return false
		}
	}
	return server.Scheme == "http" || !strings.Contains(bucket, ".")
}

// isBucketName says whether objects of a bucket are read by its name alone. Those of
// directory buckets, access points and Outposts are not, and have no versions.
func isBucketName(name string) bool {
	for _, special := range []string{"--x-s3", "--xa-s3", "--op-s3", "--table-s3"} {
		if strings.HasSuffix(name, special) {
			return false
		}
	}
	return len(name) <= 255 && !strings.ContainsFunc(name, func(c rune) bool { return !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' })
}

// isRegion says whether a name is that of one region. Some names stand for another region
// or for other servers of a region.
func isRegion(name string) bool {
	return awsregion.IsName(name) && name != "aws-global" && !strings.HasPrefix(name, "fips-") && !strings.HasSuffix(name, "-fips")
}

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
