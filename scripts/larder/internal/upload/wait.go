package upload

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/larder-registry/larder/pkg/publish"
)

const (
	// firstPause and longestPause are between two looks at the tags; each
	// pause is half as long again as the one before.
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second

	// settleTime is how long an upload stays pending before that is taken
	// for its outcome, when all others have theirs: the files of a release
	// wait for one another, and the last of them changes those before it.
	settleTime = 3 * time.Second

	// looksAtOnce is how many requests for tags are under way.
	looksAtOnce = 8
)

// wait looks at the tags of what was uploaded until each has its outcome, or the
// time is over.
func (in *Inbox) wait(ctx context.Context, results []*result) {
	ctx, cancel := context.WithTimeout(ctx, in.options.Timeout)
	defer cancel()
	var settledSince time.Time
	for pause := firstPause; ; pause = min(pause*3/2, longestPause) {
		in.lookAll(ctx, results)
		switch {
		case ctx.Err() != nil || !slices.ContainsFunc(results, (*result).mayChange):
			return
		case slices.ContainsFunc(results, (*result).unknown):
			settledSince = time.Time{}
		case settledSince.IsZero():
			settledSince = time.Now()
		case time.Since(settledSince) >= settleTime:
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// unknown says that there is no outcome yet, but will be one.
func (r *result) unknown() bool { return r.err == nil && r.status == "" }

// mayChange says that the tags may come to say something else.
func (r *result) mayChange() bool { return r.unknown() || r.status == publish.Pending }

// lookAll brings all results up to their tags.
func (in *Inbox) lookAll(ctx context.Context, results []*result) {
	var group errgroup.Group
	group.SetLimit(looksAtOnce)
	for _, r := range results {
		if r.mayChange() {
			group.Go(func() error { in.look(ctx, r); return nil })
		}
	}
	_ = group.Wait() // each error is in its result
}

// look reads the tags of the very version that was uploaded.
func (in *Inbox) look(ctx context.Context, r *result) {
	request := &s3.GetObjectTaggingInput{Bucket: &in.options.Bucket, Key: &r.Key}
	if r.version != "" {
		request.VersionId = &r.version
	}
	found, err := in.s3.GetObjectTagging(ctx, request)
	if ctx.Err() != nil {
		return // no fault of the file's
	}
	if err != nil {
		r.err = fmt.Errorf("it was uploaded, but its outcome cannot be read, for which s3:GetObjectVersionTagging is needed: %w", err)
		return
	}
	for _, tag := range found.TagSet {
		switch aws.ToString(tag.Key) {
		case publish.StatusTag:
			r.status = publish.Status(aws.ToString(tag.Value))
		case publish.ReasonTag:
			r.reason = aws.ToString(tag.Value)
		}
	}
}
