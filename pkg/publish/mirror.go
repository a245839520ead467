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

// A mirror's documents follow from its packages. Those that are uploaded with
// them, as `terraform providers mirror` writes them, say by which hashes whoever
// ran it had trusted the packages: so they are compared.

// mirrorHashes is the hashes in a version's document by their platforms.
type mirrorHashes map[string][]string

// parseMirrorHashes reads a version's document, or ignores it.
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

// check says how a package differs from its hashes in a document, if it does.
// Hashes of schemes that nobody knows yet are passed over, as the clients do.
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

// checkMirrored rejects a mirrored package that is not what the document that
// was uploaded with it says. A document that is none says nothing.
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

// readMirrorDocument compares a version's document with the packages that are
// here. Nothing follows from it but a word: they stand.
func (p *Publisher) readMirrorDocument(ctx context.Context, u inbox.Upload, object blob.Object, o *inbox.Outcome) error {
	data, _, err := blob.Read(ctx, p.bucket, object.Key, object.Version, inbox.MaxMirrorDocument)
	if err != nil {
		return gone(err)
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
