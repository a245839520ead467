package kmstest_test

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/smithy-go"
	"github.com/larder-registry/larder/internal/kmstest"
)

func clientOf(server *kmstest.Server) *kms.Client {
	return kms.New(kms.Options{
		Region:       server.Key().Region,
		Credentials:  credentials.NewStaticCredentialsProvider("id", "secret", ""),
		BaseEndpoint: &server.Endpoint,
		Retryer:      aws.NopRetryer{},
	})
}

// TestSDK holds that the SDK understands every answer.
func TestSDK(t *testing.T) {
	server := kmstest.Start(t, 2048)
	client, key := clientOf(server), server.Key()
	description, err := client.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: &key.ID})
	if err != nil {
		t.Fatal(err)
	}
	if m := description.KeyMetadata; *m.Arn != key.ARN() || *m.KeyId != key.ID || !m.CreationDate.Equal(key.Created) || m.DeletionDate != nil ||
		!m.Enabled || m.KeyState != types.KeyStateEnabled || m.KeyUsage != types.KeyUsageTypeSignVerify || m.KeySpec != types.KeySpecRsa2048 ||
		len(m.SigningAlgorithms) != 6 || *m.MultiRegion {
		t.Errorf("DescribeKey: %+v", m)
	}
	got, err := client.GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: &key.ID})
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.ParsePKIXPublicKey(got.PublicKey)
	if err != nil || !key.Private.PublicKey.Equal(public) || *got.KeyId != key.ARN() || got.KeySpec != types.KeySpecRsa2048 {
		t.Errorf("GetPublicKey: %+v, error %v", got, err)
	}
	if n := server.Requests(); n["DescribeKey"] != 1 || n["GetPublicKey"] != 1 || n["Sign"] != 0 {
		t.Errorf("requests: %v", n)
	}
}

func TestKeyNames(t *testing.T) {
	server := kmstest.Start(t, 2048)
	client, key := clientOf(server), server.Key()
	region := strings.TrimSuffix(key.ARN(), "key/"+key.ID)
	for _, id := range []string{key.ID, key.ARN(), key.Alias, region + key.Alias} {
		if got, err := client.GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: &id}); err != nil || *got.KeyId != key.ARN() {
			t.Errorf("%s: %v", id, err)
		}
	}
	for id, says := range map[string]string{
		"1234":              "Key '" + region + "key/1234' does not exist",
		region + "key/1234": "does not exist",
		"key/" + key.ID:     "does not exist",
		"alias/other":       "Alias " + region + "alias/other is not found",
		"arn:aws:kms:eu-west-1:111122223333:key/" + key.ID: "Invalid arn",
	} {
		var missing *types.NotFoundException
		_, err := client.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: &id})
		if !errors.As(err, &missing) || !strings.Contains(missing.ErrorMessage(), says) {
			t.Errorf("%s: %v, want NotFoundException that says %q", id, err, says)
		}
	}
}

// TestCreateKey makes another key with the policy of the first, as who replaces
// a key does.
func TestCreateKey(t *testing.T) {
	server := kmstest.Start(t, 2048)
	client, first := clientOf(server), server.Key()
	policy, err := client.GetKeyPolicy(t.Context(), &kms.GetKeyPolicyInput{KeyId: &first.Alias})
	if err != nil || *policy.Policy != first.Policy {
		t.Fatalf("GetKeyPolicy: %+v, error %v", policy, err)
	}
	input := &kms.CreateKeyInput{KeySpec: types.KeySpecRsa2048, KeyUsage: types.KeyUsageTypeSignVerify, Policy: policy.Policy}
	created, err := client.CreateKey(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	second := created.KeyMetadata.Arn
	if again, err := client.GetKeyPolicy(t.Context(), &kms.GetKeyPolicyInput{KeyId: second}); err != nil || *again.Policy != first.Policy {
		t.Errorf("the policy of the other key: %+v, error %v", again, err)
	}
	digest := sha512.Sum512(nil)
	for _, arn := range []string{first.ARN(), *second} {
		output, err := client.Sign(t.Context(), &kms.SignInput{
			KeyId: &arn, Message: digest[:], MessageType: types.MessageTypeDigest, SigningAlgorithm: types.SigningAlgorithmSpecRsassaPkcs1V15Sha512,
		})
		if err != nil || *output.KeyId != arn {
			t.Fatalf("Sign with %s: %+v, error %v", arn, output, err)
		}
		byFirst := rsa.VerifyPKCS1v15(&first.Private.PublicKey, crypto.SHA512, digest[:], output.Signature) == nil
		if byFirst != (arn == first.ARN()) {
			t.Errorf("%s did not sign itself", arn)
		}
	}
	input.Policy = aws.String("{")
	_, err = client.CreateKey(t.Context(), input)
	checkCode(t, "a policy that is none", err, "MalformedPolicyDocumentException")
}

func TestSign(t *testing.T) {
	server := kmstest.Start(t, 2048)
	client, key := clientOf(server), server.Key()
	message := []byte("message")
	digest := sha512.Sum512(message)
	twice := sha512.Sum512(digest[:])
	pkcs1 := func(signed []byte) func([]byte) error {
		return func(signature []byte) error {
			return rsa.VerifyPKCS1v15(&key.Private.PublicKey, crypto.SHA512, signed, signature)
		}
	}
	pss := func(signature []byte) error {
		return rsa.VerifyPSS(&key.Private.PublicKey, crypto.SHA512, digest[:], signature, nil)
	}
	for name, c := range map[string]struct {
		message   []byte
		kind      types.MessageType
		algorithm types.SigningAlgorithmSpec
		verify    func([]byte) error
	}{
		"digest":              {digest[:], types.MessageTypeDigest, types.SigningAlgorithmSpecRsassaPkcs1V15Sha512, pkcs1(digest[:])},
		"message":             {message, types.MessageTypeRaw, types.SigningAlgorithmSpecRsassaPkcs1V15Sha512, pkcs1(digest[:])},
		"nothing said":        {message, "", types.SigningAlgorithmSpecRsassaPkcs1V15Sha512, pkcs1(digest[:])},
		"digest of no kind":   {digest[:], "", types.SigningAlgorithmSpecRsassaPkcs1V15Sha512, pkcs1(twice[:])},
		"digest, with a salt": {digest[:], types.MessageTypeDigest, types.SigningAlgorithmSpecRsassaPssSha512, pss},
	} {
		output, err := client.Sign(t.Context(), &kms.SignInput{KeyId: &key.ID, Message: c.message, MessageType: c.kind, SigningAlgorithm: c.algorithm})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := c.verify(output.Signature); err != nil || *output.KeyId != key.ARN() || output.SigningAlgorithm != c.algorithm {
			t.Errorf("%s: %v; %+v", name, err, output)
		}
	}
}

func TestKeyStates(t *testing.T) {
	for state, code := range map[string]string{
		"Disabled": "DisabledException", "PendingDeletion": "KMSInvalidStateException", "Unavailable": "KMSInvalidStateException",
	} {
		server := kmstest.Start(t, 2048)
		server.Change(func(k *kmstest.Key) { k.State = state })
		client, id := clientOf(server), server.Key().ID
		description, err := client.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: &id})
		if err != nil || string(description.KeyMetadata.KeyState) != state || description.KeyMetadata.Enabled ||
			(description.KeyMetadata.DeletionDate != nil) != (state == "PendingDeletion") {
			t.Errorf("%s: DescribeKey: %v", state, err)
		}
		_, err = client.GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: &id})
		checkCode(t, state, err, code)
		digest := sha512.Sum512(nil)
		_, err = client.Sign(t.Context(), &kms.SignInput{KeyId: &id, Message: digest[:], MessageType: types.MessageTypeDigest,
			SigningAlgorithm: types.SigningAlgorithmSpecRsassaPkcs1V15Sha512})
		checkCode(t, state, err, code)
	}
}

func checkCode(t *testing.T, name string, err error, want string) {
	t.Helper()
	var refusal smithy.APIError
	if !errors.As(err, &refusal) || refusal.ErrorCode() != want || refusal.ErrorMessage() == "" {
		t.Errorf("%s: error is %v, want %s", name, err, want)
	}
}

// signFor signs like the SDK.
func signFor(service, region string, at time.Time) func(*http.Request, string) error {
	return func(r *http.Request, body string) error {
		keys := aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}
		payload := fmt.Sprintf("%x", sha256.Sum256([]byte(body)))
		return v4.NewSigner().SignHTTP(r.Context(), keys, r, payload, service, region, at)
	}
}

// A wire is a request without the SDK, apart from its signature.
type wire struct {
	target string
	body   string
	change func(*http.Request) // before the signature
	sign   func(*http.Request, string) error
}

// send returns the status of the answer, and its code and message.
func (w wire) send(t *testing.T, server *kmstest.Server) (status int, code, message string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.Endpoint+"/", strings.NewReader(w.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", w.target)
	if w.change != nil {
		w.change(request)
	}
	if err := w.sign(request, w.body); err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if header := response.Header.Get("X-Amzn-ErrorType"); header != answer.Type {
		t.Errorf("X-Amzn-ErrorType is %q, and the body says %q", header, answer.Type)
	}
	return response.StatusCode, answer.Type, answer.Message
}

// TestRefuses holds what each wrong request is told.
func TestRefuses(t *testing.T) {
	server := kmstest.Start(t, 2048)
	key := server.Key()
	id := fmt.Sprintf(`{"KeyId":%q}`, key.ID)
	message := func(bytes int, algorithm, kind string) string {
		return fmt.Sprintf(`{"KeyId":%q,"Message":%q,"SigningAlgorithm":%q,"MessageType":%q}`,
			key.ID, base64.StdEncoding.EncodeToString(make([]byte, bytes)), algorithm, kind)
	}
	const sha256, sha512 = "RSASSA_PKCS1_V1_5_SHA_256", "RSASSA_PKCS1_V1_5_SHA_512"
	now := time.Now()
	good := signFor("kms", key.Region, now)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	unsigned := func(*http.Request, string) error { return nil }
	bearer := func(r *http.Request, _ string) error { r.Header.Set("Authorization", "Bearer x"); return nil }
	late := func(r *http.Request, body string) error {
		err := good(r, body)
		r.Header.Set("X-Amz-Late", "not signed")
		return err
	}
	otherDay := func(r *http.Request, body string) error {
		err := good(r, body)
		r.Header.Set("X-Amz-Date", now.UTC().AddDate(0, 0, -1).Format("20060102T150405Z"))
		return err
	}
	for name, c := range map[string]struct {
		wire
		code string
		says string
	}{
		"no such operation": {wire{"TrentService.Encrypt", id, nil, good}, "UnknownOperationException", `"Encrypt"`},
		"other service":     {wire{"DynamoDB_20120810.GetItem", id, nil, good}, "UnknownOperationException", "GetItem"},
		"operation alone":   {wire{"Sign", id, nil, good}, "UnknownOperationException", `"Sign"`},
		"plain JSON":        {wire{"TrentService.DescribeKey", id, header("Content-Type", "application/json"), good}, "UnknownOperationException", "JSON 1.1"},

		"not signed":      {wire{"TrentService.DescribeKey", id, nil, unsigned}, "MissingAuthenticationTokenException", ""},
		"a bearer":        {wire{"TrentService.DescribeKey", id, nil, bearer}, "IncompleteSignatureException", ""},
		"for S3":          {wire{"TrentService.DescribeKey", id, nil, signFor("s3", key.Region, now)}, "InvalidSignatureException", "'kms'"},
		"other region":    {wire{"TrentService.DescribeKey", id, nil, signFor("kms", "eu-west-1", now)}, "InvalidSignatureException", "region"},
		"other day":       {wire{"TrentService.DescribeKey", id, nil, otherDay}, "InvalidSignatureException", "Date"},
		"an hour old":     {wire{"TrentService.DescribeKey", id, nil, signFor("kms", key.Region, now.Add(-time.Hour))}, "InvalidSignatureException", "expired"},
		"unsigned header": {wire{"TrentService.DescribeKey", id, nil, late}, "InvalidSignatureException", "x-amz-late is not signed"},

		"no body":         {wire{"TrentService.DescribeKey", "", nil, good}, "ValidationException", "EOF"},
		"two values":      {wire{"TrentService.DescribeKey", id + id, nil, good}, "ValidationException", "goes on"},
		"no key":          {wire{"TrentService.DescribeKey", "{}", nil, good}, "ValidationException", "keyId"},
		"unknown field":   {wire{"TrentService.DescribeKey", `{"KeyId":"x","DryRun":true}`, nil, good}, "ValidationException", "DryRun"},
		"a message":       {wire{"TrentService.GetPublicKey", message(32, sha256, "DIGEST"), nil, good}, "ValidationException", "Message"},
		"not base64":      {wire{"TrentService.Sign", `{"Message":"?"}`, nil, good}, "ValidationException", "base64"},
		"no algorithm":    {wire{"TrentService.Sign", id, nil, good}, "ValidationException", "signingAlgorithm"},
		"other algorithm": {wire{"TrentService.Sign", message(32, "ECDSA_SHA_256", "DIGEST"), nil, good}, "ValidationException", "signingAlgorithm"},
		"other kind":      {wire{"TrentService.Sign", message(32, sha256, "EXTERNAL_MU"), nil, good}, "ValidationException", "messageType"},
		"empty":           {wire{"TrentService.Sign", message(0, sha256, "RAW"), nil, good}, "ValidationException", "length"},
		"long":            {wire{"TrentService.Sign", message(4097, sha256, "RAW"), nil, good}, "ValidationException", "length"},
		"short digest":    {wire{"TrentService.Sign", message(31, sha256, "DIGEST"), nil, good}, "ValidationException", "Digest is invalid length for algorithm " + sha256},
		"long digest":     {wire{"TrentService.Sign", message(64, sha256, "DIGEST"), nil, good}, "ValidationException", "Digest is invalid length"},
		"other digest":    {wire{"TrentService.Sign", message(32, sha512, "DIGEST"), nil, good}, "ValidationException", "Digest is invalid length"},
	} {
		status, code, says := c.send(t, server)
		if status < 400 || status > 499 || code != c.code || !strings.Contains(says, c.says) {
			t.Errorf("%s: %d %s: %s; want %s that says %q", name, status, code, says, c.code, c.says)
		}
	}
}

func TestKeysThatDoNotSign(t *testing.T) {
	digest := sha512.Sum512(nil)
	for name, change := range map[string]func(*kmstest.Key){
		"for encryption":    func(k *kmstest.Key) { k.Usage = "ENCRYPT_DECRYPT" },
		"without algorithm": func(k *kmstest.Key) { k.Algorithms = k.Algorithms[:1] },
	} {
		server := kmstest.Start(t, 2048)
		server.Change(change)
		id := server.Key().ID
		_, err := clientOf(server).Sign(t.Context(), &kms.SignInput{KeyId: &id, Message: digest[:], MessageType: types.MessageTypeDigest,
			SigningAlgorithm: types.SigningAlgorithmSpecRsassaPkcs1V15Sha512})
		checkCode(t, name, err, "InvalidKeyUsageException")
	}
}

func TestTooLarge(t *testing.T) {
	server := kmstest.Start(t, 2048)
	status, code, _ := wire{"TrentService.Sign", strings.Repeat(" ", 1<<20), nil, signFor("kms", "us-east-1", time.Now())}.send(t, server)
	if status != http.StatusRequestEntityTooLarge || code == "" {
		t.Errorf("%d %s", status, code)
	}
}

// TestFail holds that faults come as often as they are asked for, and to their
// operation alone.
func TestFail(t *testing.T) {
	server := kmstest.Start(t, 2048)
	client, id := clientOf(server), server.Key().ID
	describe := func() error {
		_, err := client.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: &id})
		return err
	}
	server.Fail(kmstest.DescribeKey, 2, kmstest.Throttle())
	if _, err := client.GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: &id}); err != nil {
		t.Errorf("GetPublicKey: %v", err)
	}
	checkCode(t, "first", describe(), "ThrottlingException")
	checkCode(t, "second", describe(), "ThrottlingException")
	if err := describe(); err != nil {
		t.Errorf("third: %v", err)
	}
	server.Fail(kmstest.DescribeKey, kmstest.Always, kmstest.Deny())
	for range 3 {
		checkCode(t, "always", describe(), "AccessDeniedException")
	}
	server.Fail(kmstest.DescribeKey, 0, nil)
	if err := describe(); err != nil {
		t.Errorf("at the end: %v", err)
	}
	if n := server.Requests(); n["DescribeKey"] != 7 || n["GetPublicKey"] != 1 {
		t.Errorf("requests: %v", n)
	}
}

// TestCut holds that there is no answer, nor half of one.
func TestCut(t *testing.T) {
	server := kmstest.Start(t, 2048)
	client, id := clientOf(server), server.Key().ID
	for name, fault := range map[string]kmstest.Fault{"cut": kmstest.Cut(), "lost": kmstest.Lose(), "cut short": kmstest.CutShort()} {
		server.Fail(kmstest.GetPublicKey, 1, fault)
		_, err := client.GetPublicKey(t.Context(), &kms.GetPublicKeyInput{KeyId: &id})
		if refusal := smithy.APIError(nil); err == nil || errors.As(err, &refusal) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// TestLose holds that a lost answer was given, and a cut one was not.
func TestLose(t *testing.T) {
	for name, c := range map[string]struct {
		fault kmstest.Fault
		want  bool
	}{"cut": {kmstest.Cut(), false}, "lost": {kmstest.Lose(), true}, "cut short": {kmstest.CutShort(), true}} {
		answered := false
		answer := func(w http.ResponseWriter, _ *http.Request) {
			answered = true
			_, _ = io.WriteString(w, "answer")
		}
		aborted := func() (aborted any) {
			defer func() { aborted = recover() }()
			c.fault(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil), answer)
			return nil
		}()
		if aborted != http.ErrAbortHandler || answered != c.want {
			t.Errorf("%s: aborted with %v, answered: %t, want %t", name, aborted, answered, c.want)
		}
	}
}

func TestDelay(t *testing.T) {
	server := kmstest.Start(t, 2048)
	client, id := clientOf(server), server.Key().ID
	server.Fail(kmstest.DescribeKey, 1, kmstest.Delay(time.Millisecond))
	if _, err := client.DescribeKey(t.Context(), &kms.DescribeKeyInput{KeyId: &id}); err != nil {
		t.Error(err)
	}
	server.Fail(kmstest.DescribeKey, 1, kmstest.Delay(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

// TestNewKey holds that a private key has one name in all processes.
func TestNewKey(t *testing.T) {
	private := kmstest.RSAKey(t, 2048)
	if a, b := kmstest.NewKey(private), kmstest.NewKey(private); a.ARN() != b.ARN() || !a.Created.Equal(b.Created) {
		t.Errorf("%s and %s", a.ARN(), b.ARN())
	}
	if a, b := kmstest.NewKey(private), kmstest.NewKey(kmstest.RSAKey(t, 3072)); a.ARN() == b.ARN() {
		t.Errorf("two keys are named %s", a.ARN())
	}
}
