// Package upload takes files to the inbox of a registry and waits for the word
// back: the tags that the registry puts on each upload. It needs no rights but
// those on the inbox: s3:PutObject, s3:GetObjectTagging and
// s3:GetObjectVersionTagging. Whoever may read registry/outcomes/, too, is told
// what a tag has no room for.
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
func Open(ctx context.Context, o Options) (*Inbox, error) {
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
	client := awsconfig.S3(cfg)
	manager := transfermanager.New(client, func(m *transfermanager.Options) {
		m.Concurrency = partsAtOnce
		m.FailTimeout = cleanUpTime
	})
	return &Inbox{options: o, s3: client, manager: manager}, nil
}

// result is what became of a file.
type result struct {
	File
	version string       // of the object, once it is uploaded
	status  inbox.Status // empty: no outcome yet
	reasons []string     // of what is rejected or pending: all of them, or as much as a tag has room for
	err     error        // why it was not uploaded, or its outcome cannot be read
}

// Publish uploads files, waits for their outcomes unless told not to, and writes
// a table of them to out. How the uploads go on is told to p. What the packages of a
// release may contradict goes up before them.
//
// The error counts what was rejected, could not be uploaded or has no outcome
// in time, and packages that wait; and it says where an author's signature was not
// taken. Another file that waits is no error, nor an ignored one.
func (in *Inbox) Publish(ctx context.Context, files []File, out io.Writer, p *progress.Progress) ([]Report, error) {
	batch := in.NewBatch(p)
	batch.Upload(ctx, slices.DeleteFunc(slices.Clone(files), File.isZip))
	batch.Upload(ctx, slices.DeleteFunc(slices.Clone(files), func(f File) bool { return !f.isZip() }))
	err := batch.Conclude(ctx, out)
	return batch.reports(), err
}

// Batch is files that are uploaded as they come, and whose outcomes are told
// together. One goroutine uses it at a time.
type Batch struct {
	inbox    *Inbox
	progress *progress.Progress
	results  []*result
}

// NewBatch is a batch without files. How the uploads go on is told to p.
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
			return nil // the others go on
		})
	}
	_ = group.Wait() // each error is in its result
	b.results = append(b.results, results...)
}

// Accompany uploads a file of which nothing is published, so that it has no
// outcome to tell: it is there before those that are uploaded after it.
func (b *Batch) Accompany(ctx context.Context, file File) error {
	_, err := b.inbox.put(ctx, file, b.progress)
	return err
}

// Fail adds a file that could not be uploaded, and why.
func (b *Batch) Fail(file File, err error) {
	b.results = append(b.results, &result{File: file, err: err})
}

// Conclude waits for the outcomes, unless told not to, and writes a table of them
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
		return errors.New("interrupted: what was uploaded is published all the same")
	}
	return in.conclude(b.results)
}

// reports are what became of the files.
func (b *Batch) reports() (all []Report) {
	for _, r := range b.results {
		report := Report{File: r.Name, Key: r.Key, VersionID: r.version, Status: r.word(b.inbox.options.NoWait), Reasons: r.reasons}
		if r.err != nil {
			report.Reasons = []string{b.inbox.explain(r.err)}
		}
		all = append(all, report)
	}
	return all
}

// put uploads a file, in parts if it is large, and returns the version that it
// became.
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
		return "", &notPut{err}
	}
	return aws.ToString(done.VersionID), nil
}

// metadata is what the upload says of itself.
func (f File) metadata() map[string]string {
	if f.Source == "" {
		return nil
	}
	return map[string]string{blob.SourceMetadata: f.Source}
}

// listener hears of an upload's parts.
type listener struct{ bar *progress.Bar }

// OnObjectBytesTransferred tells that another part is there.
func (l listener) OnObjectBytesTransferred(_ context.Context, event *transfermanager.ObjectBytesTransferredEvent) {
	l.bar.At(event.BytesTransferred)
}
