package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// checkTrust checks the signing keys, the signature, SHA256SUMS and the package's checksum in
// it.
func (v *visit) checkTrust(ctx context.Context, d *packageDocument) {
	keys, ok := v.checkKeys(d)
	if !ok {
		return
	}
	sums, ok := v.checkSums(ctx, d)
	if !ok {
		return
	}
	const check = "provider.signature"
	var by signing.PublicKey
	signature, err := v.fetch(ctx, d.signature)
	if err == nil {
		by, err = signing.Verify(keys, sums, signature)
	}
	switch {
	case errors.Is(err, signing.ErrKeyExpired):
		v.Warn(check, "extend the key for new releases", "%v; the clients accept that, except OpenTofu with OPENTOFU_ENFORCE_GPG_EXPIRATION", err)
	case err != nil:
		v.Fail(check, v.adviceOnBucket(d.signature, err, "find out who changed SHA256SUMS, its signature or the key: they must be as they were published"), "%v", err)
	default:
		v.OK(check, "valid, by key %s", by.KeyID)
	}
}

const armorBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

func (v *visit) checkKeys(d *packageDocument) (keys []signing.PublicKey, ok bool) {
	var wrong []string
	for i, key := range d.SigningKeys.GPGPublicKeys {
		switch {
		case key == nil:
			wrong = append(wrong, fmt.Sprintf("key %d is null, and the clients crash", i+1))
			continue
		case key.TrustSignature != "":
			wrong = append(wrong, fmt.Sprintf("key %d has a trust_signature, which Terraform refuses unless it is HashiCorp's", i+1))
		}
		if !strings.HasPrefix(key.ASCIIArmor, armorBegin) {
			wrong = append(wrong, fmt.Sprintf("key %d is not an armored public key, and the clients try no other after it", i+1))
		}
		keys = append(keys, signing.PublicKey{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor})
	}
	if len(d.SigningKeys.GPGPublicKeys) == 0 {
		wrong = append(wrong, "there are none")
	}
	v.verdict("provider.keys", wrong, size.Count(len(keys), "signing key"), "serve only the armored public key that signed")
	return keys, len(wrong) == 0
}

// checkSums reads SHA256SUMS, as strictly as the clients.
func (v *visit) checkSums(ctx context.Context, d *packageDocument) (document []byte, ok bool) {
	const check = "provider.shasums"
	document, err := v.fetch(ctx, d.shasums)
	var sums shasums.Sums
	if err == nil {
		sums, err = shasums.Parse(document)
	}
	if err != nil {
		v.Fail(check, v.adviceOnBucket(d.shasums, err, "one line per package: 64 lower-case hexadecimal digits, two spaces, the file name, a line feed"), "%v", err)
		return nil, false
	}
	v.OK(check, "%s", size.Count(sums.Len(), "line"))
	switch listed, ok := sums.SHA256(d.Filename); {
	case !ok:
		v.Fail("provider.shasum", "list every package in SHA256SUMS", "SHA256SUMS does not list %s", d.Filename)
	case listed != d.SHASum:
		v.Fail("provider.shasum", "serve the same checksum of a package everywhere", "shasum is %s, and SHA256SUMS lists %s", d.SHASum, listed)
	default:
		v.OK("provider.shasum", "SHA256SUMS lists it")
	}
	return document, true
}

// fetch gets a document from an address that the registry gave.
func (v *visit) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	got, err := v.client.follow(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place(u), err)
	}
	if got.status != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", place(u), got.status)
	}
	return got.body, nil
}
