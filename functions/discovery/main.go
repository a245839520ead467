// Command discovery answers service discovery, and 404 to every other request. It has no
// catalog, no AWS SDK and no permission. LARDER_LOGIN_ISSUER is set if people can log in.
package main

import (
	"os"

	"github.com/larder-registry/larder/functions/internal/gateway"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/internal/assembly/clients"
)

func main() {
	gateway.Serve(clients.New(clients.Config{LoginIssuer: os.Getenv("LARDER_LOGIN_ISSUER"), Logger: jsonlog.Start()}))
}
