package s3blob

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/pkg/blob"
)

// List implements [blob.Bucket]. S3 does not say which version is current
// when it lists objects, so they have none.
func (b *Bucket) List(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{
			Bucket: &b.name, Prefix: &prefix, StartAfter: optional(after), EncodingType: types.EncodingTypeUrl,
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(blob.Object{}, failed("list", prefix, err))
				return
			}
			for _, o := range page.Contents {
				if !yield(listed(page.EncodingType, o.Key, nil, o.Size, o.LastModified)) {
					return
				}
			}
		}
	}
}

// Versions implements [blob.Bucket].
func (b *Bucket) Versions(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for page, err := range b.versionPages(ctx, prefix, after) {
			if err != nil {
				yield(blob.Object{}, err)
				return
			}
			for _, v := range page.Versions {
				object, err := listed(page.EncodingType, v.Key, v.VersionId, v.Size, v.LastModified)
				if err == nil && (object.Key <= after || repeated(object, page)) {
					continue
				}
				if !yield(object, err) {
					return
				}
			}
		}
	}
}

// Markers calls do with every delete marker under a prefix, until it fails. do may remove
// the marker.
func (b *Bucket) Markers(ctx context.Context, prefix string, do func(blob.Object) error) error {
	var all []blob.Object
	for page, err := range b.versionPages(ctx, prefix, "") {
		if err != nil {
			return err
		}
		for _, m := range page.DeleteMarkers {
			object, err := listed(page.EncodingType, m.Key, m.VersionId, nil, m.LastModified)
			if err != nil {
				return err
			}
			if !repeated(object, page) {
				all = append(all, object)
			}
		}
	}
	for _, marker := range all {
		if err := do(marker); err != nil {
			return err
		}
	}
	return nil
}

// versionsPage is a page of a listing, with the markers of its request.
type versionsPage struct {
	*s3.ListObjectVersionsOutput
	keyMarker, versionMarker *string
}

// versionPages lists object versions and delete markers.
func (b *Bucket) versionPages(ctx context.Context, prefix, after string) iter.Seq2[versionsPage, error] {
	return func(yield func(versionsPage, error) bool) {
		in := &s3.ListObjectVersionsInput{
			Bucket: &b.name, Prefix: &prefix, KeyMarker: optional(after), EncodingType: types.EncodingTypeUrl,
		}
		for {
			page, err := b.client.ListObjectVersions(ctx, in)
			if err != nil {
				yield(versionsPage{}, failed("list the versions of", prefix, err))
				return
			}
			if !yield(versionsPage{page, in.KeyMarker, in.VersionIdMarker}, nil) || !aws.ToBool(page.IsTruncated) {
				return
			}
			// The SDK's own paginator would send the marker back encoded.
			marker, err := decodeKey(page.EncodingType, page.NextKeyMarker)
			if err != nil {
				yield(versionsPage{}, err)
				return
			}
			in.KeyMarker, in.VersionIdMarker = &marker, page.NextVersionIdMarker
		}
	}
}

// repeated says whether the page before ended with this version. Amazon's S3 goes on after
// a marker, the Versity gateway (1.8.0) with it.
func repeated(o blob.Object, p versionsPage) bool {
	return p.keyMarker != nil && o.Key == *p.keyMarker && o.Version == aws.ToString(p.versionMarker)
}

func listed(encoding types.EncodingType, key, version *string, size *int64, modified *time.Time) (blob.Object, error) {
	decoded, err := decodeKey(encoding, key)
	return blob.Object{
		Key:      decoded,
		Version:  aws.ToString(version),
		Size:     aws.ToInt64(size),
		Modified: aws.ToTime(modified),
	}, err
}

// decodeKey undoes the URL encoding of keys in listings. Without this encoding, one key
// with characters that XML cannot carry would make every listing unreadable. A server that
// does not support it leaves it out of its answer.
func decodeKey(encoding types.EncodingType, key *string) (string, error) {
	if encoding != types.EncodingTypeUrl {
		return aws.ToString(key), nil
	}
	decoded, err := url.QueryUnescape(aws.ToString(key))
	if err != nil {
		return "", fmt.Errorf("a listing of the bucket has a key that is not encoded as the listing says: %w", err)
	}
	return decoded, nil
}
