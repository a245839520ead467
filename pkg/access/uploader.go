package access

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Uploader is somebody who may upload to some namespaces, with an access key of their own.
type Uploader struct {
	Name        string    `json:"name"` // who its uploads are by
	AccessKeyID string    `json:"access_key_id"`
	Namespaces  []string  `json:"namespaces"`
	Created     time.Time `json:"created"`
	Expires     time.Time `json:"expires,omitzero"` // from then on it may do nothing; zero for never
}

// How many uploaders there may be, and how many namespaces each of them may have.
const (
	MaxUploaders  = 200
	MaxNamespaces = 20
)

// Those who upload without being an [Uploader].
const (
	OperatorName = "operator" // those who have the operator's own access key
	RegistryName = "registry" // the registry itself, which pulls through what a mirror lacks
)

// Expired says whether an uploader has expired.
func (u Uploader) Expired(now time.Time) bool { return !u.Expires.IsZero() && !now.Before(u.Expires) }

// ListedUntil is until when an uploader is listed; zero for always.
func (u Uploader) ListedUntil() time.Time {
	if u.Expires.IsZero() {
		return time.Time{}
	}
	return u.Expires.Add(KeepExpired)
}

// Validate says what is wrong with a new uploader.
func (u Uploader) Validate() error {
	switch {
	case !ruleName.MatchString(u.Name):
		return fmt.Errorf("%.100q is not a name for an uploader: write up to 63 lower-case letters, digits and hyphens", u.Name)
	case u.Name == OperatorName || u.Name == RegistryName:
		return fmt.Errorf("%q is the name of others who upload: choose another one", u.Name)
	case u.Created.IsZero():
		return errors.New("the uploader has no time of its making")
	case u.Expired(u.Created):
		return errors.New("the uploader would expire before it is made")
	}
	return CheckNamespaces(u.Namespaces)
}

var namespace = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)

// CheckNamespaces says what is wrong with the namespaces that somebody may upload to.
func CheckNamespaces(namespaces []string) error {
	if len(namespaces) == 0 || len(namespaces) > MaxNamespaces {
		return fmt.Errorf("there must be 1 to %d namespaces, and there are %d", MaxNamespaces, len(namespaces))
	}
	for i, name := range namespaces {
		if !namespace.MatchString(name) {
			return fmt.Errorf("%.100q is not a namespace: write all of it, up to 64 lower-case letters, digits, hyphens and underscores, and no *", name)
		}
		if slices.Contains(namespaces[:i], name) {
			return fmt.Errorf("the namespace %s is there twice", name)
		}
	}
	return nil
}
