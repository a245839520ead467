package login

import (
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/larder-registry/larder/pkg/protocol"
)

const (
	maxForm  = 64 << 10 // bytes
	maxState = 512      // bytes
)

// The URL at which the clients listen is these two, with a port between them.
const (
	clientHost = "http://localhost:"
	clientPath = "/login"
)

// fields are parameters, each of which was given once.
type fields map[string]string

// readFields reads a query or a form. RFC 6749, section 3.1, forbids a parameter that is
// given twice: other software could read the other value.
func readFields(encoded string) (fields, error) {
	values, err := url.ParseQuery(encoded)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, invalidRequest, "the parameters cannot be read")
	}
	all := make(fields, len(values))
	for name, given := range values {
		if len(given) != 1 {
			return nil, refuse(http.StatusBadRequest, invalidRequest, "a parameter is given more than once")
		}
		all[name] = given[0]
	}
	return all, nil
}

// readForm reads the body of a request, which is the only place for secrets:
// queries end in logs and histories.
func readForm(r *http.Request) (fields, error) {
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return nil, refuse(http.StatusBadRequest, invalidRequest, "there are parameters in the query: they belong into the body, as a form")
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/x-www-form-urlencoded" {
		return nil, refuse(http.StatusBadRequest, invalidRequest, "the body must be a form: application/x-www-form-urlencoded")
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxForm))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, refuse(http.StatusRequestEntityTooLarge, invalidRequest, "the form is larger than 64 KiB")
	case err != nil:
		return nil, refuse(http.StatusBadRequest, invalidRequest, "the form did not arrive whole")
	}
	return readFields(string(body))
}

// readAuthorization reads the query with which a client sends a person here. It accepts
// only what the clients send.
//
// https://developer.hashicorp.com/terraform/internals/login-protocol
func readAuthorization(query string) (login, error) {
	f, err := readFields(query)
	if err != nil {
		return login{}, err
	}
	port, ok := clientPort(f["redirect_uri"])
	_, challengeError := decodeChallenge(f["code_challenge"])
	wrong := ""
	switch {
	case f["client_id"] != protocol.LoginClientID:
		wrong = "the client_id is not that of Terraform and OpenTofu"
	case !ok:
		wrong = "the redirect_uri is not where Terraform and OpenTofu listen on this computer"
	case f["response_type"] != "code":
		wrong = "the response_type must be code"
	case !isState(f["state"]):
		wrong = "the state is missing, or too long, or has characters that cannot be in it"
	case f["code_challenge_method"] != "S256":
		wrong = "the code_challenge_method must be S256"
	case challengeError != nil:
		wrong = "the code_challenge must be a SHA-256 in base64url"
	}
	if wrong != "" {
		return login{}, refuse(http.StatusBadRequest, invalidRequest, wrong)
	}
	return login{Port: port, State: f["state"], Challenge: f["code_challenge"]}, nil
}

// clientPort is the port of exactly http://localhost:PORT/login, with one of the ports
// that discovery names. A person is never sent anywhere else.
func clientPort(uri string) (port int, ok bool) {
	text, hasHost := strings.CutPrefix(uri, clientHost)
	text, hasPath := strings.CutSuffix(text, clientPath)
	port, _ = strconv.Atoi(text) // 0 if it is not a number, which the comparison below refuses
	return port, hasHost && hasPath && strconv.Itoa(port) == text &&
		port >= protocol.LoginFirstPort && port <= protocol.LoginLastPort
}

// isState checks the length and the alphabet: RFC 6749, appendix A.5.
func isState(state string) bool {
	return state != "" && len(state) <= maxState && !strings.ContainsFunc(state, func(c rune) bool { return c < ' ' || c > '~' })
}

// decodeChallenge is the SHA-256 in a challenge: RFC 7636, section 4.2.
func decodeChallenge(challenge string) ([]byte, error) {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(challenge)
	if len(challenge) != 43 { // newlines are skipped
		err = errors.New("it is not 43 characters long")
	}
	return sum, err
}
