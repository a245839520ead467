package inbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	Ignored   Status = "ignored"   // it is not something to publish
)

// Outcome is what became of one object version.
type Outcome struct {
	Key      string    `json:"key"`
	Version  string    `json:"version_id"`
	Status   Status    `json:"status"`
	Subject  string    `json:"subject,omitempty"`  // what was uploaded, for example "module acme/vpc/aws 1.2.3"
	Reasons  []string  `json:"reasons,omitempty"`  // full sentences. A published upload has some if it ends the trust in a key
	Warnings []string  `json:"warnings,omitempty"` // full sentences: what was published, although the uploader may not have meant it
	SHA256   string    `json:"sha256,omitempty"`   // of the object's bytes, if they were read
	By       string    `json:"by,omitempty"`       // who uploaded it; see [blob.Object]
	Time     time.Time `json:"time"`
}

// MayChange says whether another upload can change an outcome. The files of an author's
// release are judged together.
func (o Outcome) MayChange() bool {
	if o.Status == Pending {
		return true
	}
	u, err := ParseKey(o.Key)
	return err == nil && o.Status == Rejected && slices.Contains([]Kind{SHA256SUMS, Signature, Manifest}, u.Kind)
}

// Report writes an outcome to the tags of its upload and to its document. If the outcome
// is new, it is also logged and announced. The document is written last: an upload
// without one is tried again.
func (i *Inbox) Report(ctx context.Context, o Outcome) error {
	last, err := i.LastOutcome(ctx, o.Key)
	if err != nil {
		return err
	}
	if o.By == "" && o.Version == last.Version { // it was judged together with another upload
		o.By = last.By
	}
	if err := i.tag(ctx, o); err != nil {
		return err
	}
	if !o.repeats(last) {
		if err := i.announce(ctx, o); err != nil {
			return err
		}
	}
	return i.writeOutcome(ctx, o)
}

// announce logs an outcome, and calls Announce.
func (i *Inbox) announce(ctx context.Context, o Outcome) error {
	i.logOutcome(ctx, o)
	if i.config.Announce == nil {
		return nil
	}
	if err := i.config.Announce(ctx, o); err != nil {
		return fmt.Errorf("announce the outcome of %s: %w", o.Key, err)
	}
	return nil
}

// repeats says whether an outcome says the same as the last one.
func (o Outcome) repeats(last Outcome) bool {
	return o.Version == last.Version && o.Status == last.Status && slices.Equal(o.Reasons, last.Reasons) && slices.Equal(o.Warnings, last.Warnings)
}

func (i *Inbox) tag(ctx context.Context, o Outcome) error {
	tags := map[string]string{StatusTag: string(o.Status), ReasonTag: TagValue(o.Reasons)}
	err := i.config.Bucket.Tag(ctx, o.Key, o.Version, tags)
	switch {
	case errors.Is(err, blob.ErrTagsFull):
		i.config.Logger.WarnContext(ctx, "the upload has no room for the tags of its outcome", "key", o.Key, "version_id", o.Version, "by", o.By)
	case errors.Is(err, registry.ErrNotFound): // deleted meanwhile
	case err != nil:
		return fmt.Errorf("tag %s: %w", o.Key, err)
	}
	return nil
}

// logOutcome logs the fields of the document under the same names.
func (i *Inbox) logOutcome(ctx context.Context, o Outcome) {
	level := slog.LevelInfo
	if o.Status == Rejected || len(o.Warnings) > 0 {
		level = slog.LevelWarn
	}
	fields := []any{"key", o.Key, "version_id", o.Version,
		"status", o.Status, "subject", o.Subject, "reasons", o.Reasons, "sha256", o.SHA256, "by", o.By}
	if len(o.Warnings) > 0 {
		fields = append(fields, "warnings", o.Warnings)
	}
	i.config.Logger.Log(ctx, level, "upload "+string(o.Status), fields...)
}
