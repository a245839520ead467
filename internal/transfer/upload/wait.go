package upload

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"golang.org/x/sync/errgroup"
)

const (
	// firstPause and longestPause are pauses between two looks at the tags; each pause is
	// 1.5 times the one before.
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second

	// settleTime is how long an upload must stay pending, when all others have their
	// outcomes, until that is its outcome: the files of a release wait for one another, and
	// the last one changes the outcomes of those before it.
	settleTime = 3 * time.Second

	// looksAtOnce is how many requests for tags are under way at the same time.
	looksAtOnce = 8

	// readTries is how often the document of an outcome is asked for.
	readTries = 5

	// maxOutcome is the largest document of an outcome that is read, in bytes.
	maxOutcome = 1 << 20
)

// wait looks at the tags of the uploads until each has its outcome, or the time is over.
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

// unknown says that the outcome is not there yet.
func (r *result) unknown() bool { return r.err == nil && r.status == "" }

// mayChange says that the tags may still change.
func (r *result) mayChange() bool { return r.unknown() || r.status == inbox.Pending }

// lookAll reads the tags of all results that may change.
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

// look reads the tags of the version that was uploaded.
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
		r.err = &readError{err}
		return
	}
	r.reasons = nil
	for _, tag := range found.TagSet {
		switch aws.ToString(tag.Key) {
		case inbox.StatusTag:
			r.status = inbox.Status(aws.ToString(tag.Value))
		case inbox.ReasonTag:
			if reason := aws.ToString(tag.Value); reason != "" {
				r.reasons = []string{reason}
			}
		}
	}
}

// readReasons reads the reasons of rejections that are too long for a tag. Without the right
// to read them, the text of the tag stays.
func (in *Inbox) readReasons(ctx context.Context, results []*result) {
	for _, r := range results {
		if r.status != inbox.Rejected {
			continue
		}
		for range readTries {
			o, err := in.outcome(ctx, r)
			if err == nil && o.Version == r.version {
				r.reasons = o.Reasons
				break
			}
			if missing := (*types.NoSuchKey)(nil); err != nil && !errors.As(err, &missing) {
				break
			}
			select { // the registry writes the document right after the tags
			case <-ctx.Done():
				return
			case <-time.After(firstPause):
			}
		}
	}
}

// outcome reads the last outcome that was written for an upload's key.
func (in *Inbox) outcome(ctx context.Context, r *result) (inbox.Outcome, error) {
	o, err := in.document(ctx, registry.OutcomeKey(r.Key))
	if missing := (*types.NoSuchKey)(nil); errors.As(err, &missing) { // it may not be there yet, or be under another key
		if elsewhere, err := in.document(ctx, registry.OutcomeKeyByHash(r.Key)); err == nil {
			return elsewhere, nil
		}
	}
	return o, err
}

func (in *Inbox) document(ctx context.Context, key string) (o inbox.Outcome, err error) {
	found, err := in.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &in.options.Bucket, Key: &key})
	if err != nil {
		return o, err
	}
	defer found.Body.Close()
	err = json.NewDecoder(io.LimitReader(found.Body, maxOutcome)).Decode(&o)
	for i, reason := range o.Reasons { // which may quote what was uploaded
		o.Reasons[i] = printable.Replace(reason, ' ')
	}
	return o, err
}
