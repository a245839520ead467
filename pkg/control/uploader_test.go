package control

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// accessKeysDouble answers as a bucket with one uploader does, acme-ci. What
// becomes of real keys is tested with them.
type accessKeysDouble struct {
	asked []string
	err   error // of Rotate
}

func (d *accessKeysDouble) Rotate(context.Context) (AccessRotated, error) {
	d.asked = append(d.asked, "rotate")
	return AccessRotated{"LARDER2", "/data/env"}, d.err
}

func (d *accessKeysDouble) CreateUploader(_ context.Context, name string, namespaces []string, expires time.Time) (UploaderCreated, error) {
	d.asked = append(d.asked, fmt.Sprint("create ", name, " ", namespaces, " ", !expires.IsZero()))
	switch name {
	case "acme-ci":
		return UploaderCreated{}, access.ErrExists
	case "unlucky":
		return UploaderCreated{}, errDisk
	}
	return UploaderCreated{access.Uploader{Name: name, AccessKeyID: "LARDER1", Namespaces: namespaces, Expires: expires}, "secret", "https://127.0.0.1:9443", "us-east-1", "larder"}, nil
}

var errDisk = errors.New("the disk is full")

var acmeCI = access.Uploader{Name: "acme-ci", AccessKeyID: "LARDER3", Namespaces: []string{"acme"}}

func (d *accessKeysDouble) Uploaders() []access.Uploader { return []access.Uploader{acmeCI} }

func (d *accessKeysDouble) RevokeUploader(_ context.Context, which string) (access.Uploader, error) {
	d.asked = append(d.asked, "revoke "+which)
	switch which {
	case "unlucky":
		return access.Uploader{}, errDisk
	case "nobody":
		return access.Uploader{}, access.ErrNotFound
	}
	return acmeCI, nil
}

func TestAccessKeys(t *testing.T) {
	for request, test := range map[string]struct {
		want  Answer
		asked string
	}{
		`{"rotate_access":{}}`:  {Answer{AccessRotated: &AccessRotated{"LARDER2", "/data/env"}}, "rotate"},
		`{"list_uploaders":{}}`: {Answer{Uploaders: &Uploaders{[]access.Uploader{acmeCI}}}, ""},
		`{"create_uploader":{"name":"labs-ci","namespaces":["labs","x"]}}`: {Answer{UploaderCreated: &UploaderCreated{
			access.Uploader{Name: "labs-ci", AccessKeyID: "LARDER1", Namespaces: []string{"labs", "x"}}, "secret", "https://127.0.0.1:9443", "us-east-1", "larder"}}, "create labs-ci [labs x] false"},
		`{"create_uploader":{"name":"acme-ci","namespaces":["labs"]}}`: {Answer{
			Error: `there is an uploader "acme-ci" already: choose another name, or end that one with "larder uploader revoke acme-ci"`}, "create acme-ci [labs] false"},
		`{"create_uploader":{"name":"unlucky","namespaces":["labs"]}}`:                  {Answer{Error: "the disk is full"}, "create unlucky [labs] false"},
		`{"create_uploader":{"name":"labs-ci","namespaces":["labs"],"lifetime":"59s"}}`: {Answer{Error: "a lifetime of 59s is shorter than 1m0s"}, ""},
		`{"create_uploader":{"name":"labs-ci","namespaces":["labs"],"lifetime":"-1h"}}`: {Answer{Error: "a lifetime of -1h0m0s is shorter than 1m0s"}, ""},
		`{"create_uploader":{"name":"labs-ci","namespaces":["*"]}}`: {Answer{
			Error: `"*" is not a namespace: write all of it, up to 64 lower-case letters, digits, hyphens and underscores, and no *`}, ""},
		`{"create_uploader":{"name":"operator","namespaces":["acme"]}}`: {Answer{Error: `"operator" is the name of others who upload: choose another one`}, ""},
		`{"revoke_uploader":{"which":" acme-ci\n"}}`:                    {Answer{UploaderRevoked: &acmeCI}, "revoke acme-ci"},
		`{"revoke_uploader":{"which":"unlucky"}}`:                       {Answer{Error: "the disk is full"}, "revoke unlucky"},
		`{"revoke_uploader":{"which":"nobody"}}`: {Answer{Error: `there is no uploader "nobody": "larder uploader list" says their names and the IDs of their keys, ` +
			`and "larder keys rotate-access" changes the operator's own key`}, "revoke nobody"},
	} {
		keys := &accessKeysDouble{}
		if got := ask(t, New(Config{Registry: of(double()), AccessKeys: keys}), request); !reflect.DeepEqual(got, test.want) || strings.Join(keys.asked, "; ") != test.asked {
			t.Errorf("%s: asked %q, answered %+v, want %+v", request, keys.asked, got, test.want)
		}
	}
	if got := ask(t, New(Config{Registry: of(double()), AccessKeys: &accessKeysDouble{err: errDisk}}), `{"rotate_access":{}}`); !reflect.DeepEqual(got, Answer{Error: "the disk is full"}) {
		t.Errorf("keys that cannot be kept: answered %+v", got)
	}
	before := time.Now().Truncate(time.Second)
	got := ask(t, New(Config{Registry: of(double()), AccessKeys: &accessKeysDouble{}}), `{"create_uploader":{"name":"labs-ci","namespaces":["labs"],"lifetime":"1m"}}`)
	if expires := got.UploaderCreated.Expires; expires.Before(before.Add(time.Minute)) || expires.After(time.Now().Add(time.Minute)) {
		t.Errorf("a minute from %v is %v", before, expires)
	}
}

// Where the bucket is AWS's, it is said who gives access to it.
func TestAccessKeysOfIAM(t *testing.T) {
	const uploaders = "who may upload to this registry is up to IAM: deploy it with UploaderNamespace (in infra/: uploader_namespace), " +
		"and attach the policy that it makes, <BucketName>-upload-<namespace>, to the role or user that uploads; docs/aws.md says more"
	for request, want := range map[string]string{
		`{"rotate_access":{}}`:   "the access keys of this registry's bucket are those of IAM's users and roles: change them there",
		`{"create_uploader":{}}`: uploaders,
		`{"list_uploaders":{}}`:  uploaders,
		`{"revoke_uploader":{}}`: uploaders,
	} {
		if got := ask(t, New(Config{Registry: of(double())}), request); !reflect.DeepEqual(got, Answer{Error: want}) {
			t.Errorf("%s: answered %+v", request, got)
		}
	}
}
