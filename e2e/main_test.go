// Package e2e proves the registry from outside: uploads by the real AWS CLI, installs by the real Terraform and
// OpenTofu, signatures by GnuPG, logins by a real browser at a real provider of identities (Keycloak). It knows the
// contracts and nothing of the code.
//
// There are two doors to the same registry, and a run has one of them: the real `larder serve`, or the functions as
// template.yaml deploys them. All tests are for both, except those that call startNode or startStack.
//
// The name of a file begins with the subject of its tests:
//
//   - publish_: what becomes of uploads, from any tool;
//   - install_: what clients are answered, and what they install;
//   - access_: who may read and upload, and how they get that right;
//   - operate_: what operators do with a running registry;
//   - survive_: crashes, services that fail, and strangers;
//   - deploy_: deploying to AWS, and the requests to AWS;
//   - support_: helpers of the tests.
//
// `make test` builds what it needs and runs it. Run by itself, it does nothing. Every process that it starts has an
// environment of its own, only talks to this machine, is bounded in time, and ends with the test.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/awstest"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/keycloaktest"
)

// The settings, which the Makefile gives.
var (
	door      = os.Getenv("LARDER_E2E_DOOR")                                 // node or aws; without it nothing runs
	larder    = os.Getenv("LARDER_E2E")                                      // the command under test
	functions = os.Getenv("LARDER_E2E_FUNCTIONS")                            // the folder of the functions under test
	built     = os.Getenv("LARDER_E2E_BUILT")                                // the folder that build-clients filled
	wanted    = strings.Fields(os.Getenv("LARDER_E2E_CLIENTS"))              // which of the built clients to install with
	renew     = os.Getenv("LARDER_E2E_RENEW_TABLE") != ""                    // whether the README's table of clients is to be renewed
	providers = filepath.Join(built, "terraform-provider-time-"+timeVersion) // the real provider, one folder a platform
)

// patience bounds every single wait and command. Nothing here takes a tenth of it on a quiet machine.
const patience = 2 * time.Minute

// clients are the CLIs that every installing test runs with.
var clients []client

// scratch is the folder for files that outlive a single test.
var scratch string

func TestMain(m *testing.M) {
	awstest.Main()
	if door == "" {
		fmt.Println("The end-to-end tests run with `make test`.")
		os.Exit(0)
	}
	os.Exit(run(m))
}

// run finds the clients, runs the tests and takes down what they shared.
func run(m *testing.M) int {
	var err error
	if scratch, err = newScratch(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	if clients, err = findClients(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := dynamotest.Run(withKeycloak{all{m}})
	if code == 0 && renew {
		if err := renewTable(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Print(table())
	}
	return code
}

// maxTempDir is how long, in bytes, the path of the temporary folder may be. Below it lie sockets of Larder, GnuPG and
// Chromium in folders that are named after tests, and a socket's path has at most 103 bytes on some systems.
const maxTempDir = 16

// newScratch makes the scratch folder. If the temporary folder has a long path, as on macOS, scratch becomes the
// temporary folder.
func newScratch() (string, error) {
	if len(os.TempDir()) <= maxTempDir {
		return os.MkdirTemp("", "larder")
	}
	folder, err := os.MkdirTemp("/tmp", "l")
	if err != nil {
		return "", err
	}
	return folder, os.Setenv("TMPDIR", folder)
}

// all are the tests, and the checks after them.
type all struct{ *testing.M }

// Run runs them.
func (a all) Run() int {
	code := a.M.Run()
	if !stopCommon() || !allPermissionsUsed() {
		return max(code, 1)
	}
	return code
}

// withKeycloak are tests that may want a Keycloak.
type withKeycloak struct{ all }

// Run runs them, and stops the Keycloak afterwards.
func (w withKeycloak) Run() int { return keycloaktest.Run(w.all) }

// findClients returns the wanted clients, which must all be there, and the Terraform on PATH if there is one.
func findClients() ([]client, error) {
	var found []client
	for _, name := range wanted {
		c, err := newClient(filepath.Join(built, name), "built from source")
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	if path, err := exec.LookPath("terraform"); err == nil {
		c, err := newClient(path, "found on PATH")
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	for _, c := range found {
		fmt.Printf("client: %s, %s\n", c, c.origin)
	}
	return found, nil
}
