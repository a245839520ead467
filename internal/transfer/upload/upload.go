// Package upload uploads files to the inbox of a registry and waits for their outcomes: the
// tags that the registry puts on each upload. It only needs rights on the inbox:
// s3:PutObject, s3:GetObjectTagging and s3:GetObjectVersionTagging. With the right to read
// registry/outcomes/, too, it gets reasons that are too long for a tag.
package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/awsconfig"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"golang.org/x/sync/errgroup"
)

const (
	// filesAtOnce is how many files are uploaded at the same time, and partsAtOnce how
	// many parts of each. A part is 8 MiB, which bounds the memory.
	filesAtOnce = 4
	partsAtOnce = 3

	// cleanUpTime is how long the removal of an unfinished upload may take.
	cleanUpTime = 10 * time.Second
)

// Options say where the inbox is, and how long to wait.
type Options struct {
	Bucket  string        // its name. Required.
	Region  string        // of the bucket. Empty: that of the environment.
	NoWait  bool          // end after the uploads, without their outcomes
	Timeout time.Duration // of the wait for all outcomes. Required, unless NoWait.
}

// Inbox is the part of a bucket to which a registry's users upload.
type Inbox struct {
	options Options
	s3      *s3.Client
	manager *transfermanager.Client
}

// Open finds region and credentials as the AWS CLI does. It sends no request.
func Open(ctx context.Context, o Options) (*Inbox, error) {
	if o.Bucket == "" {
		return nil, errors.New("no bucket is given: give --bucket, or set LARDER_BUCKET")
	}
	if !o.NoWait && o.Timeout <= 0 {
		return nil, errors.New("the timeout must be longer than 0: give --no-wait not to wait at all")
	}
	cfg, err := awsconfig.Load(ctx, o.Region)
	if err != nil {
		return nil, err
	}
	client := awsconfig.S3(cfg)
	manager := transfermanager.New(client, func(m *transfermanager.Options) {
		m.Concurrency = partsAtOnce
		m.FailTimeout = cleanUpTime
	})
	return &Inbox{options: o, s3: client, manager: manager}, nil
}

// result is the outcome of a file.
type result struct {
	File
	version string       // of the object, once it is uploaded
	status  inbox.Status // empty: no outcome yet
	reasons []string     // why it is rejected or pending: all, or those that fit into a tag
	err     error        // why it was not uploaded, or its outcome cannot be read
}

// Publish uploads files, waits for their outcomes unless the options say not to, and writes a
// table of them to out. It shows the progress on p. The files that the packages of a release
// may contradict are uploaded before the packages.
//
// The error counts files that were rejected, could not be uploaded or have no outcome in
// time, and packages that wait; and it says if an author's signature was not taken. Other
// files that wait are not an error, and ignored files are not.
func (in *Inbox) Publish(ctx context.Context, files []File, out io.Writer, p *progress.Progress) ([]Report, error) {
	batch := in.NewBatch(p)
	batch.Upload(ctx, slices.DeleteFunc(slices.Clone(files), File.isZip))
	batch.Upload(ctx, slices.DeleteFunc(slices.Clone(files), func(f File) bool { return !f.isZip() }))
	err := batch.Conclude(ctx, out)
	return batch.reports(), err
}

// Batch is files that are uploaded one group after another, and whose outcomes are reported
// together. Only one goroutine may use it at a time.
type Batch struct {
	inbox    *Inbox
	progress *progress.Progress
	results  []*result
}

// NewBatch makes a batch without files, which shows the progress of uploads on p.
func (in *Inbox) NewBatch(p *progress.Progress) *Batch {
	return &Batch{inbox: in, progress: p}
}

// Upload uploads files, several side by side.
func (b *Batch) Upload(ctx context.Context, files []File) {
	results := make([]*result, len(files))
	var group errgroup.Group
	group.SetLimit(filesAtOnce)
	for i, file := range files {
		results[i] = &result{File: file}
		group.Go(func() error {
			results[i].version, results[i].err = b.inbox.put(ctx, file, b.progress)
			return nil // so that the others go on
		})
	}
	_ = group.Wait() // each error is in its result
	b.results = append(b.results, results...)
}

// UploadDocument uploads a file that the registry only reads, and that has no outcome. It is
// in the inbox before the files that are uploaded after it.
func (b *Batch) UploadDocument(ctx context.Context, file File) error {
	_, err := b.inbox.put(ctx, file, b.progress)
	return err
}

// Fail adds a file that could not be uploaded, and why.
func (b *Batch) Fail(file File, err error) {
	b.results = append(b.results, &result{File: file, err: err})
}

// Conclude waits for the outcomes, unless the options say not to, and writes a table of them
// to out. The error is that of [Inbox.Publish].
func (b *Batch) Conclude(ctx context.Context, out io.Writer) error {
	in := b.inbox
	if ctx.Err() == nil && !in.options.NoWait {
		in.wait(ctx, b.results)
		in.readReasons(ctx, b.results)
	}
	if err := in.writeTable(out, b.results); err != nil {
		return fmt.Errorf("write the outcomes: %w", err)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted: the registry still publishes what was uploaded")
	}
	return in.conclude(b.results)
}

// reports returns the report of each file.
func (b *Batch) reports() (all []Report) {
	for _, r := range b.results {
		report := Report{File: r.Name, Key: r.Key, VersionID: r.version, Status: r.statusWord(b.inbox.options.NoWait), Reasons: r.reasons}
		if r.err != nil {
			report.Reasons = []string{b.inbox.explain(r.err)}
		}
		all = append(all, report)
	}
	return all
}

// put uploads a file, in parts if it is large, and returns the version of the object.
func (in *Inbox) put(ctx context.Context, f File, p *progress.Progress) (version string, err error) {
	file, content, err := f.open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	listener := listener{p.Begin(f.Name, content.Size())}
	defer func() { listener.bar.End(err) }()
	done, err := in.manager.UploadObject(ctx,
		&transfermanager.UploadObjectInput{Bucket: &in.options.Bucket, Key: &f.Key, Body: content, Metadata: f.metadata()},
		func(o *transfermanager.Options) { o.ObjectProgressListeners.Register(listener) })
	if err != nil {
		return "", &uploadError{err}
	}
	return aws.ToString(done.VersionID), nil
}

// metadata returns the metadata of the upload.
func (f File) metadata() map[string]string {
	if f.Source == "" {
		return nil
	}
	return map[string]string{blob.SourceMetadata: f.Source}
}

// listener shows the progress of an upload's parts.
type listener struct{ bar *progress.Bar }

// OnObjectBytesTransferred is called when another part was uploaded.
func (l listener) OnObjectBytesTransferred(_ context.Context, event *transfermanager.ObjectBytesTransferredEvent) {
	l.bar.At(event.BytesTransferred)
}
