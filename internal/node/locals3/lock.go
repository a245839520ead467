package locals3

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// The storage takes a lock when it puts an upload in its place, so that two uploads of one
// key come one after the other. It takes no lock when it deletes, changes tags, or reads a
// version: it looks at the file at a path, and then removes, tags or opens that path. An
// upload that came meanwhile would be removed, get the tags, or be read as another version.
// So these take the same lock here. The lock is on a file, one of 256 for all keys of a
// bucket. It is held while files are renamed, never while a client sends something.

// locksFolder is the folder of the locks in the storage's own folder.
const locksFolder = ".vgwlocks"

// lockEvery is the time between two tries to get a lock that another request has.
const lockEvery = 2 * time.Millisecond

// lock keeps uploads of a key from being put in their place until unlock.
func lock(ctx context.Context, bucket, key string) (unlock func(), err error) {
	file, err := openLock(bucket, key)
	if errors.Is(err, syscall.ENOSPC) { // then no upload has the lock either, and deleting makes room
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock a key: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil // this ends the lock
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock a key: %w", err)
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		case <-time.After(lockEvery):
		}
	}
}

// openLock opens the file of a key's lock.
func openLock(bucket, key string) (*os.File, error) {
	folder := filepath.Join(locksFolder, fmt.Sprintf("%x", sha256.Sum256([]byte(bucket))))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	shard := sha256.Sum256([]byte(key))
	return os.OpenFile(filepath.Join(folder, fmt.Sprintf("%02x", shard[0])), os.O_RDWR|os.O_CREATE, 0o600)
}

// locked calls do, for a version of a key or for the key, while no upload of the key is put
// in its place.
func locked(ctx context.Context, bucket, key, version *string, do func() error) error {
	if err := checkVersionID(version); err != nil {
		return err
	}
	unlock, err := lock(ctx, aws.ToString(bucket), aws.ToString(key))
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// DeleteObject implements backend.Backend.
func (g guarded) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (out *s3.DeleteObjectOutput, err error) {
	err = locked(ctx, in.Bucket, in.Key, in.VersionId, func() (err error) {
		out, err = g.Backend.DeleteObject(ctx, in)
		return err
	})
	return out, err
}

// DeleteObjects implements backend.Backend. If a version ID is malformed, nothing is
// deleted.
func (g guarded) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	all := s3response.DeleteResult{Deleted: []types.DeletedObject{}, Error: []types.Error{}}
	if in.Delete == nil {
		return all, s3err.GetAPIError(s3err.ErrMalformedXML)
	}
	for _, object := range in.Delete.Objects {
		if err := checkVersionID(object.VersionId); err != nil {
			return all, err
		}
	}
	for _, object := range in.Delete.Objects {
		out, err := g.deleteOne(ctx, *in, object)
		if err != nil {
			return all, err
		}
		all.Deleted, all.Error = append(all.Deleted, out.Deleted...), append(all.Error, out.Error...)
	}
	return all, nil
}

// deleteOne deletes one of the objects of a request.
func (g guarded) deleteOne(ctx context.Context, in s3.DeleteObjectsInput, object types.ObjectIdentifier) (out s3response.DeleteResult, err error) {
	in.Delete = &types.Delete{Objects: []types.ObjectIdentifier{object}, Quiet: in.Delete.Quiet}
	err = locked(ctx, in.Bucket, object.Key, object.VersionId, func() (err error) {
		out, err = g.Backend.DeleteObjects(ctx, &in)
		return err
	})
	return out, err
}

// PutObjectTagging implements backend.Backend.
func (g guarded) PutObjectTagging(ctx context.Context, bucket, object, version string, tags map[string]string) error {
	return locked(ctx, &bucket, &object, &version, func() error {
		return plain(g.Backend.PutObjectTagging(ctx, bucket, object, version, tags))
	})
}

// DeleteObjectTagging implements backend.Backend.
func (g guarded) DeleteObjectTagging(ctx context.Context, bucket, object, version string) error {
	return locked(ctx, &bucket, &object, &version, func() error {
		return g.Backend.DeleteObjectTagging(ctx, bucket, object, version)
	})
}

// GetObject implements backend.Backend. It returns an open file, which stays the same after
// the lock has ended.
func (g guarded) GetObject(ctx context.Context, in *s3.GetObjectInput) (out *s3.GetObjectOutput, err error) {
	if aws.ToString(in.VersionId) == "" { // any version will do
		return g.Backend.GetObject(ctx, in)
	}
	err = locked(ctx, in.Bucket, in.Key, in.VersionId, func() (err error) {
		out, err = g.Backend.GetObject(ctx, in)
		return err
	})
	return out, err
}
