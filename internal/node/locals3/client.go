package locals3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/socket"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
)

// staleAfter is how long a multipart upload may take. AWS keeps unfinished
// ones until told otherwise, as the endpoint does; they are invisible and
// take room.
const staleAfter = 7 * 24 * time.Hour

// newHTTPClient returns a client that connects to the endpoint itself: what the
// node asks for does not wait at the door that strangers stand at.
func newHTTPClient(to inside) *http.Client { return &http.Client{Transport: to} }

// Client returns an S3 client with the rights of who.
func (s *Server) Client(who Credentials) *s3.Client {
	return Connection{Endpoint: s.Endpoint, HTTPClient: s.HTTPClient, keys: fixed(who)}.Client()
}

// A Connection is how a process reaches the endpoint at its socket.
type Connection struct {
	Endpoint   string
	HTTPClient *http.Client
	keys       aws.CredentialsProvider
	changed    []string // codes of the answers to a key that was changed meanwhile
}

func fixed(key Credentials) aws.CredentialsProvider {
	return s3blob.StaticCredentials(key.AccessKeyID, key.SecretAccessKey)
}

// Connection is the node's own, with every right.
func (s *Server) Connection() Connection {
	return Connection{Endpoint: s.Endpoint, HTTPClient: s.HTTPClient, keys: fixed(s.Node)}
}

// Connect is the connection, with every right, to the endpoint that another process
// of the same user runs on a data folder. It sends no request. The access keys may be
// rotated while it is in use.
func Connect(data string) (Connection, error) {
	keys := storedRoot{filepath.Join(data, datadir.S3Credentials)}
	if _, err := keys.read(); err != nil {
		return Connection{}, err
	}
	address, err := socket.Address(filepath.Join(data, datadir.S3Socket))
	if err != nil {
		return Connection{}, err
	}
	return Connection{insideURL, newHTTPClient(inside{address}), keys, []string{"AccessDenied", "InvalidAccessKeyId"}}, nil
}

// storedRoot is the registry's own access key as its file has it just then.
type storedRoot struct{ path string }

func (s storedRoot) read() (Credentials, error) {
	document, err := os.ReadFile(s.path)
	if err != nil {
		return Credentials{}, fmt.Errorf("access keys of the bucket: %w", err)
	}
	keys, err := parseKeys(document)
	if err != nil {
		return Credentials{}, fmt.Errorf("access keys of the bucket in %s: %w", s.path, err)
	}
	return keys.Root, nil
}

// Retrieve implements aws.CredentialsProvider.
func (s storedRoot) Retrieve(ctx context.Context) (aws.Credentials, error) {
	key, err := s.read()
	if err != nil {
		return aws.Credentials{}, err
	}
	return fixed(key).Retrieve(ctx)
}

// Reach is the connection, with every right, to the bucket of a data folder: to the
// endpoint of the server that runs on it, where dir is nil, or else to one of this
// process's own, which holds the folder dir until close.
func Reach(ctx context.Context, data string, logger *slog.Logger) (c Connection, dir *datadir.Dir, close func() error, err error) {
	_, err = os.Stat(filepath.Join(data, datadir.S3))
	if errors.Is(err, fs.ErrPermission) {
		return Connection{}, nil, nil, datadir.AsOwner(data, err)
	}
	if err != nil {
		return Connection{}, nil, nil, fmt.Errorf("%s is no data folder that a registry was served from: name it with --data, or LARDER_DATA (%w)", data, err)
	}
	dir, err = datadir.Open(data)
	if errors.Is(err, datadir.ErrInUse) {
		if !socket.Listens(ctx, filepath.Join(data, datadir.Socket)) { // where a server answers operators
			return Connection{}, nil, nil, fmt.Errorf("another larder command works on %s, or a server that starts or stops there: try again when it is done (%w)", data, err)
		}
		c, err = Connect(data)
		return c, nil, func() error { return nil }, err
	}
	if err != nil {
		return Connection{}, nil, nil, err
	}
	s, err := StartInside(ctx, Options{Dir: dir, Logger: logger})
	if err != nil {
		return Connection{}, nil, nil, errors.Join(err, dir.Close())
	}
	return s.Connection(), dir, func() error { return errors.Join(s.Close(), dir.Close()) }, nil
}

// Bucket is the bucket as the registry sees it.
func (c Connection) Bucket() (*s3blob.Bucket, error) {
	return c.bucket(time.Minute) // there are no URLs
}

// bucket is the bucket, whose URLs are good for so long.
func (c Connection) bucket(urlLifetime time.Duration) (*s3blob.Bucket, error) {
	return s3blob.New(s3blob.Config{
		Bucket: Bucket, Region: Region, Endpoint: c.Endpoint, PathStyle: true,
		Credentials: c.keys,
		URLLifetime: urlLifetime,
		Transport:   c.HTTPClient.Transport,
		Retryable:   c.changed,
	})
}

// Links is the bucket at the URL at which clients reach it who download, for so long: it
// signs their URLs, with the key that is the registry's then, and nothing is asked of it.
func (s *Server) Links(endpoint string, lifetime time.Duration) (*s3blob.Bucket, error) {
	return Connection{Endpoint: endpoint, HTTPClient: s.HTTPClient, keys: signer{s.Keys}}.bucket(lifetime)
}

// signer is the registry's own access key as it is just then.
type signer struct{ keys *Keys }

// Retrieve implements aws.CredentialsProvider.
func (s signer) Retrieve(ctx context.Context) (aws.Credentials, error) {
	return fixed(s.keys.Root()).Retrieve(ctx)
}

// Client returns an S3 client.
func (c Connection) Client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &c.Endpoint,
		UsePathStyle: true,
		Region:       Region,
		Credentials:  c.keys,
		HTTPClient:   c.HTTPClient,
		Retryer:      retry.AddWithErrorCodes(retry.NewStandard(), c.changed...),
	})
}

// prepareBucket makes the bucket what it must be. Each step is repeated on
// every start, so it does not matter which of them a killed process reached.
func (s *Server) prepareBucket(ctx context.Context, storage ownership) error {
	client := s.Client(s.Node)
	if err := s.createBucket(ctx, client, storage); err != nil {
		return fmt.Errorf("create the bucket: %w", err)
	}
	_, err := client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket:                  aws.String(Bucket),
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err != nil {
		return fmt.Errorf("enable versioning of the bucket: %w", err)
	}
	s.abortStaleUploads(ctx, client, time.Now().Add(-staleAfter))
	return nil
}

// ownership is the part of the storage that says whose a bucket is.
type ownership interface {
	ChangeBucketOwner(ctx context.Context, bucket, owner string) error
}

// createBucket makes the bucket, or takes it over from an access key that an earlier
// version of the node had: the one bucket of the data folder is the node's. The policy that
// such a version kept with it goes away then.
func (s *Server) createBucket(ctx context.Context, client *s3.Client, storage ownership) error {
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(Bucket)})
	var owned *types.BucketAlreadyOwnedByYou
	var lost *types.BucketAlreadyExists
	switch {
	case errors.As(err, &owned):
		return nil
	case errors.As(err, &lost):
		return storage.ChangeBucketOwner(ctx, Bucket, s.Node.AccessKeyID)
	default:
		return err
	}
}

// abortStaleUploads removes multipart uploads that began before the given
// time, at most a listing's thousand of them. That it fails is no reason not
// to serve.
func (s *Server) abortStaleUploads(ctx context.Context, client *s3.Client, before time.Time) {
	uploads, err := client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: aws.String(Bucket)})
	if err != nil {
		s.opts.Logger.Warn("cannot look for unfinished uploads", "error", err)
		return
	}
	for _, u := range uploads.Uploads {
		if u.Initiated == nil || !u.Initiated.Before(before) {
			continue
		}
		_, err := client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: aws.String(Bucket), Key: u.Key, UploadId: u.UploadId})
		if err != nil {
			s.opts.Logger.Warn("cannot remove an unfinished upload", "key", aws.ToString(u.Key), "error", err)
			continue
		}
		s.opts.Logger.Info("removed an unfinished upload", "key", aws.ToString(u.Key), "begun", *u.Initiated)
	}
}
