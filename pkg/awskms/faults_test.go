package awskms_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/smithy-go"
	"github.com/larder-registry/larder/internal/kmstest"
	"github.com/larder-registry/larder/pkg/awskms"
	"github.com/larder-registry/larder/pkg/signing"
)

// attempts is how often a request is sent that fails for a while.
const attempts = 4

type fault struct {
	answer  kmstest.Fault
	want    string           // what an operator reads
	is      func(error) bool // whether the SDK's error is in it
	retried bool
}

var faults = map[string]fault{
	"throttled": {kmstest.Throttle(), "asked too often", code("ThrottlingException"), true},
	"internal":  {kmstest.Break(), "KMSInternalException", as[*types.KMSInternalException], true},
	"cut":       {kmstest.Cut(), "no answer from KMS", noCode, true},
	"lost":      {kmstest.Lose(), "no answer from KMS", noCode, true},
	"cut short": {kmstest.CutShort(), "no answer from KMS", noCode, true},
	"denied":    {kmstest.Deny(), " is not allowed", code("AccessDeniedException"), false},
	"disabled": {kmstest.Refuse(400, "DisabledException", "the key is disabled."),
		"aws kms enable-key", as[*types.DisabledException], false},
	"pending deletion": {kmstest.Refuse(400, "KMSInvalidStateException", "the key is pending deletion."),
		"aws kms cancel-key-deletion", as[*types.KMSInvalidStateException], false},
	"disabled, pending deletion": {kmstest.Refuse(400, "DisabledException", "the key is pending deletion (or pending replica deletion)."),
		"aws kms cancel-key-deletion", as[*types.DisabledException], false},
	"unavailable": {kmstest.Refuse(400, "KMSInvalidStateException", "the key is unavailable."),
		"state does not allow kms:", as[*types.KMSInvalidStateException], false},
	"deleted": {kmstest.Refuse(400, "NotFoundException", "the key does not exist"),
		"no such key", as[*types.NotFoundException], false},
	"unknown": {kmstest.Refuse(400, "NewException", "something new"), "something new", code("NewException"), false},
}

func as[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

func code(want string) func(error) bool {
	return func(err error) bool {
		var refusal smithy.APIError
		return errors.As(err, &refusal) && refusal.ErrorCode() == want
	}
}

func noCode(err error) bool { return !as[smithy.APIError](err) }

// check checks an error and how often the operation was asked for.
func (f fault) check(t *testing.T, server *kmstest.Server, operation string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), f.want) || !strings.Contains(err.Error(), server.Key().ARN()) || !f.is(err) {
		t.Errorf("%s: error is %v, want one with %q, the key's name, and the SDK's error", operation, err, f.want)
	}
	want := 1
	if f.retried {
		want = attempts
	}
	if got := server.Requests()[operation]; got != want {
		t.Errorf("%s: %d requests, want %d", operation, got, want)
	}
}

func TestNewFaults(t *testing.T) {
	for name, f := range faults {
		for _, operation := range []string{kmstest.DescribeKey, kmstest.GetPublicKey} {
			t.Run(name+" at "+operation, func(t *testing.T) {
				server := kmstest.Start(t, 4096)
				server.Fail(operation, kmstest.Always, f.answer)
				_, err := awskms.New(t.Context(), configFor(server))
				f.check(t, server, operation, err)
			})
		}
	}
}

// TestSignFaults checks that KMS's own error comes out of an OpenPGP key, which
// go-crypto alone would lose.
func TestSignFaults(t *testing.T) {
	public := newKey(t, kmstest.Start(t, 4096)).PublicKey()
	for name, f := range faults {
		t.Run(name+" at the creation of a key", func(t *testing.T) {
			server := kmstest.Start(t, 4096)
			signer := newSigner(t, server)
			server.Fail(kmstest.Sign, kmstest.Always, f.answer)
			key, err := signing.NewKey(t.Context(), signer, signer.Created(), userID)
			if key != nil {
				t.Error("there is a key all the same")
			}
			f.check(t, server, kmstest.Sign, err)
		})
		t.Run(name+" at a signature", func(t *testing.T) {
			server := kmstest.Start(t, 4096)
			server.Fail(kmstest.Sign, kmstest.Always, f.answer)
			signature, err := openKey(t, configFor(server), public).Sign(t.Context(), document)
			if signature != nil {
				t.Error("there is a signature all the same")
			}
			f.check(t, server, kmstest.Sign, err)
		})
	}
}

func openKey(t *testing.T, cfg awskms.Config, public signing.PublicKey) *signing.Key {
	t.Helper()
	signer, err := awskms.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.OpenKey(signer, public.ASCIIArmor)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestSignTriesAgain checks that a fault which goes by is not seen, and that the
// signature is the one that a lost answer held.
func TestSignTriesAgain(t *testing.T) {
	first := newKey(t, kmstest.Start(t, 4096))
	want, err := first.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range faults {
		if !f.retried {
			continue
		}
		t.Run(name, func(t *testing.T) {
			server := kmstest.Start(t, 4096)
			server.Fail(kmstest.Sign, 1, f.answer)
			got, err := openKey(t, configFor(server), first.PublicKey()).Sign(t.Context(), document)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("another signature, or error %v", err)
			}
			checkRequests(t, server, map[string]int{"Sign": 2})
		})
	}
}

// TestSlow checks that an answer which does not come is asked for again.
func TestSlow(t *testing.T) {
	public := newKey(t, kmstest.Start(t, 4096)).PublicKey()
	server := kmstest.Start(t, 4096)
	server.Fail(kmstest.Sign, 1, kmstest.Delay(time.Hour))
	cfg := configFor(server)
	transport := awskms.NewTransport()
	if transport.ResponseHeaderTimeout == 0 {
		t.Error("NewTransport has no timeout for answers")
	}
	transport.ResponseHeaderTimeout = time.Second
	cfg.Transport = transport
	if _, err := openKey(t, cfg, public).Sign(t.Context(), document); err != nil {
		t.Error(err)
	}
	checkRequests(t, server, map[string]int{"Sign": 2})
}

// TestContext checks that nobody waits longer for KMS than they want to.
func TestContext(t *testing.T) {
	public := newKey(t, kmstest.Start(t, 4096)).PublicKey()
	server := kmstest.Start(t, 4096)
	for _, operation := range []string{kmstest.DescribeKey, kmstest.GetPublicKey, kmstest.Sign} {
		server.Fail(operation, 1, kmstest.Delay(time.Hour))
	}
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if _, err := openKey(t, configFor(server), public).Sign(soon(), document); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Sign: %v, want context.DeadlineExceeded", err)
	}
	for _, operation := range []string{kmstest.DescribeKey, kmstest.GetPublicKey} {
		if _, err := awskms.New(soon(), configFor(server)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("New, with %s slow: %v, want context.DeadlineExceeded", operation, err)
		}
	}
}

// TestCredentials checks that credentials which cannot be had are not taken for
// a KMS that does not answer.
func TestCredentials(t *testing.T) {
	server := kmstest.Start(t, 4096)
	cfg := configFor(server)
	none := errors.New("the role has no credentials")
	cfg.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, none })
	_, err := awskms.New(t.Context(), cfg)
	if !errors.Is(err, none) || strings.Contains(err.Error(), "no answer") {
		t.Errorf("New = %v, want the provider's error", err)
	}
	checkRequests(t, server, map[string]int{})
}

// TestPublicKeyThatIsNone checks that what KMS says is checked.
func TestPublicKeyThatIsNone(t *testing.T) {
	short, err := x509.MarshalPKIXPublicKey(kmstest.RSAKey(t, 2048).Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key  []byte
		want string
	}{
		"none":    {nil, "cannot be read"},
		"damaged": {short[1:], "cannot be read"},
		"short":   {short, "not an RSA key of 4096 bits"},
	} {
		server := kmstest.Start(t, 4096)
		server.Fail(kmstest.GetPublicKey, 1, reply(map[string]any{"PublicKey": c.key}))
		if _, err := awskms.New(t.Context(), configFor(server)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: New = %v, want an error with %q", name, err, c.want)
		}
	}
	server := kmstest.Start(t, 4096)
	server.Fail(kmstest.DescribeKey, 1, reply(map[string]any{}))
	if _, err := awskms.New(t.Context(), configFor(server)); err == nil || !strings.Contains(err.Error(), "did not describe") {
		t.Errorf("New, without a description: %v", err)
	}
}

// reply answers as KMS might, and does not.
func reply(output map[string]any) kmstest.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		_ = json.NewEncoder(w).Encode(output) // the client would notice
	}
}
