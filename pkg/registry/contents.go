package registry

import "strconv"

// ContentsPrefix is where documents lie that were read from archives, and can be read again.
const ContentsPrefix = Prefix + "contents/"

// ContentsKey is where the document lies that a version of the readers has read from the archive
// of a module with a sha256, in lower-case hex. It is the archive as it is served.
func ContentsKey(reader int, sha256 string) string {
	return ContentsPrefix + strconv.Itoa(reader) + "/" + sha256 + ".json"
}

// ContentsDocsKey is where the document lies that was read from a provider's documentation with a
// sha256. It is not that of a module's archive: the same bytes may be published as both, by
// different people.
func ContentsDocsKey(reader int, sha256 string) string {
	return ContentsPrefix + strconv.Itoa(reader) + "/" + sha256 + ".docs.json"
}

// ContentsPagesKey is where the texts of a provider's pages lie, beside its document.
func ContentsPagesKey(reader int, sha256 string) string {
	return ContentsPrefix + strconv.Itoa(reader) + "/" + sha256 + ".pages"
}
