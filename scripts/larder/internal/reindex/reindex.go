// Package reindex rebuilds the catalog of a deployment from the records in its
// bucket. It signs nothing and writes nothing but the catalog, so it may run
// beside the deployment, be interrupted anywhere and be begun again.
package reindex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/scripts/larder/internal/awsconfig"
)

const (
	// maxFailed is how many versions may fail. More mean that it is not the
	// versions that are broken.
	maxFailed = 10

	// urlLifetime is asked for of every bucket; no URL is made here.
	urlLifetime = time.Minute
)

// Options say which bucket and table.
type Options struct {
	Bucket string // its name. Required.
	Table  string // its name. Required.
	Region string // of both. Empty: that of the environment.
}

// Deployment opens a bucket and a table with the operator's own credentials. It
// sends no request to either.
func Deployment(ctx context.Context, o Options, getenv func(string) string) (publish.Bucket, publish.Index, error) {
	cfg, err := awsconfig.Load(ctx, o.Region)
	if err != nil {
		return nil, nil, err
	}
	s3 := awsconfig.Endpoint(getenv, "S3")
	bucket, err := s3blob.New(s3blob.Config{
		Bucket: o.Bucket, Region: cfg.Region, Credentials: cfg.Credentials, Transport: awsconfig.Transport(cfg),
		Endpoint: s3, PathStyle: s3 != "", URLLifetime: urlLifetime,
	})
	if err != nil {
		return nil, nil, err
	}
	catalog, err := dynamocatalog.New(dynamocatalog.Config{
		Table: o.Table, Region: cfg.Region, Credentials: cfg.Credentials, Transport: awsconfig.Transport(cfg),
		Endpoint: awsconfig.Endpoint(getenv, "DYNAMODB"),
	})
	return bucket, catalog, err
}

// Run brings a catalog up to the records of a bucket, and tells out how it goes
// and what it found.
//
// Errors: of the bucket, and a count of the versions that could not be brought
// up, each of which was told with its reason. Versions that are not all signed
// are told, and are no error.
func Run(ctx context.Context, bucket publish.Bucket, index publish.Index, out io.Writer, terminal bool) error {
	publisher := publish.New(publish.Config{Bucket: bucket, Index: index, Signer: noSigner{}, Log: slog.New(slog.NewTextHandler(out, nil))})
	t := tally{progress: newProgress(out, terminal)}
	for r, err := range publisher.Reindex(ctx, "") {
		if ctx.Err() != nil {
			return t.interrupted()
		}
		if r.Subject == "" {
			return err
		}
		if err := t.add(r, err); err != nil {
			return err
		}
	}
	return t.end()
}

// tally is how far a run is.
type tally struct {
	*progress
	versions, written, unsigned, failed int
}

func (t *tally) add(r publish.Step, err error) error {
	t.versions++
	switch {
	case errors.Is(err, errUnsigned):
		t.unsigned++
		t.line("%s: not signed yet", r.Subject)
		err = nil
	case err != nil:
		t.failed++
		t.line("%s: %v", r.Subject, err)
	}
	if r.Changed && err == nil {
		t.written++
	}
	t.step(t.versions, r.Subject)
	if t.failed > maxFailed {
		return fmt.Errorf("gave up after %d versions, of which %d failed; the last: %w", t.versions, t.failed, err)
	}
	return nil
}

func (t *tally) interrupted() error {
	t.line("%d versions so far, %d of them written", t.versions, t.written)
	return errors.New("interrupted: what was written stays, run it again to go on")
}

func (t *tally) end() error {
	if t.versions == 0 {
		return fmt.Errorf("there are no records under %s in the bucket: check its name, and that registry/ was copied whole", registry.RecordsPrefix)
	}
	t.line("%d versions: %d written, %d were there already", t.versions, t.written, t.versions-t.written-t.failed)
	if t.unsigned > 0 {
		t.line("%d not all signed: the publish function signs them within a day, or when it is started with {\"reconcile\":{}}", t.unsigned)
	}
	if t.failed > 0 {
		return fmt.Errorf("%d versions could not be brought up: their reasons are above; run it again when they are mended", t.failed)
	}
	return nil
}

// noSigner leaves what is not signed to a publisher that signs.
type noSigner struct{}

var errUnsigned = errors.New("the operator's credentials do not sign")

func (noSigner) Sign(context.Context, []byte) ([]byte, error) { return nil, errUnsigned }

func (noSigner) PublicKey() signing.PublicKey { return signing.PublicKey{} }
