package upstream

import (
	"context"
	"errors"
	"net/url"
	"sync"

	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// signedSums fetches each SHA256SUMS and signature once, however many packages refer to
// them.
type signedSums struct {
	client *Client
	lock   sync.Mutex
	pairs  map[pair]func() (signed, error)
}

// pair is the URLs of a SHA256SUMS and of its signature.
type pair struct{ sums, signature string }

// signed is a SHA256SUMS with its signature, which is not verified yet.
type signed struct {
	url                 *url.URL // of SHA256SUMS
	document, signature []byte
}

func newSignedSums(c *Client) *signedSums {
	return &signedSums{client: c, pairs: map[pair]func() (signed, error){}}
}

func (s *signedSums) get(ctx context.Context, sums, signature *url.URL) (signed, error) {
	s.lock.Lock()
	key := pair{sums.String(), signature.String()}
	get, ok := s.pairs[key]
	if !ok {
		get = sync.OnceValues(func() (signed, error) { return s.client.signed(ctx, sums, signature) })
		s.pairs[key] = get
	}
	s.lock.Unlock()
	return get()
}

func (c *Client) signed(ctx context.Context, sums, signature *url.URL) (signed, error) {
	document, err := c.get(ctx, sums, typeAny, shasums.MaxSize)
	if err != nil {
		return signed{}, err
	}
	made, err := c.get(ctx, signature, typeAny, signing.MaxSignature)
	if err != nil {
		return signed{}, err
	}
	return signed{sums, document.body, made.body}, nil
}

// sha256 is the checksum of the package that a document describes, once the
// signature verifies with a key of that document.
func (s signed) sha256(d packageDocument) (string, error) {
	_, err := signing.Verify(d.keys, s.document, s.signature)
	// Whether the key has expired is asked last: by then, the signature has
	// verified, and the key is not revoked.
	if err != nil && !errors.Is(err, signing.ErrKeyExpired) {
		return "", untrusted(err, "the signature over %s does not verify with the keys in %s: %v", where(s.url), where(d.url), err)
	}
	sums, err := shasums.Parse(s.document)
	if err != nil {
		return "", untrusted(err, "%s cannot be used: %v", where(s.url), err)
	}
	sha256, ok := sums.SHA256(d.filename)
	if !ok {
		return "", untrusted(nil, "%s, which is signed, does not list %s", where(s.url), d.filename)
	}
	if sha256 != d.shasum {
		return "", untrusted(nil, "%s has the checksum %s for %s, and %s, which is signed, has %s", where(d.url), d.shasum, d.filename, where(s.url), sha256)
	}
	return sha256, nil
}
