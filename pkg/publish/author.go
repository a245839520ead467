package publish

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// An author's release is a SHA256SUMS and its signature, as GoReleaser leaves
// them, made by a key of the namespace. The three come in any order, and as
// long as one is missing, those that are here wait: each that comes looks for
// the others, which lie in the inbox or are accepted keys. Since every upload
// is durable before its event is sent, whichever comes last finds the rest.

// releaseFile is an author's SHA256SUMS or signature, as it lies in the inbox.
type releaseFile struct {
	object blob.Object
	upload upload
	data   []byte
}

// publishReleaseFile takes an author's SHA256SUMS or signature, and looks again at the
// packages that wait for what becomes of it.
func (p *Publisher) publishReleaseFile(ctx context.Context, u upload, object blob.Object, o *Outcome) error {
	end := p.judgeReleaseFile(ctx, u, object, o)
	if _, _, failed := conclude(end); failed != nil {
		return failed
	}
	if err := p.completePackages(ctx, u); err != nil {
		return err
	}
	return end
}

func (p *Publisher) judgeReleaseFile(ctx context.Context, u upload, object blob.Object, o *Outcome) error {
	file, err := p.readReleaseFile(ctx, u, object)
	if err != nil {
		return gone(err)
	}
	o.SHA256 = hexSHA256(file.data)
	if err := checkForm(file); err != nil {
		return err
	}
	s := &registry.ProviderVersion{Address: u.provider, Version: u.version}
	if err := p.load(ctx, s); err != nil {
		return err
	}
	if published, err := releaseFilePublished(s, file); err != nil {
		return err
	} else if published {
		return p.finishRelease(ctx, s, file)
	}
	current, err := p.bucket.Head(ctx, object.Key)
	if err != nil {
		return gone(err)
	}
	if current.Version != object.Version {
		return ignore("a newer upload took its place before the release was complete")
	}
	counterpart, err := p.findCounterpart(ctx, file)
	if err != nil {
		return err
	}
	return p.adopt(ctx, s, file, counterpart)
}

// finishRelease does what an earlier try may have died before: the release is
// made to be served, and its other file is told of it.
func (p *Publisher) finishRelease(ctx context.Context, s *registry.ProviderVersion, file releaseFile) error {
	if err := p.settle(ctx, s); err != nil {
		return err
	}
	if err := p.completeManifest(ctx, file.upload); err != nil {
		return err
	}
	counterpart, err := p.findCounterpart(ctx, file)
	if err != nil || counterpart == nil {
		return err
	}
	last, err := p.LastOutcome(ctx, counterpart.object.Key)
	if err != nil || last.Status == Published && last.Version == counterpart.object.Version {
		return err
	}
	_, end := releaseFilePublished(s, *counterpart)
	return p.reportCounterpart(ctx, s, *counterpart, end)
}

func (p *Publisher) readReleaseFile(ctx context.Context, u upload, object blob.Object) (releaseFile, error) {
	data, err := p.readAll(ctx, object.Key, object.Version, u.maxSize())
	return releaseFile{object, u, data}, err
}

// checkForm rejects a file that cannot be what its name says, whatever else
// comes.
func checkForm(f releaseFile) error {
	if f.upload.kind == releaseSignature {
		if _, err := signing.InspectSignature(f.data); err != nil {
			return reject("%v", err)
		}
		return nil
	}
	_, err := shasums.Parse(f.data)
	var v shasums.Violations
	if errors.As(err, &v) {
		return &verdict{Rejected, v}
	}
	return err
}

// releaseFilePublished says whether the version is served with this very file.
// Another one by its author is a rejection.
func releaseFilePublished(s *registry.ProviderVersion, f releaseFile) (bool, error) {
	if s.Release == nil || !s.Release.Author {
		return false, nil
	}
	published, name := s.Release.SHA256, "SHA256SUMS"
	if f.upload.kind == releaseSignature {
		published, name = s.Release.Signature, "signature"
	}
	if sum := hexSHA256(f.data); sum != published {
		return false, reject("provider %s %s is published already with another %s by its author (sha256 %s; this file: %s): a published version never changes", s.Address, s.Version, name, published, sum)
	}
	return true, nil
}

// findCounterpart finds a SHA256SUMS's signature or a signature's SHA256SUMS:
// in the same folder, else with or without the version folder. It is nil when
// there is none.
func (p *Publisher) findCounterpart(ctx context.Context, f releaseFile) (*releaseFile, error) {
	want := releaseSHA256SUMS
	if f.upload.kind == releaseSHA256SUMS {
		want = releaseSignature
	}
	return p.findReleaseFile(ctx, f.upload, want, append([]string{path.Dir(f.object.Key)}, f.upload.folders()...))
}

// findReleaseFile finds a version's SHA256SUMS or signature in the first of some
// folders that has it. It is nil when there is none.
func (p *Publisher) findReleaseFile(ctx context.Context, u upload, want kind, folders []string) (*releaseFile, error) {
	name := u.provider.SHA256SUMSFilename(u.version)
	if u.kind = want; want == releaseSignature {
		name = u.provider.SignatureFilename(u.version)
	}
	for _, folder := range folders {
		object, err := p.bucket.Head(ctx, folder+"/"+name)
		if errors.Is(err, registry.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", name, err)
		}
		if err := p.findWriter(ctx, &object); err != nil {
			return nil, err
		}
		found, err := p.readReleaseFile(ctx, u, object)
		if _, _, failed := conclude(gone(err)); failed != nil {
			return nil, failed
		}
		if err == nil {
			return &found, nil
		}
	}
	return nil, nil
}

// adopt makes a SHA256SUMS and its signature the ones that are served, if they
// and the key are all here and right. It returns what becomes of file, and
// writes the outcome of its counterpart itself.
func (p *Publisher) adopt(ctx context.Context, s *registry.ProviderVersion, file releaseFile, counterpart *releaseFile) error {
	if counterpart == nil {
		missing := "SHA256SUMS"
		if file.upload.kind == releaseSHA256SUMS {
			missing = "SHA256SUMS.sig"
		}
		return wait("its %s is not here yet; until it comes, the registry's own SHA256SUMS is served", missing)
	}
	sums, signature := file, *counterpart
	if file.upload.kind == releaseSignature {
		sums, signature = signature, sums
	}
	sumsEnd, signatureEnd := p.adoptPair(ctx, s, file.upload, sums, signature)
	mine, other := sumsEnd, signatureEnd
	if file.upload.kind == releaseSignature {
		mine, other = signatureEnd, sumsEnd
	}
	if err := p.reportCounterpart(ctx, s, *counterpart, other); err != nil {
		return err
	}
	return mine
}

// reportCounterpart writes the outcome of a file that another one was judged
// with. Meanwhile somebody else may have made a release the one that is served,
// and have reported what that means for this file first: then that stands.
func (p *Publisher) reportCounterpart(ctx context.Context, s *registry.ProviderVersion, f releaseFile, end error) error {
	status, reasons, err := conclude(end)
	if err != nil {
		return err
	}
	o := Outcome{
		Key: f.object.Key, Version: f.object.Version, Status: status, Reasons: reasons,
		Subject: f.upload.String(), SHA256: hexSHA256(f.data), By: f.object.By, Time: now(),
	}
	if err := p.report(ctx, o); err != nil {
		return err
	}
	if err := p.catchUp(ctx, s); err != nil {
		return err
	}
	published, err := releaseFilePublished(s, f)
	if !published && err == nil {
		return nil
	}
	if o.Status, o.Reasons, err = conclude(err); err != nil || o.Status == status {
		return err
	}
	return p.report(ctx, o)
}

// adoptPair is adopt for a pair that is complete. It returns what becomes of
// each.
func (p *Publisher) adoptPair(ctx context.Context, s *registry.ProviderVersion, u upload, sums, signature releaseFile) (sumsEnd, signatureEnd error) {
	for _, f := range []releaseFile{sums, signature} {
		if err := checkForm(f); err != nil && f.upload.kind == releaseSHA256SUMS {
			return err, wait("its SHA256SUMS was rejected: upload a right one")
		} else if err != nil {
			return wait("its signature was rejected: upload a right one"), err
		}
	}
	key, err := p.verify(ctx, u.provider.Namespace, sums.data, signature.data)
	if unknown := (*signing.UnknownIssuerError)(nil); errors.As(err, &unknown) {
		pending := wait("the signature is by key %s, which is not under %s%s/ yet; until it comes, the registry's own SHA256SUMS is served", unknown.KeyID, keysFolder, u.provider.Namespace)
		return pending, pending
	}
	if invalid := (*signing.InvalidSignatureError)(nil); errors.As(err, &invalid) {
		return wait("its signature was rejected: upload a right one"), reject("%v", err)
	}
	if status, _, _ := conclude(err); status == Rejected {
		return wait("its signature was rejected: upload a right one"), err
	}
	if err != nil {
		return err, err
	}
	err = p.extend(ctx, s, func() (*registry.Record, error) { return p.decideRelease(ctx, s, u.version, sums, signature, key) })
	if err == nil {
		err = p.settle(ctx, s)
	}
	if err == nil {
		err = p.completeManifest(ctx, u)
	}
	if status, _, failed := conclude(err); failed == nil && status == Rejected {
		return err, wait("its SHA256SUMS was rejected: upload a right one")
	}
	return err, err
}

// decideRelease is the record that makes the author's release the one that is
// served.
func (p *Publisher) decideRelease(ctx context.Context, s *registry.ProviderVersion, v registry.Version, sums, signature releaseFile, key signing.PublicKey) (*registry.Record, error) {
	if s.Revision > 0 && s.Version != v {
		return nil, rejectMetadata(s.Address, s.Version, v)
	}
	if published, err := releaseFilePublished(s, sums); published || err != nil {
		return nil, err
	}
	if err := checkCovers(s, sums.data); err != nil {
		return nil, err
	}
	release, err := p.storeRelease(ctx, s, sums.data, signature.data, registry.Release{
		Author: true,
		Keys:   []registry.SigningKey{{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor}},
	})
	if err != nil {
		return nil, err
	}
	return &registry.Record{Kind: registry.KindRelease, Version: v, Upload: sums.object.Key, By: sums.object.By, Release: &release}, nil
}

// checkCovers rejects an author's SHA256SUMS that contradicts what is published
// or lacks some of it.
func checkCovers(s *registry.ProviderVersion, data []byte) error {
	sums, err := shasums.Parse(data)
	if err != nil {
		return err
	}
	var all problems
	for _, pkg := range s.Packages {
		all.add(checkListed(sums, s.Address.PackageFilename(s.Version, pkg.Platform), pkg.SHA256, true))
	}
	if s.Manifest != nil {
		all.add(checkListed(sums, s.Address.ManifestFilename(s.Version), s.Manifest.SHA256, false))
	}
	return all.verdict()
}

// checkListed says how an author's SHA256SUMS contradicts a file, if it does.
func checkListed(sums shasums.Sums, name, sha256 string, must bool) error {
	listed, ok := sums.SHA256(name)
	switch {
	case !ok && must:
		return fmt.Errorf("the author's SHA256SUMS does not list %s", name)
	case ok && listed != sha256:
		return fmt.Errorf("the author's SHA256SUMS lists %s with another sha256 (%s; this file: %s)", name, listed, sha256)
	default:
		return nil
	}
}

// checkBeside has a package wait that contradicts the SHA256SUMS beside it in the inbox,
// which its author has signed and which can still be served for the version: its key may
// be missing, or its event be late. Were the package published, then neither that
// SHA256SUMS nor the right package ever could be: docs/decisions/0026-contradictions.md.
func (p *Publisher) checkBeside(ctx context.Context, u upload, object blob.Object, s *registry.ProviderVersion, sha256 string) error {
	if u.provider.Mirrored() || s.Release != nil && s.Release.Author {
		return nil
	}
	file, err := p.findReleaseFile(ctx, u, releaseSHA256SUMS, []string{path.Dir(object.Key)})
	if err != nil || file == nil {
		return err
	}
	sums, err := shasums.Parse(file.data)
	if err != nil {
		return nil // it is rejected, and says nothing
	}
	contradiction := checkListed(sums, s.Address.PackageFilename(u.version, u.platform), sha256, true)
	if contradiction == nil || checkCovers(s, file.data) != nil {
		return nil
	}
	signature, err := p.findCounterpart(ctx, *file)
	if err != nil || signature == nil {
		return err
	}
	if signed, err := p.mayBeAuthors(ctx, u.provider.Namespace, *file, *signature); !signed {
		return err
	}
	return wait("upload the right package, or the SHA256SUMS and signature that are of this one: %v. Until then neither is published", contradiction)
}

// mayBeAuthors says whether a signature makes a SHA256SUMS its author's, or will, once
// its key is here and can be trusted.
func (p *Publisher) mayBeAuthors(ctx context.Context, namespace string, sums, signature releaseFile) (bool, error) {
	if checkForm(signature) != nil {
		return false, nil
	}
	_, err := p.verify(ctx, namespace, sums.data, signature.data)
	var unknown *signing.UnknownIssuerError
	var invalid *signing.InvalidSignatureError
	switch {
	case errors.As(err, &unknown):
		return true, nil
	case errors.As(err, &invalid):
		return false, nil
	}
	status, _, failed := conclude(err)
	return failed == nil && status != Rejected, failed
}

// completePackages publishes or rejects the packages of a version that have waited for
// another SHA256SUMS, or for the key of the one that is there.
func (p *Publisher) completePackages(ctx context.Context, u upload) error {
	for _, folder := range u.folders() {
		prefix := folder + "/" + strings.TrimSuffix(u.provider.SHA256SUMSFilename(u.version), "SHA256SUMS")
		for object, err := range p.bucket.List(ctx, prefix, "") {
			if err != nil {
				return fmt.Errorf("list the packages of %s %s: %w", u.provider, u.version, err)
			}
			if err := p.completePackage(ctx, object.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Publisher) completePackage(ctx context.Context, key string) error {
	if u, err := parseKey(key); err != nil || u.kind != providerPackage {
		return nil
	}
	last, err := p.LastOutcome(ctx, key)
	if err != nil || last.Status != Pending {
		return err
	}
	return p.PublishKey(ctx, key)
}
