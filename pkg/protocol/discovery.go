package protocol

import "net/http"

// discoveryDocument names the services and where they are, relative to the
// document's own URL. The paths end with a slash, for the provider clients add
// none of their own.
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

// What the clients of the login protocol are told to say of themselves, and to
// listen at while a person logs in: on localhost, from the first port on and up
// to the second, which Terraform itself does not take.
const (
	LoginClientID  = "terraform-cli"
	LoginFirstPort = 10000
	LoginLastPort  = 10010
)

func discovery(login bool) response {
	document := discoveryDocument{Modules: modulesPath, Providers: providersPath}
	if login {
		document.Login = &loginService{
			Client:        LoginClientID,
			GrantTypes:    []string{"authz_code"},
			Authorization: LoginPath,
			Token:         TokenPath,
			Ports:         [2]int{LoginFirstPort, LoginLastPort},
		}
	}
	return response{status: http.StatusOK, cache: public, body: encode(document)}
}
