// Package control answers operators of a running registry: a [Request] gets an [Answer],
// both in JSON. A single node reads requests from a socket in its data folder, a deployment
// on AWS from events of the function publish. So only the registry writes its records and
// signs, and an operator only needs the right to ask.
//
// A request about all versions is answered in parts. An answer comes after some seconds,
// with what was found so far and a cursor. The next request goes on after the cursor. So
// nothing runs longer than a function may, the operator sees progress, and what is
// interrupted goes on there.
package control

import (
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// Request asks for one thing: exactly one field is set.
type Request struct {
	Standing *Standing      `json:"standing,omitempty"` // deprecate, withdraw or restore a version
	Rotate   *Rotate        `json:"rotate,omitempty"`   // make a new signing key, on a single node
	Distrust *Distrust      `json:"distrust,omitempty"` // end the trust in an author's key
	Keys     *Part          `json:"keys,omitempty"`     // say which signing key signed which versions
	Resign   *Part          `json:"resign,omitempty"`   // sign anew what an older key of the registry signed
	Reindex  *Reindex       `json:"reindex,omitempty"`  // rebuild the catalog from the records
	Verify   *Verify        `json:"verify,omitempty"`   // compare everything with everything
	List     *List          `json:"list,omitempty"`     // say which versions there are
	Uploads  *Uploads       `json:"uploads,omitempty"`  // say what became of uploads
	Access   *admin.Request `json:"access,omitempty"`   // tokens and rules of trust, on a single node

	// Access keys of the bucket, on a single node.
	RotateAccess   *RotateAccess   `json:"rotate_access,omitempty"`
	CreateUploader *CreateUploader `json:"create_uploader,omitempty"`
	ListUploaders  *ListUploaders  `json:"list_uploaders,omitempty"`
	RevokeUploader *RevokeUploader `json:"revoke_uploader,omitempty"`
}

// Standing asks to deprecate, withdraw or restore a version.
type Standing struct {
	Address string                 `json:"address"` // namespace/type of a provider, hostname/namespace/type of a mirrored one, or namespace/name/system of a module
	Version string                 `json:"version"`
	State   registry.StandingState `json:"state"`
	Message string                 `json:"message,omitempty"` // see [registry.NewStanding]
}

// Rotate asks for a new signing key.
type Rotate struct{}

// Distrust asks for the trust in an author's key to end.
type Distrust struct {
	Fingerprint string `json:"fingerprint"` // as GnuPG prints it, with spaces or without
}

// Part asks for the next part of a walk over all versions.
type Part struct {
	After string `json:"after,omitempty"` // the Next of the last answer; empty at first
}

// Reindex asks for the next part of a rebuild of the catalog.
type Reindex struct {
	Part
	Contents bool `json:"contents,omitempty"` // also read the archives that the present readers have not read yet
	Again    bool `json:"again,omitempty"`    // instead of all that, read all archives again
}

// Verify asks for the next part of a verification.
type Verify struct {
	Part
	Quick bool `json:"quick,omitempty"` // look at the sizes of archives, and do not read them
}

// List asks for the next part of all versions.
type List struct {
	Part
	Of string `json:"of,omitempty"` // a namespace, an address or a mirrored hostname; empty: all
}

// Uploads asks for the next part of all outcomes.
type Uploads struct {
	Part
	Prefix string       `json:"prefix,omitempty"` // that the keys of the uploads begin with
	Status inbox.Status `json:"status,omitempty"` // that they have. Empty: all but published. [AnyStatus]: all
}

// AnyStatus means all statuses.
const AnyStatus inbox.Status = "all"

// Answer is the answer to a request. It has an error, or the field that belongs to the
// request.
type Answer struct {
	Error      string           `json:"error,omitempty"` // what went wrong and what to do
	Standing   *VersionStanding `json:"standing,omitempty"`
	Rotated    *Key             `json:"rotated,omitempty"`
	Distrusted *TrustEnded      `json:"distrusted,omitempty"`
	Walked     *Walked          `json:"walked,omitempty"` // of Keys, Resign, Reindex, Verify, List and Uploads
	Access     *admin.Answer    `json:"access,omitempty"` // without an error of its own

	AccessRotated   *AccessRotated   `json:"access_rotated,omitempty"`
	UploaderCreated *UploaderCreated `json:"uploader_created,omitempty"`
	Uploaders       *Uploaders       `json:"uploaders,omitempty"`
	UploaderRevoked *access.Uploader `json:"uploader_revoked,omitempty"`
}

// TrustEnded is an author's key that operators distrust.
type TrustEnded struct {
	Fingerprint string `json:"fingerprint"` // 40 upper-case hex digits
	Changed     bool   `json:"changed"`     // no operator had distrusted it before
}

// VersionStanding is the standing of a version now.
type VersionStanding struct {
	Subject string                 `json:"subject"` // such as "provider acme/widget 1.0.0"
	State   registry.StandingState `json:"state"`
	Changed bool                   `json:"changed"` // it had another standing before
}

// Walked is a part of a walk.
type Walked struct {
	Next     string          `json:"next,omitempty"`     // to go on after; empty when all is done
	Last     string          `json:"last,omitempty"`     // the subject that the part ended with, to show how far it is
	Steps    map[string]int  `json:"steps"`              // how much was looked at: of "records" (versions), and for some walks of the "catalog" and the "inbox"
	Changed  int             `json:"changed"`            // how much of it the walk changed
	Read     int             `json:"read,omitempty"`     // of Reindex with Contents: how many archives were read
	Findings []Finding       `json:"findings,omitempty"` // what is wrong
	Notes    []Finding       `json:"notes,omitempty"`    // what is not wrong, and should be known
	Versions []Version       `json:"versions,omitempty"` // of List alone, in the order of their keys
	Uploads  []inbox.Outcome `json:"uploads,omitempty"`  // of Uploads alone
	Keys     []Key           `json:"keys,omitempty"`     // of Keys alone; what this part knows of them. The first parts have all keys, also those that signed nothing
}

// Version is a version that the registry has.
type Version struct {
	Kind      VersionKind            `json:"kind"`
	Address   string                 `json:"address"` // as [Standing] has it
	Version   string                 `json:"version"`
	Standing  registry.StandingState `json:"standing"`            // [Listed], [Unlisted], or deprecated or withdrawn
	Message   string                 `json:"message,omitempty"`   // to those who use it
	Platforms []string               `json:"platforms,omitempty"` // of a provider, those that it has packages for
	Source    string                 `json:"source,omitempty"`    // of a module: the URL of its repository
}

// VersionKind says whether a version is of a module or a provider.
type VersionKind string

// The kinds of versions.
const (
	Module   VersionKind = "module"
	Provider VersionKind = "provider"
	Mirrored VersionKind = "mirrored" // a provider of another registry
)

// The standings of a version that operators have said nothing about.
const (
	Listed   registry.StandingState = "listed"
	Unlisted registry.StandingState = "unlisted" // nothing of it can be served
)

// MaxAnswer is the size after which a part of a list of versions or outcomes ends, in bytes.
// MaxReasons is the most reasons of an outcome in such a list.
const (
	MaxAnswer  = 1 << 20
	MaxReasons = 10
)

// MaxFindings is after how many findings and notes a part ends. The last step is whole.
const MaxFindings = 1000

// MaxKeys is after how many authors' keys a part ends. The same key is counted once
// for each of its forms, and for each reason not to trust it.
const MaxKeys = 1000

// Finding is something that is wrong, or should be known.
type Finding struct {
	Subject string `json:"subject"` // such as "provider acme/widget 1.0.0"
	Problem string `json:"problem"` // a full sentence
}

// Key is a public key that signatures are made with.
type Key struct {
	KeyID       string   `json:"key_id"` // 16 upper-case hex digits, as the clients print it
	Fingerprint string   `json:"fingerprint,omitempty"`
	Role        Role     `json:"role"`
	Trust       Trust    `json:"trust,omitempty"`      // of an author's key; what a later part says counts
	Namespaces  []string `json:"namespaces,omitempty"` // of an author's key: those that have it, and a later part may have more
	Versions    []string `json:"versions,omitempty"`   // "acme/widget 1.0.0": those of this part that it signed
}

// Role says how the registry uses a key.
type Role string

// The roles.
const (
	Current  Role = "current"  // the registry signs with it
	Replaced Role = "replaced" // the registry signed with it once
	Author   Role = "author"   // an author signed with it
)

// Trust is whether new releases may be signed with an author's key.
type Trust string

// The trusts, by who ended it.
const (
	Trusted    Trust = "trusted"    // nobody; it may have expired
	Revoked    Trust = "revoked"    // its owner
	Distrusted Trust = "distrusted" // an operator
)
