package control

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// RotateAccess asks for new access keys of the bucket: the operator's and the
// registry's own.
type RotateAccess struct{}

// CreateUploader asks for an uploader with an access key of its own.
type CreateUploader struct {
	Name       string          `json:"name"`
	Namespaces []string        `json:"namespaces"`
	Lifetime   access.Duration `json:"lifetime,omitempty"` // from now on, [access.MinLifetime] or more; without one for ever
}

// ListUploaders asks for all uploaders.
type ListUploaders struct{}

// RevokeUploader asks for the end of an uploader.
type RevokeUploader struct {
	Which string `json:"which"` // its name, or the ID of its access key
}

// AccessRotated is what became of the access keys of the bucket.
type AccessRotated struct {
	AccessKeyID string `json:"access_key_id"` // the operator's new one
	Env         string `json:"env"`           // the file to source that has it
}

// UploaderCreated is a new uploader.
type UploaderCreated struct {
	access.Uploader
	SecretAccessKey string `json:"secret_access_key"` // nothing tells it again
	S3URL           string `json:"s3_url"`            // where to upload to
	Region          string `json:"region"`
	Bucket          string `json:"bucket"`
}

// Uploaders is all uploaders, in the order of their names, also a while after they
// have expired.
type Uploaders struct {
	Uploaders []access.Uploader `json:"uploaders"`
}

// AccessKeys are those of a bucket that the registry keeps itself.
type AccessKeys interface {
	// Rotate makes new ones for the operator and for the registry.
	Rotate(ctx context.Context) (AccessRotated, error)

	// CreateUploader makes one for an uploader.
	//
	// Errors: [access.ErrExists] where another one has its name.
	CreateUploader(ctx context.Context, name string, namespaces []string, expires time.Time) (UploaderCreated, error)

	// Uploaders is all uploaders, in the order of their names.
	Uploaders() []access.Uploader

	// RevokeUploader ends an uploader, by its name or the ID of its key.
	//
	// Errors: [access.ErrNotFound].
	RevokeUploader(ctx context.Context, which string) (access.Uploader, error)
}

// Validate says what is wrong with a request, as far as no registry has to be
// asked for it.
func (c CreateUploader) Validate() error {
	if d := time.Duration(c.Lifetime); d != 0 && d < access.MinLifetime {
		return fmt.Errorf("a lifetime of %v is shorter than %v", d, access.MinLifetime)
	}
	return access.Uploader{Name: c.Name, Namespaces: c.Namespaces, Created: time.Now()}.Validate()
}

var (
	errUploadersOfIAM = errors.New("who may upload to this registry is up to IAM: deploy it with UploaderNamespace (in infra/: uploader_namespace), " +
		"and attach the policy that it makes, <BucketName>-upload-<namespace>, to the role or user that uploads; docs/aws.md says more")
	errKeysOfIAM = errors.New("the access keys of this registry's bucket are those of IAM's users and roles: change them there")
)

func (h *Handler) rotateAccess(ctx context.Context) (*AccessRotated, error) {
	if h.config.AccessKeys == nil {
		return nil, errKeysOfIAM
	}
	rotated, err := h.config.AccessKeys.Rotate(ctx)
	return &rotated, err
}

func (h *Handler) createUploader(ctx context.Context, r CreateUploader) (*UploaderCreated, error) {
	if h.config.AccessKeys == nil {
		return nil, errUploadersOfIAM
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	var expires time.Time
	if r.Lifetime != 0 {
		expires = time.Now().Add(time.Duration(r.Lifetime)).UTC().Truncate(time.Second)
	}
	created, err := h.config.AccessKeys.CreateUploader(ctx, r.Name, r.Namespaces, expires)
	if errors.Is(err, access.ErrExists) {
		return nil, fmt.Errorf("there is an uploader %q already: choose another name, or end that one with \"larder uploader revoke %s\"", r.Name, r.Name)
	}
	return &created, err
}

func (h *Handler) listUploaders() (*Uploaders, error) {
	if h.config.AccessKeys == nil {
		return nil, errUploadersOfIAM
	}
	return &Uploaders{append([]access.Uploader{}, h.config.AccessKeys.Uploaders()...)}, nil
}

func (h *Handler) revokeUploader(ctx context.Context, which string) (*access.Uploader, error) {
	if h.config.AccessKeys == nil {
		return nil, errUploadersOfIAM
	}
	revoked, err := h.config.AccessKeys.RevokeUploader(ctx, strings.TrimSpace(which))
	if errors.Is(err, access.ErrNotFound) {
		return nil, fmt.Errorf("there is no uploader %.100q: \"larder uploader list\" says their names and the IDs of their keys, "+
			"and \"larder keys rotate-access\" changes the operator's own key", which)
	}
	return &revoked, err
}
