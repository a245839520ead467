package kmstest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"slices"
	"strings"
	"time"
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
	return map[string]any{"KeyMetadata": key.metadata()}, nil
}

func (k Key) metadata() keyMetadata {
	metadata := keyMetadata{
		AWSAccountID: account, KeyID: k.ID, Arn: k.ARN(),
		CreationDate: float64(k.Created.UnixMilli()) / 1000,
		Enabled:      k.State == "Enabled",
		KeyUsage:     k.Usage, KeyState: k.State, Origin: "AWS_KMS", KeyManager: "CUSTOMER",
		CustomerMasterKeySpec: k.spec(), KeySpec: k.spec(), SigningAlgorithms: k.Algorithms,
	}
	if k.State == "PendingDeletion" {
		metadata.DeletionDate = float64(k.Created.AddDate(1, 0, 0).Unix())
	}
	return metadata
}

type policyInput struct {
	KeyID      string `json:"KeyId"`
	PolicyName string // a key has one policy, which is called default
}

func getKeyPolicy(key Key, input policyInput) (any, error) {
	if err := key.find(input.KeyID); err != nil {
		return nil, err
	}
	if input.PolicyName != "" && input.PolicyName != "default" {
		return nil, refuse("NotFoundException", "No such policy exists")
	}
	return map[string]string{"Policy": key.Policy, "PolicyName": "default"}, nil
}

type createInput struct {
	KeySpec, KeyUsage, Policy, Description string
	Tags                                   []struct{ TagKey, TagValue string }
}

// create makes another key for signing like the first one, without an alias.
func (h *Handler) create(first Key, input createInput) (any, error) {
	switch {
	case input.KeySpec != first.spec() || input.KeyUsage != first.Usage:
		return nil, refuse("UnsupportedOperationException", "This KMS makes keys for %s of the spec %s alone.", first.Usage, first.spec())
	case !json.Valid([]byte(input.Policy)):
		return nil, refuse("MalformedPolicyDocumentException", "The policy is no JSON document: %q", input.Policy)
	}
	private, err := rsa.GenerateKey(rand.Reader, first.Private.N.BitLen())
	if err != nil {
		return nil, err
	}
	key := NewKey(private)
	key.Alias, key.Policy, key.Created = "", input.Policy, time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.created = append(h.created, key)
	return map[string]any{"KeyMetadata": key.metadata()}, nil
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

// algorithms are the signing algorithms of RSA keys.
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

// digest returns the digest to sign. It hashes a message unless its type is DIGEST.
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

// find says whether id names the key: by its ID, its ARN, its alias or the alias's ARN.
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
	case resource == "key/"+k.ID, resource == k.Alias && resource != "":
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
