package e2e

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The outcomes of an upload, as its tag has them.
const (
	published = "published"
	rejected  = "rejected"
	pending   = "pending"
	ignored   = "ignored"
)

// upload is one version of one object of the inbox.
type upload struct{ key, version string }

// aws runs the AWS CLI with what the env file gave.
func (r *registry) aws(t testing.TB, args ...string) string {
	t.Helper()
	return r.awsCommand(args...).must(t)
}

func (r *registry) awsCommand(args ...string) command {
	return command{env: r.vars, argv: append([]string{"aws"}, args...)}
}

// copyIn uploads a file with `aws s3 cp`, as users do.
func (r *registry) copyIn(t testing.TB, file, key string) upload {
	t.Helper()
	r.aws(t, "s3", "cp", "--only-show-errors", file, "s3://"+r.bucket+"/"+key)
	return r.latest(t, key)
}

// latest returns the newest version of an object.
func (r *registry) latest(t testing.TB, key string) upload {
	t.Helper()
	head, err := r.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &r.bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	return upload{key, aws.ToString(head.VersionId)}
}

// put uploads body, optionally with tags of the user's own as a query string.
func (r *registry) put(t testing.TB, key string, body []byte, tags ...string) upload {
	t.Helper()
	u, err := r.tryPut(t.Context(), key, body, tags...)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (r *registry) tryPut(ctx context.Context, key string, body []byte, tags ...string) (upload, error) {
	in := &s3.PutObjectInput{Bucket: &r.bucket, Key: &key, Body: bytes.NewReader(body)}
	if len(tags) > 0 {
		in.Tagging = &tags[0]
	}
	out, err := r.s3.PutObject(ctx, in)
	if err != nil {
		return upload{}, err
	}
	return upload{key, aws.ToString(out.VersionId)}, nil
}

// tags returns the tags of an upload as they are now.
func (r *registry) tags(t testing.TB, u upload) map[string]string {
	t.Helper()
	out, err := r.s3.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{
		Bucket: &r.bucket, Key: &u.key, VersionId: &u.version,
	})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range out.TagSet {
		tags[*tag.Key] = *tag.Value
	}
	return tags
}

// verdict waits for the outcome of an upload and returns its tags.
func (r *registry) verdict(t testing.TB, u upload) map[string]string {
	t.Helper()
	var tags map[string]string
	eventually(t, func() error {
		if tags = r.tags(t, u); tags["larder-status"] == "" {
			return fmt.Errorf("%s has no outcome", u.key)
		}
		return nil
	})
	return tags
}

// expect waits for an upload to have the given outcome. Only a pending one may change.
func (r *registry) expect(t testing.TB, u upload, status string) map[string]string {
	t.Helper()
	var tags map[string]string
	eventually(t, func() error {
		tags = r.verdict(t, u)
		switch got := tags["larder-status"]; got {
		case status:
			return nil
		case pending:
			return fmt.Errorf("%s is pending, want %s", u.key, status)
		default:
			t.Fatalf("%s is %s, want %s: %s", u.key, got, status, tags["larder-reason"])
			return nil
		}
	})
	return tags
}

// publish uploads body and waits until it is published.
func (r *registry) publish(t testing.TB, key string, body []byte) {
	t.Helper()
	r.expect(t, r.put(t, key, body), published)
}

// publishAll uploads everything at once and waits until it is published.
func (r *registry) publishAll(t testing.TB, bodies map[string][]byte) {
	t.Helper()
	r.putAll(t, bodies)
	for key := range bodies {
		r.expect(t, r.latest(t, key), published)
	}
}

// putAll uploads everything at once.
func (r *registry) putAll(t testing.TB, bodies map[string][]byte) {
	t.Helper()
	var group sync.WaitGroup
	for key, body := range bodies {
		group.Go(func() {
			if _, err := r.tryPut(t.Context(), key, body); err != nil {
				t.Errorf("uploading %s: %v", key, err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
