package publish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// Status is what became of an upload.
type Status string

// The statuses of uploads.
const (
	Published Status = "published" // it is served, or it changes what is served
	Rejected  Status = "rejected"  // it breaks a rule, and nothing changed
	Pending   Status = "pending"   // it waits for other files; nothing changed yet
	Ignored   Status = "ignored"   // it is nothing that is published
)

// The tags that an upload's object version gets.
const (
	StatusTag = "larder-status"
	ReasonTag = "larder-reason" // of an upload with reasons; see [TagValue]
)

// Outcome is what became of one object version.
type Outcome struct {
	Key      string    `json:"key"`
	Version  string    `json:"version_id"`
	Status   Status    `json:"status"`
	Subject  string    `json:"subject,omitempty"`  // what was uploaded, such as "module acme/vpc/aws 1.2.3"
	Reasons  []string  `json:"reasons,omitempty"`  // full sentences; all of them. A published upload has some where it ends trust in a key
	Warnings []string  `json:"warnings,omitempty"` // full sentences: what is published all the same, and its publisher may not have meant
	SHA256   string    `json:"sha256,omitempty"`   // of the object's bytes, where they were read
	By       string    `json:"by,omitempty"`       // who uploaded it; see [blob.Object]
	Time     time.Time `json:"time"`
}

// verdict is the error that ends an upload with a status other than published.
type verdict struct {
	status  Status
	reasons []string
}

func (v *verdict) Error() string { return string(v.status) + ": " + strings.Join(v.reasons, "; ") }

func reject(format string, args ...any) error { return newVerdict(Rejected, format, args...) }
func wait(format string, args ...any) error   { return newVerdict(Pending, format, args...) }
func ignore(format string, args ...any) error { return newVerdict(Ignored, format, args...) }

func newVerdict(status Status, format string, args ...any) error {
	return &verdict{status, []string{fmt.Sprintf(format, args...)}}
}

// problems collects the violations of several rules.
type problems []string

func (p *problems) add(err error) {
	if err != nil {
		*p = append(*p, err.Error())
	}
}

func (p problems) verdict() error {
	if len(p) == 0 {
		return nil
	}
	return &verdict{Rejected, p}
}

// conclude turns how an upload ended into its outcome. An error that says nothing
// about the upload stays an error: the upload has to be tried again.
func conclude(err error) (Status, []string, error) {
	var v *verdict
	var tooLarge *blob.TooLargeError
	switch {
	case err == nil:
		return Published, nil, nil
	case errors.As(err, &v):
		return v.status, v.reasons, nil
	case errors.As(err, &tooLarge):
		return Rejected, []string{tooLarge.Error()}, nil
	default:
		return "", nil, err
	}
}

// report writes an outcome where the publisher looks for it, and logs and
// announces it where it is news. The document comes last: an upload without one is tried
// again.
func (p *Publisher) report(ctx context.Context, o Outcome) error {
	last, err := p.LastOutcome(ctx, o.Key)
	if err != nil {
		return err
	}
	if o.By == "" && o.Version == last.Version { // reported by whoever came with another file
		o.By = last.By
	}
	if err := p.tag(ctx, o); err != nil {
		return err
	}
	if !o.repeats(last) {
		if err := p.tell(ctx, o); err != nil {
			return err
		}
	}
	return p.writeOutcome(ctx, o)
}

// tell logs and announces an outcome.
func (p *Publisher) tell(ctx context.Context, o Outcome) error {
	p.logOutcome(ctx, o)
	if p.announce == nil {
		return nil
	}
	if err := p.announce(ctx, o); err != nil {
		return fmt.Errorf("announce the outcome of %s: %w", o.Key, err)
	}
	return nil
}

// repeats says whether an outcome tells nothing that another one has not.
func (o Outcome) repeats(last Outcome) bool {
	return o.Version == last.Version && o.Status == last.Status && slices.Equal(o.Reasons, last.Reasons) && slices.Equal(o.Warnings, last.Warnings)
}

func (p *Publisher) tag(ctx context.Context, o Outcome) error {
	tags := map[string]string{StatusTag: string(o.Status), ReasonTag: TagValue(o.Reasons)}
	err := p.bucket.Tag(ctx, o.Key, o.Version, tags)
	switch {
	case errors.Is(err, blob.ErrTagsFull):
		p.log.WarnContext(ctx, "the upload has no room for the tags of its outcome", "key", o.Key, "version_id", o.Version, "by", o.By)
	case errors.Is(err, registry.ErrNotFound): // deleted meanwhile
	case err != nil:
		return fmt.Errorf("tag %s: %w", o.Key, err)
	}
	return nil
}

// logOutcome has the fields of the document, under the same names.
func (p *Publisher) logOutcome(ctx context.Context, o Outcome) {
	level := slog.LevelInfo
	if o.Status == Rejected || len(o.Warnings) > 0 {
		level = slog.LevelWarn
	}
	fields := []any{"key", o.Key, "version_id", o.Version,
		"status", o.Status, "subject", o.Subject, "reasons", o.Reasons, "sha256", o.SHA256, "by", o.By}
	if len(o.Warnings) > 0 {
		fields = append(fields, "warnings", o.Warnings)
	}
	p.log.Log(ctx, level, "upload "+string(o.Status), fields...)
}

func (p *Publisher) writeOutcome(ctx context.Context, o Outcome) error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	err = p.bucket.Put(ctx, registry.OutcomeKey(o.Key), bytes.NewReader(data), int64(len(data)))
	if p.keysAreFiles && errors.Is(err, blob.ErrInTheWay) {
		err = p.bucket.Put(ctx, registry.OutcomeKeyByHash(o.Key), bytes.NewReader(data), int64(len(data)))
	}
	if err != nil {
		return fmt.Errorf("write the outcome of %s: %w", o.Key, err)
	}
	return nil
}

// LastOutcome is the last outcome that was written for a key, or a zero one.
func (p *Publisher) LastOutcome(ctx context.Context, key string) (Outcome, error) {
	o, err := p.readOutcome(ctx, registry.OutcomeKey(key))
	if p.keysAreFiles && errors.Is(err, registry.ErrNotFound) {
		o, err = p.readOutcome(ctx, registry.OutcomeKeyByHash(key))
	}
	if errors.Is(err, registry.ErrNotFound) {
		return Outcome{}, nil
	}
	return o, err
}

// readOutcome reads the document of an outcome.
func (p *Publisher) readOutcome(ctx context.Context, document string) (o Outcome, err error) {
	data, _, err := blob.Read(ctx, p.bucket, document, "", maxStateDocument)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("the outcome %s cannot be read: %w", document, err)
	}
	return o, nil
}

// maxTagValue is S3's limit for the value of a tag, in characters.
const maxTagValue = 256

// plainPunctuation says with dashes what tags cannot say with other signs.
var plainPunctuation = strings.NewReplacer(", ", " - ", "; ", " - ", " (", " - ", ")", "", `"`, "", "'", "")

// inParentheses are hashes, which say nothing to a reader and leave no room for what to
// do.
var inParentheses = regexp.MustCompile(`\s*\([^()]*(?:[0-9a-f]{64}|h1:[0-9A-Za-z+/]{43}=)[^()]*\)`)

// placeholder is a part of a name that everybody fills in with their own.
var placeholder = regexp.MustCompile(`<[a-z ]+>`)

// TagValue puts reasons into S3's alphabet for tags (letters, digits, spaces
// and _.:/=+-@) and length: the first reason, and how many more there are. Hashes in
// parentheses are left out, and placeholders are in upper case.
func TagValue(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	var rest string
	if more := len(reasons) - 1; more > 0 {
		rest = fmt.Sprintf(" - and %d more", more)
	}
	text := placeholder.ReplaceAllStringFunc(inParentheses.ReplaceAllString(reasons[0], ""), func(name string) string {
		return strings.ToUpper(strings.Trim(name, "<>"))
	})
	first := strings.Join(strings.FieldsFunc(plainPunctuation.Replace(text), notInTags), " ")
	if room := maxTagValue - len(rest); len(first) > room {
		first = strings.TrimSpace(first[:room])
	}
	return first + rest
}

func notInTags(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	default:
		return !strings.ContainsRune("_.:/=+-@", c)
	}
}
