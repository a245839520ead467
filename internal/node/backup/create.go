package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/internal/contextio"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
)

// Options are those of [Create] and [CreateStream].
type Options struct {
	Data        string // the data folder
	WithoutKeys bool   // of the data folder's files, copy only tokens and rules
	Progress    *progress.Progress
	Logger      *slog.Logger
}

// target is the place to which a backup is written.
type target interface {
	// has returns the file that an earlier backup has under a path below registry/, if
	// that file can stay.
	has(path string, size int64) (entry, bool)
	// write writes a file of size bytes.
	write(path string, size int64, body io.Reader) error
	// finish writes the manifest, after all other files.
	finish(m manifest) error
}

// Create writes a backup to a folder, which is new or has an earlier backup. At the end
// it reads the whole backup. Until then the earlier backup stays whole.
func Create(ctx context.Context, o Options, name string) (Summary, error) {
	f, err := openFolder(name)
	if err != nil {
		return Summary{}, err
	}
	defer f.close()
	written, err := create(ctx, o, f)
	if err != nil {
		return Summary{}, err
	}
	summary, err := Verify(ctx, name, o.Progress)
	if ctx.Err() != nil {
		return Summary{}, ctx.Err()
	}
	if err != nil {
		return Summary{}, fmt.Errorf("%w\ndamaged files of an earlier backup are not written anew: remove these files and create the backup again, or choose a new folder", err)
	}
	summary.Added = written.Added
	return summary, nil
}

// CreateStream writes a backup as a tar stream.
func CreateStream(ctx context.Context, o Options, w io.Writer) (Summary, error) {
	s := newStream(w)
	summary, err := create(ctx, o, s)
	if err != nil {
		return Summary{}, err
	}
	return summary, s.tar.Close()
}

func create(ctx context.Context, o Options, t target) (_ Summary, err error) {
	source, err := openSource(ctx, o.Data, o.Logger)
	if err != nil {
		return Summary{}, err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	c := &creation{source: source, options: o, target: t, check: newCheck()}
	err = c.run(ctx)
	return c.summary, err
}

// creation is a backup that is being made.
type creation struct {
	*source
	options  Options
	target   target
	manifest manifest
	check    *check
	added    int64
	summary  Summary
	number   int // of the last upload
}

// run makes the backup.
func (c *creation) run(ctx context.Context) error {
	c.manifest = manifest{Format: format, Time: time.Now().UTC().Truncate(time.Millisecond)}
	for _, step := range []func(context.Context) error{c.files, c.uploads, c.outcomes, c.records, c.objects} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	var err error
	if c.summary, err = c.check.end(); err != nil {
		return fmt.Errorf("the registry lacks what it has published, see larder verify:\n  %w", err)
	}
	c.summary.Time, c.summary.Added = c.manifest.Time, c.added
	return c.target.finish(c.manifest)
}

// add adds a file.
func (c *creation) add(ctx context.Context, path string, size int64, body io.Reader) error {
	hash := sha256.New()
	if err := c.target.write(path, size, io.TeeReader(contextio.Reader(ctx, body), hash)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.added += size
	return c.note(entry{path, size, hex.EncodeToString(hash.Sum(nil))})
}

func (c *creation) note(e entry) error {
	c.manifest.Files = append(c.manifest.Files, e)
	return c.check.file(e)
}

// state returns the path of a file in the folder that belongs to this backup alone.
func (c *creation) state(path string) string { return stateAt(c.manifest.Time) + "/" + path }

// uploads adds the uploads that are not published yet.
func (c *creation) uploads(ctx context.Context) error {
	in := inbox.New(inbox.Config{Bucket: c.bucket, Logger: c.options.Logger, KeysAreFiles: true})
	for key, err := range in.Uploads(ctx, "") {
		if err != nil {
			return err
		}
		waiting, err := in.Waiting(ctx, key)
		if err != nil {
			return err
		}
		for _, object := range waiting {
			if err := c.upload(ctx, object); err != nil && !wasDeleted(err) {
				return err
			}
		}
	}
	return ctx.Err()
}

// upload adds an upload, unless it was deleted meanwhile.
func (c *creation) upload(ctx context.Context, o blob.Object) error {
	client := c.connection.Client()
	bucket := aws.String(locals3.Bucket)
	tags, err := client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: bucket, Key: &o.Key, VersionId: &o.Version})
	if err != nil {
		return fmt.Errorf("%s: %w", o.Key, err)
	}
	got, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: bucket, Key: &o.Key, VersionId: &o.Version})
	if err != nil {
		return fmt.Errorf("%s: %w", o.Key, err)
	}
	defer got.Body.Close() //nolint:errcheck // read only
	head := upload{Key: o.Key, ContentType: aws.ToString(got.ContentType), Metadata: got.Metadata, Tags: map[string]string{}}
	for _, tag := range tags.TagSet {
		head.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	document, err := json.Marshal(head)
	if err != nil {
		return err
	}
	c.number++
	path := c.state(fmt.Sprintf("inbox/%08d", c.number))
	if err := c.add(ctx, path+".json", int64(len(document)), bytes.NewReader(document)); err != nil {
		return err
	}
	bar := c.options.Progress.Begin(o.Key, o.Size)
	err = c.add(ctx, path, aws.ToInt64(got.ContentLength), io.TeeReader(got.Body, bar))
	bar.End(err)
	return err
}

// wasDeleted says whether an error is that of an upload that was deleted.
func wasDeleted(err error) bool {
	var key *types.NoSuchKey
	var version interface{ ErrorCode() string }
	return errors.As(err, &key) || errors.As(err, &version) && version.ErrorCode() == "NoSuchVersion"
}

// outcomes adds the outcomes of uploads.
func (c *creation) outcomes(ctx context.Context) error {
	for o, err := range c.bucket.List(ctx, outcomePrefix, "") {
		if err != nil {
			return err
		}
		if err := c.copy(ctx, c.state(o.Key), o.Key); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// writeManifest writes the last file of a backup.
func writeManifest(t target, m manifest) error {
	document, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return t.write(manifestName, int64(len(document)), bytes.NewReader(document))
}
