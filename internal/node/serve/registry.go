package serve

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/larder-registry/larder/internal/assembly/assistants"
	"github.com/larder-registry/larder/internal/assembly/clients"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/internal/node/uploadqueue"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/contents/subprocess"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/registry"
)

// urlLifetime is how long a download link works: long enough for an init with many modules,
// which are downloaded one after another.
const urlLifetime = 15 * time.Minute

// openRegistry opens the parts between the bucket and the clients.
func (n *node) openRegistry(ctx context.Context) error {
	var err error
	if n.blobs, err = n.bucket.Bucket(); err != nil {
		return err
	}
	if n.links, err = n.bucket.Links(n.settings.S3Endpoint(n.bucket.Port), urlLifetime); err != nil {
		return err
	}
	if err := n.warnOfLostFiles(ctx); err != nil {
		return err
	}
	if n.access, err = boltcatalog.OpenAccess(n.dir.Path(datadir.Access)); err != nil {
		return err
	}
	if n.tokens, err = n.openTokens(); err != nil {
		return err
	}
	signer, err := n.openSigner(ctx, datadir.SigningKey)
	if err != nil {
		return err
	}
	n.ownKey = registry.OwnKeyKey(signer.PublicKey().Fingerprint)
	scratch, err := n.dir.Folder(datadir.Scratch)
	if err != nil {
		return err
	}
	err = n.openPublisher(ctx, publishing.Config{
		Bucket: n.blobs, Signer: signer, Scratch: scratch, Reader: subprocess.New(), Logger: n.logger,
		Hostname: n.mirrorHostname(), KeysAreFiles: true, WrittenBy: n.bucket.WrittenBy,
		Operators: control.Config{Rotate: n.rotate, Access: n.tokens.Operators, AccessKeys: accessKeys{n}},
	})
	if err != nil {
		return err
	}
	n.mirror = n.openMirror(scratch)
	return nil
}

// lostFiles are files that a start makes anew with another content, if they are missing.
var lostFiles = []struct{ name, warning string }{
	{datadir.Access, "the tokens and rules of trust were not there, so there are none: make them anew; or stop the server, and put the file back from a backup"},
	{datadir.SigningKey, "the signing key was not there, so there is a new one, and what is published keeps its signatures; to go on with the old one, stop the server, and put the file back from a backup"},
}

// warnOfLostFiles logs, unless the registry is new, which of its files are missing and will
// be made anew.
func (n *node) warnOfLostFiles(ctx context.Context) error {
	hasSigned, err := blob.IsAny(ctx, n.blobs, registry.OwnKeysPrefix)
	if err != nil || !hasSigned {
		return err
	}
	for _, lost := range lostFiles {
		if _, err := os.Stat(n.dir.Path(lost.name)); errors.Is(err, fs.ErrNotExist) {
			n.logger.Warn(lost.warning, "file", n.dir.Path(lost.name))
		}
	}
	return nil
}

// documents reads what was read from archives.
type documents struct{ bucket blob.Bucket }

// Get implements [browse.Documents].
func (d documents) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	return blob.ReadRange(ctx, d.bucket, key, offset, length)
}

// newUploadQueue makes the queue between the bucket and the publisher.
func (n *node) newUploadQueue() *uploadqueue.Queue {
	publish := func(ctx context.Context, key string) error { return n.publisher.PublishKey(ctx, key) }
	return uploadqueue.New(publish, func() bool { return n.disk.Takes(0) }, n.logger)
}

// notice is called with every key that is written or deleted. Another upload may have waited
// for a deletion: for example, a package that contradicts a SHA256SUMS.
func (n *node) notice(key string) {
	if !strings.HasPrefix(key, registry.Prefix) {
		n.uploads.Notice(key)
	}
}

// startPublishing publishes new uploads and, when these leave time, uploads that were made
// while the node was down, until the function that it returns is called.
func (n *node) startPublishing(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { n.uploads.Run(ctx) })
	running.Go(func() { n.disk.Run(ctx) })
	running.Go(func() { n.pruneDaily(ctx) })
	if n.mirror != nil {
		running.Go(func() { n.mirror.worker.Run(ctx) })
	}
	if n.compareLater {
		running.Go(func() { n.compare(ctx) })
	}
	running.Go(func() {
		for key, err := range n.publisher.Inbox.Uploads(ctx, "") {
			if err != nil {
				if ctx.Err() == nil {
					n.logger.Error("cannot look for uploads that were made while the server was down; restart it to try again", "error", err)
				}
				return
			}
			n.uploads.Later(key)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// newHandler makes the handler that answers clients. It looks a token up at every request,
// which takes no time, so a revoked token ends at once. It also lets the bucket give access
// keys to pipelines.
func (n *node) newHandler() http.Handler {
	n.bucket.IssueBy(n.tokens.STS)
	n.logLogin()
	withTokens := n.catalog.WithTokens(n.access)
	c := clients.Config{
		Catalog:     withTokens,
		Directory:   withTokens,
		Tokens:      n.access,
		Presigner:   n.links,
		Documents:   documents{n.blobs},
		Assistants:  assistants.New,
		SignIn:      n.tokens.SignIn,
		Hostname:    n.mirrorHostname(),
		Open:        n.settings.Auth == settings.AuthOpen,
		LoginIssuer: n.settings.Login.Issuer,
		Logger:      n.logger,
	}
	if n.mirror != nil {
		c.Origins = n.mirror.puller
	}
	return n.newHealth(n.ownKey, clients.New(c))
}
