package oldertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// Hostname is that of every registry that is kept.
const Hostname = "registry.example.com"

// An Upload is an object for the inbox, and what becomes of it.
type Upload struct {
	Key    string
	Body   []byte
	Source string // where its publisher says that it was made; empty for nothing
	Status inbox.Status
}

// source is where uploads were made that say so.
const source = "https://git.example.com/acme/all"

// A wrappedModule lies in a folder of its archive, as forges make archives.
func wrappedModule(t *testing.T) []byte {
	t.Helper()
	var data bytes.Buffer
	compressed := gzip.NewWriter(&data)
	archive := tar.NewWriter(compressed)
	const content = "# wrapped\n"
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "terraform-aws-wrapped-1.0.0/main.tf", Size: int64(len(content)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

// docs is the documentation of a provider.
func docs(t *testing.T, content string) []byte {
	return archivetest.Provider(t, "docs/index.md", content)
}

func widget(version, platform string) (name string) {
	return "terraform-provider-widget_" + version + "_" + platform + ".zip"
}

// Uploads are those of the time before anything else, in the order in which they are
// made: each has its status before the next comes.
func Uploads(t *testing.T, author, distrusted Author) []Upload {
	t.Helper()
	module := func(content string) []byte { return archivetest.Module(t, content) }
	provider := func(content string) []byte {
		return archivetest.Provider(t, "terraform-provider-widget_v1", content)
	}
	const widgets = "providers/acme/widget/"
	uploads := []Upload{
		{"modules/acme/vpc/aws/1.0.0.tar.gz", module("# one\n"), source, inbox.Published},
		{"modules/acme/vpc/aws/1.0.0.tar.gz", module("# another one\n"), "", inbox.Rejected}, // so there are two versions of the object
		{"modules/acme/vpc/aws/1.1.0.zip", archivetest.Provider(t, "main.tf", "# zipped\n"), "", inbox.Published},
		{"modules/acme/vpc/aws/1.2.0-beta.1.tgz", module("# beta\n"), "", inbox.Published},
		{"modules/acme/vpc/aws/1.3.0.tar.gz", module("# a mistake\n"), "", inbox.Published},
		{"modules/Acme/Wrapped/aws/1.0.0.tar.gz", wrappedModule(t), "", inbox.Published},
		{"modules/acme/vpc/aws/README.md", []byte("# text\n"), "", inbox.Ignored},
		{"modules/acme/vpc.json/aws/README.md", []byte("# text\n"), "", inbox.Ignored}, // its outcome lies under a hash
		{widgets + widget("1.0.0", "linux_amd64"), provider("1"), "", inbox.Published},
		{widgets + widget("1.0.0", "linux_arm64"), provider("2"), "", inbox.Published},
		{widgets + "1.0.0/" + widget("1.0.0", "windows_amd64"), provider("3"), "", inbox.Published},
		{widgets + "1.0.0/" + widget("1.0.0", "linux_amd64"), provider("other bytes"), "", inbox.Rejected},
		{widgets + widget("1.1.0+build.5", "linux_amd64"), provider("4"), source, inbox.Published},
		{widgets + "terraform-provider-widget_1.2.0_manifest.json", manifest, "", inbox.Published},
		{widgets + widget("1.2.0", "darwin_arm64"), provider("5"), "", inbox.Published},
		{widgets + widget("1.3.0", "linux_amd64"), provider("6"), "", inbox.Published},
		{widgets + "terraform-provider-widget_1.0.0_docs.zip", docs(t, "one"), "", inbox.Published},
		{widgets + "terraform-provider-widget_1.0.0_docs.zip", docs(t, "other bytes"), "", inbox.Rejected},
		{widgets + "terraform-provider-widget_1.8.0_docs.zip", docs(t, "of no package"), "", inbox.Published},
		{widgets + widget("1.4.0", "linux_amd64"), provider("7"), "", inbox.Published},
		{widgets + widget("1.5.0", "linux_amd64"), []byte("no zip"), "", inbox.Rejected},
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.14.2_linux_amd64.zip", archivetest.Provider(t, "terraform-provider-time_v0.14.2_x5", "8"), "", inbox.Published},
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.14.2_windows_amd64.zip", archivetest.Provider(t, "terraform-provider-time_v0.14.2_x5.exe", "9"), "", inbox.Published},
		{"mirror/registry.terraform.io/hashicorp/time/index.json", []byte(`{"versions":{"0.14.2":{}}}`), "", inbox.Ignored},
		{"mirror/" + Hostname + "/acme/widget/" + widget("9.0.0", "linux_amd64"), provider("10"), "", inbox.Rejected},
		{"keys/acme/author.asc", []byte(author.key.PublicKey().ASCIIArmor), "", inbox.Published},
		{"keys/acme/distrusted.asc", []byte(distrusted.key.PublicKey().ASCIIArmor), "", inbox.Published},
	}
	uploads = append(uploads, author.Release(t, "1.0.0")...)
	waiting := author.Release(t, "2.0.0")[1]
	waiting.Status = inbox.Pending
	return append(uploads, waiting)
}

// Later are uploads after all that was asked for.
func Later(t *testing.T) []Upload {
	t.Helper()
	return []Upload{{"providers/acme/widget/" + widget("1.6.0", "linux_amd64"), archivetest.Provider(t, "terraform-provider-widget_v1", "later"), "", inbox.Published}}
}

// Beside are uploads of today, which stand beside what was published then.
func Beside(t *testing.T, author Author) []Upload {
	t.Helper()
	return append([]Upload{
		{"modules/acme/vpc/aws/7.0.0.tar.gz", archivetest.Module(t, "# of today\n"), source, inbox.Published},
		{"modules/acme/vpc/aws/1.1.0.tar.gz", archivetest.Module(t, "# not what it was\n"), "", inbox.Rejected},
		{"providers/acme/widget/" + widget("7.0.0", "linux_amd64"), archivetest.Provider(t, "terraform-provider-widget_v7", "today"), "", inbox.Published},
		{"providers/acme/widget/" + widget("1.0.0", "freebsd_amd64"), archivetest.Provider(t, "terraform-provider-widget_v1", "today"), "", inbox.Published},
		{"providers/acme/widget/" + widget("1.0.0", "linux_arm64"), archivetest.Provider(t, "terraform-provider-widget_v1", "not what it was"), "", inbox.Rejected},
		{"providers/acme/widget/terraform-provider-widget_1.1.0+build.5_docs.zip", docs(t, "of today"), "", inbox.Published},
	}, author.Release(t, "7.0.0")...)
}

var manifest = []byte(`{"version":1,"metadata":{"protocol_versions":["6.0"]}}`)

// An Author signs releases.
type Author struct{ key *signing.Key }

// Author is the folder's, whom it makes at first.
func (f Folder) Author(t *testing.T) Author {
	t.Helper()
	return f.author(t, "author-key.pem")
}

// Distrusted is an author of the folder whose key is not trusted any more.
func (f Folder) Distrusted(t *testing.T) Author {
	t.Helper()
	return f.author(t, "distrusted-key.pem")
}

func (f Folder) author(t *testing.T, name string) Author {
	t.Helper()
	if _, err := os.Stat(f.Path(name)); errors.Is(err, fs.ErrNotExist) {
		NewPrivateKey(t, f.Path(name), 2048)
	}
	signer, created := f.PrivateKey(t, name)
	key, err := signing.NewKey(t.Context(), signer, created, "an author for tests")
	if err != nil {
		t.Fatal(err)
	}
	return Author{key}
}

// Release are the files of a release of the provider acme/signed.
func (a Author) Release(t *testing.T, version string) []Upload {
	t.Helper()
	prefix := "terraform-provider-signed_" + version + "_"
	archive := archivetest.Provider(t, "terraform-provider-signed_v"+version, version)
	sums := fmt.Appendf(nil, "%x  %slinux_amd64.zip\n%x  %smanifest.json\n", sha256.Sum256(archive), prefix, sha256.Sum256(manifest), prefix)
	signature, err := a.key.Sign(t.Context(), sums)
	if err != nil {
		t.Fatal(err)
	}
	var files []Upload
	for _, file := range []struct {
		name   string
		body   []byte
		status inbox.Status
	}{
		{"linux_amd64.zip", archive, inbox.Published}, {"SHA256SUMS", sums, inbox.Pending},
		{"manifest.json", manifest, inbox.Published}, {"SHA256SUMS.sig", signature, inbox.Published},
	} {
		files = append(files, Upload{"providers/acme/signed/" + prefix + file.name, file.body, "", file.status})
	}
	return files
}

// Changes are what operators ask for between Uploads and Later.
func Changes(distrusted Author) []control.Request {
	all := []control.Request{{Distrust: &control.Distrust{Fingerprint: distrusted.key.PublicKey().Fingerprint}}}
	for _, s := range []control.Standing{
		{Address: "acme/vpc/aws", Version: "1.0.0", State: registry.Deprecated, Message: "use 1.1.0"},
		{Address: "acme/vpc/aws", Version: "1.3.0", State: registry.Withdrawn},
		{Address: "acme/widget", Version: "1.0.0", State: registry.Deprecated, Message: "use 1.1.0"},
		{Address: "acme/widget", Version: "1.3.0", State: registry.Withdrawn, Message: "it deletes widgets"},
		{Address: "acme/widget", Version: "1.4.0", State: registry.Withdrawn},
		{Address: "acme/widget", Version: "1.4.0", State: registry.Restored},
	} {
		all = append(all, control.Request{Standing: &s})
	}
	return all
}

// Secrets are what opens the registry. All were made for tests.
type Secrets struct {
	Tokens          map[string]string `json:"tokens"` // by who has one
	AccessKeyID     string            `json:"access_key_id,omitempty"`
	SecretAccessKey string            `json:"secret_access_key,omitempty"` // of an uploader to acme
}

// Who has a token.
const (
	Everything = "everything" // who may read all
	modules    = "modules"
	revoked    = "revoked"
	expires    = "expires" // in the time of others
)

// century is the lifetime of a token that does not expire before the test does.
const century = 100 * 365 * 24 * time.Hour

// NewSecrets has an operator make tokens and rules of trust.
func NewSecrets(t *testing.T, o Operator) Secrets {
	t.Helper()
	s := Secrets{Tokens: map[string]string{}}
	for name, scope := range map[string]string{Everything: "read *", modules: "read modules:acme/*", revoked: "read *", expires: "read *"} {
		secret, id := access.NewToken()
		scope, err := access.ParseScope(scope)
		if err != nil {
			t.Fatal(err)
		}
		create := &admin.CreateToken{ID: id, Name: name, Owner: "a test", Scopes: access.Scopes{scope}, Forever: name != expires}
		if name == expires {
			create.Lifetime = access.Duration(century)
		}
		o.Access(admin.Request{CreateToken: create})
		s.Tokens[name] = secret
	}
	o.Access(admin.Request{RevokeToken: &admin.RevokeToken{Which: revoked}})
	scope, err := access.ParseScope("read providers:acme/*")
	if err != nil {
		t.Fatal(err)
	}
	o.Access(admin.Request{AddRule: &access.Rule{
		Name: "pipelines", Use: access.ForPipelines, Issuer: "https://issuer.example.com", Audience: "larder",
		Claims: []access.Claim{{Name: "repository_owner", Pattern: "acme"}}, Scopes: access.Scopes{scope}, Lifetime: access.Duration(15 * time.Minute),
	}})
	o.Access(admin.Request{AddRule: &access.Rule{
		Name: "people", Use: access.ForPeople, Claims: []access.Claim{{Name: "groups", Pattern: "engineering"}}, Scopes: access.Scopes{scope}, Lifetime: access.Duration(24 * time.Hour),
	}})
	return s
}

// questions are those that a new folder keeps the answers to.
func questions() (all []Question) {
	for _, path := range []string{
		"/v1/modules/acme/vpc/aws/versions", "/v1/modules/acme/vpc/aws/download", "/v1/modules/acme/vpc/aws/1.0.0", "/v1/modules/acme/wrapped/aws/versions",
		"/v1/modules/acme/vpc/aws/1.0.0/download", "/v1/modules/acme/vpc/aws/1.1.0/download", "/v1/modules/acme/vpc/aws/1.2.0-beta.1/download",
		"/v1/modules/acme/vpc/aws/1.3.0/download", "/v1/modules/acme/wrapped/aws/1.0.0/download", "/v1/modules/acme/vpc/aws/9.9.9/download",
		"/v1/providers/acme/widget/versions", "/v1/providers/acme/signed/versions", "/v1/providers/acme/widget/1.1.0+build.5",
		"/v1/providers/acme/widget/1.0.0/download/linux/amd64", "/v1/providers/acme/widget/1.0.0/download/linux/arm64",
		"/v1/providers/acme/widget/1.0.0/download/windows/amd64", "/v1/providers/acme/widget/1.1.0+build.5/download/linux/amd64",
		"/v1/providers/acme/widget/1.2.0/download/darwin/arm64", "/v1/providers/acme/widget/1.3.0/download/linux/amd64",
		"/v1/providers/acme/widget/1.4.0/download/linux/amd64", "/v1/providers/acme/widget/1.6.0/download/linux/amd64",
		"/v1/providers/acme/widget/1.5.0/download/linux/amd64", "/v1/providers/acme/signed/1.0.0/download/linux/amd64",
		"/v1/mirror/registry.terraform.io/hashicorp/time/index.json", "/v1/mirror/registry.terraform.io/hashicorp/time/0.14.2.json",
		"/v1/mirror/" + Hostname + "/acme/widget/index.json", "/v1/mirror/" + Hostname + "/acme/widget/1.0.0.json", "/v1/mirror/" + Hostname + "/acme/signed/1.0.0.json",
	} {
		all = append(all, Question{Path: path, Who: Everything})
	}
	for _, path := range []string{"/v1/modules/acme/vpc/aws/versions", "/v1/providers/acme/widget/versions"} {
		for _, who := range []string{modules, revoked, expires, ""} {
			all = append(all, Question{Path: path, Who: who})
		}
	}
	return append(all, Question{Path: "/v1/modules/acme/vpc/aws/1.0.0/download", Who: Everything, Client: "1.14.0"})
}

// CheckBeside holds that what [Beside] has is listed beside what was there.
func (f Folder) CheckBeside(t *testing.T, d Door) {
	t.Helper()
	for _, path := range []string{"/v1/modules/acme/vpc/aws/versions", "/v1/providers/acme/widget/versions", "/v1/providers/acme/signed/versions"} {
		q := Question{Path: path, Who: Everything}
		want := append(versions(f.answer(t, q)), "7.0.0")
		if got := d.Ask(q); !slices.Equal(versions(got), want) {
			t.Errorf("%s: %s, want %s", path, got.Body, want)
		}
	}
}

// versions are those that a listing has.
func versions(a Answer) (all []string) {
	for _, part := range strings.Split(a.Body, `"version":"`)[1:] {
		version, _, _ := strings.Cut(part, `"`)
		all = append(all, version)
	}
	return all
}
