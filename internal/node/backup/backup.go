// Package backup copies from a data folder all that a single node must find again, while
// it serves or not, and makes a data folder of that copy.
//
// # What a backup is
//
// A folder, or the same files as a tar stream. All of it is plain files:
//
//	state-<time>/data/<name>        files of the data folder: keys, access keys, tokens
//	state-<time>/inbox/<number>     uploads that are not published yet, oldest first,
//	state-<time>/inbox/<number>.json  each with its key, metadata and tags before it
//	state-<time>/registry/outcomes…   the outcomes of uploads
//	registry/…                      what is published, under the keys of the bucket
//	manifest.json                   every file with its size and sha256; written last
//
// Below registry/ nothing ever changes, so the next backup into the same folder adds
// what is new. All other files are written anew, beside the old ones, until the manifest
// names them.
//
// # Why it is consistent
//
// A record names objects that were stored before it, and nothing below registry/ is
// deleted. So records are copied before the objects that they name, and all of these are
// there. Uploads without a final outcome are copied before the records: what is published
// meanwhile is in the backup twice, as an upload and as published, and is never missing.
package backup

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/registry"
)

// format names the layout of backups.
const format = "larder backup 1"

// manifestName is the name of the manifest. Files without one are not a backup.
const manifestName = "manifest.json"

const (
	// maxManifest bounds the manifest, maxDocument every other file that is read into
	// memory, in bytes.
	maxManifest = 1 << 30
	maxDocument = 16 << 20
)

// manifest is what a backup has, in the order in which it was written.
type manifest struct {
	Format string    `json:"format"`
	Time   time.Time `json:"time"` // when it was begun: the backup has all that was there before
	Files  []entry   `json:"files"`
}

// entry is a file of a backup.
type entry struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// upload is an object of the inbox, without its bytes.
type upload struct {
	Key         string            `json:"key"`
	ContentType string            `json:"content_type,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// outcomePrefix is the prefix of the keys of outcomes. Nothing else below registry/ is
// ever replaced.
const outcomePrefix = registry.Prefix + "outcomes"

// stateName is the form of the name of a folder with the state at one time.
var stateName = regexp.MustCompile(`^state-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z$`)

func stateAt(t time.Time) string { return "state-" + t.UTC().Format("20060102T150405.000Z") }

// kind is the kind of a file of a backup.
type kind int

const (
	dataFile kind = iota
	uploadHead
	uploadBody
	object
)

// parsePath returns the kind of a file of a backup, and its name: for a dataFile the
// name in the data folder, for an object the key, for a part of an upload its number.
func parsePath(name string) (kind, string, error) {
	wrong := fmt.Errorf("%.300q is not a file of a backup of this version of larder", name)
	if path.Clean(name) != name || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "..") || strings.ContainsRune(name, 0) {
		return 0, "", wrong
	}
	if strings.HasPrefix(name, registry.Prefix) {
		return object, name, nil
	}
	state, rest, _ := strings.Cut(name, "/")
	folder, file, nested := strings.Cut(rest, "/")
	if !stateName.MatchString(state) || !nested {
		return 0, "", wrong
	}
	number, isHead := strings.CutSuffix(file, ".json")
	switch {
	case folder == "data" && !strings.Contains(file, "/"):
		return dataFile, file, nil
	case folder == "inbox" && isHead && uploadNumber.MatchString(number):
		return uploadHead, number, nil
	case folder == "inbox" && uploadNumber.MatchString(file):
		return uploadBody, file, nil
	case strings.HasPrefix(rest, outcomePrefix):
		return object, rest, nil
	}
	return 0, "", wrong
}

var uploadNumber = regexp.MustCompile(`^[0-9]{8}$`)

// Summary counts what a backup has.
type Summary struct {
	Time     time.Time
	Versions int   // that were published
	Uploads  int   // that were not published yet
	Files    int   // of the data folder
	Bytes    int64 // of all files
	Added    int64 // of those, the bytes that were not in the folder before
}

// String writes the summary in words.
func (s Summary) String() string {
	text := fmt.Sprintf("%s, %s, %s, %s", size.Count(s.Versions, "version"), size.Count(s.Uploads, "upload")+" not published yet",
		size.Count(s.Files, "file")+" of the data folder", size.Of(s.Bytes))
	if s.Added < s.Bytes {
		text += ", of which " + size.Of(s.Added) + " are new"
	}
	return text
}
