// Package publishing puts together what publishes uploads, and the handler of operators'
// requests.
package publishing

import (
	"context"
	"log/slog"

	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents/store"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/upkeep"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// Index is a catalog with its directory: a driver of package catalog.
type Index interface {
	catalog.Index
	catalog.DirectoryIndex
}

// Config is what a [Registry] works with. Reader, Hostname, KeysAreFiles, WrittenBy,
// Announce and Operators may be left out, every other field is required.
type Config struct {
	Bucket  blob.Bucket
	Index   Index
	Signer  versionlog.Signer
	Scratch string // a folder with room for the largest upload times the number of them at once
	Logger  *slog.Logger

	Reader       store.Reader                                                   // of documentation; nil: none is read
	Hostname     string                                                         // see [publish.Config]
	KeysAreFiles bool                                                           // see [inbox.Config]
	WrittenBy    func(ctx context.Context, key, version string) (string, error) // see [inbox.Config]
	Announce     func(context.Context, inbox.Outcome) error                     // see [inbox.Config]

	// Operators answers what operators ask that is not for a publisher. Its Registry is set
	// here.
	Operators control.Config
}

// Registry publishes uploads, walks over what it has, and answers operators.
type Registry struct {
	*publish.Publisher
	*upkeep.Walks
	*control.Handler
	Inbox *inbox.Inbox
	Log   *versionlog.Log
	Keys  *authorkeys.Keys
}

// New puts a registry together. It sends no request.
func New(c Config) Registry {
	in := inbox.New(inbox.Config{Bucket: c.Bucket, Logger: c.Logger, KeysAreFiles: c.KeysAreFiles, WrittenBy: c.WrittenBy, Announce: c.Announce})
	documents := store.New(store.Config{Bucket: c.Bucket, Scratch: c.Scratch, Reader: c.Reader})
	lists := directory.NewWriter(directory.WriterConfig{Index: c.Index, Contents: documents})
	log := versionlog.New(versionlog.Config{Bucket: c.Bucket, Index: c.Index, Directory: lists, Signer: c.Signer, Logger: c.Logger})
	keys := authorkeys.New(authorkeys.Config{Bucket: c.Bucket, OwnKey: log.PublicKey, Logger: c.Logger})
	publisher := publish.New(publish.Config{Bucket: c.Bucket, Index: c.Index, Inbox: in, Log: log, Keys: keys, Contents: documents, Scratch: c.Scratch, Hostname: c.Hostname})
	walks := upkeep.New(upkeep.Config{Bucket: c.Bucket, Index: c.Index, Directory: lists, Contents: documents, Inbox: in, Log: log, Keys: keys, Logger: c.Logger})
	c.Operators.Registry = control.Registry{Log: log, Keys: keys, Inbox: in, Walks: walks}
	return Registry{Publisher: publisher, Walks: walks, Handler: control.New(c.Operators), Inbox: in, Log: log, Keys: keys}
}
