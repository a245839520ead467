package awstest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestCheckPresigned presigns with the SDK's own client.
func TestCheckPresigned(t *testing.T) {
	const token = "token/with+signs=="
	keys := aws.Credentials{AccessKeyID: "ASIAEXAMPLE", SecretAccessKey: "secret", SessionToken: token}
	presigned := func() *url.URL {
		t.Helper()
		client := s3.New(s3.Options{
			Region: region, BaseEndpoint: aws.String("https://127.0.0.1:9443"), UsePathStyle: true,
			Credentials: credentials.NewStaticCredentialsProvider(keys.AccessKeyID, keys.SecretAccessKey, token),
		})
		request, err := s3.NewPresignClient(client).PresignGetObject(t.Context(), &s3.GetObjectInput{
			Bucket: aws.String("b"), Key: aws.String("registry/a+b c.zip"), VersionId: aws.String("1"),
		}, s3.WithPresignExpires(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(request.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for name, c := range map[string]struct {
		change func(u *url.URL, query url.Values)
		method string
		keys   aws.Credentials
		ok     bool
	}{
		"as it is":         {nil, http.MethodGet, keys, true},
		"HEAD":             {nil, http.MethodHead, keys, false},
		"of another role":  {nil, http.MethodGet, aws.Credentials{AccessKeyID: "ASIAOTHER", SecretAccessKey: "other", SessionToken: token}, false},
		"another key":      {func(u *url.URL, _ url.Values) { u.Path += "x"; u.RawPath = "" }, http.MethodGet, keys, false},
		"another version":  {func(_ *url.URL, q url.Values) { q.Set("versionId", "2") }, http.MethodGet, keys, false},
		"something added":  {func(_ *url.URL, q url.Values) { q.Set("archive", "zip") }, http.MethodGet, keys, false},
		"longer":           {func(_ *url.URL, q url.Values) { q.Set("X-Amz-Expires", "3600") }, http.MethodGet, keys, false},
		"expired":          {func(_ *url.URL, q url.Values) { q.Set("X-Amz-Date", "20200101T000000Z") }, http.MethodGet, keys, false},
		"no date":          {func(_ *url.URL, q url.Values) { q.Del("X-Amz-Date") }, http.MethodGet, keys, false},
		"no end":           {func(_ *url.URL, q url.Values) { q.Del("X-Amz-Expires") }, http.MethodGet, keys, false},
		"another host":     {func(u *url.URL, _ url.Values) { u.Host = "127.0.0.2:9443" }, http.MethodGet, keys, false},
		"no signature":     {func(_ *url.URL, q url.Values) { q.Del("X-Amz-Signature") }, http.MethodGet, keys, false},
		"in another order": {func(u *url.URL, q url.Values) { u.RawQuery = q.Encode() }, http.MethodGet, keys, true},
	} {
		u := presigned()
		if c.change != nil {
			query := u.Query()
			c.change(u, query)
			u.RawQuery = query.Encode()
		}
		if err := checkPresigned(httptest.NewRequest(c.method, u.String(), nil), c.keys); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSign holds that of a signature nothing is left, and the body's hash stays.
func TestSign(t *testing.T) {
	r := httptest.NewRequest(http.MethodPut, "http://127.0.0.1/b/k", strings.NewReader("body"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 old")
	r.Header.Set("X-Amz-Security-Token", "token")
	r.Header.Set("X-Amz-Content-Sha256", "hash")
	if err := sign(r, aws.Credentials{AccessKeyID: "owner", SecretAccessKey: "secret"}); err != nil {
		t.Fatal(err)
	}
	if got := r.Header.Get("Authorization"); !strings.Contains(got, "Credential=owner/") {
		t.Errorf("Authorization: %s", got)
	}
	if r.Header.Get("X-Amz-Security-Token") != "" || r.Header.Get("X-Amz-Content-Sha256") != "hash" {
		t.Errorf("headers: %v", r.Header)
	}
}
