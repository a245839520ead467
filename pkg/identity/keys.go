package identity

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// maxKeys is how many keys an issuer may publish, and so the most signatures
// that are tried for a token that does not name its key. The large ones publish
// about ten.
const maxKeys = 50

// minRSA is the size of the smallest RSA key that may sign, in bits (RFC 7518,
// 3.3). The library refuses those of more than 4096.
const minRSA = 2048

// keySet is the keys of an issuer that may sign.
type keySet []jose.JSONWebKey

// parseKeys reads a JWK Set. Keys that cannot be read or may not sign are left
// out (RFC 7517, 5); the set may be empty.
func parseKeys(data []byte) (*keySet, error) {
	var document struct {
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &document); err != nil || document.Keys == nil {
		return nil, errors.New("its keys are no JSON Web Key Set")
	}
	if n := len(*document.Keys); n > maxKeys {
		return nil, fmt.Errorf("it publishes %d keys, and %d are the most that the registry takes", n, maxKeys)
	}
	keys := keySet{}
	for _, one := range *document.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(one) == nil && maySign(key) {
			keys = append(keys, key)
		}
	}
	return &keys, nil
}

// maySign says whether a key is a public one for signatures. Everybody can sign with a
// private or symmetric key that is published.
func maySign(key jose.JSONWebKey) bool {
	if k, ok := key.Key.(*rsa.PublicKey); ok && k.N.BitLen() < minRSA {
		return false
	}
	return key.IsPublic() && key.Valid() && (key.Use == "" || key.Use == "sig")
}

// fits says whether a key has the type that an algorithm needs, and is not for another
// algorithm.
func fits(key jose.JSONWebKey, algorithm string) bool {
	if key.Algorithm != "" && key.Algorithm != algorithm {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return algorithm[:2] == "RS" || algorithm[:2] == "PS"
	case *ecdsa.PublicKey:
		return algorithm == string(jose.ES256) && k.Curve == elliptic.P256() || algorithm == string(jose.ES384) && k.Curve == elliptic.P384()
	case ed25519.PublicKey:
		return algorithm == string(jose.EdDSA)
	default:
		return false
	}
}

// verify says whether one of the keys has signed a token, and whether the set has the key
// that the token names. A token need not name its key.
func (s keySet) verify(jws *jose.JSONWebSignature) (signed, known bool) {
	header := jws.Signatures[0].Header
	for _, key := range s {
		if header.KeyID != "" {
			if key.KeyID != header.KeyID {
				continue
			}
			known = true
		}
		if !fits(key, header.Algorithm) {
			continue
		}
		if _, err := jws.Verify(key.Key); err == nil {
			return true, true
		}
	}
	return false, known
}
