package serve

import (
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/socket"
)

// answerOperators answers operators' commands, until the function that it returns is called.
// A node that cannot do that still serves.
func (n *node) answerOperators() (stop func() error) {
	listener, err := socket.Listen(n.dir.Path(datadir.Socket))
	if err != nil {
		n.logger.Warn("operators' commands, such as larder verify, cannot reach this server", "error", err)
		return func() error { return nil }
	}
	files := socket.Files{datadir.Access: n.access.CopyTo}
	return socket.Serve(listener, n.publisher.Handler, files, n.logger).Close
}
