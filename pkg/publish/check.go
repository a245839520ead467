package publish

import (
	"context"
	"io"

	"github.com/larder-registry/larder/pkg/archive"
)

// Check judges a file before it is uploaded under a key, by all the rules for
// which the key and the file are enough. The outcome is [Rejected] or [Ignored]
// with the reasons, or has no status: then it is up to the registry, which alone
// knows what is published already. Either may have warnings.
//
// Errors are those of file and ctx, and say nothing about the file.
func Check(ctx context.Context, key string, file io.ReaderAt, size int64) (Outcome, error) {
	outcome := Outcome{Key: key}
	u, err := parseKey(key)
	if err == nil {
		outcome.Subject = u.String()
		err = checkSize(size, u.maxSize())
	}
	if err == nil {
		err = u.check(ctx, file, size, &outcome)
	}
	if err == nil {
		return outcome, nil
	}
	outcome.Status, outcome.Reasons, err = conclude(err)
	return outcome, err
}

// check judges what an upload holds.
func (u upload) check(ctx context.Context, file io.ReaderAt, size int64, o *Outcome) error {
	switch u.kind {
	case moduleArchive:
		checked, err := archive.CheckModule(ctx, file, size, u.format)
		o.Warnings = checked.Warnings
		return violations(err)
	case providerPackage:
		_, err := archive.CheckProvider(ctx, file, size, u.executable())
		return violations(err)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, 0, size))
	if err != nil {
		return err
	}
	switch u.kind {
	case releaseManifest:
		_, err = parseManifest(data)
	case authorKeys:
		_, err = readKeys(data)
	case mirrorDocument:
		_, err = parseMirrorHashes(data)
	default:
		err = checkForm(releaseFile{upload: u, data: data})
	}
	return err
}
