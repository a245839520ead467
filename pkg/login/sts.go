package login

import (
	"crypto/rand"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/identity"
)

// Sessions makes access keys of a bucket that are good for a while.
type Sessions interface {
	// NewSession makes one for uploads to some namespaces. The uploads have the
	// given name as theirs.
	NewSession(name string, namespaces []string, expires time.Time) (Session, error)
}

// Session is an access key that is good for a while, with the token that goes with it.
type Session struct{ AccessKeyID, SecretAccessKey, SessionToken string }

// How long a key may be good, as on AWS. Without a wish it is maxSession.
const (
	minSession = 15 * time.Minute
	maxSession = time.Hour
)

// maxWriter is the longest name of a pipeline that uploads, in bytes.
const maxWriter = 240

// NewSTS answers AssumeRoleWithWebIdentity, as AWS's STS does. AWS's own clients send this
// request without being asked: it has an identity token, and its answer has the keys of a
// session. The rules for pipelines say what these may upload. The role in the request is
// ignored.
//
// https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html
func NewSTS(config Config, sessions Sessions) http.Handler {
	h := &handler{config, access.LogTo(config.Logger)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, err := h.assume(r, sessions)
		if err != nil {
			h.refuseAssume(w, r, err)
			return
		}
		writeXML(w, http.StatusOK, document)
	})
}

// assumed is the answer with the keys.
type assumed struct {
	XMLName     xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ AssumeRoleWithWebIdentityResponse"`
	Subject     string   `xml:"AssumeRoleWithWebIdentityResult>SubjectFromWebIdentityToken"`
	RoleARN     string   `xml:"AssumeRoleWithWebIdentityResult>AssumedRoleUser>Arn"`
	RoleID      string   `xml:"AssumeRoleWithWebIdentityResult>AssumedRoleUser>AssumedRoleId"`
	AccessKeyID string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>AccessKeyId"`
	Secret      string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>SecretAccessKey"`
	Token       string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>SessionToken"`
	Expiration  string   `xml:"AssumeRoleWithWebIdentityResult>Credentials>Expiration"`
	Provider    string   `xml:"AssumeRoleWithWebIdentityResult>Provider"`
	RequestID   string   `xml:"ResponseMetadata>RequestId"`
}

func (h *handler) assume(r *http.Request, sessions Sessions) (assumed, error) {
	f, err := readForm(r)
	if err != nil {
		return assumed{}, err
	}
	most, err := checkAssume(f)
	if err != nil {
		return assumed{}, err
	}
	p, err := h.identify(r, f["WebIdentityToken"], wish{"access key for an identity", func(rule access.Rule) bool { return len(rule.Uploads) > 0 }})
	if err != nil {
		return assumed{}, err
	}
	if len(p.Uploads) > access.MaxNamespaces {
		err := refuse(http.StatusForbidden, invalidGrant, fmt.Sprintf("the rules that fit give uploads to more than %d namespaces: ask those who run the registry to give fewer", access.MaxNamespaces))
		h.decide(r.Context(), p.who(), p.what, false, err.text)
		return assumed{}, err
	}
	expires := time.Now().Add(min(most, p.Lifetime)).UTC().Truncate(time.Second)
	session, err := sessions.NewSession(writer(p), p.Uploads, expires)
	if err != nil {
		return assumed{}, err
	}
	h.decide(r.Context(), p.who(), "access key for uploads to "+strings.Join(p.Uploads, ", "), true, byRules(p.Rules)+", access key "+session.AccessKeyID)
	return assumed{
		Subject: p.subject, Provider: p.issuer, RoleARN: f["RoleArn"], RoleID: session.AccessKeyID,
		AccessKeyID: session.AccessKeyID, Secret: session.SecretAccessKey, Token: session.SessionToken,
		Expiration: expires.Format(time.RFC3339), RequestID: rand.Text(),
	}, nil
}

// checkAssume refuses a request that cannot succeed, and one for fewer rights than the
// rules give. It returns how long the keys shall be good at most.
func checkAssume(f fields) (most time.Duration, err error) {
	wrong := ""
	switch {
	case f["Action"] != "AssumeRoleWithWebIdentity":
		wrong = "the Action must be AssumeRoleWithWebIdentity: nothing else is answered here"
	case f["WebIdentityToken"] == "":
		wrong = "there is no WebIdentityToken"
	case f["ProviderId"] != "":
		wrong = "there can be no ProviderId: the WebIdentityToken must be one of OpenID Connect"
	}
	for name := range f {
		if strings.HasPrefix(name, "Policy") {
			wrong = "there can be no " + name + ": the rules of the registry say what a session may do"
		}
	}
	most = maxSession
	if text, ok := f["DurationSeconds"]; ok {
		seconds, err := strconv.ParseUint(text, 10, 16)
		most = time.Duration(seconds) * time.Second
		if err != nil || most < minSession {
			wrong = fmt.Sprintf("DurationSeconds must be a number of %d or more", int(minSession.Seconds()))
		}
	}
	if wrong != "" {
		return 0, refuse(http.StatusBadRequest, invalidRequest, wrong)
	}
	return min(most, maxSession), nil
}

// writer is the name on the uploads of a pipeline: the rules that it fits, and its
// subject. It has a space, which no uploader's name has.
func writer(p identified) string {
	name := description(strings.Join(p.Rules, ",") + " " + p.subject)
	return name[:min(len(name), maxWriter)]
}

// refuseAssume answers an error as AWS does, with the codes by which clients know whether
// to try again.
func (h *handler) refuseAssume(w http.ResponseWriter, r *http.Request, err error) {
	refused := h.refusal(r, err)
	status, code := refused.status, "InvalidIdentityToken"
	switch {
	case refused.code == invalidRequest:
		code = "ValidationError"
	case status == http.StatusTooManyRequests:
		code = "Throttling"
	case status == http.StatusServiceUnavailable:
		code = "ServiceUnavailable"
	case status == http.StatusInternalServerError:
		code = "InternalFailure"
	case errors.Is(err, identity.ErrInvalid):
		status = http.StatusBadRequest
	default: // no rule allows it
		status, code = http.StatusForbidden, "AccessDenied"
	}
	setRetryAfter(w.Header(), status, refused.again)
	kind := "Sender"
	if status >= http.StatusInternalServerError {
		kind = "Receiver"
	}
	writeXML(w, status, struct {
		XMLName   xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ ErrorResponse"`
		Type      string   `xml:"Error>Type"`
		Code      string   `xml:"Error>Code"`
		Message   string   `xml:"Error>Message"`
		RequestID string   `xml:"RequestId"`
	}{Type: kind, Code: code, Message: refused.text, RequestID: rand.Text()})
}

func writeXML(w http.ResponseWriter, status int, document any) {
	body, err := xml.Marshal(document)
	if err != nil { // never: it has only texts
		status, body = http.StatusInternalServerError, nil
	}
	header := w.Header()
	header.Set("Content-Type", "text/xml")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only when the client has gone
}
