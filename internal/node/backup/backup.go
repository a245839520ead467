// Package backup copies all that a single node must find again out of its data folder,
// while it serves or not, and makes a data folder of that copy.
//
// # What a backup is
//
// A folder, or the same files as a tar stream. All of it is plain files:
//
//	state-<time>/data/<name>        files of the data folder: keys, access keys, tokens
//	state-<time>/inbox/<number>     uploads that are not published yet, oldest first,
//	state-<time>/inbox/<number>.json  each with its key, metadata and tags before it
//	state-<time>/registry/outcomes…   what became of uploads
//	registry/…                      what is published, under the keys of the bucket
//	manifest.json                   every file with its size and sha256; the last that is written
//
// Below registry/ nothing ever changes, so the next backup into the same folder adds
// what is new. All else is written anew, beside the old, until the manifest names it.
//
// # Why it is consistent
//
// A record names objects that were stored before it, and nothing below registry/ is
// deleted. So records are copied before the rest, and what they name is there. Before
// them come the uploads that have no final outcome: what is published meanwhile is in
// the backup twice, as an upload and as published, and never not at all.
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

// manifestName is the file that makes a backup of files.
const manifestName = "manifest.json"

const (
	// maxManifest bounds the manifest, maxDocument the other files that are read as
	// a whole, in bytes.
	maxManifest = 1 << 30
	maxDocument = 16 << 20
)

// manifest is what a backup has, in the order in which it was written.
type manifest struct {
	Format string    `json:"format"`
	Time   time.Time `json:"time"` // when it was begun: nothing that came before is missing
	Files  []entry   `json:"files"`
}

// entry is a file of a backup.
type entry struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// upload is what a backup knows of an object of the inbox beside its bytes.
type upload struct {
	Key         string            `json:"key"`
	ContentType string            `json:"content_type,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// outcomePrefix is how the keys of outcomes begin, which alone are replaced below
// registry/.
const outcomePrefix = registry.Prefix + "outcomes"

// stateName is the name of the folder with what was so at one time.
var stateName = regexp.MustCompile(`^state-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z$`)

func stateAt(t time.Time) string { return "state-" + t.UTC().Format("20060102T150405.000Z") }

// kind is what a file of a backup is.
type kind int

const (
	dataFile kind = iota
	uploadHead
	uploadBody
	object
)

// parsePath says what a file of a backup is: for a dataFile its name in the data
// folder, for an object its key, for the parts of an upload its number.
func parsePath(name string) (kind, string, error) {
	wrong := fmt.Errorf("%.300q is no file of a backup of this version of larder", name)
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

// Summary is what a backup has.
type Summary struct {
	Time     time.Time
	Versions int   // that were published
	Uploads  int   // that were not published yet
	Files    int   // of the data folder
	Bytes    int64 // of all files
	Added    int64 // of those, the bytes that were not in the folder before
}

// String is the summary in words.
func (s Summary) String() string {
	text := fmt.Sprintf("%s, %s, %s, %s", size.Count(s.Versions, "version"), size.Count(s.Uploads, "upload")+" not published yet",
		size.Count(s.Files, "file")+" of the data folder", size.Of(s.Bytes))
	if s.Added < s.Bytes {
		text += ", of which " + size.Of(s.Added) + " are new"
	}
	return text
}
