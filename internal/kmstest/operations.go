package kmstest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"slices"
	"strings"
)

const maxMessage = 4096 // bytes that KMS hashes itself

type keyInput struct {
	KeyID string `json:"KeyId"`
}

type keyMetadata struct {
	AWSAccountID          string `json:"AWSAccountId"`
	KeyID                 string `json:"KeyId"`
	Arn                   string
	CreationDate          float64 // seconds since 1970
	DeletionDate          float64 `json:",omitempty"`
	Enabled               bool
	Description           string
	KeyUsage              string
	KeyState              string
	Origin                string
	KeyManager            string
	CustomerMasterKeySpec string
	KeySpec               string
	SigningAlgorithms     []string `json:",omitempty"`
	MultiRegion           bool
}

// describeKey answers in every state of the key.
func describeKey(key Key, input keyInput) (any, error) {
	if err := key.find(input.KeyID); err != nil {
		return nil, err
	}
	metadata := keyMetadata{
		AWSAccountID: account, KeyID: key.ID, Arn: key.ARN(),
		CreationDate: float64(key.Created.UnixMilli()) / 1000,
		Enabled:      key.State == "Enabled",
		KeyUsage:     key.Usage, KeyState: key.State, Origin: "AWS_KMS", KeyManager: "CUSTOMER",
		CustomerMasterKeySpec: key.spec(), KeySpec: key.spec(), SigningAlgorithms: key.Algorithms,
	}
	if key.State == "PendingDeletion" {
		metadata.DeletionDate = float64(key.Created.AddDate(1, 0, 0).Unix())
	}
	return map[string]any{"KeyMetadata": metadata}, nil
}

func getPublicKey(key Key, input keyInput) (any, error) {
	if err := key.usable(input.KeyID); err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Private.Public())
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"KeyId": key.ARN(), "PublicKey": public, "KeyUsage": key.Usage,
		"CustomerMasterKeySpec": key.spec(), "KeySpec": key.spec(), "SigningAlgorithms": key.Algorithms,
	}, nil
}

type signInput struct {
	KeyID            string `json:"KeyId"`
	Message          []byte
	MessageType      string
	SigningAlgorithm string
}

// algorithms are those that RSA keys sign with.
var algorithms = map[string]crypto.SignerOpts{
	"RSASSA_PKCS1_V1_5_SHA_256": crypto.SHA256,
	"RSASSA_PKCS1_V1_5_SHA_384": crypto.SHA384,
	"RSASSA_PKCS1_V1_5_SHA_512": crypto.SHA512,
	"RSASSA_PSS_SHA_256":        &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256},
	"RSASSA_PSS_SHA_384":        &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA384},
	"RSASSA_PSS_SHA_512":        &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA512},
}

func sign(key Key, input signInput) (any, error) {
	algorithm := input.SigningAlgorithm
	opts, known := algorithms[algorithm]
	if !known {
		return nil, invalid("1 validation error detected: Value '%s' at 'signingAlgorithm' failed to satisfy constraint: "+
			"Member must satisfy enum value set", algorithm)
	}
	if err := key.usable(input.KeyID); err != nil {
		return nil, err
	}
	if key.Usage != "SIGN_VERIFY" {
		return nil, refuse("InvalidKeyUsageException", "%s key usage is %s which is not valid for Sign.", key.ARN(), key.Usage)
	}
	if !slices.Contains(key.Algorithms, algorithm) {
		return nil, refuse("InvalidKeyUsageException", "Algorithm %s is incompatible with key spec %s.", algorithm, key.spec())
	}
	digest, err := input.digest(opts.HashFunc())
	if err != nil {
		return nil, err
	}
	signature, err := key.Private.Sign(rand.Reader, digest, opts)
	if err != nil {
		return nil, err
	}
	return map[string]any{"KeyId": key.ARN(), "Signature": signature, "SigningAlgorithm": algorithm}, nil
}

// digest is what gets signed: a message that is not said to be a digest is
// hashed, also where it is one.
func (i signInput) digest(hash crypto.Hash) ([]byte, error) {
	if len(i.Message) == 0 || len(i.Message) > maxMessage {
		return nil, invalid("1 validation error detected: Value at 'message' failed to satisfy constraint: "+
			"Member must have length between 1 and %d", maxMessage)
	}
	switch i.MessageType {
	case "", "RAW":
		h := hash.New()
		h.Write(i.Message)
		return h.Sum(nil), nil
	case "DIGEST":
		if len(i.Message) != hash.Size() {
			return nil, invalid("Digest is invalid length for algorithm %s.", i.SigningAlgorithm)
		}
		return i.Message, nil
	}
	return nil, invalid("1 validation error detected: Value '%s' at 'messageType' failed to satisfy constraint: "+
		"Member must satisfy enum value set: [RAW, DIGEST]", i.MessageType)
}

// find says whether id names the key: by its ID, its ARN, its alias or the ARN
// of that.
func (k Key) find(id string) error {
	resource, local := strings.CutPrefix(id, k.arnOf(""))
	switch {
	case id == "":
		return invalid("1 validation error detected: Value at 'keyId' failed to satisfy constraint: Member must not be null")
	case !local && strings.HasPrefix(id, "arn:"):
		return refuse("NotFoundException", "Invalid arn %s", id) // of another region or account
	case !local && !strings.HasPrefix(id, "alias/"):
		resource = "key/" + id
	}
	switch {
	case resource == "key/"+k.ID, resource == k.Alias:
		return nil
	case strings.HasPrefix(resource, "alias/"):
		return refuse("NotFoundException", "Alias %s is not found.", k.arnOf(resource))
	}
	return refuse("NotFoundException", "Key '%s' does not exist", k.arnOf(resource))
}

// usable says whether id names the key, in a state in which it may be used.
func (k Key) usable(id string) error {
	if err := k.find(id); err != nil {
		return err
	}
	switch k.State {
	case "Enabled":
		return nil
	case "Disabled":
		return refuse("DisabledException", "%s is disabled.", k.ARN())
	case "PendingDeletion":
		return refuse("KMSInvalidStateException", "%s is pending deletion.", k.ARN())
	}
	return refuse("KMSInvalidStateException", "%s is in the state %s.", k.ARN(), k.State)
}
