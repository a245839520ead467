package serve

import (
	"github.com/larder-registry/larder/internal/assembly/fetching"
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
)

// mirror fetches providers from other registries when clients ask for them.
type mirror struct {
	puller *pullthrough.Puller
	worker *pullthrough.Worker
}

// openMirror opens the mirror, or returns nil if it does not pull through.
func (n *node) openMirror(scratch string) *mirror {
	if len(n.settings.MirrorUpstreams) == 0 {
		return nil
	}
	fetcher := fetching.New(fetching.Config{
		Patterns: n.settings.MirrorUpstreams, Platforms: n.settings.MirrorPlatforms,
		Inbox: n.blobs, Scratch: scratch, Transport: n.toOrigins, Logger: n.logger,
	})
	worker := pullthrough.NewWorker(fetcher.Fetch, n.logger)
	return &mirror{puller: fetcher.Puller(worker.Want), worker: worker}
}

// mirrorHostname returns the registry's hostname as clients send it to a mirror. It is empty
// if the hostname has a port: clients cannot send that.
func (n *node) mirrorHostname() string {
	hostname, err := registry.ParseHostname(n.host())
	if err != nil {
		return ""
	}
	return hostname
}
