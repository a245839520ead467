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
	"github.com/larder-registry/larder/pkg/blob/s3presign"
)

// staleAfter is how long a multipart upload may take. The endpoint keeps unfinished ones
// for ever, as AWS does; they are invisible and take room.
const staleAfter = 7 * 24 * time.Hour

// newHTTPClient returns a client that connects to the endpoint itself: the node's own
// requests do not wait behind those of strangers at the door.
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
	changed    []string // codes of the answers to a key that has changed meanwhile
}

func fixed(key Credentials) aws.CredentialsProvider {
	return s3blob.StaticCredentials(key.AccessKeyID, key.SecretAccessKey)
}

// Connection returns the node's own connection, with every right.
func (s *Server) Connection() Connection {
	return Connection{Endpoint: s.Endpoint, HTTPClient: s.HTTPClient, keys: fixed(s.Node)}
}

// Connect returns a connection, with every right, to the endpoint that another process of
// the same user runs on a data folder. It sends no request. The access keys may be rotated
// while the connection is in use.
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

// storedRoot reads the registry's own access key from its file each time.
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

// Reach returns a connection, with every right, to the bucket of a data folder. If a
// server runs on the folder, it is to that server's endpoint, and dir is nil. Or else it is
// to an endpoint of this process, which holds the folder dir until close.
func Reach(ctx context.Context, data string, logger *slog.Logger) (c Connection, dir *datadir.Dir, close func() error, err error) {
	_, err = os.Stat(filepath.Join(data, datadir.S3))
	if errors.Is(err, fs.ErrPermission) {
		return Connection{}, nil, nil, datadir.AsOwner(data, err)
	}
	if err != nil {
		return Connection{}, nil, nil, fmt.Errorf("%s is not the data folder of a registry: name it with --data, or LARDER_DATA (%w)", data, err)
	}
	dir, err = datadir.Open(data)
	if errors.Is(err, datadir.ErrInUse) {
		if !socket.Listens(ctx, filepath.Join(data, datadir.Socket)) { // no server answers operators
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

// Bucket returns the bucket as the registry sees it.
func (c Connection) Bucket() (*s3blob.Bucket, error) {
	return s3blob.New(s3blob.Config{
		Bucket: Bucket, Region: Region, Endpoint: c.Endpoint, PathStyle: true,
		Credentials: c.keys,
		Transport:   c.HTTPClient.Transport,
		Retryable:   c.changed,
	})
}

// Links returns what makes URLs of objects for clients, which reach the bucket at the
// endpoint. The URLs are signed with the registry's key of that time, and valid for lifetime.
func (s *Server) Links(endpoint string, lifetime time.Duration) (*s3presign.Presigner, error) {
	return s3presign.New(s3presign.Config{
		Bucket: Bucket, Region: Region, Endpoint: endpoint, PathStyle: true,
		Credentials: signer{s.Keys}, Lifetime: lifetime,
	})
}

// signer returns the registry's current access key each time.
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

// prepareBucket creates and configures the bucket. Every start repeats all steps, so it
// does not matter which of them a killed process reached.
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

// ownership is the part of the storage that knows the owner of a bucket.
type ownership interface {
	ChangeBucketOwner(ctx context.Context, bucket, owner string) error
}

// createBucket makes the bucket, or takes it over from an access key that an earlier
// version of the node had. It then removes the policy that such a version kept with it.
func (s *Server) createBucket(ctx context.Context, client *s3.Client, storage ownership) error {
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(Bucket)})
	var owned *types.BucketAlreadyOwnedByYou
	var exists *types.BucketAlreadyExists
	switch {
	case errors.As(err, &owned):
		return nil
	case errors.As(err, &exists):
		return storage.ChangeBucketOwner(ctx, Bucket, s.Node.AccessKeyID)
	default:
		return err
	}
}

// abortStaleUploads removes multipart uploads that began before the given time, at most a
// listing's thousand of them. The node serves even if this fails.
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
