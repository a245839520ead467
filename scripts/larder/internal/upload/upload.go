// Package upload takes files to the inbox of a registry and waits for the word
// back: the tags that the registry puts on each upload. It needs no rights but
// those on the inbox: s3:PutObject, s3:GetObjectTagging and
// s3:GetObjectVersionTagging.
package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/scripts/larder/internal/awsconfig"
)

const (
	// filesAtOnce is how many files are under way at the same time, and
	// partsAtOnce how many parts of each. A part is 8 MiB, which bounds the
	// memory.
	filesAtOnce = 4
	partsAtOnce = 3

	// cleanUpTime is how long the removal of an unfinished upload may take.
	cleanUpTime = 10 * time.Second
)

// Options say where the inbox is, and how long to wait.
type Options struct {
	Bucket  string        // its name. Required.
	Region  string        // of the bucket. Empty: that of the environment.
	NoWait  bool          // end with the uploads, whatever becomes of them
	Timeout time.Duration // of the wait for all outcomes. Required, unless NoWait.
}

// Inbox is where a registry's users upload to.
type Inbox struct {
	options Options
	s3      *s3.Client
	manager *transfermanager.Client
}

// Open finds region and credentials as the AWS CLI does. It sends no request.
func Open(ctx context.Context, o Options, getenv func(string) string) (*Inbox, error) {
	if o.Bucket == "" {
		return nil, errors.New("no bucket is given: give --bucket, or set LARDER_BUCKET")
	}
	if !o.NoWait && o.Timeout <= 0 {
		return nil, errors.New("the timeout must be longer than nothing: give --no-wait not to wait at all")
	}
	cfg, err := awsconfig.Load(ctx, o.Region)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(cfg, func(s *s3.Options) {
		s.UsePathStyle = awsconfig.Endpoint(getenv, "S3") != ""
	})
	manager := transfermanager.New(client, func(m *transfermanager.Options) {
		m.Concurrency = partsAtOnce
		m.FailTimeout = cleanUpTime
	})
	return &Inbox{options: o, s3: client, manager: manager}, nil
}

// result is what became of a file.
type result struct {
	File
	version string         // of the object, once it is uploaded
	status  publish.Status // empty: no outcome yet
	reason  string
	err     error // why it was not uploaded, or its outcome cannot be read
}

// Publish uploads files, waits for their outcomes unless told not to, and writes
// a table of them to out. How the uploads go on is told to log, in bars if that
// is a terminal.
//
// The error counts what was rejected, could not be uploaded or has no outcome
// in time. A pending file is no error, nor an ignored one.
func (in *Inbox) Publish(ctx context.Context, files []File, out, log io.Writer, terminal bool) error {
	results := in.putAll(ctx, files, newProgress(log, terminal))
	if ctx.Err() == nil && !in.options.NoWait {
		in.wait(ctx, results)
	}
	if err := in.writeTable(out, results); err != nil {
		return fmt.Errorf("write the outcomes: %w", err)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: what was uploaded is published all the same")
	}
	return in.conclude(results)
}

// putAll uploads files, several side by side.
func (in *Inbox) putAll(ctx context.Context, files []File, p *progress) []*result {
	results := make([]*result, len(files))
	var group errgroup.Group
	group.SetLimit(filesAtOnce)
	for i, file := range files {
		results[i] = &result{File: file}
		group.Go(func() error {
			results[i].version, results[i].err = in.put(ctx, file, p)
			return nil // the others go on
		})
	}
	_ = group.Wait() // each error is in its result
	return results
}

// put uploads a file, in parts if it is large, and returns the version that it
// became.
func (in *Inbox) put(ctx context.Context, f File, p *progress) (version string, err error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	bar := p.begin(f.Name, info.Size())
	defer func() { bar.end(err) }()
	done, err := in.manager.UploadObject(ctx,
		&transfermanager.UploadObjectInput{Bucket: &in.options.Bucket, Key: &f.Key, Body: file},
		func(o *transfermanager.Options) { o.ObjectProgressListeners.Register(bar) })
	if err != nil {
		return "", fmt.Errorf("it could not be uploaded: %w", err)
	}
	return aws.ToString(done.VersionID), nil
}
