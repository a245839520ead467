package locals3

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// session is the content of the token of a session. The registry keeps nothing of it: the
// seal of the token proves that the registry made it, and the secret follows from it.
type session struct {
	AccessKeyID string    `json:"key"`
	Name        string    `json:"name"` // recorded with its uploads
	Namespaces  []string  `json:"namespaces"`
	Expires     time.Time `json:"expires"`
}

const (
	sessionKeySize = 32

	// maxSessionToken is the longest token that is read, in bytes. With the most
	// namespaces, each of the longest length, a token has some 2,500 bytes.
	maxSessionToken = 4 << 10
)

func newSessionKey() []byte {
	key := make([]byte, sessionKeySize)
	_, _ = rand.Read(key) // it never fails
	return key
}

// NewSession makes an access key for uploads to some namespaces, which works until it
// expires, and only with its token. It is not kept, and only a rotation ends it earlier.
func (k *Keys) NewSession(name string, namespaces []string, expires time.Time) (key Credentials, token string, err error) {
	if err := access.CheckNamespaces(namespaces); err != nil {
		return Credentials{}, "", err
	}
	payload, err := json.Marshal(session{"LARDERT" + rand.Text()[:13], name, namespaces, expires})
	if err != nil {
		return Credentials{}, "", fmt.Errorf("make the token of a session: %w", err)
	}
	sealed := base64.RawURLEncoding.EncodeToString(payload)
	token = sealed + "." + k.seal("token", sealed)
	h, ok := k.readSession(token)
	if !ok {
		return Credentials{}, "", fmt.Errorf("the token of a session is larger than %d bytes", maxSessionToken)
	}
	return h.Credentials, token, nil
}

// session returns the holder of the key of a session that has not expired.
func (k *Keys) session(accessKeyID, token string) (holder, bool) {
	h, ok := k.readSession(token)
	return h, ok && h.AccessKeyID == accessKeyID && k.now().Before(h.expires)
}

// readSession returns the holder of a token that the registry has sealed.
func (k *Keys) readSession(token string) (holder, bool) {
	if len(token) > maxSessionToken {
		return holder{}, false
	}
	sealed, seal, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(seal), []byte(k.seal("token", sealed))) {
		return holder{}, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return holder{}, false
	}
	var s session
	if err := json.Unmarshal(payload, &s); err != nil {
		return holder{}, false
	}
	policy, err := uploaderPolicy(s.AccessKeyID, s.Namespaces)
	if err != nil {
		return holder{}, false
	}
	return holder{Credentials: Credentials{s.AccessKeyID, k.seal("secret", sealed)}, name: s.Name, policy: policy, expires: s.Expires}, true
}

// seal returns the message authentication code of a text for a purpose.
func (k *Keys) seal(purpose, text string) string {
	mac := hmac.New(sha256.New, k.set.Load().stored.Sessions)
	mac.Write([]byte(purpose + ":" + text)) // hashes do not fail
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
