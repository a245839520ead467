// Package servers is the servers that are measured beside the real doors, and the stand-in
// that they ask. Each runs in a process of its own.
package servers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/bench/internal/child"
	"github.com/larder-registry/larder/bench/internal/dynamostand"
	"github.com/larder-registry/larder/internal/assembly/clients"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/pkg/blob/s3presign"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// What all servers agree on.
const (
	Table  = "larder"
	Bucket = "larder"
	Region = "us-east-1"
)

// The environment variables that make a process one of the servers.
const (
	Mode     = "BENCH_SERVER"   // the server's name
	StandURL = "BENCH_DYNAMODB" // of the stand-in, for those who ask it
	Folder   = "BENCH_FOLDER"   // with the files of the catalog and the tokens, for [Bolt]
)

// The names of the servers.
const (
	Stand     = "stand"     // the stand-in for DynamoDB
	Floors    = "floors"    // what an answer takes at least
	Functions = "functions" // the functions' handler over DynamoDB
	Bolt      = "bolt"      // the single node's handler over its files
)

// The files in [Folder].
const (
	CatalogFile = "catalog.db"
	AccessFile  = "access.db"
)

// The credentials of everybody on AWS. Those of a function always have a session token, of
// about 1,000 bytes.
const (
	AccessKey = "ASIABENCHBENCHBENCH0"
	SecretKey = "benchbenchbenchbenchbenchbenchbenchbench"
)

// SessionToken is the token of these credentials.
var SessionToken = strings.Repeat("bench+session/token=", 50)

// Credentials are those of everybody on AWS.
func Credentials() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, SessionToken)
}

// nodeCredentials are those with which one machine signs the URLs of its own bucket.
func nodeCredentials() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(AccessKey, SecretKey, "")
}

// Open opens the catalog in the stand-in.
func Open(url string) (*dynamocatalog.Catalog, error) {
	return dynamocatalog.New(dynamocatalog.Config{Table: Table, Region: Region, Credentials: Credentials(), Endpoint: url})
}

// Run is one of the servers, until its input ends. It returns false if this process is not
// to be one.
func Run(getenv func(string) string) bool {
	handlers := map[string]func(func(string) string) (http.Handler, error){
		Stand:     func(func(string) string) (http.Handler, error) { return dynamostand.New(Table), nil },
		Floors:    newFloors,
		Functions: newFunctions,
		Bolt:      newBolt,
	}
	name := getenv(Mode)
	if name == "" {
		return false
	}
	err := fmt.Errorf("there is no server %q", name)
	if newHandler := handlers[name]; newHandler != nil {
		var handler http.Handler
		if handler, err = newHandler(getenv); err == nil {
			err = child.Serve(handler)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// newFunctions puts the handler together as the functions that read do.
func newFunctions(getenv func(string) string) (http.Handler, error) {
	table, err := Open(getenv(StandURL))
	if err != nil {
		return nil, err
	}
	links, err := presigner(Credentials())
	if err != nil {
		return nil, err
	}
	return clients.New(clients.Config{
		Catalog: table, Directory: table, Tokens: table.Access(), Remember: catalog.MaxRemember, Presigner: links, Documents: noDocuments{}, Logger: logger(),
	}), nil
}

// newBolt puts the handler together as the single node does.
func newBolt(getenv func(string) string) (http.Handler, error) {
	settings.CollectLess(getenv)
	index, err := boltcatalog.Open(filepath.Join(getenv(Folder), CatalogFile))
	if err != nil {
		return nil, err
	}
	tokens, err := boltcatalog.OpenAccess(filepath.Join(getenv(Folder), AccessFile))
	if err != nil {
		return nil, err
	}
	links, err := presigner(nodeCredentials())
	if err != nil {
		return nil, err
	}
	withTokens := index.WithTokens(tokens)
	return clients.New(clients.Config{
		Catalog: withTokens, Directory: withTokens, Tokens: tokens, Presigner: links, Documents: noDocuments{}, Logger: logger(),
	}), nil
}

// noDocuments is a bucket without documentation: what is measured is the catalog.
type noDocuments struct{}

// Get implements browse.Documents.
func (noDocuments) Get(context.Context, string, int64, int64) ([]byte, error) {
	return nil, registry.ErrNotFound
}

func presigner(by aws.CredentialsProvider) (*s3presign.Presigner, error) {
	return s3presign.New(s3presign.Config{Bucket: Bucket, Region: Region, Credentials: by, Lifetime: 15 * time.Minute})
}

// logger logs as the functions do, to a file.
func logger() *slog.Logger { return slog.New(slog.NewJSONHandler(os.Stderr, nil)) }
