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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/internal/contextio"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
)

// Options are what [Create] and [CreateStream] need to know.
type Options struct {
	Data        string // the data folder
	WithoutKeys bool   // leave out the files of the data folder but tokens and rules
	Progress    *progress.Progress
	Logger      *slog.Logger
}

// target is where a backup is written to.
type target interface {
	// has returns what an earlier backup has under a path below registry/, if that
	// can stay.
	has(path string, size int64) (entry, bool)
	// write writes a file of size bytes.
	write(path string, size int64, body io.Reader) error
	// finish writes the manifest, which makes a backup of the files.
	finish(m manifest) error
}

// Create writes a backup to a folder: a new one, or one with an earlier backup, to which
// it adds. In the end it reads all that it has written. Until then the earlier backup
// stays whole.
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
		return Summary{}, fmt.Errorf("%w\nwhat an earlier backup has left there and is damaged is not written anew: remove these files and create the backup again, or choose a new folder", err)
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

// state is the path of a file that belongs to this backup alone.
func (c *creation) state(path string) string { return stateAt(c.manifest.Time) + "/" + path }

// files adds what the data folder has beside the bucket.
func (c *creation) files(ctx context.Context) error {
	if err := c.tokens(ctx); err != nil || c.options.WithoutKeys {
		return err
	}
	const tries = 3
	var err error
	for range tries { // a signing key may be changed just now
		var files map[string][]byte
		if files, err = readFiles(c.data); err != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := c.add(ctx, c.state("data/"+name), int64(len(files[name])), bytes.NewReader(files[name])); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("read the data folder: %w", err)
}

// readFiles reads the files of a data folder that are kept.
func readFiles(data string) (map[string][]byte, error) {
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !datadir.IsKept(e.Name()) || e.Name() == datadir.Access {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(data, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// tokens adds the tokens and the rules of trust.
func (c *creation) tokens(ctx context.Context) error {
	body, size, err := c.access(ctx)
	if err != nil {
		return fmt.Errorf("copy tokens and rules: %w", err)
	}
	defer body.Close() //nolint:errcheck // read only
	return c.add(ctx, c.state("data/"+datadir.Access), size, body)
}

// uploads adds what is in the inbox and not published yet.
func (c *creation) uploads(ctx context.Context) error {
	publisher := publish.New(publish.Config{Bucket: c.bucket, Log: c.options.Logger, KeysAreFiles: true})
	for key, err := range publisher.Uploads(ctx, "") {
		if err != nil {
			return err
		}
		waiting, err := publisher.Waiting(ctx, key)
		if err != nil {
			return err
		}
		for _, object := range waiting {
			if err := c.upload(ctx, object); err != nil && !isGone(err) {
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

// isGone says that an upload was deleted.
func isGone(err error) bool {
	var key *types.NoSuchKey
	var version interface{ ErrorCode() string }
	return errors.As(err, &key) || errors.As(err, &version) && version.ErrorCode() == "NoSuchVersion"
}

// outcomes adds what became of uploads.
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

// records adds the records of all versions: of a version, all before the last that is
// listed, also those that were created behind the listing's back.
func (c *creation) records(ctx context.Context) error {
	var last registry.ParsedRecordKey
	for o, err := range c.bucket.List(ctx, registry.RecordsPrefix, "") {
		if err != nil {
			return err
		}
		key, err := registry.ParseRecordKey(o.Key)
		if err == nil {
			next := 1
			if last.Sequence > 0 && last.LogPrefix() == key.LogPrefix() {
				next = last.Sequence + 1
			}
			if err := c.missed(ctx, key, next); err != nil {
				return err
			}
			last = key
		}
		if err := c.record(ctx, o.Key); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// missed adds the records from a number on that a listing lacks before a record.
func (c *creation) missed(ctx context.Context, key registry.ParsedRecordKey, from int) error {
	for sequence := from; sequence < key.Sequence; sequence++ {
		err := c.record(ctx, registry.RecordKey(key.LogPrefix(), sequence))
		if errors.Is(err, registry.ErrNotFound) {
			return nil // which the check tells of
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *creation) record(ctx context.Context, key string) error {
	document, err := c.document(ctx, key)
	if err != nil {
		return err
	}
	c.check.record(key, document)
	sum := sha256.Sum256(document)
	e := entry{key, int64(len(document)), hex.EncodeToString(sum[:])}
	if old, has := c.target.has(key, e.Size); has && old == e {
		return c.note(e)
	}
	return c.add(ctx, key, e.Size, bytes.NewReader(document))
}

func (c *creation) document(ctx context.Context, key string) ([]byte, error) {
	body, o, err := c.bucket.Open(ctx, key, "")
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // read only
	if o.Size > maxDocument {
		return nil, fmt.Errorf("%s has %d bytes; a record has %d at most", key, o.Size, maxDocument)
	}
	return io.ReadAll(contextio.Reader(ctx, body))
}

// objects adds the rest of what is below registry/, of which nothing ever changes.
func (c *creation) objects(ctx context.Context) error {
	var fresh []blob.Object
	var total int64
	for o, err := range c.bucket.List(ctx, registry.Prefix, "") {
		if err != nil {
			return err
		}
		if strings.HasPrefix(o.Key, registry.RecordsPrefix) || strings.HasPrefix(o.Key, outcomePrefix) {
			continue
		}
		if e, has := c.target.has(o.Key, o.Size); has {
			if err := c.note(e); err != nil {
				return err
			}
			continue
		}
		fresh, total = append(fresh, o), total+o.Size
	}
	bar := c.options.Progress.Begin("what is published", total)
	err := ctx.Err()
	for _, o := range fresh {
		if err != nil {
			break
		}
		err = c.copyTold(ctx, o.Key, o.Key, bar)
	}
	bar.End(err)
	return err
}

func (c *creation) copy(ctx context.Context, path, key string) error {
	return c.copyTold(ctx, path, key, io.Discard)
}

// copyTold adds an object, and tells of its bytes.
func (c *creation) copyTold(ctx context.Context, path, key string, told io.Writer) error {
	body, o, err := c.bucket.Open(ctx, key, "")
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read only
	return c.add(ctx, path, o.Size, io.TeeReader(body, told))
}

// writeManifest writes the last file of a backup.
func writeManifest(t target, m manifest) error {
	document, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	return t.write(manifestName, int64(len(document)), bytes.NewReader(document))
}
