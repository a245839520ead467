// Command discovery answers service discovery, and says of all else that it is
// not there: it has no catalog to look in, no AWS SDK and no permission. Where
// people can log in, LARDER_LOGIN_ISSUER is set.
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
