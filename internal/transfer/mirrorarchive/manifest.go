package mirrorarchive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/larder-registry/larder/pkg/blob"
)

// format is the version of the archive's format.
const format = 1

// The limits of an archive.
const (
	// MaxFiles is the largest number of files of an archive.
	MaxFiles = 100_000

	// maxManifest is the largest manifest, in bytes.
	maxManifest = 64 << 20

	// maxDocument and maxPackage are the largest document and package of a mirror, in bytes,
	// as for a registry.
	maxDocument = 1 << 20
	maxPackage  = blob.MaxCopy
)

// manifest is the archive's first file. It lists the others in their order.
type manifest struct {
	Format int     `json:"format"`
	Files  []entry `json:"files"`
}

// entry is a file of the archive.
type entry struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // lower-case hex
	Size   int64  `json:"size"`   // in bytes
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// parseManifest reads a manifest. It refuses files that are not of the layout of a mirror, or
// too large for a registry.
func parseManifest(data []byte) (manifest, error) {
	var m manifest
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&m); err != nil {
		return m, fmt.Errorf("it cannot be read: %w", err)
	}
	switch {
	case m.Format != format:
		return m, fmt.Errorf("the archive is of format %d, and this larder reads format %d", m.Format, format)
	case len(m.Files) == 0:
		return m, errors.New("it names no files")
	case len(m.Files) > MaxFiles:
		return m, fmt.Errorf("it names %d files; %d are allowed", len(m.Files), MaxFiles)
	}
	seen := make(map[string]bool, len(m.Files))
	for _, e := range m.Files {
		if err := e.check(); err != nil {
			return m, err
		}
		if seen[e.Name] {
			return m, fmt.Errorf("it names %s twice", e.Name)
		}
		seen[e.Name] = true
	}
	return m, nil
}

func (e entry) check() error {
	_, isPackage, err := parseName(e.Name)
	most := int64(maxDocument)
	if isPackage {
		most = maxPackage
	}
	switch {
	case err != nil:
		return err
	case !sha256Form.MatchString(e.SHA256):
		return fmt.Errorf("%s: %.100q is not a SHA-256 in lower-case hex", e.Name, e.SHA256)
	case e.Size <= 0 || e.Size > most:
		return fmt.Errorf("%s: a size of %d bytes; 1 to %d are allowed", e.Name, e.Size, most)
	}
	return nil
}
