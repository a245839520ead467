package protocol

import "net/http"

// discoveryDocument names the services and where they are, relative to the
// document's own URL. The paths end with a slash, for the provider clients add
// none of their own.
type discoveryDocument struct {
	Modules   string `json:"modules.v1"`
	Providers string `json:"providers.v1"`
}

func discovery() response {
	return response{
		status: http.StatusOK,
		cache:  public,
		body:   encode(discoveryDocument{Modules: modulesPath, Providers: providersPath}),
	}
}
