// Package assistants puts together what answers the messages of assistants. It is apart from
// package clients, since only a handler that answers them links the library for it.
package assistants

import (
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/mcpserver"
	"github.com/larder-registry/larder/pkg/protocol"
)

// New makes it, over what a handler reads.
func New(reader *catalog.Reader, browser *browse.Browser) protocol.Assistant {
	return mcpserver.New(mcpserver.Config{Browser: browser, Listings: reader})
}
