package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// records adds the records of all versions. Of each version it adds all records before
// the last one that the listing has, also those that were created while it was listed.
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

// missed adds the records before a record, from a number on, that a listing lacks.
func (c *creation) missed(ctx context.Context, key registry.ParsedRecordKey, from int) error {
	for sequence := from; sequence < key.Sequence; sequence++ {
		err := c.record(ctx, registry.RecordKey(key.LogPrefix(), sequence))
		if errors.Is(err, registry.ErrNotFound) {
			return nil // the check reports it
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *creation) record(ctx context.Context, key string) error {
	document, _, err := blob.Read(ctx, c.bucket, key, "", maxDocument)
	if err != nil {
		return fmt.Errorf("record %s: %w", key, err)
	}
	c.check.record(key, document)
	e := entry{key, int64(len(document)), blob.SHA256(document)}
	if old, has := c.target.has(key, e.Size); has && old == e {
		return c.note(e)
	}
	return c.add(ctx, key, e.Size, bytes.NewReader(document))
}

// objects adds all other objects below registry/. They never change.
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
		err = c.copyWithProgress(ctx, o.Key, o.Key, bar)
	}
	bar.End(err)
	return err
}

func (c *creation) copy(ctx context.Context, path, key string) error {
	return c.copyWithProgress(ctx, path, key, io.Discard)
}

// copyWithProgress adds an object, and writes its bytes to bar, too.
func (c *creation) copyWithProgress(ctx context.Context, path, key string, bar io.Writer) error {
	body, o, err := c.bucket.Open(ctx, key, "")
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read only
	return c.add(ctx, path, o.Size, io.TeeReader(body, bar))
}
