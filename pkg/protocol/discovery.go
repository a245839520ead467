package protocol

// discoveryDocument names the services and where they are, relative to the
// document's own URL. The paths end with a slash, since the clients do not add one for
// providers.
type discoveryDocument struct {
	Modules   string        `json:"modules.v1"`
	Providers string        `json:"providers.v1"`
	Login     *loginService `json:"login.v1,omitempty"`
}

// loginService tells the clients how a person logs in.
//
// https://developer.hashicorp.com/terraform/internals/login-protocol#service-discovery-of-login-endpoints
type loginService struct {
	Client        string   `json:"client"`
	GrantTypes    []string `json:"grant_types"`
	Authorization string   `json:"authz"`
	Token         string   `json:"token"`
	Ports         [2]int   `json:"ports"`
}

// The client ID of the login protocol, and the ports on localhost at which the client
// listens while a person logs in. Terraform does not use the last port itself.
const (
	LoginClientID  = "terraform-cli"
	LoginFirstPort = 10000
	LoginLastPort  = 10010
)

// newDiscovery is the document that is answered to everybody.
func newDiscovery(login bool) *document {
	services := discoveryDocument{Modules: modulesPath, Providers: providersPath}
	if login {
		services.Login = &loginService{
			Client:        LoginClientID,
			GrantTypes:    []string{"authz_code"},
			Authorization: LoginPath,
			Token:         TokenPath,
			Ports:         [2]int{LoginFirstPort, LoginLastPort},
		}
	}
	return newDocument(encode(services))
}
