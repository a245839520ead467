package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ManifestName is the name of the file in which the author of a provider states
// its protocol versions. Beside the packages of a release the same document is
// named terraform-provider-TYPE_VERSION_manifest.json.
const ManifestName = "terraform-registry-manifest.json"

// protocolVersion is MAJOR.MINOR, without leading zeros.
var protocolVersion = regexp.MustCompile(`^(0|[1-9][0-9]{0,4})\.(0|[1-9][0-9]{0,4})$`)

// ParseManifest returns the protocol versions of a manifest of version 1,
//
//	{"version": 1, "metadata": {"protocol_versions": ["5.0"]}}
//
// each major version once, with its highest minor, in ascending order. A
// manifest without protocol versions, with one that is not MAJOR.MINOR, or of
// more than [MaxManifest] bytes is an error. Unknown fields are ignored.
func ParseManifest(data []byte) (protocols []string, err error) {
	if len(data) > MaxManifest {
		return nil, fmt.Errorf("it takes more than %s", bytesText(MaxManifest))
	}
	var doc struct {
		Version  int `json:"version"`
		Metadata struct {
			ProtocolVersions []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, errors.New("it is not the JSON that is expected" + jsonPlace(err))
	}
	if doc.Version != 1 {
		return nil, fmt.Errorf(`"version" is %d or missing; it must be 1`, doc.Version)
	}
	if len(doc.Metadata.ProtocolVersions) == 0 {
		return nil, errors.New(`"metadata.protocol_versions" is empty or missing; it names at least one, such as "5.0"`)
	}
	return highestMinors(doc.Metadata.ProtocolVersions)
}

// jsonPlace says where a document is not the expected JSON.
func jsonPlace(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf(": it is no JSON from byte %d on", syntax.Offset)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf(": %q is of another kind", kind.Field)
	default:
		return ""
	}
}

func highestMinors(versions []string) ([]string, error) {
	highest := make(map[int]int) // minor by major
	for _, v := range versions {
		if !protocolVersion.MatchString(v) {
			return nil, fmt.Errorf("protocol version %s is not MAJOR.MINOR, such as \"5.0\"", quote(v))
		}
		major, minor, _ := strings.Cut(v, ".")
		highest[number(major)] = max(highest[number(major)], number(minor))
	}
	var protocols []string
	for _, major := range slices.Sorted(maps.Keys(highest)) {
		protocols = append(protocols, fmt.Sprintf("%d.%d", major, highest[major]))
	}
	return protocols, nil
}

// number converts digits that protocolVersion has matched.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
