package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Everything that the registry keeps lies under Prefix in the bucket. All else
// is the inbox.
const Prefix = "registry/"

// RecordsPrefix is where the logs of all versions lie.
const RecordsPrefix = Prefix + "records/"

// Folder is [Modules].
func (a ModuleAddress) Folder() Folder { return Modules }

// Folder is [Mirror] of a mirrored provider, and else [Providers].
func (a ProviderAddress) Folder() Folder {
	if a.Mirrored() {
		return Mirror
	}
	return Providers
}

// UploadKey is the key under which a file of a provider's release is uploaded, and of
// a mirrored provider a package or a version's document.
func (a ProviderAddress) UploadKey(filename string) string {
	return string(a.Folder()) + "/" + a.String() + "/" + filename
}

// RecordKey is the key of the record with a number, counted from 1, under a
// log's prefix. Keys sort as their numbers do.
func RecordKey(logPrefix string, sequence int) string {
	return fmt.Sprintf("%s%08d.json", logPrefix, sequence)
}

// ParsedRecordKey is what a record's key says. The version is without build
// metadata: the record has it.
type ParsedRecordKey struct {
	Subject
	Sequence int
}

// ParseRecordKey reads the key of a record: exactly those that [RecordKey]
// writes.
func ParseRecordKey(key string) (parsed ParsedRecordKey, err error) {
	parts := strings.Split(strings.TrimPrefix(key, RecordsPrefix), "/") // all of the key is compared in the end
	if len(parts) < 4 {
		return ParsedRecordKey{}, fmt.Errorf("%q is not the key of a record", key)
	}
	address, version, name := parts[1:len(parts)-2], parts[len(parts)-2], parts[len(parts)-1]
	if parsed.Address, err = ParseAddress(Folder(parts[0]), strings.Join(address, "/")); err == nil {
		parsed.Version, err = ParseVersion(version)
	}
	if err != nil {
		return ParsedRecordKey{}, fmt.Errorf("%q is not the key of a record: %w", key, err)
	}
	if parsed.Sequence, _ = strconv.Atoi(strings.TrimSuffix(name, ".json")); parsed.Sequence < 1 { // 0 if it is not a number
		return ParsedRecordKey{}, fmt.Errorf("%q is not the key of a record: it has no number", key)
	}
	if written := RecordKey(parsed.LogPrefix(), parsed.Sequence); written != key {
		return ParsedRecordKey{}, fmt.Errorf("%q is not the key of a record: it would be %q", key, written)
	}
	return parsed, nil
}

// ArchiveKey is where a module version's archive lies. It ends as the
// archive's format does, for the clients unpack by the end of the URL's path.
func (a ModuleAddress) ArchiveKey(v Version, archive ModuleArchive) string {
	return Prefix + pathOf(a, v) + archive.SHA256 + "." + archive.Format
}

// PackageKey is where a provider package lies.
func (a ProviderAddress) PackageKey(v Version, pkg Package) string {
	return Prefix + pathOf(a, v) + pkg.SHA256 + "/" + a.PackageFilename(v, pkg.Platform)
}

// DocsKey is where the documentation of a provider version lies, as it was uploaded.
func (a ProviderAddress) DocsKey(v Version, docs Docs) string {
	return Prefix + pathOf(a, v) + docs.SHA256 + "/" + a.DocsFilename(v)
}

// SHA256SUMSKey is where the SHA256SUMS of a release lies.
func (a ProviderAddress) SHA256SUMSKey(v Version, r Release) string {
	return Prefix + pathOf(a, v) + r.SHA256 + "/" + a.SHA256SUMSFilename(v)
}

// SignatureKey is where the signature of a release lies.
func (a ProviderAddress) SignatureKey(v Version, r Release) string {
	return Prefix + pathOf(a, v) + r.Signature + "/" + a.SignatureFilename(v)
}

// OwnKeysPrefix is where the registry keeps all public signing keys that it has
// ever signed with.
const OwnKeysPrefix = Prefix + "keys/own/"

// OwnKeyKey is where the registry keeps a public signing key of its own.
func OwnKeyKey(fingerprint string) string { return OwnKeysPrefix + fingerprint + ".asc" }

// SignerKeyKey is where the registry keeps its public key by the name of the private
// one, to find it without a request to KMS.
func SignerKeyKey(signer string) string {
	return Prefix + "keys/signers/" + signer + ".asc"
}

// AllAuthorKeysPrefix is where the accepted public keys of all authors lie.
const AllAuthorKeysPrefix = Prefix + "keys/authors/"

// AuthorKeysPrefix is where the accepted public keys of a namespace's authors
// lie.
func AuthorKeysPrefix(namespace string) string { return AllAuthorKeysPrefix + namespace + "/" }

// AuthorKeyKey is where one accepted form of an author's public key lies: the
// same key with a later expiry is another form.
func AuthorKeyKey(namespace, fingerprint, sha256 string) string {
	return AuthorKeysPrefix(namespace) + fingerprint + "/" + sha256 + ".asc"
}

// ParseAuthorKeyKey reads the key of an accepted form of an author's public key.
func ParseAuthorKeyKey(key string) (namespace, fingerprint string, ok bool) {
	rest, ok := strings.CutPrefix(key, AllAuthorKeysPrefix)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// UntrustedKeysPrefix is where the registry keeps which authors' keys it does not trust
// any more, in all namespaces.
const UntrustedKeysPrefix = Prefix + "keys/untrusted/"

// UntrustedKeyPrefix is where the registry keeps why it does not trust an author's
// key any more.
func UntrustedKeyPrefix(fingerprint string) string { return UntrustedKeysPrefix + fingerprint + "/" }

// RevokedKeyKey is where an author's key lies with the revocation that its owner
// has made.
func RevokedKeyKey(fingerprint string) string { return UntrustedKeyPrefix(fingerprint) + "revoked.asc" }

// DistrustedKeyKey is where the registry keeps that an operator has ended the trust
// in an author's key.
func DistrustedKeyKey(fingerprint string) string {
	return UntrustedKeyPrefix(fingerprint) + "distrusted.json"
}

// OutcomesPrefix is where the outcomes of uploads lie by the uploads' keys, and
// OutcomesByHashPrefix where they lie by the hashes of those keys; see [OutcomeKey].
const (
	OutcomesPrefix       = Prefix + "outcomes/"
	OutcomesByHashPrefix = Prefix + "outcomes-by-sha256/"
)

// OutcomeKey is where the outcome of an upload is written: by the upload's key, or by
// its hash if S3 or a file system could not store that, or another outcome beside it.
func OutcomeKey(upload string) string {
	if fitsInOutcomes(upload) {
		return OutcomesPrefix + upload + ".json"
	}
	return OutcomeKeyByHash(upload)
}

// OutcomeKeyByHash is where the outcome of an upload is written if its [OutcomeKey]
// cannot be: on a file system, an outcome older than the rules of OutcomeKey may be in
// its way.
func OutcomeKeyByHash(upload string) string {
	sum := sha256.Sum256([]byte(upload))
	return OutcomesByHashPrefix + hex.EncodeToString(sum[:]) + ".json"
}

const (
	maxKey      = 1024 // bytes of a key in S3
	maxFilename = 255  // bytes of one part of a path on common file systems
)

// fitsInOutcomes says whether registry/outcomes/<key>.json can be stored, also in a file
// system, beside those of all other keys that fit: no folder may have the name of a
// document. So a folder that ends in .json does not fit, unless it is the folder of a
// version; and a document with the name of such a folder does not fit.
func fitsInOutcomes(upload string) bool {
	if !utf8.ValidString(upload) || strings.ContainsFunc(upload, unicode.IsControl) || len(OutcomesPrefix+upload+".json") > maxKey {
		return false
	}
	parts := strings.Split(upload, "/")
	last := len(parts) - 1
	for n, part := range parts {
		versioned := n == 3 && parts[0] == "providers"
		switch {
		case part == "", part == ".", part == "..", len(part+".json") > maxFilename:
			return false
		case n == last && versioned && isVersion(part+".json"):
			return false
		case n < last && strings.HasSuffix(strings.ToLower(part), ".json") && !(versioned && n == last-1 && isVersion(part)):
			return false
		}
	}
	return true
}

func isVersion(s string) bool {
	_, err := ParseVersion(s)
	return err == nil
}
