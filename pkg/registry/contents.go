package registry

import "strconv"

// ContentsPrefix is where documents lie that were read from archives, and can be read again.
const ContentsPrefix = Prefix + "contents/"

// ContentsKey is where the document lies that a version of the readers has read from the archive
// with a sha256, in lower-case hex. It is the archive as it is served.
func ContentsKey(reader int, sha256 string) string {
	return ContentsPrefix + strconv.Itoa(reader) + "/" + sha256 + ".json"
}

// ContentsPagesKey is where the texts of a provider's pages lie, beside its document.
func ContentsPagesKey(reader int, sha256 string) string {
	return ContentsPrefix + strconv.Itoa(reader) + "/" + sha256 + ".pages"
}
