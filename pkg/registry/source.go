package registry

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// MaxSource is the longest source of a version, in bytes: the listing of a module
// holds one for every version.
const MaxSource = 500

// CheckSource says what is wrong with the source that a publisher gives for a version:
// the URL of its repository, for release notes. The source may be empty. Clients show
// it as it is, some as a link. So it must lead to a host of the web, and read the same
// to everybody. The error quotes nothing that could be a password.
func CheckSource(source string) error {
	if source == "" {
		return nil
	}
	if len(source) > MaxSource {
		return fmt.Errorf("the source has %d bytes, %d are allowed", len(source), MaxSource)
	}
	if strings.ContainsFunc(source, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return errors.New("the source must be written in ASCII, without spaces and control characters")
	}
	u, err := url.Parse(source)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("the source is not an https or http URL with a host, such as https://github.com/acme/network")
	case u.User != nil:
		return errors.New("the source must be a URL without a user name or password: everybody who may read the version reads it")
	case strings.Contains(source, "#"):
		return errors.New("the source must be a URL without a fragment")
	case u.String() != source:
		return fmt.Errorf("the source must be written as %s", u)
	}
	return nil
}
