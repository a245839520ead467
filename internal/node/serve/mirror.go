package serve

import (
	"github.com/larder-registry/larder/internal/assembly/fetching"
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
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
	fetcher := fetching.New(fetching.Config{
		Patterns: n.settings.MirrorUpstreams, Platforms: n.settings.MirrorPlatforms,
		Inbox: n.blobs, Scratch: scratch, Transport: n.toOrigins, Log: n.logger,
	})
	worker := pullthrough.NewWorker(fetcher.Fetch, n.logger)
	return &mirror{puller: fetcher.Puller(worker.Want), worker: worker}
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
