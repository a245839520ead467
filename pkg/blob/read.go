package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Read reads and describes a small object: a version, or the current one if version is
// empty. The limit is in bytes.
//
// Errors: [registry.ErrNotFound], [*TooLargeError].
func Read(ctx context.Context, b Bucket, key, version string, limit int64) ([]byte, Object, error) {
	body, described, err := b.Open(ctx, key, version)
	if err != nil {
		return nil, Object{}, err
	}
	defer body.Close() //nolint:errcheck // read only
	if err := CheckSize(described.Size, limit); err != nil {
		return nil, Object{}, err
	}
	data, err := io.ReadAll(io.LimitReader(body, limit))
	if err != nil {
		return nil, Object{}, fmt.Errorf("read %s: %w", key, err)
	}
	return data, described, nil
}

// ReadRange reads at most length bytes of an object's current version, from an offset on; fewer
// if it ends before. Both are in bytes.
//
// Errors: [registry.ErrNotFound].
func ReadRange(ctx context.Context, b Bucket, key string, offset, length int64) ([]byte, error) {
	body, described, err := b.Open(ctx, key, "")
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // read only
	if offset < 0 || offset >= described.Size || length <= 0 {
		return nil, nil
	}
	data := make([]byte, min(length, described.Size-offset))
	if file, ok := body.(File); ok {
		_, err = file.ReadAt(data, offset)
	} else if _, err = io.CopyN(io.Discard, body, offset); err == nil {
		_, err = io.ReadFull(body, data)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return data, nil
}

// Keep stores bytes under a key that contains their hash. If the object exists, it has
// the same bytes.
func Keep(ctx context.Context, b Bucket, key string, data []byte) error {
	if err := b.Create(ctx, key, data); err != nil && !errors.Is(err, ErrExists) {
		return fmt.Errorf("store %s: %w", key, err)
	}
	return nil
}

// IsAny says whether there is any object under a prefix.
func IsAny(ctx context.Context, b Bucket, prefix string) (bool, error) {
	for _, err := range b.List(ctx, prefix, "") {
		return err == nil, err
	}
	return false, nil
}

// SHA256 is the hash of bytes, as an [Object] has it.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TooLargeError says that an object is larger than its kind may be.
type TooLargeError struct {
	Size, Limit int64 // in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the file has %d bytes, and such a file has %s at most", e.Size, inUnits(e.Limit))
}

// CheckSize returns a [*TooLargeError] if a size is over a limit. Both are in bytes.
func CheckSize(size, limit int64) error {
	if size > limit {
		return &TooLargeError{size, limit}
	}
	return nil
}

// inUnits writes a number of bytes in the largest unit that divides it.
func inUnits(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
