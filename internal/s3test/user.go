package s3test

import (
	"bytes"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// Client reaches the server as the AWS CLI does.
func (s *Server) Client() *s3.Client {
	return s3.New(s3.Options{
		Region:       s.Region,
		Credentials:  credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		BaseEndpoint: aws.String(s.Endpoint),
		UsePathStyle: true,
	})
}

// Another makes another bucket on the same server, versioned and empty.
func (s *Server) Another(t testing.TB, bucket string) *Server {
	t.Helper()
	another := *s
	another.Bucket = bucket
	another.createBucket(t)
	return &another
}

func (s *Server) createBucket(t testing.TB) {
	t.Helper()
	if _, err := s.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &s.Bucket}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket:                  &s.Bucket,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	}); err != nil {
		t.Fatal(err)
	}
}

// Upload writes an object as a user, with the user's own tags (or nil), and returns its version.
func (s *Server) Upload(t testing.TB, key string, body []byte, tags map[string]string) string {
	t.Helper()
	return s.upload(t, key, body, tags, map[string]string{"origin": "user"})
}

// UploadFrom writes an object as a user who names its source, and returns its version.
func (s *Server) UploadFrom(t testing.TB, key string, body []byte, source string) string {
	t.Helper()
	return s.upload(t, key, body, nil, map[string]string{"origin": "user", "source": source})
}

func (s *Server) upload(t testing.TB, key string, body []byte, tags, metadata map[string]string) string {
	t.Helper()
	query := url.Values{}
	for name, value := range tags {
		query.Set(name, value)
	}
	out, err := s.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket:   &s.Bucket,
		Key:      &key,
		Body:     bytes.NewReader(body),
		Tagging:  aws.String(query.Encode()),
		Metadata: metadata,
	})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.VersionId)
}

// Delete deletes an object as a user: its versions stay, behind a delete marker.
func (s *Server) Delete(t testing.TB, key string) {
	t.Helper()
	if _, err := s.Client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &s.Bucket, Key: &key}); err != nil {
		t.Fatal(err)
	}
}

// Tags returns the tags of an object version, or of the current one if version is empty.
func (s *Server) Tags(t testing.TB, key, version string) map[string]string {
	t.Helper()
	in := &s3.GetObjectTaggingInput{Bucket: &s.Bucket, Key: &key}
	if version != "" {
		in.VersionId = &version
	}
	out, err := s.Client().GetObjectTagging(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range out.TagSet {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags
}
