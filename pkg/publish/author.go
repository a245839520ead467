package publish

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// An author's release is a SHA256SUMS and its signature, as GoReleaser makes them, by a key
// of the namespace. The files and the key are uploaded in any order. As long as one is
// missing, the others wait. Each of them looks for the others when it is published: in the
// inbox, and among the accepted keys. Every upload is durable before its event is sent, so
// the last one finds all others.

// authors publishes the releases of authors.
type authors struct {
	bucket  blob.Bucket
	inbox   *inbox.Inbox
	log     *versionlog.Log
	keys    *authorkeys.Keys
	waiting waiting
}

// releaseFile is an author's SHA256SUMS or signature, as it lies in the inbox.
type releaseFile struct {
	object blob.Object
	upload inbox.Upload
	data   []byte
}

// release is an author's release. The file that is not in the inbox is nil.
type release struct {
	sums, signature *releaseFile
}

// releaseEnds has the error that ended each file of a release; see [inbox.Conclude].
type releaseEnds struct {
	sums, signature error
}

// of returns the error that ended a file.
func (e releaseEnds) of(f *releaseFile) error {
	if f.upload.Kind == inbox.Signature {
		return e.signature
	}
	return e.sums
}

// publishReleaseFile publishes an author's SHA256SUMS or signature, and then the packages
// that waited for it.
func (p *Publisher) publishReleaseFile(ctx context.Context, u inbox.Upload, object blob.Object, d *decision) error {
	end := p.authors.decideReleaseFile(ctx, u, object, d)
	if _, _, failed := inbox.Conclude(end); failed != nil {
		return failed
	}
	if err := p.waiting.publishPackages(ctx, u); err != nil {
		return err
	}
	return end
}

// decideReleaseFile judges a file together with its counterpart, and sets the outcomes of
// both in d.
func (a authors) decideReleaseFile(ctx context.Context, u inbox.Upload, object blob.Object, d *decision) error {
	file, err := a.readReleaseFile(ctx, u, object)
	if err != nil {
		return ignoreDeleted(err)
	}
	d.SHA256 = blob.SHA256(file.data)
	if err := checkForm(file); err != nil {
		return err
	}
	s := &registry.ProviderVersion{Address: u.Provider, Version: u.Version}
	if err := a.log.Load(ctx, s); err != nil {
		return err
	}
	if err := a.checkCurrent(ctx, s, object); err != nil {
		return err
	}
	counterpart, err := a.findCounterpart(ctx, file)
	if err != nil {
		return err
	}
	ends, err := a.judgeRelease(ctx, s, &file, counterpart)
	if err != nil {
		return err
	}
	if counterpart != nil {
		other := counterpart.outcome(ends.of(counterpart))
		d.counterpart = &other
	}
	return ends.of(&file)
}

// checkCurrent ignores a file that a newer upload has replaced, unless an author's release
// is served already: then every file is compared with that.
func (a authors) checkCurrent(ctx context.Context, s *registry.ProviderVersion, object blob.Object) error {
	if servesAuthors(s) {
		return nil
	}
	current, err := a.bucket.Head(ctx, object.Key)
	if err != nil {
		return ignoreDeleted(err)
	}
	if current.Version != object.Version {
		return inbox.Ignore("a newer upload took its place before the release was complete")
	}
	return nil
}

// judgeRelease makes a release the one that is served, if possible, and says how that ended
// for each file. The counterpart is nil if it is not in the inbox.
func (a authors) judgeRelease(ctx context.Context, s *registry.ProviderVersion, file, counterpart *releaseFile) (releaseEnds, error) {
	r := release{file, counterpart}
	if file.upload.Kind == inbox.Signature {
		r = release{counterpart, file}
	}
	if !servesAuthors(s) {
		if ends, err := a.adopt(ctx, s, file.upload, r); err != nil || !servesAuthors(s) {
			return ends, err
		}
	}
	// An author's release is served: this one, or one that was adopted before.
	ends := releaseEnds{checkServed(s, r.sums), checkServed(s, r.signature)}
	if ends.sums != nil && ends.signature != nil {
		return ends, nil // nothing is reported as published
	}
	if err := settle(ctx, a.log, s); err != nil {
		return releaseEnds{}, err
	}
	return ends, a.waiting.publishManifest(ctx, file.upload)
}

// outcome returns the outcome of a file that ended with a verdict, or without an error.
func (f *releaseFile) outcome(end error) inbox.Outcome {
	status, reasons, _ := inbox.Conclude(end)
	return inbox.Outcome{
		Key: f.object.Key, Version: f.object.Version, Status: status, Reasons: reasons,
		Subject: f.upload.String(), SHA256: blob.SHA256(f.data), By: f.object.By, Time: registry.Now(),
	}
}

func (a authors) readReleaseFile(ctx context.Context, u inbox.Upload, object blob.Object) (releaseFile, error) {
	data, _, err := blob.Read(ctx, a.bucket, object.Key, object.Version, u.MaxSize())
	return releaseFile{object, u, data}, err
}

// checkForm rejects a file that cannot be what its name says.
func checkForm(f releaseFile) error {
	if f.upload.Kind == inbox.Signature {
		if _, err := signing.InspectSignature(f.data); err != nil {
			return inbox.Reject("%v", err)
		}
		return nil
	}
	_, err := shasums.Parse(f.data)
	var v shasums.Violations
	if errors.As(err, &v) {
		return inbox.Problems(v).Verdict()
	}
	return err
}

// servesAuthors says whether a version is served with an author's release.
func servesAuthors(s *registry.ProviderVersion) bool { return s.Release != nil && s.Release.Author }

// checkServed rejects a file that differs from the file of the release that is served.
func checkServed(s *registry.ProviderVersion, f *releaseFile) error {
	if f == nil {
		return nil
	}
	served, name := s.Release.SHA256, "SHA256SUMS"
	if f.upload.Kind == inbox.Signature {
		served, name = s.Release.Signature, "signature"
	}
	if sum := blob.SHA256(f.data); sum != served {
		return inbox.Reject("provider %s %s is published already with another %s by its author (sha256 %s; this file: %s): a published version never changes", s.Address, s.Version, name, served, sum)
	}
	return nil
}

// findCounterpart finds the signature of a SHA256SUMS, or the SHA256SUMS of a signature. It
// looks into the same folder first, then into the other folders of the release. It returns
// nil if there is no such file.
func (a authors) findCounterpart(ctx context.Context, f releaseFile) (*releaseFile, error) {
	want := inbox.SHA256SUMS
	if f.upload.Kind == inbox.SHA256SUMS {
		want = inbox.Signature
	}
	return a.findReleaseFile(ctx, f.upload, want, append([]string{path.Dir(f.object.Key)}, f.upload.Folders()...))
}

// findReleaseFile finds a version's SHA256SUMS or signature in the first folder that has
// it. It returns nil if there is no such file.
func (a authors) findReleaseFile(ctx context.Context, u inbox.Upload, want inbox.Kind, folders []string) (*releaseFile, error) {
	name := u.Provider.SHA256SUMSFilename(u.Version)
	if u.Kind = want; want == inbox.Signature {
		name = u.Provider.SignatureFilename(u.Version)
	}
	for _, folder := range folders {
		object, err := a.bucket.Head(ctx, folder+"/"+name)
		if errors.Is(err, registry.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", name, err)
		}
		if err := a.inbox.FindWriter(ctx, &object); err != nil {
			return nil, err
		}
		found, err := a.readReleaseFile(ctx, u, object)
		if _, _, failed := inbox.Conclude(ignoreDeleted(err)); failed != nil {
			return nil, failed
		}
		if err == nil {
			return &found, nil
		}
	}
	return nil, nil
}

// adopt records a release as the one that is served, if both files and the key are here and
// right. If not, it says how that ends for each file.
func (a authors) adopt(ctx context.Context, s *registry.ProviderVersion, u inbox.Upload, r release) (releaseEnds, error) {
	switch {
	case r.sums == nil:
		return releaseEnds{signature: missing("SHA256SUMS")}, nil
	case r.signature == nil:
		return releaseEnds{sums: missing("SHA256SUMS.sig")}, nil
	}
	if err := checkForm(*r.sums); err != nil {
		return sumsRejected(err)
	}
	if err := checkForm(*r.signature); err != nil {
		return signatureRejected(err)
	}
	key, err := a.keys.Verify(ctx, u.Provider.Namespace, r.sums.data, r.signature.data)
	if err != nil {
		return notVerified(u, err)
	}
	err = a.log.Extend(ctx, s, func() (*registry.Record, error) { return a.decideRelease(ctx, s, u.Version, r, key) })
	if err != nil {
		return sumsRejected(err)
	}
	return releaseEnds{}, nil
}

func missing(name string) error {
	return inbox.Wait("its %s is not here yet; until it comes, the registry's own SHA256SUMS is served", name)
}

// sumsRejected is the end of a release if a verdict rejects its SHA256SUMS. Any other error
// is returned.
func sumsRejected(end error) (releaseEnds, error) {
	_, _, failed := inbox.Conclude(end)
	return releaseEnds{sums: end, signature: inbox.Wait("its SHA256SUMS was rejected: upload a right one")}, failed
}

// signatureRejected is the same for the signature.
func signatureRejected(end error) (releaseEnds, error) {
	_, _, failed := inbox.Conclude(end)
	return releaseEnds{sums: inbox.Wait("its signature was rejected: upload a right one"), signature: end}, failed
}

// notVerified is the end of a release whose signature no trusted key verifies.
func notVerified(u inbox.Upload, err error) (releaseEnds, error) {
	var unknown *signing.UnknownIssuerError
	var invalid *signing.InvalidSignatureError
	switch {
	case errors.As(err, &unknown):
		err = inbox.Wait("the signature is by key %s, which is not under %s%s/ yet; until it comes, the registry's own SHA256SUMS is served", unknown.KeyID, inbox.KeysFolder, u.Provider.Namespace)
	case errors.As(err, &invalid):
		err = inbox.Reject("%v", err)
	}
	if status, _, failed := inbox.Conclude(err); status != inbox.Pending || failed != nil {
		return signatureRejected(err)
	}
	return releaseEnds{sums: err, signature: err}, nil
}

// decideRelease returns the record with which an author's release is served.
func (a authors) decideRelease(ctx context.Context, s *registry.ProviderVersion, v registry.Version, r release, key signing.PublicKey) (*registry.Record, error) {
	if s.Revision > 0 && s.Version != v {
		return nil, rejectMetadata(s.Address, s.Version, v)
	}
	if servesAuthors(s) {
		return nil, nil
	}
	if err := checkCovers(s, r.sums.data); err != nil {
		return nil, err
	}
	release, err := a.log.StoreRelease(ctx, s, r.sums.data, r.signature.data, registry.Release{
		Author: true,
		Keys:   []registry.SigningKey{{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor}},
	})
	if err != nil {
		return nil, err
	}
	return &registry.Record{Kind: registry.KindRelease, Version: v, Upload: r.sums.object.Key, By: r.sums.object.By, Release: &release}, nil
}

// checkCovers rejects an author's SHA256SUMS that contradicts what is published, or does not
// list all of it.
func checkCovers(s *registry.ProviderVersion, data []byte) error {
	sums, err := shasums.Parse(data)
	if err != nil {
		return err
	}
	var all inbox.Problems
	for _, pkg := range s.Packages {
		all.Add(versionlog.CheckListed(sums, s.Address.PackageFilename(s.Version, pkg.Platform), pkg.SHA256, true))
	}
	if s.Manifest != nil {
		all.Add(versionlog.CheckListed(sums, s.Address.ManifestFilename(s.Version), s.Manifest.SHA256, false))
	}
	if s.Docs != nil {
		all.Add(versionlog.CheckListed(sums, s.Address.DocsFilename(s.Version), s.Docs.SHA256, false))
	}
	return all.Verdict()
}
