package gateway

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/internal/jsonstring"
)

// answer is a reader's answer: an [http.ResponseWriter].
type answer struct {
	header http.Header
	status int // 0: not yet
	body   []byte
}

func newAnswer() *answer { return &answer{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. The first status counts.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(body []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", http.DetectContentType(body))
	}
	a.body = append(a.body, body...)
	return len(body), nil
}

// response is the answer in Lambda's own type.
func (a *answer) response() events.APIGatewayV2HTTPResponse {
	a.WriteHeader(http.StatusOK)
	response := events.APIGatewayV2HTTPResponse{StatusCode: a.status, Headers: map[string]string{}, Body: string(a.body), Cookies: []string{}}
	if !utf8.Valid(a.body) {
		response.Body, response.IsBase64Encoded = base64.StdEncoding.EncodeToString(a.body), true
	}
	for name, values := range a.header {
		if name == setCookie {
			response.Cookies = values
		} else {
			response.Headers[name] = strings.Join(values, ",")
		}
	}
	return response
}

const setCookie = "Set-Cookie"

// json is the answer as the gateway takes it. A body that is not text is in base64.
func (a *answer) json() []byte {
	a.WriteHeader(http.StatusOK)
	text := utf8.Valid(a.body)
	size := len(a.body) + len(a.body)/8
	if !text {
		size = base64.StdEncoding.EncodedLen(len(a.body))
	}
	to := make([]byte, 0, 512+size)
	to = append(to, `{"statusCode":`...)
	to = strconv.AppendInt(to, int64(a.status), 10)
	to = append(to, `,"headers":{`...)
	first := true
	for name, values := range a.header {
		if name == setCookie {
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(jsonstring.Append(to, name), ':')
		to = jsonstring.Append(to, strings.Join(values, ","))
	}
	to = append(to, `},"body":`...)
	if text {
		to = jsonstring.Append(to, a.body)
	} else {
		to = append(to, '"')
		to = append(base64.StdEncoding.AppendEncode(to, a.body), `","isBase64Encoded":true`...)
	}
	to = append(to, `,"cookies":[`...)
	for i, cookie := range a.header[setCookie] {
		if i > 0 {
			to = append(to, ',')
		}
		to = jsonstring.Append(to, cookie)
	}
	return append(to, "]}"...)
}
