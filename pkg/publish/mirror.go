package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// Larder makes the documents of a mirror from its packages. `terraform providers mirror`
// also writes such documents, with the hashes by which it verified the packages. If they are
// uploaded, they are compared with the packages.

// mirrorHashes has the hashes in a mirror document, by platform.
type mirrorHashes map[string][]string

// parseMirrorHashes reads the mirror document of a version, or ignores it.
func parseMirrorHashes(data []byte) (mirrorHashes, error) {
	var document struct {
		Archives map[string]struct {
			Hashes []string `json:"hashes"`
		} `json:"archives"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, inbox.Ignore(`it is not the document of a version in a mirror, which is JSON with "archives"`)
	}
	hashes := mirrorHashes{}
	for platform, archive := range document.Archives {
		hashes[platform] = archive.Hashes
	}
	return hashes, nil
}

// check returns an error if a package has another hash than the document says. Hashes of
// unknown schemes are skipped, as the clients skip them.
func (h mirrorHashes) check(pkg registry.Package) error {
	for _, want := range h[pkg.Platform.String()] {
		for _, have := range []string{pkg.H1, "zh:" + pkg.SHA256} {
			scheme, _, _ := strings.Cut(have, ":")
			if strings.HasPrefix(want, scheme+":") && want != have {
				return fmt.Errorf("it has another hash for %s (%s; the package: %s)", pkg.Platform, want, have)
			}
		}
	}
	return nil
}

// checkMirrored rejects a mirrored package that differs from the mirror document in its
// folder. A file there that is not a mirror document is skipped.
func (p *Publisher) checkMirrored(ctx context.Context, u inbox.Upload, object blob.Object, pkg registry.Package) error {
	if !u.Provider.Mirrored() {
		return nil
	}
	name := u.Version.String() + ".json"
	data, _, err := blob.Read(ctx, p.bucket, path.Dir(object.Key)+"/"+name, "", inbox.MaxMirrorDocument)
	if errors.Is(err, registry.ErrNotFound) {
		return nil
	}
	if _, _, failed := inbox.Conclude(err); failed != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	hashes, err := parseMirrorHashes(data)
	if err != nil {
		return nil
	}
	if err := hashes.check(pkg); err != nil {
		return inbox.Reject("the package is not the one that %s beside it names: %v", name, err)
	}
	return nil
}

// readMirrorDocument compares a mirror document with the packages that are published. The
// outcome says how they differ; the packages stay.
func (p *Publisher) readMirrorDocument(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	data, _, err := blob.Read(ctx, p.bucket, object.Key, object.Version, inbox.MaxMirrorDocument)
	if err != nil {
		return ignoreDeleted(err)
	}
	o.SHA256 = blob.SHA256(data)
	hashes, err := parseMirrorHashes(data)
	if err != nil {
		return err
	}
	s := &registry.ProviderVersion{Address: u.Provider, Version: u.Version}
	if err := p.log.Load(ctx, s); err != nil {
		return err
	}
	differences := []string{"a mirror's documents follow from its packages"}
	for _, pkg := range s.Packages {
		if err := hashes.check(pkg); err != nil {
			differences = append(differences, fmt.Sprintf("%v: what is published stands", err))
		}
	}
	return &inbox.Verdict{Status: inbox.Ignored, Reasons: differences}
}
