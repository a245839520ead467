package publish_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"golang.org/x/mod/sumdb/dirhash"
)

// sent is one upload, as its sender knows it.
type sent struct {
	key  string
	body []byte
	sha  string
	kind sentKind

	subject  string // the address: "acme/vpc/aws" or "acme/widget"
	version  string // as written
	platform string // of a package
	says     string // the protocol of a manifest, or of the one in a package
	h1       string // of a module: of its files, unwrapped

	object  string // its object version, once it is in the bucket
	expired bool   // it was removed from the bucket for good
}

type sentKind int

const (
	sentModule sentKind = iota
	sentPackage
	sentManifest
	sentDocs
	sentSums
	sentSignature
	sentKey
	sentBroken // it is rejected, whatever else there is
	sentStray  // it is ignored
)

// sender makes uploads at random, into one namespace.
type sender struct {
	*rand.Rand
	namespace        string
	author, stranger *signing.Key
	uploads          []*sent
}

var (
	sentVersions  = []string{"1.0.0", "1.0.0", "1.0.0+a", "1.1.0", "1.1.0", "2.0.0-rc.1", "10.0.0"}
	sentPlatforms = []string{"linux_amd64", "darwin_arm64", "windows_amd64"}
	sentTypes     = []string{"widget", "gadget"}
	sentProtocols = []string{"6.0", "6.0", "5.1", "4.0"}
)

func manifestOf(protocol string) []byte {
	return fmt.Appendf(nil, `{"version":1,"metadata":{"protocol_versions":[%q]}}`, protocol)
}

func oneOf[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// chance is true so many times of a hundred.
func chance(r *rand.Rand, percent int) bool { return r.IntN(100) < percent }

// send makes n uploads and more, in an order of their own.
func (s *sender) send(t *testing.T, n int) {
	for range n {
		switch roll := s.IntN(100); {
		case roll < 40:
			s.add(s.module())
		case roll < 85:
			s.add(s.packageOf(oneOf(s.Rand, sentTypes), oneOf(s.Rand, sentVersions)))
		case roll < 90:
			s.add(s.manifest(oneOf(s.Rand, sentTypes), oneOf(s.Rand, sentVersions)))
		case roll < 94:
			s.add(s.docs(oneOf(s.Rand, sentTypes), oneOf(s.Rand, sentVersions)))
		default:
			s.add(s.broken())
		}
	}
	for _, typ := range sentTypes {
		for _, version := range []string{"1.0.0", "1.0.0+a", "1.1.0", "10.0.0"} {
			if chance(s.Rand, 50) {
				s.release(t, typ, version)
			}
		}
	}
	if chance(s.Rand, 80) {
		s.add(&sent{kind: sentKey, key: "keys/" + s.namespace + "/author.asc", body: []byte(s.author.PublicKey().ASCIIArmor)})
	}
	s.Shuffle(len(s.uploads), func(i, j int) { s.uploads[i], s.uploads[j] = s.uploads[j], s.uploads[i] })
}

func (s *sender) add(u *sent) {
	u.sha = blob.SHA256(u.body)
	s.uploads = append(s.uploads, u)
	if chance(s.Rand, 15) { // the same upload again
		again := *u
		s.uploads = append(s.uploads, &again)
	}
}

// content differs now and then.
func (s *sender) content() string {
	if chance(s.Rand, 20) {
		return "b"
	}
	return "a"
}

func (s *sender) module() *sent {
	files := map[string]string{"main.tf": s.content(), "docs/readme.md": "x"}
	u := &sent{kind: sentModule, subject: s.namespace + "/vpc/aws", version: oneOf(s.Rand, sentVersions)}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	u.h1, _ = dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[name])), nil })
	if chance(s.Rand, 20) {
		for _, name := range names {
			files["vpc-main/"+name] = files[name]
			delete(files, name)
		}
	}
	folder := u.subject
	if chance(s.Rand, 20) {
		folder = strings.ToUpper(s.namespace) + "/Vpc/AWS"
	}
	extension := oneOf(s.Rand, []string{".zip", ".zip", ".tar.gz", ".tgz"})
	u.key, u.body = "modules/"+folder+"/"+u.version+extension, publishtest.TarOf(files)
	if extension == ".zip" {
		u.body = publishtest.ZipOf(files)
	}
	return u
}

func (s *sender) packageOf(typ, version string) *sent {
	u := &sent{kind: sentPackage, subject: s.namespace + "/" + typ, version: version, platform: oneOf(s.Rand, sentPlatforms)}
	content := s.content()
	if chance(s.Rand, 8) {
		content = "6.0"
		u.says = content
	}
	u.body = packageBody(typ, u.platform, content)
	u.key = s.folder(typ, version) + publishtest.ProviderName(typ, version, u.platform+".zip")
	return u
}

func packageBody(typ, platform, content string) []byte {
	files := map[string]string{"terraform-provider-" + typ: platform + content}
	if content == "6.0" {
		files["terraform-registry-manifest.json"] = string(manifestOf(content))
	}
	return publishtest.ZipOf(files)
}

// folder is a provider's, with or without that of the version.
func (s *sender) folder(typ, version string) string {
	folder := "providers/" + s.namespace + "/" + typ + "/"
	if chance(s.Rand, 25) {
		folder += version + "/"
	}
	return folder
}

func (s *sender) manifest(typ, version string) *sent {
	protocol := oneOf(s.Rand, sentProtocols)
	return &sent{
		kind: sentManifest, subject: s.namespace + "/" + typ, version: version, says: protocol,
		key:  s.folder(typ, version) + publishtest.ProviderName(typ, version, "manifest.json"),
		body: manifestOf(protocol),
	}
}

func (s *sender) docs(typ, version string) *sent {
	return &sent{
		kind: sentDocs, subject: s.namespace + "/" + typ, version: version,
		key:  s.folder(typ, version) + publishtest.ProviderName(typ, version, "docs.zip"),
		body: publishtest.Docs(s.content()),
	}
}

// broken is what no other upload makes right.
func (s *sender) broken() *sent {
	folder := "providers/" + s.namespace + "/widget/"
	return oneOf(s.Rand, []*sent{
		{kind: sentBroken, key: folder + publishtest.ProviderName("widget", "v1.0.0", "linux_amd64.zip"), body: packageBody("widget", "linux_amd64", "a")},
		{kind: sentBroken, key: folder + publishtest.ProviderName("widget", "1.0", "linux_amd64.zip"), body: packageBody("widget", "linux_amd64", "a")},
		{kind: sentBroken, key: folder + publishtest.ProviderName("widget", "3.0.0", "linux_amd64.zip"), body: []byte("no zip")},
		{kind: sentBroken, key: folder + publishtest.ProviderName("widget", "3.0.0", "linux_arm64.zip"), body: packageBody("gadget", "linux_arm64", "a")},
		{kind: sentBroken, key: folder + "2.0.0/" + publishtest.ProviderName("widget", "3.0.0", "linux_amd64.zip"), body: packageBody("widget", "linux_amd64", "a")},
		{kind: sentBroken, key: folder + publishtest.ProviderName("widget", "3.0.0", "docs.zip"), body: packageBody("widget", "linux_amd64", "a")},
		{kind: sentBroken, key: "modules/" + s.namespace + "/vpc/aws/3.0.0.zip", body: publishtest.TarOf(map[string]string{"main.tf": ""})},
		{kind: sentBroken, key: "modules/" + s.namespace + "/vpc/01.0.0.zip", body: publishtest.ZipOf(map[string]string{"main.tf": ""})},
		{kind: sentBroken, key: "keys/" + s.namespace + "/junk.asc", body: []byte("no key")},
		{kind: sentStray, key: folder + "README.md", body: []byte("x")},
		{kind: sentStray, key: "dist/" + s.namespace + "/metadata.json", body: []byte("{}")},
	})
}

// release is an author's, right or wrong, whole or in parts, and now and then
// one after another under the same keys.
func (s *sender) release(t *testing.T, typ, version string) {
	sumsFolder := s.folder(typ, version)
	signatureFolder := sumsFolder
	if chance(s.Rand, 20) {
		signatureFolder = s.folder(typ, version)
	}
	for again := true; again; again = chance(s.Rand, 25) {
		signer, document := s.author, s.sums(typ, version)
		if chance(s.Rand, 10) {
			signer = s.stranger
		}
		signed := document
		if chance(s.Rand, 10) {
			signed = []byte(strings.Repeat("0", 64) + "  x\n")
		}
		signature, err := signer.Sign(t.Context(), signed)
		if err != nil {
			t.Fatal(err)
		}
		name := publishtest.ProviderName(typ, version, "SHA256SUMS")
		if !chance(s.Rand, 10) {
			s.add(&sent{kind: sentSums, subject: s.namespace + "/" + typ, version: version, key: sumsFolder + name, body: document})
		}
		if !chance(s.Rand, 10) {
			s.add(&sent{kind: sentSignature, subject: s.namespace + "/" + typ, version: version, key: signatureFolder + name + ".sig", body: signature})
		}
	}
}

func (s *sender) sums(typ, version string) []byte {
	var lines strings.Builder
	list := func(body []byte, name string) {
		fmt.Fprintf(&lines, "%s  %s\n", blob.SHA256(body), publishtest.ProviderName(typ, version, name))
	}
	for _, platform := range sentPlatforms {
		list(packageBody(typ, platform, s.content()), platform+".zip")
		if chance(s.Rand, 5) {
			break
		}
	}
	if chance(s.Rand, 50) {
		list(manifestOf("6.0"), "manifest.json")
	}
	if chance(s.Rand, 50) {
		list(publishtest.Docs(s.content()), "docs.zip")
	}
	if chance(s.Rand, 5) {
		lines.WriteString("\n")
	}
	return []byte(lines.String())
}

// A model says what a namespace must have come to, by the rules alone: from the
// uploads, and from which of those that exclude each other was accepted.
type model struct {
	*testing.T
	uploads []*sent
	keys    bool // the author's key is here
	tagged  func(*sent) inbox.Status
	author  *signing.Key
}

func newModel(t *testing.T, s *sender) *model {
	m := &model{T: t, uploads: s.uploads, author: s.author}
	m.keys = slices.ContainsFunc(s.uploads, func(u *sent) bool { return u.kind == sentKey })
	return m
}

// identity is address and version without build metadata: of it, there is one.
func (u *sent) identity() string {
	version, _, _ := strings.Cut(u.version, "+")
	return u.subject + " " + version
}

// byIdentity are the uploads of some kinds.
func (m *model) byIdentity(kinds ...sentKind) map[string][]*sent {
	found := map[string][]*sent{}
	for _, u := range m.uploads {
		if slices.Contains(kinds, u.kind) && u.object != "" {
			found[u.identity()] = append(found[u.identity()], u)
		}
	}
	return found
}

// module checks the one module that there is of an identity, and returns the
// statuses of all uploads of it.
func (m *model) module(identity string, uploads []*sent, got *registry.ModuleVersion) map[*sent]inbox.Status {
	statuses := map[*sent]inbox.Status{}
	won := false
	for _, u := range uploads {
		statuses[u] = inbox.Rejected
		if got != nil && u.version == got.Version.String() && u.sha == got.Archive.UploadSHA256 {
			won = true
			statuses[u] = inbox.Published
			if u.h1 != got.Archive.H1 {
				m.Errorf("%s has %s, want %s", identity, got.Archive.H1, u.h1)
			}
		}
	}
	missing := slices.ContainsFunc(uploads, func(u *sent) bool { return !u.expired })
	if got == nil && missing || got != nil && !won {
		m.Errorf("%s is %+v, want one of %d uploads", identity, got, len(uploads))
	}
	return statuses
}

// provider does for a provider what module does for a module.
func (m *model) provider(identity string, uploads []*sent, got registry.ProviderVersion, sums string) map[*sent]inbox.Status {
	statuses := map[*sent]inbox.Status{}
	accepted := map[string]bool{} // what some upload accounts for
	version := got.Version.String()
	byAuthor := got.Release != nil && got.Release.Author
	for _, u := range uploads {
		var have, name string
		switch u.kind {
		case sentPackage:
			name = "package " + u.platform
			for _, pkg := range got.Packages {
				if pkg.Platform.String() == u.platform {
					have = pkg.SHA256
				}
			}
		case sentManifest:
			name = "manifest"
			if got.Manifest != nil {
				have = got.Manifest.SHA256
			}
		case sentDocs:
			name = "documentation"
			if got.Docs != nil {
				have = got.Docs.SHA256
			}
		default:
			continue
		}
		statuses[u] = inbox.Rejected
		if m.held(u) {
			statuses[u] = inbox.Pending
			continue
		}
		switch {
		case got.Revision > 0 && u.version != version:
		case have == u.sha:
			statuses[u] = inbox.Published
			accepted[name] = true
		case have == "" && !u.expired && (!byAuthor || m.lists(sums, u)) && !contradicted(u, got):
			m.Errorf("%s has no %s, which was uploaded", identity, name)
		}
	}
	want := len(got.Packages)
	if got.Manifest != nil {
		want++
	}
	if got.Docs != nil {
		want++
	}
	if len(accepted) != want {
		m.Errorf("%s has more than was uploaded: %+v, uploaded %v", identity, got, accepted)
	}
	return statuses
}

// held says whether a package or documentation waits, as it may where a signed SHA256SUMS
// that contradicts it was uploaded beside it.
func (m *model) held(u *sent) bool {
	if u.kind != sentPackage && u.kind != sentDocs || u.expired || m.tagged(u) != inbox.Pending {
		return false
	}
	of := func(kind sentKind) func(*sent) bool {
		return func(other *sent) bool {
			return other.kind == kind && other.object != "" && other.subject == u.subject && other.version == u.version && !(kind == sentSums && m.lists(string(other.body), u))
		}
	}
	return slices.ContainsFunc(m.uploads, of(sentSums)) && slices.ContainsFunc(m.uploads, of(sentSignature))
}

// lists says whether an author's SHA256SUMS lets an upload in.
func (m *model) lists(sums string, u *sent) bool {
	name := "  " + u.key[strings.LastIndex(u.key, "/")+1:] + "\n"
	return strings.Contains(sums, u.sha+name) || u.kind == sentDocs && !strings.Contains(sums, name)
}

// contradicted says whether what is published keeps a package or a manifest out
// by the protocols that either says, all of which was uploaded at about the same
// time.
func contradicted(u *sent, got registry.ProviderVersion) bool {
	if u.kind == sentPackage {
		return u.says != "" && got.Manifest != nil && got.Manifest.Protocols[0] != u.says
	}
	if u.kind == sentDocs {
		return false
	}
	other := slices.ContainsFunc(got.Packages, func(pkg registry.Package) bool { return len(pkg.Protocols) > 0 && pkg.Protocols[0] != u.says })
	byAuthor := got.Release != nil && got.Release.Author
	return other || u.says == "4.0" && len(got.Packages) > 0 && !byAuthor
}

// release checks what is served of an author, and returns the statuses of the
// files of its releases that are in the bucket last.
func (m *model) release(identity string, uploads []*sent, got registry.ProviderVersion, sums string) map[*sent]inbox.Status {
	byAuthor := got.Release != nil && got.Release.Author
	statuses := map[*sent]inbox.Status{}
	last := map[string]*sent{} // by version, and kind
	adopted := false
	for _, u := range uploads {
		if u.kind != sentSums && u.kind != sentSignature {
			continue
		}
		if before := last[fmt.Sprint(u.version, u.kind)]; before == nil || before.object < u.object {
			last[fmt.Sprint(u.version, u.kind)] = u
		}
		if u.kind == sentSums && byAuthor && u.sha == got.Release.SHA256 && u.version == got.Version.String() {
			adopted = true
		}
	}
	if byAuthor && (!adopted || !m.keys || got.Release.Keys[0].KeyID != m.author.PublicKey().KeyID) {
		m.Errorf("%s is served with a release of another author", identity)
	}
	if byAuthor {
		for _, u := range last {
			statuses[u] = inbox.Rejected
			if u.sha == got.Release.SHA256 || u.sha == got.Release.Signature {
				statuses[u] = inbox.Published
			}
		}
		return statuses
	}
	for _, version := range []string{"1.0.0", "1.0.0+a", "1.1.0", "10.0.0"} {
		m.waiting(identity, last[fmt.Sprint(version, sentSums)], last[fmt.Sprint(version, sentSignature)], got, statuses)
	}
	return statuses
}

// waiting says what becomes of a SHA256SUMS and a signature, one of which may
// be nil, of a version that is not served with any.
func (m *model) waiting(identity string, sums, signature *sent, got registry.ProviderVersion, statuses map[*sent]inbox.Status) {
	broken := sums != nil && strings.HasSuffix(string(sums.body), "\n\n")
	for _, u := range []*sent{sums, signature} {
		if u != nil {
			statuses[u] = inbox.Pending
		}
	}
	if broken {
		statuses[sums] = inbox.Rejected
	}
	if sums == nil || signature == nil || broken || !m.keys {
		return
	}
	issuer, err := signing.InspectSignature(signature.body)
	if err != nil {
		m.Fatal(err)
	}
	if issuer != m.author.PublicKey().KeyID {
		return
	}
	if _, err := signing.Verify([]signing.PublicKey{m.author.PublicKey()}, sums.body, signature.body); err != nil {
		statuses[signature] = inbox.Rejected
		return
	}
	statuses[sums] = inbox.Rejected
	contradicts := got.Revision > 0 && got.Version.String() != sums.version
	for _, pkg := range got.Packages {
		line := pkg.SHA256 + "  " + got.Address.PackageFilename(got.Version, pkg.Platform) + "\n"
		contradicts = contradicts || !strings.Contains(string(sums.body), line)
	}
	if got.Manifest != nil {
		name := "  " + got.Address.ManifestFilename(got.Version) + "\n"
		contradicts = contradicts || strings.Contains(string(sums.body), name) && !strings.Contains(string(sums.body), got.Manifest.SHA256+name)
	}
	if got.Docs != nil {
		name := "  " + got.Address.DocsFilename(got.Version) + "\n"
		contradicts = contradicts || strings.Contains(string(sums.body), name) && !strings.Contains(string(sums.body), got.Docs.SHA256+name)
	}
	if !contradicts {
		m.Errorf("%s is not served with the release of its author, which is complete", identity)
	}
}
