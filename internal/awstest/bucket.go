package awstest

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	// maxTagging is the largest body of PutObjectTagging, in bytes.
	maxTagging = 64 << 10

	headTimeout = 30 * time.Second
)

// serveUsers is S3 for clients over the network: for users with their own access key, and for
// everybody with a URL that a function presigned. Functions that presign know S3 by this name,
// and send it no requests.
func (s *Stack) serveUsers() http.Handler {
	return s.strict(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if function, ok := s.sessions[r.Header.Get("X-Amz-Security-Token")]; ok {
			s.fail(w, fmt.Errorf("%s makes a request to S3: %s %s", function.name, r.Method, r.URL.Path))
			return
		}
		query := r.URL.Query()
		if (query.Has("X-Amz-Algorithm") || query.Has("X-Amz-Security-Token")) && r.Header.Get("Authorization") != "" {
			refuseXML(w, http.StatusBadRequest, "InvalidArgument", "Only one auth mechanism allowed")
			return
		}
		token := query.Get("X-Amz-Security-Token")
		if token == "" {
			s.gateway.ServeHTTP(w, r)
			return
		}
		function, ok := s.sessions[token]
		if !ok {
			refuseXML(w, http.StatusForbidden, "InvalidToken", "The provided token is malformed or otherwise invalid.")
			return
		}
		if err := checkPresigned(r, function.credentials); err != nil {
			refuseXML(w, http.StatusForbidden, "AccessDenied", err.Error())
			return
		}
		needed, err := s3Calls(r, nil)
		if err != nil {
			s.fail(w, err)
			return
		}
		for i := range needed { // a URL carries the rights of its signer, but is not the signer's request
			needed[i].Function, needed[i].Request = function.name, ""
		}
		s.ledger.add(needed...)
		r.URL = withoutSignature(r.URL)
		s.owned.ServeHTTP(w, r)
	}))
}

// strict makes the local S3 as strict as the real one: it refuses tags that S3 would refuse, and
// changes an object in one step.
func (s *Stack) strict(next http.Handler) http.Handler {
	next = s.locks.serialize(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkTagsOf(r); err != nil {
			refuseXML(w, http.StatusBadRequest, "InvalidTag", err.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// checkTagsOf checks the tags that a request sets. Its body can be read again.
func checkTagsOf(r *http.Request) error {
	if header := r.Header.Get("X-Amz-Tagging"); header != "" {
		tags, err := readTagHeader(header)
		return errors.Join(err, checkTags(tags))
	}
	if readS3Request(r).operation() != "PutObjectTagging" {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxTagging))
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	tags, err := readTagging(body)
	return errors.Join(err, checkTags(tags))
}

// creations are the operations after which S3 reports a created object, and their names in
// events.
var creations = map[string]string{
	"PutObject":               "Put",
	"CopyObject":              "Copy",
	"CompleteMultipartUpload": "CompleteMultipartUpload",
}

// notify sends the queue an event of an object that a request created, if the bucket's
// notification has its key.
func (s *Stack) notify(response *http.Response) error {
	request := readS3Request(response.Request)
	event, creates := creations[request.operation()]
	if !creates || response.StatusCode != http.StatusOK || !s.notified(request.key) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), headTimeout)
	defer cancel()
	input := &s3.HeadObjectInput{Bucket: &request.bucket, Key: &request.key}
	if version := response.Header.Get("X-Amz-Version-Id"); version != "" {
		input.VersionId = &version
	}
	head, err := s.s3.HeadObject(ctx, input)
	if err != nil {
		s.broken(fmt.Errorf("look at what %s of %s has created: %w", event, request.key, err))
		return nil
	}
	s.queue.send(s.notification(created{
		event: event, key: request.key, version: aws.ToString(head.VersionId),
		etag: strings.Trim(aws.ToString(head.ETag), `"`), size: aws.ToInt64(head.ContentLength),
	}))
	return nil
}

// notified says whether the bucket's notification has a key.
func (s *Stack) notified(key string) bool {
	for _, n := range s.Deployment.Bucket.Notifications {
		if strings.HasPrefix(key, n.Prefix) {
			return !s.deaf.Load()
		}
	}
	return false
}

// LoseEvents makes the bucket's events be lost, or not any more.
func (s *Stack) LoseEvents(lost bool) { s.deaf.Store(lost) }

// splitObjectARN returns the bucket and the key in an object's ARN.
func splitObjectARN(arn string) (bucket, key string) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(arn, objectARN("", "")), "/")
	return bucket, key
}

func xmlText(text string) string {
	var escaped bytes.Buffer
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		panic(fmt.Sprint("write to memory: ", err))
	}
	return escaped.String()
}
