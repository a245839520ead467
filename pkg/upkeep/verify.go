package upkeep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents/store"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/versionlog"
)

const (
	// maxLooks is how often a version is compared with the catalog before a
	// difference is a problem: somebody may be publishing it just now.
	maxLooks = 4

	// lookAgain is the time between two looks. The answers of the catalog are
	// never so old.
	lookAgain = 500 * time.Millisecond

	// readBuffer is the size of the buffer for an archive, in bytes.
	readBuffer = 512 << 10
)

// Verify compares everything, and changes nothing: the catalog with the records, and the
// reverse; every archive with its sha256; every SHA256SUMS with its packages and its
// signature; every document under registry/contents/ with its archive; and the uploads in the
// inbox with their outcomes. If quickly is set, archives and documents are not read: only their
// existence is checked, and the size of archives.
func (w *Walks) Verify(ctx context.Context, after string, quickly bool) Walk {
	v := verification{w, quickly}
	return chain(after,
		leg{RecordsLeg, func(after string) Walk {
			listings := listings{catalog: w.index}
			return w.versions(ctx, after, func(last registry.ParsedRecordKey, step *Step) error {
				return v.version(ctx, last, &listings, step)
			})
		}},
		leg{CatalogLeg, func(after string) Walk {
			return w.strays(ctx, after, func(_ catalog.Entry, step *Step) error {
				step.addProblem("The catalog has it, and there are no records of it.")
				return nil
			})
		}},
		leg{InboxLeg, func(after string) Walk { return v.uploads(ctx, after) }})
}

// addProblem notes what is wrong.
func (s *Step) addProblem(format string, args ...any) {
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

type verification struct {
	*Walks
	quickly bool
}

// version verifies one version.
func (v verification) version(ctx context.Context, last registry.ParsedRecordKey, listings *listings, step *Step) error {
	s, err := v.compareCalmly(ctx, last, listings, step)
	if err != nil {
		return err
	}
	switch s := s.(type) {
	case *registry.ModuleVersion:
		return v.module(ctx, s, step)
	case *registry.ProviderVersion:
		return v.provider(ctx, s, step)
	}
	return nil
}

// compareCalmly notes the differences that stay.
func (v verification) compareCalmly(ctx context.Context, last registry.ParsedRecordKey, listings *listings, step *Step) (s registry.State, err error) {
	if s, err = v.log.FromRecords(ctx, last); err != nil {
		return nil, err
	}
	for look := range maxLooks {
		if look > 0 {
			listings.forget()
			if err := cmp.Or(sleep(ctx, lookAgain), v.log.CatchUp(ctx, s)); err != nil {
				return nil, err
			}
		}
		differs, err := v.compare(ctx, s, listings)
		if err != nil {
			return nil, err
		}
		step.Problems = differs.problems
		if addUnsigned(s, step); len(step.Problems) == 0 {
			return s, nil
		}
	}
	return s, nil
}

// addUnsigned notes the packages that are accepted and not signed.
func addUnsigned(s registry.State, step *Step) {
	provider, ok := s.(*registry.ProviderVersion)
	if !ok {
		return
	}
	if _, err := versionlog.Sums(provider); err != nil && !provider.Settled() {
		step.addProblem("Some of its packages are accepted, and not served: %v.", err)
		return
	}
	for _, pkg := range provider.Packages {
		if _, served := provider.Package(pkg.Platform); !served {
			step.addProblem("Its package for %s is accepted, and not signed yet: larder reindex signs it.", pkg.Platform)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// archive verifies the bytes of an archive. If they are right, and were read, it calls then, which
// may be nil, with the archive.
func (v verification) archive(ctx context.Context, step *Step, key string, size int64, sum string, then func(io.ReaderAt) error) error {
	body, described, err := v.bucket.Open(ctx, key, "")
	if errors.Is(err, registry.ErrNotFound) {
		step.addProblem("Its archive %s is not there.", key)
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read only
	if described.Size != size {
		step.addProblem("Its archive %s has %d bytes, and was published with %d.", key, described.Size, size)
		return nil
	}
	if v.quickly {
		return nil
	}
	read := io.Reader(body)
	var held store.Held
	if then != nil {
		if held, err = v.contents.Hold(body, size); err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		defer held.Close() //nolint:errcheck // read only
		read = io.NewSectionReader(held, 0, size)
	}
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, read, make([]byte, min(size+1, readBuffer))); err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		step.addProblem("Its archive %s has sha256 %s, and was published with %s.", key, got, sum)
		return nil
	}
	if then == nil {
		return nil
	}
	return then(held)
}

// provider verifies the packages, the SHA256SUMS and the signature of a provider version.
func (v verification) provider(ctx context.Context, s *registry.ProviderVersion, step *Step) error {
	for _, pkg := range s.Packages {
		if err := v.archive(ctx, step, s.Address.PackageKey(s.Version, pkg), pkg.Size, pkg.SHA256, nil); err != nil {
			return err
		}
	}
	if err := v.docs(ctx, s, step); err != nil {
		return err
	}
	if s.Release == nil {
		return nil
	}
	document, err := v.document(ctx, step, s.Address.SHA256SUMSKey(s.Version, *s.Release), s.Release.SHA256, shasums.MaxSize)
	if err != nil {
		return err
	}
	signature, err := v.document(ctx, step, s.Address.SignatureKey(s.Version, *s.Release), s.Release.Signature, signing.MaxSignature)
	if err != nil || document == nil || signature == nil {
		return err
	}
	v.release(s, document, signature, step)
	noteEndingSignature(s, signature, step)
	return v.noteEndedTrust(ctx, s, document, signature, step)
}

// document reads a SHA256SUMS or a signature. If it is not what was stored, it notes that,
// and returns nil.
func (v verification) document(ctx context.Context, step *Step, key, sum string, limit int64) ([]byte, error) {
	data, _, err := blob.Read(ctx, v.bucket, key, "", limit)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		step.addProblem("%s is not there.", key)
		return nil, nil
	case err != nil:
		return nil, err
	case blob.SHA256(data) != sum:
		step.addProblem("%s has sha256 %s, and not %s.", key, blob.SHA256(data), sum)
		return nil, nil
	}
	return data, nil
}

// release verifies a signature, and that the signed SHA256SUMS covers what is served. A key
// may have expired since then: it had not when the signature was accepted.
func (v verification) release(s *registry.ProviderVersion, document, signature []byte, step *Step) {
	keys := make([]signing.PublicKey, len(s.Release.Keys))
	for i, key := range s.Release.Keys {
		keys[i] = signing.PublicKey{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor}
	}
	if _, err := signing.Verify(keys, document, signature); err != nil && !errors.Is(err, signing.ErrKeyExpired) {
		step.addProblem("The signature over its SHA256SUMS does not verify: %v.", err)
	}
	sums, err := shasums.Parse(document)
	if err != nil {
		step.addProblem("Its SHA256SUMS is not readable: %v.", err)
		return
	}
	for _, pkg := range s.Packages {
		if _, served := s.Package(pkg.Platform); !served {
			continue
		}
		if err := versionlog.CheckListed(sums, s.Address.PackageFilename(s.Version, pkg.Platform), pkg.SHA256, true); err != nil {
			step.addProblem("Its SHA256SUMS does not cover what is served: %v.", err)
		}
	}
}

// noteEndingSignature notes that clients refuse an author's signature, or will one day.
// Earlier releases of the registry accepted such signatures.
func noteEndingSignature(s *registry.ProviderVersion, signature []byte, step *Step) {
	if !s.Release.Author || s.Standing.State == registry.Withdrawn {
		return
	}
	if _, err := signing.InspectSignature(signature); err != nil {
		step.Notes = append(step.Notes, fmt.Sprintf("Its author's signature would not be taken in today, and no other can take its place (%v). Publish a new version; larder withdraw takes this one off the lists.", err))
	}
}

// uploads verifies that every upload has an outcome, and that an upload whose outcome is
// that it is published is what is published.
func (v verification) uploads(ctx context.Context, after string) Walk {
	return func(yield func(Step, error) bool) {
		states := states{log: v.log}
		for newest, err := range v.inbox.NewestUploads(ctx, after) {
			if err != nil {
				yield(Step{}, err)
				return
			}
			step := Step{After: newest.Key, Subject: "upload " + newest.Key}
			err = v.upload(ctx, newest, &states, &step)
			if !yield(step, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

func (v verification) upload(ctx context.Context, newest blob.Object, states *states, step *Step) error {
	last, err := v.inbox.LastOutcome(ctx, newest.Key)
	if err != nil {
		return err
	}
	waiting, err := v.inbox.WaitingAfter(ctx, newest, last)
	if err != nil {
		return err
	}
	for _, object := range waiting {
		if object.Version != last.Version {
			step.addProblem("What was uploaded at %s has no outcome yet: the next reconcile publishes it, within a day, and at the start of a single node.", object.Modified.UTC().Format(time.RFC3339))
		}
	}
	if last.Status != inbox.Published {
		return nil
	}
	published, err := v.isPublished(ctx, last, states)
	if err == nil && !published && states.forget() { // it may have been published since
		published, err = v.isPublished(ctx, last, states)
	}
	if err == nil && !published {
		step.addProblem("Its outcome is that it is published, and what is published is something else.")
	}
	return err
}

// isPublished says whether the upload of an outcome is what is published.
func (v verification) isPublished(ctx context.Context, o inbox.Outcome, states *states) (bool, error) {
	u, err := inbox.ParseKey(o.Key)
	if err != nil {
		return false, nil
	}
	switch u.Kind {
	case inbox.ModuleArchive:
		m := &registry.ModuleVersion{Address: u.Module, Version: u.Version}
		err := v.log.Load(ctx, m)
		return err == nil && m.Archive.UploadSHA256 == o.SHA256, err
	case inbox.AuthorKeys:
		return v.holdsUpload(ctx, u.Namespace, o)
	}
	s, err := states.of(ctx, u.Provider, u.Version)
	if err != nil {
		return false, err
	}
	switch u.Kind {
	case inbox.ProviderPackage:
		pkg, accepted := s.Accepted(u.Platform)
		return accepted && pkg.SHA256 == o.SHA256, nil
	case inbox.Manifest:
		return s.Manifest != nil && s.Manifest.SHA256 == o.SHA256, nil
	case inbox.Docs:
		return s.Docs != nil && s.Docs.SHA256 == o.SHA256, nil
	case inbox.SHA256SUMS:
		return s.Release != nil && s.Release.SHA256 == o.SHA256, nil
	default:
		return s.Release != nil && s.Release.Signature == o.SHA256, nil
	}
}

// states keeps the last state of a provider version: its uploads follow one another in the
// inbox.
type states struct {
	log  *versionlog.Log
	last *registry.ProviderVersion // nil if there is none
	kept bool                      // last was read for an earlier upload
}

// forget drops the last state, so that it is read again, and says whether it was a kept one.
func (s *states) forget() bool {
	s.last = nil
	return s.kept
}

// of returns the state of a provider version.
func (s *states) of(ctx context.Context, a registry.ProviderAddress, version registry.Version) (*registry.ProviderVersion, error) {
	if s.kept = s.last != nil && s.last.Address == a && s.last.Version == version; s.kept {
		return s.last, nil
	}
	read := &registry.ProviderVersion{Address: a, Version: version}
	if err := s.log.Load(ctx, read); err != nil {
		return nil, err
	}
	s.last = read
	return read, nil
}

// holdsUpload says whether the keys of an upload were accepted. If the upload was deleted,
// it says true.
func (v verification) holdsUpload(ctx context.Context, namespace string, o inbox.Outcome) (bool, error) {
	data, _, err := blob.Read(ctx, v.bucket, o.Key, o.Version, signing.MaxKeyFile)
	if errors.Is(err, registry.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return v.keys.Holds(ctx, namespace, data)
}
