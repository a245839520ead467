package sigv4_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/larder-registry/larder/internal/node/sigv4"
)

const (
	keyID    = "AKIAIOSFODNN7EXAMPLE"
	secret   = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
	unsigned = "UNSIGNED-PAYLOAD"
)

var (
	verifier = sigv4.Verifier{Region: "us-east-1", Secret: func(id, token string) (string, bool) { return secret, id == keyID && token == "" }}
	signer   = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	keys     = aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret}
	now      = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
)

// read reads a request like a server.
func read(t testing.TB, text string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n") + "\r\n\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What AWS's documentation of S3 has as examples.
func TestExamplesOfAWS(t *testing.T) {
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	const scope = "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for name, request := range map[string]string{
		"get an object": "GET /test.txt HTTP/1.1\nHost: examplebucket.s3.amazonaws.com\nAuthorization: " + scope +
			"SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41\n" +
			"Range: bytes=0-9\nx-amz-content-sha256: " + empty + "\nx-amz-date: 20130524T000000Z",
		"put an object": "PUT /test$file.text HTTP/1.1\nHost: examplebucket.s3.amazonaws.com\nDate: Fri, 24 May 2013 00:00:00 GMT\nAuthorization: " + scope +
			"SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd\n" +
			"x-amz-date: 20130524T000000Z\nx-amz-storage-class: REDUCED_REDUNDANCY\nx-amz-content-sha256: 44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
		"a parameter without a value": "GET /?lifecycle HTTP/1.1\nHost: examplebucket.s3.amazonaws.com\nAuthorization: " + scope +
			"SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543\n" +
			"x-amz-date: 20130524T000000Z\nx-amz-content-sha256: " + empty,
		"parameters": "GET /?max-keys=2&prefix=J HTTP/1.1\nHost: examplebucket.s3.amazonaws.com\nAuthorization: " + scope +
			"SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7\n" +
			"x-amz-date: 20130524T000000Z\nx-amz-content-sha256: " + empty,
		"presigned": "GET /test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
			"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404 HTTP/1.1\n" +
			"Host: examplebucket.s3.amazonaws.com",
		"in chunks": "PUT /examplebucket/chunkObject.txt HTTP/1.1\nHost: s3.amazonaws.com\nx-amz-date: 20130524T000000Z\nx-amz-storage-class: REDUCED_REDUNDANCY\n" +
			"Authorization: " + scope + "SignedHeaders=content-encoding;content-length;host;x-amz-content-sha256;x-amz-date;x-amz-decoded-content-length;x-amz-storage-class," +
			"Signature=4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9\n" +
			"x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\nContent-Encoding: aws-chunked\nx-amz-decoded-content-length: 66560\nContent-Length: 66824",
	} {
		if err := verifier.Verify(read(t, request), at.Add(time.Minute)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// onWire is how a server sees a request that a client makes.
func onWire(t testing.TB, r *http.Request) *http.Request {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadRequest(bufio.NewReader(strings.NewReader(b.String())))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func request(t testing.TB, method, target string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, "https://127.0.0.1:9443"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func signed(t testing.TB, method, target string) *http.Request {
	t.Helper()
	r := request(t, method, target)
	r.Header.Set("X-Amz-Content-Sha256", unsigned)
	if err := signer.SignHTTP(t.Context(), keys, r, unsigned, "s3", "us-east-1", now); err != nil {
		t.Fatal(err)
	}
	return onWire(t, r)
}

func presigned(t testing.TB, method, target string, at time.Time) *http.Request {
	t.Helper()
	target, _, err := signer.PresignHTTP(t.Context(), keys, request(t, method, target+"?X-Amz-Expires=60"), unsigned, "s3", "us-east-1", at)
	if err != nil {
		t.Fatal(err)
	}
	return onWire(t, request(t, method, strings.TrimPrefix(target, "https://127.0.0.1:9443")))
}

// targets are hard to encode. Their paths are encoded as clients of S3 do it.
var targets = []string{
	"/", "/larder", "/larder/", "/larder/a%20b", "/larder/a%2Bb", "/larder//a", "/larder/a/../b", "/larder/.",
	"/larder/%C3%BC", "/larder/a%3Db%26c", "/larder/a%21%24%27%28%29%2A%2C%3B%3A%40", "/larder/a~b-c_d.e", "/larder/%25", "/larder/100%25%20",
	"/larder?uploads", "/larder?uploads=", "/larder?list-type=2&prefix=a%2Fb%20c", "/larder?prefix=a%2Bb", "/larder?b=2&a=1&a=0&a-b=3", "/larder?prefix=%C3%BC",
}

func TestSignedByTheSDK(t *testing.T) {
	for _, target := range targets {
		for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE"} {
			if err := verifier.Verify(signed(t, method, target), now); err != nil {
				t.Errorf("%s %s: %v", method, target, err)
			}
		}
		if strings.Contains(target, "?") {
			continue
		}
		if err := verifier.Verify(presigned(t, "GET", target, now), now); err != nil {
			t.Errorf("%s presigned: %v", target, err)
		}
	}
}

// A client, or a proxy before it, may write another spelling than was signed.
func TestOtherSpellings(t *testing.T) {
	for target, written := range map[string]string{
		"/larder/a%3Db%2Bc%40d": "/larder/a=b+c@d",
		"/larder/a/b":           "/larder/a%2fb",
		"/larder?prefix=a%20b":  "/larder?prefix=a+b",
		"/larder?a=1&b=%2F":     "/larder?b=/&&a=1",
		"/larder?uploads=":      "/larder?uploads",
	} {
		r := signed(t, "GET", target)
		r.RequestURI = written
		if err := verifier.Verify(r, now); err != nil {
			t.Errorf("%s as %s: %v", target, written, err)
		}
	}
}

// Bodies whose hash is said in each of the ways that there are.
func TestPayloads(t *testing.T) {
	for _, payload := range []string{
		unsigned, strings.Repeat("0", 64), "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
	} {
		r := request(t, "PUT", "/larder/x")
		r.Header.Set("X-Amz-Content-Sha256", payload)
		if err := signer.SignHTTP(t.Context(), keys, r, payload, "s3", "us-east-1", now); err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(onWire(t, r), now); err != nil {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	r := request(t, "PUT", "/larder/x")
	r.Header = http.Header{
		"X-Amz-Content-Sha256": {unsigned}, "X-Amz-Meta-Words": {"  a   b  "}, "X-Amz-Meta-Twice": {"1", "2 "}, "Content-Type": {"text/plain"},
	}
	if err := signer.SignHTTP(t.Context(), keys, r, unsigned, "s3", "us-east-1", now); err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Not-Signed", "anything")
	got := onWire(t, r)
	if err := verifier.Verify(got, now); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*http.Request){
		"a value":           func(r *http.Request) { r.Header.Set("X-Amz-Meta-Words", "a c") },
		"a value more":      func(r *http.Request) { r.Header.Add("X-Amz-Meta-Twice", "3") },
		"a header less":     func(r *http.Request) { r.Header.Del("Content-Type") },
		"the method":        func(r *http.Request) { r.Method = "DELETE" },
		"the host":          func(r *http.Request) { r.Host = "127.0.0.1:9444" },
		"the path":          func(r *http.Request) { r.RequestURI = "/larder/y" },
		"the query":         func(r *http.Request) { r.RequestURI += "?acl" },
		"the payload":       func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", strings.Repeat("0", 64)) },
		"the second":        func(r *http.Request) { r.Header.Set("X-Amz-Date", "20261122T120001Z") },
		"the signature":     func(r *http.Request) { authorization(r, "Signature=", "Signature=0") },
		"what is signed":    func(r *http.Request) { authorization(r, "content-type;", "") },
		"a signature short": func(r *http.Request) { a := r.Header["Authorization"]; a[0] = a[0][:len(a[0])-1] },
		"no signature": func(r *http.Request) {
			a := r.Header["Authorization"]
			a[0], _, _ = strings.Cut(a[0], "Signature=")
			a[0] += "Signature="
		},
	} {
		changed := got.Clone(t.Context())
		change(changed)
		if err := verifier.Verify(changed, now); !errors.Is(err, sigv4.ErrMismatch) {
			t.Errorf("with another %s: %v", name, err)
		}
	}
}

func authorization(r *http.Request, old, replacement string) {
	r.Header.Set("Authorization", strings.Replace(r.Header.Get("Authorization"), old, replacement, 1))
}

// A session's token is passed to the lookup of the secret, and must be signed.
func TestSessionTokens(t *testing.T) {
	session := sigv4.Verifier{Region: "us-east-1", Secret: func(id, token string) (string, bool) { return secret, id == keyID && token == "the/token+of=it" }}
	with := keys
	with.SessionToken = "the/token+of=it"
	header := func(token string) *http.Request {
		r := request(t, "GET", "/larder/x")
		with := keys
		with.SessionToken = token
		r.Header.Set("X-Amz-Content-Sha256", unsigned)
		if err := signer.SignHTTP(t.Context(), with, r, unsigned, "s3", "us-east-1", now); err != nil {
			t.Fatal(err)
		}
		return onWire(t, r)
	}
	link := func(token string) *http.Request {
		with := keys
		with.SessionToken = token
		target, _, err := signer.PresignHTTP(t.Context(), with, request(t, "GET", "/larder/x?X-Amz-Expires=60"), unsigned, "s3", "us-east-1", now)
		if err != nil {
			t.Fatal(err)
		}
		return onWire(t, request(t, "GET", strings.TrimPrefix(target, "https://127.0.0.1:9443")))
	}
	for _, r := range []*http.Request{header(with.SessionToken), link(with.SessionToken)} {
		if err := session.Verify(r, now); err != nil {
			t.Errorf("%s: %v", r.RequestURI, err)
		}
		if err := verifier.Verify(r, now); !errors.Is(err, sigv4.ErrUnknownKey) {
			t.Errorf("a token of a key without sessions: %v", err)
		}
	}
	for _, r := range []*http.Request{header(""), link(""), header("x"), link("x")} {
		if err := session.Verify(r, now); !errors.Is(err, sigv4.ErrUnknownKey) {
			t.Errorf("%s: %v", r.RequestURI, err)
		}
	}
	unsignedToken := header("")
	unsignedToken.Header.Set("X-Amz-Security-Token", with.SessionToken)
	twice := header(with.SessionToken)
	twice.Header.Add("X-Amz-Security-Token", with.SessionToken)
	twiceInLink := link(with.SessionToken)
	twiceInLink.RequestURI += "&X-Amz-Security-Token=x"
	for what, r := range map[string]*http.Request{"not signed": unsignedToken, "twice": twice, "twice in a link": twiceInLink} {
		if err := session.Verify(r, now); !errors.Is(err, sigv4.ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRefused(t *testing.T) {
	header := func(change func(r *http.Request)) *http.Request {
		r := signed(t, "GET", "/larder/x")
		change(r)
		return r
	}
	query := func(change func(q url.Values)) *http.Request {
		r := presigned(t, "GET", "/larder/x", now)
		path, raw, _ := strings.Cut(r.RequestURI, "?")
		values, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		change(values)
		r.RequestURI = path + "?" + values.Encode()
		return r
	}
	set := func(name, value string) func(url.Values) { return func(q url.Values) { q.Set(name, value) } }
	replaced := func(old, by string) *http.Request { return header(func(r *http.Request) { authorization(r, old, by) }) }
	tests := []struct {
		name    string
		request *http.Request
		want    error
	}{
		{"nothing", read(t, "GET /larder/x HTTP/1.1\nHost: h"), sigv4.ErrAnonymous},
		{"Basic", header(func(r *http.Request) { r.Header.Set("Authorization", "Basic x") }), sigv4.ErrUnsupported},
		{"a bearer", header(func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }), sigv4.ErrUnsupported},
		{"empty", header(func(r *http.Request) { r.Header.Set("Authorization", "") }), sigv4.ErrUnsupported},
		{"version 2", header(func(r *http.Request) { r.Header.Set("Authorization", "AWS "+keyID+":x") }), sigv4.ErrUnsupported},
		{"version 2 in the query", read(t, "GET /x?AWSAccessKeyId=a&Signature=b&Expires=1 HTTP/1.1\nHost: h"), sigv4.ErrUnsupported},
		{"two headers", header(func(r *http.Request) { r.Header.Add("Authorization", "x") }), sigv4.ErrTwice},
		{"an URL and a header", func() *http.Request {
			r := query(func(url.Values) {})
			r.Header.Set("Authorization", "Bearer x")
			return r
		}(), sigv4.ErrTwice},
		{"an old URL and a header", header(func(r *http.Request) { r.RequestURI += "?Signature=x" }), sigv4.ErrTwice},
		{"half an URL and a header", header(func(r *http.Request) { r.RequestURI += "?X-Amz-Expires=1" }), sigv4.ErrTwice},
		{"twice said in the URL", query(func(q url.Values) { q.Add("X-Amz-Signature", "x") }), sigv4.ErrMalformed},
		{"another algorithm in the URL", query(set("X-Amz-Algorithm", "AWS4-ECDSA-P256-SHA256")), sigv4.ErrUnsupported},
		{"no fields", header(func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256") }), sigv4.ErrMalformed},
		{"a field twice", replaced("SignedHeaders=", "Signature=x, SignedHeaders="), sigv4.ErrMalformed},
		{"another service", replaced("/s3/", "/sts/"), sigv4.ErrMalformed},
		{"another end", replaced("/aws4_request", "/aws4"), sigv4.ErrMalformed},
		{"another day", replaced("/20261122/", "/20261121/"), sigv4.ErrMalformed},
		{"another region", replaced("/us-east-1/", "/eu-west-1/"), sigv4.ErrMalformed},
		{"no host signed", replaced("SignedHeaders=host;", "SignedHeaders="), sigv4.ErrMalformed},
		{"no time", header(func(r *http.Request) { r.Header.Del("X-Amz-Date") }), sigv4.ErrMalformed},
		{"no payload", header(func(r *http.Request) { r.Header.Del("X-Amz-Content-Sha256") }), sigv4.ErrMalformed},
		{"another payload", header(func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", "none") }), sigv4.ErrMalformed},
		{"a hash too long", header(func(r *http.Request) { r.Header.Set("X-Amz-Content-Sha256", strings.Repeat("0", 65)) }), sigv4.ErrMalformed},
		{"chunks by ECDSA", header(func(r *http.Request) {
			r.Header.Set("X-Amz-Content-Sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD")
		}), sigv4.ErrMalformed},
		{"chunks by ECDSA, with a trailer", header(func(r *http.Request) {
			r.Header.Set("X-Amz-Content-Sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER")
		}), sigv4.ErrMalformed},
		{"a path that is none", header(func(r *http.Request) { r.RequestURI = "/%zz" }), sigv4.ErrMalformed},
		{"a query that is none", header(func(r *http.Request) { r.RequestURI = "/?%zz" }), sigv4.ErrMalformed},
		{"a value that is none", header(func(r *http.Request) { r.RequestURI = "/?a=%z" }), sigv4.ErrMalformed},
		{"an unknown key", replaced(keyID, "AKIAIOSFODNN7EXAMPLF"), sigv4.ErrUnknownKey},
		{"no key", replaced("Credential="+keyID, "Credential="), sigv4.ErrUnknownKey},
		{"an unknown key in the URL", query(set("X-Amz-Credential", "x/20261122/us-east-1/s3/aws4_request")), sigv4.ErrUnknownKey},
		{"no lifetime", query(func(q url.Values) { q.Del("X-Amz-Expires") }), sigv4.ErrMalformed},
		{"a negative lifetime", query(set("X-Amz-Expires", "-1")), sigv4.ErrMalformed},
		{"more than a week", query(set("X-Amz-Expires", "604801")), sigv4.ErrMalformed},
		{"a week that was not signed", query(set("X-Amz-Expires", "604800")), sigv4.ErrMismatch},
		{"what was added to an URL", query(set("archive", "zip")), sigv4.ErrMismatch},
		{"an URL with another signature", query(set("X-Amz-Signature", strings.Repeat("0", 64))), sigv4.ErrMismatch},
	}
	for _, tt := range tests {
		if err := verifier.Verify(tt.request, now); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestTime(t *testing.T) {
	header, link := signed(t, "GET", "/larder/x"), presigned(t, "GET", "/larder/x", now) // good for 60 s
	for _, tt := range []struct {
		request *http.Request
		after   time.Duration
		want    error
	}{
		{header, 15 * time.Minute, nil},
		{header, 15*time.Minute + time.Second, sigv4.ErrSkewed},
		{header, -15 * time.Minute, nil},
		{header, -15*time.Minute - time.Second, sigv4.ErrSkewed},
		{link, time.Minute, nil},
		{link, time.Minute + time.Second, sigv4.ErrExpired},
		{link, -15 * time.Minute, nil},
		{link, -15*time.Minute - time.Second, sigv4.ErrSkewed},
	} {
		if err := verifier.Verify(tt.request, now.Add(tt.after)); !errors.Is(err, tt.want) {
			t.Errorf("%v later: %v, want %v", tt.after, err, tt.want)
		}
	}
}

// Whatever a request says, it is not taken for one that was signed, and nothing
// panics.
func FuzzVerify(f *testing.F) {
	link := presigned(f, "GET", "/larder/x", now)
	header := signed(f, "PUT", "/larder/a%20b?x-id=PutObject")
	f.Add(link.RequestURI, "", "", "", "")
	f.Add(header.RequestURI, header.Header.Get("Authorization"), header.Header.Get("X-Amz-Date"), unsigned, "a  b")
	f.Add("/?%&=;+&a=%20", "AWS4-HMAC-SHA256 Credential=a/b/c/s3/aws4_request,SignedHeaders=host;;,Signature=", "20261122T120000Z", unsigned, "\t")
	another := sigv4.Verifier{Region: "us-east-1", Secret: func(string, string) (string, bool) { return "another", true }}
	f.Fuzz(func(t *testing.T, target, authorization, date, payload, value string) {
		r := &http.Request{Method: "GET", Host: "127.0.0.1:9443", RequestURI: target, Header: http.Header{
			"X-Amz-Date": {date}, "X-Amz-Content-Sha256": {payload}, "X-Amz-Meta": {value},
		}}
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		if err := another.Verify(r, now); err == nil {
			t.Errorf("taken: %q %q", target, authorization)
		}
	})
}

// The SDK's signatures are valid for all keys and parameters.
func FuzzSigned(f *testing.F) {
	for _, target := range targets {
		f.Add(target, "value")
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		u := &url.URL{Scheme: "https", Host: "127.0.0.1:9443", Path: "/larder/" + key, RawQuery: url.Values{"prefix": {value}}.Encode()}
		r, err := http.NewRequestWithContext(t.Context(), "GET", u.String(), nil)
		if err != nil {
			t.Skip(err)
		}
		r.Header.Set("X-Amz-Content-Sha256", unsigned)
		// The SDK escapes paths so before it signs; net/url leaves more as it is.
		r.URL.RawPath = escaped(r.URL.Path)
		if err := signer.SignHTTP(t.Context(), keys, r, unsigned, "s3", "us-east-1", now); err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(onWire(t, r), now); err != nil {
			t.Errorf("%q: %v", r.URL, err)
		}
	})
}

func escaped(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		if c == '/' || strings.ContainsRune("-._~", rune(c)) || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
