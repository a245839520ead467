package publish

import (
	"context"
	"errors"
	"path"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// checkBeside makes a package or documentation wait if it contradicts the SHA256SUMS in its
// folder of the inbox. Documentation may be missing there. The author must have signed that SHA256SUMS, and it must still be possible to
// serve it: its key may be missing, or its event may be late. If the file were published
// now, neither that SHA256SUMS nor the right file could ever be published:
// docs/decisions/0026-contradictions.md.
func (a authors) checkBeside(ctx context.Context, u inbox.Upload, object blob.Object, s *registry.ProviderVersion, sha256 string) error {
	if u.Provider.Mirrored() || servesAuthors(s) {
		return nil
	}
	file, err := a.findReleaseFile(ctx, u, inbox.SHA256SUMS, []string{path.Dir(object.Key)})
	if err != nil || file == nil {
		return err
	}
	sums, err := shasums.Parse(file.data)
	if err != nil {
		return nil // it is rejected
	}
	contradiction := versionlog.CheckListed(sums, path.Base(object.Key), sha256, u.Kind == inbox.ProviderPackage)
	if contradiction == nil || checkCovers(s, file.data) != nil {
		return nil
	}
	signature, err := a.findCounterpart(ctx, *file)
	if err != nil || signature == nil {
		return err
	}
	if signed, err := a.mayBeAuthors(ctx, u.Provider.Namespace, *file, *signature); !signed {
		return err
	}
	return inbox.Wait("upload the right file, or the SHA256SUMS and signature that are of this one: %v. Until then neither is published", contradiction)
}

// mayBeAuthors says whether a signature proves that a SHA256SUMS is the author's, or may
// prove it when its key is here and trusted.
func (a authors) mayBeAuthors(ctx context.Context, namespace string, sums, signature releaseFile) (bool, error) {
	if checkForm(signature) != nil {
		return false, nil
	}
	_, err := a.keys.Verify(ctx, namespace, sums.data, signature.data)
	var unknown *signing.UnknownIssuerError
	var invalid *signing.InvalidSignatureError
	switch {
	case errors.As(err, &unknown):
		return true, nil
	case errors.As(err, &invalid):
		return false, nil
	}
	status, _, failed := inbox.Conclude(err)
	return failed == nil && status != inbox.Rejected, failed
}
