// Package larder_test holds the rules of the repository as a whole.
package larder_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/larder-registry/larder/"

// mayImport says, for each room, which of our own packages its code may import; what
// ends in a slash is all below a folder. A room that is not listed may not exist.
var mayImport = map[string][]string{
	"pkg/archive":               {},
	"pkg/registry/registrytest": {"pkg/registry"},
	"pkg/contents":              {},
	"pkg/contents/reader":       {"pkg/contents", "pkg/archive"},
	"pkg/contents/subprocess":   {"pkg/contents", "pkg/contents/reader", "pkg/archive"},
	"pkg/shasums":               {},
	"pkg/signing":               {},
	"pkg/access":                {},
	"pkg/access/admin":          {"pkg/access"},
	"pkg/registry":              {},
	"pkg/catalog":               {"internal/ttlcache", "pkg/registry", "pkg/access"},
	"pkg/directory":             {"pkg/registry", "pkg/access", "pkg/catalog"},
	"pkg/browse":                {"internal/sizedlru", "pkg/registry", "pkg/catalog", "pkg/access", "pkg/contents", "pkg/directory"},
	"pkg/protocol":              {"pkg/pages", "internal/jsonstring", "internal/sizedlru", "pkg/registry", "pkg/catalog", "pkg/access", "pkg/browse", "pkg/contents", "pkg/directory"},
	"pkg/mcpserver":             {"pkg/access", "pkg/browse", "pkg/catalog", "pkg/contents", "pkg/directory", "pkg/pages", "pkg/registry"},
	"pkg/pages":                 {"pkg/browse", "pkg/contents", "pkg/directory", "pkg/registry"},
	"pkg/inbox":                 {"pkg/registry", "pkg/blob", "pkg/archive", "pkg/shasums", "pkg/signing"},
	"pkg/contents/store":        {"pkg/registry", "pkg/blob", "pkg/contents", "pkg/directory"},
	"pkg/versionlog":            {"pkg/registry", "pkg/blob", "pkg/catalog", "pkg/shasums", "pkg/signing"},
	"pkg/authorkeys":            {"pkg/registry", "pkg/blob", "pkg/inbox", "pkg/signing"},
	"pkg/upkeep":                {"pkg/contents/store", "pkg/directory", "pkg/registry", "pkg/blob", "pkg/catalog", "pkg/inbox", "pkg/versionlog", "pkg/authorkeys", "pkg/shasums", "pkg/signing"},
	"pkg/publish":               {"pkg/contents/store", "pkg/registry", "pkg/blob", "pkg/inbox", "pkg/versionlog", "pkg/authorkeys", "pkg/catalog", "pkg/archive", "pkg/shasums", "pkg/signing"},
	"pkg/blob":                  {},
	"pkg/blob/s3blob":           {"internal/awserror", "pkg/registry", "pkg/blob"},
	"pkg/blob/s3presign":        {"internal/awsregion", "internal/awssignature"},
	"pkg/blob/blobtest":         {"pkg/registry", "pkg/blob"},
	"pkg/catalog/internal":      {"pkg/registry", "pkg/catalog", "pkg/access"},
	"pkg/catalog/boltcatalog":   {"internal/sizedlru", "pkg/registry", "pkg/catalog", "pkg/access", "pkg/catalog/internal/"},
	"pkg/catalog/dynamocatalog": {"pkg/registry", "pkg/catalog", "pkg/access", "pkg/catalog/internal/", "pkg/catalog/dynamocatalog/internal/"},
	"pkg/catalog/catalogtest":   {"pkg/registry", "pkg/catalog", "pkg/access"},
	"pkg/control":               {"pkg/registry", "pkg/inbox", "pkg/authorkeys", "pkg/upkeep", "pkg/signing", "pkg/access", "pkg/access/admin"},
	"pkg/pullthrough":           {"internal/ttlcache", "pkg/registry", "pkg/blob", "pkg/protocol", "pkg/upstream"},
	"pkg/identity":              {"pkg/access"},
	"pkg/login":                 {"internal/printable", "pkg/access", "pkg/identity", "pkg/protocol"},
	"pkg/awskms":                {},
	"pkg/upstream":              {"internal/printable", "internal/ttlcache", "pkg/registry", "pkg/blob", "pkg/shasums", "pkg/signing"},
	"functions":                 {"functions/internal/", "internal/assembly/", "pkg/"},
	"functions/internal":        {"functions/internal/", "internal/assembly/", "pkg/", "internal/jsonstring", "internal/ttlcache"},
	"internal/assembly":         {"pkg/"},
	"internal/archivetest":      {},
	"internal/s3test":           {},
	"internal/enginetest":       {},
	"internal/dynamotest":       {"internal/enginetest"},
	"internal/keycloaktest":     {"internal/keycloaktest", "internal/enginetest"},
	"internal/kmstest":          {},
	"internal/lambdaenv":        {},
	"internal/lambdatest":       {"internal/lambdaenv", "internal/logtest"},
	"internal/logtest":          {},
	"internal/publishtest":      {"pkg/", "internal/assembly/publishing", "internal/dynamotest", "internal/logtest", "internal/s3test"},
	"internal/oldertest":        {"pkg/", "internal/archivetest"},
	"internal/templatetest":     {},
	"internal/awstest":          {"internal/"},
	"internal/awsconfig":        {},
	"internal/awserror":         {},
	"internal/awsregion":        {},
	"internal/awssignature":     {},
	"internal/contextio":        {},
	"internal/credentials":      {},
	"internal/registryclient":   {"internal/httperror", "internal/printable"},
	"internal/mcprelay":         {},
	"internal/hostname":         {},
	"internal/httperror":        {},
	"internal/jsonstring":       {},
	"internal/printable":        {},
	"internal/progress":         {"internal/printable"},
	"internal/shell":            {},
	"internal/size":             {},
	"internal/sizedlru":         {},
	"internal/ttlcache":         {},
	"internal/node":             {"pkg/", "internal/node/", "internal/assembly/", "internal/awssignature", "internal/contextio", "internal/hostname", "internal/printable", "internal/progress", "internal/shell", "internal/size", "internal/ttlcache"},
	"internal/reach":            {"pkg/", "internal/node/datadir", "internal/node/socket", "internal/awsconfig", "internal/printable", "internal/progress", "internal/reach", "internal/size"},
	"internal/check":            {"pkg/", "internal/check/", "internal/awsconfig", "internal/credentials", "internal/awserror", "internal/hostname", "internal/httperror", "internal/printable", "internal/size"},
	"internal/transfer":         {"pkg/", "internal/transfer/", "internal/awsconfig", "internal/contextio", "internal/httperror", "internal/printable", "internal/progress", "internal/size"},
	"cmd/larder":                {"pkg/", "internal/"},
	"bench":                     {"pkg/", "bench/internal/", "internal/assembly/clients", "internal/assembly/publishing", "internal/lambdaenv", "internal/node/disk", "internal/node/settings", "internal/progress"},
	"bench/internal/scale":      {"bench/internal/scale"},
	"e2e":                       {},

	// What a driver has for itself.
	"pkg/catalog/dynamocatalog/internal": {"internal/awsregion", "internal/awssignature", "internal/jsonstring"},
}

// onlyIn says which rooms may import what of others, directly.
var onlyIn = map[string][]string{
	"github.com/aws/aws-lambda-go":                    {"functions", "bench/echo"},
	"github.com/aws/aws-sdk-go-v2":                    {"pkg/blob/s3blob", "pkg/blob/s3presign", "pkg/catalog/dynamocatalog", "pkg/awskms", "functions/internal", "internal/awsconfig", "internal/awserror", "internal/check/preflight", "internal/node", "internal/reach", "internal/transfer/upload", "internal/s3test", "internal/dynamotest", "internal/awstest", "bench"},
	"github.com/aws/aws-sdk-go-v2/service/dynamodb":   {"internal/dynamotest", "internal/awstest", "bench"},
	"github.com/aws/smithy-go":                        {"pkg/awskms", "internal/awserror", "internal/reach", "internal/transfer/upload"},
	"github.com/awslabs/aws-lambda-go-api-proxy":      {"functions/internal/gateway"},
	"github.com/klauspost/compress":                   {"pkg/archive", "pkg/protocol"},
	"github.com/hashicorp/golang-lru":                 {"internal/sizedlru"},
	"github.com/versity/versitygw":                    {"internal/node/locals3", "internal/s3test", "internal/oldertest", "bench"},
	"github.com/versity/versitygw/embedgw":            {"internal/s3test"},
	"go.etcd.io/bbolt":                                {"pkg/catalog/boltcatalog", "bench/internal/dataset"},
	"github.com/go-jose/":                             {"pkg/identity"},
	"golang.org/x/oauth2":                             {"pkg/identity"},
	"golang.org/x/time":                               {"internal/node/front", "internal/node/serve"},
	"github.com/ProtonMail/go-crypto":                 {"pkg/signing", "internal/publishtest"},
	"github.com/spf13/cobra":                          {"cmd/larder"},
	"github.com/hashicorp/go-version":                 {"pkg/registry"},
	"github.com/hashicorp/terraform-registry-address": {"pkg/registry"},
	"github.com/hashicorp/hcl/":                       {"internal/credentials", "pkg/contents/reader", "internal/templatetest"},
	"github.com/hashicorp/terraform-config-inspect":   {"pkg/contents/reader"},
	"github.com/zclconf/go-cty/":                      {"internal/credentials", "pkg/contents/reader", "internal/templatetest"},
	"go.yaml.in/yaml/":                                {"pkg/contents/reader", "internal/templatetest"},
	"github.com/yuin/goldmark":                        {},
	"github.com/modelcontextprotocol/go-sdk":          {"pkg/mcpserver"},
	"testing":                                         {"pkg/registry/registrytest", "pkg/blob/blobtest", "pkg/catalog/catalogtest", "internal/s3test", "internal/dynamotest", "internal/enginetest", "internal/keycloaktest", "internal/kmstest", "internal/lambdatest", "internal/archivetest", "internal/logtest", "internal/publishtest", "internal/oldertest", "internal/awstest", "internal/node/disk/disktest"},
}

// mayLink says, for each function, all of our own packages that may be in its binary:
// what a function has no need of is not deployed with it.
var mayLink = map[string][]string{
	"functions/discovery": allOf(answers, "functions/internal/gateway", "functions/internal/jsonlog"),
	"functions/versions":  allOf(answers, table, "functions/internal/reading", "functions/internal/gateway"),
	"functions/download":  allOf(answers, table, links, "functions/internal/reading", "functions/internal/gateway"),
	"functions/catalog":   allOf(answers, table, "internal/assembly/assistants", "pkg/mcpserver", "functions/internal/documents", "pkg/blob/s3presign", "functions/internal/reading", "functions/internal/gateway"),
	"functions/login":     allOf(answers, table, "internal/assembly/tokens", "pkg/access/admin", "pkg/identity", "pkg/login", "internal/printable", "functions/internal/gateway", "functions/internal/parameter", "functions/internal/signin"),
	"functions/fetch":     allOf(answers, table, links, bucket, "functions/internal/reading", "internal/assembly/fetching", "pkg/pullthrough", "pkg/upstream", "internal/printable", "pkg/shasums", "pkg/signing", "functions/internal/gateway", "functions/internal/pullmirror", "functions/internal/queue"),
	"functions/publish": allOf(table, bucket, "pkg/contents", "pkg/contents/reader", "pkg/contents/subprocess", "pkg/contents/store", "pkg/directory", "internal/assembly/publishing", "internal/assembly/ownkey", "pkg/inbox", "pkg/versionlog", "pkg/authorkeys", "pkg/publish", "pkg/upkeep", "pkg/archive", "pkg/shasums", "pkg/signing", "pkg/awskms", "pkg/control", "pkg/access/admin",
		"functions/internal/publishevents", "functions/internal/queue", "functions/internal/kmskey", "functions/internal/topic"),
}

// What several functions link.
const (
	answers = "internal/assembly/clients pkg/pages pkg/registry pkg/catalog pkg/access pkg/protocol pkg/browse pkg/contents pkg/directory internal/jsonstring internal/sizedlru internal/ttlcache"
	table   = "pkg/registry pkg/catalog pkg/access internal/ttlcache pkg/catalog/dynamocatalog pkg/catalog/dynamocatalog/internal/wire internal/awsregion internal/awssignature internal/jsonstring pkg/catalog/internal/layout functions/internal/variables functions/internal/jsonlog"
	links   = "functions/internal/links pkg/blob/s3presign internal/awsregion internal/awssignature"
	bucket  = "functions/internal/bucket pkg/blob pkg/blob/s3blob internal/awserror"
)

func allOf(packages ...string) []string { return strings.Fields(strings.Join(packages, " ")) }

type goPackage struct {
	ImportPath string
	Name       string
	Imports    []string
	Deps       []string // what it imports, what that imports, and so on
}

func TestDependenciesRunOneWay(t *testing.T) {
	packages := ours(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages", len(packages))
	}
	for _, pkg := range packages {
		name := strings.TrimPrefix(pkg.ImportPath, module)
		room := roomOf(name)
		if room == "" {
			t.Errorf("%s: say in this test what it may import", name)
			continue
		}
		for _, imported := range pkg.Imports {
			if own, ok := strings.CutPrefix(imported, module); ok && !isOneOf(own, mayImport[room]) {
				t.Errorf("%s imports %s", name, own)
			}
			for foreign, rooms := range onlyIn {
				if strings.HasPrefix(imported, foreign) && !isIn(name, rooms) {
					t.Errorf("%s imports %s, which is for %s alone", name, imported, strings.Join(rooms, ", "))
				}
			}
		}
	}
}

// TestFunctionsLinkNoMoreThanTheyNeed holds each function to what it may link, and what
// it may link to what it does.
func TestFunctionsLinkNoMoreThanTheyNeed(t *testing.T) {
	functions := 0
	for _, pkg := range ours(t) {
		name := strings.TrimPrefix(pkg.ImportPath, module)
		if pkg.Name != "main" || path.Dir(name) != "functions" {
			continue
		}
		functions++
		var linked []string
		for _, dependency := range pkg.Deps {
			if own, ok := strings.CutPrefix(dependency, module); ok {
				linked = append(linked, own)
				if !slices.Contains(mayLink[name], own) {
					t.Errorf("%s links %s", name, own)
				}
			}
		}
		for _, own := range mayLink[name] {
			if !slices.Contains(linked, own) {
				t.Errorf("%s may link %s, and does not: take that out of this test", name, own)
			}
		}
	}
	if functions != len(mayLink) {
		t.Errorf("there are %d functions, and this test knows %d", functions, len(mayLink))
	}
}

// ours is every package of the module that has code beside its tests.
func ours(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg goPackage
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(pkg.ImportPath, module) {
			packages = append(packages, pkg)
		}
	}
}

// roomOf is the listed room that a package belongs to.
func roomOf(name string) string {
	for ; name != "."; name = path.Dir(name) {
		if _, ok := mayImport[name]; ok {
			return name
		}
	}
	return ""
}

// isOneOf says whether a package is one of some, or below one that ends in a slash.
func isOneOf(name string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool {
		return name == p || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p)
	})
}

// isIn says whether a package is in one of some rooms.
func isIn(name string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool { return strings.HasPrefix(name+"/", room+"/") })
}
