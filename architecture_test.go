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
	"pkg/shasums":               {},
	"pkg/signing":               {},
	"pkg/access":                {},
	"pkg/access/admin":          {"pkg/access"},
	"pkg/registry":              {},
	"pkg/catalog":               {"pkg/registry", "pkg/access"},
	"pkg/protocol":              {"pkg/registry", "pkg/catalog", "pkg/access"},
	"pkg/publish":               {"pkg/registry", "pkg/blob", "pkg/catalog", "pkg/archive", "pkg/shasums", "pkg/signing"},
	"pkg/blob":                  {},
	"pkg/blob/s3blob":           {"pkg/registry", "pkg/blob"},
	"pkg/blob/blobtest":         {"pkg/registry", "pkg/blob"},
	"pkg/catalog/internal":      {"pkg/registry", "pkg/catalog", "pkg/access"},
	"pkg/catalog/boltcatalog":   {"pkg/registry", "pkg/catalog", "pkg/access", "pkg/catalog/internal/"},
	"pkg/catalog/dynamocatalog": {"pkg/registry", "pkg/catalog", "pkg/access", "pkg/catalog/internal/"},
	"pkg/catalog/catalogtest":   {"pkg/registry", "pkg/catalog", "pkg/access"},
	"pkg/control":               {"pkg/registry", "pkg/publish", "pkg/signing", "pkg/access", "pkg/access/admin"},
	"pkg/pullthrough":           {"internal/ttlcache", "pkg/registry", "pkg/blob", "pkg/protocol", "pkg/publish", "pkg/upstream"},
	"pkg/identity":              {"pkg/access"},
	"pkg/login":                 {"pkg/access", "pkg/identity", "pkg/protocol"},
	"pkg/awskms":                {},
	"pkg/upstream":              {"internal/ttlcache", "pkg/registry", "pkg/shasums", "pkg/signing"},
	"functions":                 {"functions/internal/", "pkg/"},
	"functions/internal":        {"functions/internal/", "pkg/", "internal/ttlcache"},
	"internal/archivetest":      {},
	"internal/s3test":           {},
	"internal/dynamotest":       {},
	"internal/keycloaktest":     {"internal/keycloaktest"},
	"internal/kmstest":          {},
	"internal/lambdatest":       {"internal/logtest"},
	"internal/logtest":          {},
	"internal/templatetest":     {},
	"internal/awstest":          {"internal/"},
	"internal/awsconfig":        {},
	"internal/contextio":        {},
	"internal/hostname":         {},
	"internal/printable":        {},
	"internal/progress":         {"internal/printable"},
	"internal/shell":            {},
	"internal/size":             {},
	"internal/ttlcache":         {},
	"internal/node":             {"pkg/", "internal/node/", "internal/contextio", "internal/hostname", "internal/printable", "internal/progress", "internal/shell", "internal/size", "internal/ttlcache"},
	"internal/reach":            {"pkg/", "internal/node/datadir", "internal/node/socket", "internal/awsconfig", "internal/printable", "internal/reach", "internal/size"},
	"internal/check":            {"pkg/", "internal/check/", "internal/awsconfig", "internal/hostname", "internal/printable", "internal/size"},
	"internal/transfer":         {"pkg/", "internal/transfer/", "internal/awsconfig", "internal/contextio", "internal/printable", "internal/progress", "internal/size"},
	"cmd/larder":                {"pkg/", "internal/"},
	"e2e":                       {},
}

// onlyIn says which rooms may import what of others, directly.
var onlyIn = map[string][]string{
	"github.com/aws/aws-lambda-go":                    {"functions"},
	"github.com/aws/aws-sdk-go-v2":                    {"pkg/blob/s3blob", "pkg/catalog/dynamocatalog", "pkg/awskms", "functions/internal", "internal/awsconfig", "internal/check/preflight", "internal/node", "internal/reach", "internal/transfer/upload", "internal/s3test", "internal/dynamotest", "internal/awstest"},
	"github.com/aws/smithy-go":                        {"pkg/blob/s3blob", "pkg/catalog/dynamocatalog", "pkg/awskms", "internal/check/preflight", "internal/reach", "internal/transfer/upload"},
	"github.com/awslabs/aws-lambda-go-api-proxy":      {"functions/internal/gateway"},
	"github.com/klauspost/compress":                   {"pkg/archive"},
	"github.com/versity/versitygw":                    {"internal/node/locals3", "internal/s3test"},
	"go.etcd.io/bbolt":                                {"pkg/catalog/boltcatalog"},
	"github.com/go-jose/":                             {"pkg/identity"},
	"golang.org/x/oauth2":                             {"pkg/identity"},
	"golang.org/x/time":                               {"internal/node/front", "internal/node/serve"},
	"github.com/ProtonMail/go-crypto":                 {"pkg/signing"},
	"github.com/spf13/cobra":                          {"cmd/larder"},
	"github.com/hashicorp/go-version":                 {"pkg/registry"},
	"github.com/hashicorp/terraform-registry-address": {"pkg/registry"},
	"github.com/hashicorp/hcl/":                       {"internal/templatetest"},
	"github.com/zclconf/go-cty/":                      {"internal/templatetest"},
	"go.yaml.in/yaml/":                                {"internal/templatetest"},
	"testing":                                         {"pkg/blob/blobtest", "pkg/catalog/catalogtest", "internal/s3test", "internal/dynamotest", "internal/keycloaktest", "internal/kmstest", "internal/lambdatest", "internal/archivetest", "internal/logtest", "internal/awstest", "internal/node/disk/disktest"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
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

// ours is every package of the module that has code beside its tests.
func ours(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
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
