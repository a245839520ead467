package serve

import (
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

// mirror fetches from other registries what clients ask for.
type mirror struct {
	puller *pullthrough.Puller
	worker *pullthrough.Worker
}

// openMirror is nil where nothing is pulled through.
func (n *node) openMirror(scratch string) *mirror {
	if len(n.settings.MirrorUpstreams) == 0 {
		return nil
	}
	origins := upstream.New(upstream.Config{Transport: n.toOrigins})
	fetcher := &pullthrough.Fetcher{Source: origins, Inbox: n.blobs, Scratch: scratch, Log: n.logger}
	worker := pullthrough.NewWorker(fetcher.Fetch, n.logger)
	return &mirror{
		puller: pullthrough.New(pullthrough.Config{
			Origins:   origins,
			Patterns:  n.settings.MirrorUpstreams,
			Platforms: n.settings.MirrorPlatforms,
			Want:      worker.Want,
			Log:       n.logger,
		}),
		worker: worker,
	}
}

// mirrorHostname is the registry's hostname as clients name it to a mirror, or
// empty where they cannot: because it has a port.
func (n *node) mirrorHostname() string {
	hostname, err := registry.ParseHostname(n.host())
	if err != nil {
		return ""
	}
	return hostname
}
