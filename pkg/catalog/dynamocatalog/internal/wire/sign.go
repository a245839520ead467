package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/larder-registry/larder/internal/awssignature"
)

// service is DynamoDB's name in signatures.
const service = "dynamodb"

// signingKey signs the requests of a day. To derive it takes longer than to sign.
type signingKey struct {
	id, secret, date string
	scope            string
	key              []byte
}

// keyFor is the key of some credentials on a day. The last one is kept.
func (c *Client) keyFor(credentials aws.Credentials, date string) *signingKey {
	if kept := c.key.Load(); kept != nil && kept.id == credentials.AccessKeyID && kept.secret == credentials.SecretAccessKey && kept.date == date {
		return kept
	}
	derived := &signingKey{
		id:     credentials.AccessKeyID,
		secret: credentials.SecretAccessKey,
		date:   date,
		scope:  date + "/" + c.region + "/" + service + "/" + awssignature.Terminal,
		key:    awssignature.Key(credentials.SecretAccessKey, date, c.region, service),
	}
	c.key.Store(derived)
	return derived
}

// sign adds a signature to a request, over all of its headers but User-Agent. The
// canonical request has them in the order of their names.
func (c *Client) sign(r *http.Request, credentials aws.Credentials, bodyHash string, now time.Time) {
	at := now.UTC().Format(awssignature.TimeFormat)
	key := c.keyFor(credentials, at[:len(awssignature.DateFormat)])
	r.Header["X-Amz-Date"] = []string{at}
	names := "accept-encoding;content-length;content-type;host;x-amz-date;x-amz-target"
	text := make([]byte, 0, 2048)
	text = append(text, http.MethodPost+"\n"...)
	text = append(text, c.path...)
	text = append(text, "\n\naccept-encoding:"...)
	text = append(text, acceptEncoding[0]...)
	text = append(text, "\ncontent-length:"...)
	text = strconv.AppendInt(text, r.ContentLength, 10)
	text = append(text, "\ncontent-type:"...)
	text = append(text, contentType[0]...)
	text = append(text, "\nhost:"...)
	text = append(text, r.Host...)
	text = append(text, "\nx-amz-date:"...)
	text = append(text, at...)
	if token := credentials.SessionToken; token != "" {
		r.Header["X-Amz-Security-Token"] = []string{token}
		names = "accept-encoding;content-length;content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
		text = append(text, "\nx-amz-security-token:"...)
		text = append(text, token...)
	}
	text = append(text, "\nx-amz-target:"...)
	text = append(text, r.Header["X-Amz-Target"][0]...)
	text = append(text, "\n\n"...)
	text = append(text, names...)
	text = append(text, '\n')
	text = append(text, bodyHash...)
	r.Header["Authorization"] = []string{strings.Join([]string{
		awssignature.Algorithm, " Credential=", key.id, "/", key.scope, ", SignedHeaders=", names,
		", Signature=", awssignature.Sign(key.key, at, key.scope, text),
	}, "")}
}
