package serve

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/control"
)

// accessKeys answers operators' requests about the access keys of a node's bucket.
type accessKeys struct{ *node }

// Rotate implements control.AccessKeys.
func (a accessKeys) Rotate(ctx context.Context) (control.AccessRotated, error) {
	err := a.bucket.Keys.Rotate(urlLifetime)
	a.audit(ctx, "make new access keys for the bucket", err)
	if err != nil {
		return control.AccessRotated{}, err
	}
	if err := a.writeEnv(); err != nil {
		return control.AccessRotated{}, fmt.Errorf("the access keys are new, and the operator's old one is good for nothing, but the file to source could not be written: %w; "+
			"mend that, and ask for new keys again", err)
	}
	return control.AccessRotated{AccessKeyID: a.bucket.Keys.Operator().AccessKeyID, Env: a.dir.Path(datadir.Env)}, nil
}

// CreateUploader implements control.AccessKeys.
func (a accessKeys) CreateUploader(ctx context.Context, name string, namespaces []string, expires time.Time) (control.UploaderCreated, error) {
	u, secret, err := a.bucket.Keys.CreateUploader(name, namespaces, expires)
	a.audit(ctx, fmt.Sprintf("create uploader %q: upload to %s", name, strings.Join(namespaces, ", ")), err)
	if err != nil {
		return control.UploaderCreated{}, err
	}
	return control.UploaderCreated{Uploader: u, SecretAccessKey: secret,
		S3URL: a.settings.S3Endpoint(a.bucket.Port), Region: locals3.Region, Bucket: locals3.Bucket}, nil
}

// Uploaders implements control.AccessKeys.
func (a accessKeys) Uploaders() []access.Uploader { return a.bucket.Keys.Uploaders() }

// RevokeUploader implements control.AccessKeys.
func (a accessKeys) RevokeUploader(ctx context.Context, which string) (access.Uploader, error) {
	u, err := a.bucket.Keys.RevokeUploader(which)
	if err == nil {
		which = u.Name
	}
	a.audit(ctx, fmt.Sprintf("revoke uploader %.100q", which), err)
	return u, err
}

// audit logs a change that an operator asked for.
func (a accessKeys) audit(ctx context.Context, what string, err error) {
	d := access.Decision{Who: access.OperatorName, What: what, Allowed: err == nil}
	if err != nil {
		d.Why = err.Error()
	}
	access.LogTo(a.logger)(ctx, d)
}
