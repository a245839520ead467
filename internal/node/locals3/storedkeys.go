package locals3

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// Credentials are an S3 access key.
type Credentials struct {
	AccessKeyID     string `json:"accessKeyId"`
	SecretAccessKey string `json:"secretAccessKey"`
}

func (c Credentials) complete() bool { return c.AccessKeyID != "" && c.SecretAccessKey != "" }

// newCredentials makes an access key in the shape of AWS's: 20 letters and
// digits, and a secret of 40.
func newCredentials() Credentials {
	return Credentials{
		AccessKeyID:     "LARDER" + rand.Text()[:14],
		SecretAccessKey: rand.Text() + rand.Text()[:14],
	}
}

// storedKeys are the access keys of the bucket, as they are stored. Files of earlier
// versions have only the first two.
type storedKeys struct {
	Root      Credentials      `json:"root"`
	Operator  Credentials      `json:"uploader"`
	Uploaders []storedUploader `json:"uploaders,omitempty"`
	Replaced  []replacedRoot   `json:"replaced,omitempty"`
	Sessions  []byte           `json:"sessions,omitempty"` // the key from which all keys of sessions are derived
}

type storedUploader struct {
	Name string `json:"name"`
	Credentials
	Namespaces []string  `json:"namespaces"`
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires,omitzero"`
}

func (u storedUploader) public() access.Uploader {
	return access.Uploader{Name: u.Name, AccessKeyID: u.AccessKeyID, Namespaces: u.Namespaces, Created: u.Created, Expires: u.Expires}
}

// replacedRoot is a root key that was rotated. URLs that it signed stay valid for a while.
type replacedRoot struct {
	Credentials
	Until time.Time `json:"until"`
}

// maxReplaced is how many replaced keys are kept. URLs of older ones end early.
const maxReplaced = 10

// check says what is wrong with keys that were read.
func (s storedKeys) check() error {
	all := []Credentials{s.Root, s.Operator}
	for _, u := range s.Uploaders {
		if err := u.public().Validate(); err != nil {
			return err
		}
		all = append(all, u.Credentials)
	}
	for _, r := range s.Replaced {
		all = append(all, r.Credentials)
	}
	if len(s.Sessions) != 0 && len(s.Sessions) != sessionKeySize {
		return errors.New("the key of sessions is damaged")
	}
	seen := map[string]bool{}
	for _, key := range all {
		if !key.complete() {
			return errors.New("a key is missing")
		}
		if seen[key.AccessKeyID] {
			return errors.New("a key is there twice")
		}
		seen[key.AccessKeyID] = true
	}
	return nil
}

// parseKeys reads the document of a file with keys.
func parseKeys(data []byte) (stored storedKeys, err error) {
	if err := json.Unmarshal(data, &stored); err != nil {
		return storedKeys{}, err
	}
	return stored, stored.check()
}

func marshalKeys(s storedKeys) ([]byte, error) { return json.MarshalIndent(s, "", "  ") }
