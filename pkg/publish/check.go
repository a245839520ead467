package publish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// Checker judges files before they are uploaded, by all the rules for which they are
// enough: each by itself, and in the end all together. The zero Checker is ready. It is
// not safe for concurrent use.
type Checker struct {
	// Keys are the author's public keys, with which signatures are verified. Without
	// one they are not.
	Keys []signing.PublicKey

	files []checked
}

// checked is a file in which nothing is wrong by itself.
type checked struct {
	upload    inbox.Upload
	outcome   inbox.Outcome
	data      []byte   // of a SHA256SUMS or a signature
	protocols []string // of a manifest, or of the one in a package
}

// Check judges a file before it is uploaded under a key. The outcome is [inbox.Rejected] or
// [inbox.Ignored] with the reasons, or has no status: then it is up to the registry, which
// alone knows what is published already. Either may have warnings.
//
// Errors are those of file and ctx, and say nothing about the file.
func (c *Checker) Check(ctx context.Context, key string, file io.ReaderAt, size int64) (inbox.Outcome, error) {
	f := checked{outcome: inbox.Outcome{Key: key}}
	var err error
	if f.upload, err = inbox.ParseKey(key); err == nil {
		f.outcome.Subject = f.upload.String()
		err = blob.CheckSize(size, f.upload.MaxSize())
	}
	if err == nil {
		err = f.read(ctx, file, size)
	}
	if err == nil {
		c.files = append(c.files, f)
		return f.outcome, nil
	}
	f.outcome.Status, f.outcome.Reasons, err = inbox.Conclude(err)
	return f.outcome, err
}

// read judges what a file holds.
func (f *checked) read(ctx context.Context, file io.ReaderAt, size int64) error {
	content := io.NewSectionReader(file, 0, size)
	switch f.upload.Kind {
	case inbox.ModuleArchive:
		found, err := archive.CheckModule(ctx, file, size, f.upload.Format)
		f.outcome.Warnings = found.Warnings
		return violations(err)
	case inbox.ProviderPackage:
		found, err := archive.CheckProvider(ctx, file, size, f.upload.Executable())
		if err := violations(err); err != nil {
			return err
		}
		f.protocols = found.Protocols
		return f.hash(content)
	case inbox.Docs:
		_, err := archive.CheckDocs(ctx, file, size)
		return cmp.Or(violations(err), f.hash(content))
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	f.outcome.SHA256 = blob.SHA256(data)
	switch f.upload.Kind {
	case inbox.Manifest:
		f.protocols, err = parseManifest(data)
	case inbox.AuthorKeys:
		_, err = authorkeys.ReadFile(data)
	case inbox.MirrorDocument:
		_, err = parseMirrorHashes(data)
	default:
		f.data = data
		err = checkForm(releaseFile{upload: f.upload, data: data})
	}
	return err
}

// hash notes the sha256 of a file.
func (f *checked) hash(content io.Reader) error {
	hash := sha256.New()
	_, err := io.Copy(hash, content)
	f.outcome.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return err
}

// Together judges the files that were let in by themselves together with one another:
// those of each version of a provider. It returns the outcomes of those that are
// rejected then, or warned of.
func (c *Checker) Together() (outcomes []inbox.Outcome) {
	for i := range c.files {
		f := &c.files[i]
		if f.upload.Provider.Mirrored() {
			continue
		}
		var wrong inbox.Problems
		switch f.upload.Kind {
		case inbox.SHA256SUMS:
			f.outcome.Warnings = c.lacks(f)
		case inbox.Signature:
			wrong.Add(c.verifies(f))
		case inbox.ProviderPackage, inbox.Manifest, inbox.Docs:
			wrong.Add(c.isListed(f))
			wrong.Add(c.saysTheSame(f))
		}
		if len(wrong) > 0 {
			f.outcome.Status, f.outcome.Reasons = inbox.Rejected, wrong
		}
		if len(wrong)+len(f.outcome.Warnings) > 0 {
			outcomes = append(outcomes, f.outcome)
		}
	}
	return outcomes
}

// other is another file of the same version, or nil.
func (c *Checker) other(f *checked, want inbox.Kind) *checked {
	at := slices.IndexFunc(c.files, func(other checked) bool {
		return other.upload.Kind == want && other.upload.Provider == f.upload.Provider && other.upload.Version == f.upload.Version
	})
	if at < 0 {
		return nil
	}
	return &c.files[at]
}

// sums is what the SHA256SUMS of a file's version says, if it is among the files.
func (c *Checker) sums(f *checked) (shasums.Sums, bool) {
	file := c.other(f, inbox.SHA256SUMS)
	if file == nil {
		return shasums.Sums{}, false
	}
	sums, err := shasums.Parse(file.data)
	return sums, err == nil
}

// isListed says how a file contradicts the SHA256SUMS beside it.
func (c *Checker) isListed(f *checked) error {
	sums, ok := c.sums(f)
	if !ok {
		return nil
	}
	return versionlog.CheckListed(sums, path.Base(f.outcome.Key), f.outcome.SHA256, f.upload.Kind == inbox.ProviderPackage)
}

// saysTheSame says how a package contradicts the manifest beside it.
func (c *Checker) saysTheSame(f *checked) error {
	manifest := c.other(f, inbox.Manifest)
	if f.upload.Kind != inbox.ProviderPackage || manifest == nil {
		return nil
	}
	err := checkInside(path.Base(f.outcome.Key), registry.Package{Protocols: f.protocols}, manifest.protocols)
	if _, reasons, _ := inbox.Conclude(err); len(reasons) > 0 {
		return errors.New(reasons[0])
	}
	return nil
}

// verifies says why a signature will not be taken.
func (c *Checker) verifies(f *checked) error {
	sums := c.other(f, inbox.SHA256SUMS)
	if len(c.Keys) == 0 || sums == nil {
		return nil
	}
	key, err := signing.Verify(c.Keys, sums.data, f.data)
	if unknown := (*signing.UnknownIssuerError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("it is by key %s, and not by one of the author's: sign with one of those, or upload the key that signed, too", unknown.KeyID)
	}
	if err != nil {
		return err
	}
	if problem := key.Problem(time.Now()); problem != "" {
		return fmt.Errorf("it is by key %s, which %s", key.KeyID, problem)
	}
	return nil
}

// lacks is what a SHA256SUMS has to have beside it to be of use, and what it promises.
func (c *Checker) lacks(f *checked) (warnings []string) {
	name := path.Base(f.outcome.Key)
	if c.other(f, inbox.Signature) == nil {
		warnings = append(warnings, fmt.Sprintf("%s.sig is not among the files: without the author's signature, the registry serves a SHA256SUMS and a signature of its own.", name))
	}
	sums, err := shasums.Parse(f.data)
	manifest := f.upload.Provider.ManifestFilename(f.upload.Version)
	if _, listed := sums.SHA256(manifest); err == nil && listed && c.other(f, inbox.Manifest) == nil {
		warnings = append(warnings, fmt.Sprintf("it lists %s, which is not among the files: without it, clients are told that the provider speaks protocol 5.0, unless the packages say otherwise.", manifest))
	}
	docs := f.upload.Provider.DocsFilename(f.upload.Version)
	if _, listed := sums.SHA256(docs); err == nil && listed && c.other(f, inbox.Docs) == nil {
		warnings = append(warnings, fmt.Sprintf("it lists %s, which is not among the files: without it, the version has no documentation.", docs))
	}
	return warnings
}
