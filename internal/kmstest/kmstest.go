// Package kmstest is a KMS for tests: a server with an RSA key that speaks the
// wire protocol of AWS KMS, JSON 1.1 over HTTP, for the operations DescribeKey,
// GetPublicKey and Sign, and for GetKeyPolicy and CreateKey, with which a key is
// replaced. It really signs, it counts requests, and it fails when a test wants
// it to.
//
// It knows the part of each operation that a client needs to sign, and refuses
// everything else, even if KMS would accept it: unknown fields, grant tokens,
// dry runs. A request must have a Signature Version 4 for the service kms, of
// the key's region and of today. The signature itself is not checked, and there
// are no policies: all credentials work. Nothing is eventually consistent here,
// and nothing is throttled by itself.
//
// [Start] serves within a test. [New] makes an http.Handler for another server.
// The protocol is not taken from the SDK but written a second time, so that the
// two are compared.
package kmstest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

const account = "111122223333"

// Key is the key that a server holds.
type Key struct {
	Private *rsa.PrivateKey

	ID         string // a UUID
	Region     string // such as us-east-1
	Alias      string // begins with alias/; empty for none
	Policy     string // a JSON document
	Created    time.Time
	State      string   // Enabled, Disabled, PendingDeletion, …
	Usage      string   // SIGN_VERIFY or ENCRYPT_DECRYPT
	Algorithms []string // those for signing
}

// NewKey makes an enabled key for signing. Its ID depends only on the private key. Its creation is
// long ago and not at a full second.
func NewKey(private *rsa.PrivateKey) Key {
	id := sha256.Sum256(private.N.Bytes())
	return Key{
		Private:    private,
		ID:         fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16]),
		Region:     "us-east-1",
		Alias:      "alias/larder-test",
		Policy:     `{"Version":"2012-10-17","Statement":[]}`,
		Created:    time.Date(2025, 1, 1, 12, 0, 0, 678_000_000, time.UTC),
		State:      "Enabled",
		Usage:      "SIGN_VERIFY",
		Algorithms: slices.Sorted(maps.Keys(algorithms)),
	}
}

// ARN is the name of the key.
func (k Key) ARN() string { return k.arnOf("key/" + k.ID) }

func (k Key) arnOf(resource string) string {
	return fmt.Sprintf("arn:aws:kms:%s:%s:%s", k.Region, account, resource)
}

func (k Key) spec() string { return fmt.Sprintf("RSA_%d", k.Private.N.BitLen()) }

// RSAKey returns a private key of 2048, 3072 or 4096 bits, as KMS has them. It is always the same
// one in a process, because a large one takes seconds to make.
func RSAKey(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	rsaKeys.Lock()
	defer rsaKeys.Unlock()
	if rsaKeys.made[bits] == nil {
		private, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		rsaKeys.made[bits] = private
	}
	return rsaKeys.made[bits]
}

var rsaKeys = struct {
	sync.Mutex
	made map[int]*rsa.PrivateKey
}{made: make(map[int]*rsa.PrivateKey)}

// Server is a KMS on a loopback port.
type Server struct {
	*Handler
	Endpoint string // http://127.0.0.1:<port>
}

// Start serves a new key of so many bits until the test ends.
func Start(t testing.TB, bits int) *Server {
	t.Helper()
	return StartWith(t, RSAKey(t, bits))
}

// StartWith is Start with the private key.
func StartWith(t testing.TB, private *rsa.PrivateKey) *Server {
	t.Helper()
	handler := New(NewKey(private))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &Server{Handler: handler, Endpoint: server.URL}
}
