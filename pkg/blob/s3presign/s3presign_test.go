package s3presign

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/awssignature"
)

// plain is a bucket of Amazon's.
var plain = Config{
	Bucket: "larder", Region: "eu-central-1", Lifetime: 15 * time.Minute,
	Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""),
}

// nasty are keys that have to be encoded, or look as if.
var nasty = []string{
	"a", "registry/modules/acme/vpc/aws/1.2.3+build.5/0123.tar.gz", "/", "//", "/a//b/", "a/../b", "./a", "..", "a b+c", "%2F%zz%", "?q=1&r#f",
	"é☃", "\xff\xfe", "\x00\x01\r\n\t\x7f", "~'()*!;:@$,=[]{}|^`\"<>\\", "a\u00a0b", strings.Repeat("ü/", 400),
}

// sdkURL is the URL of the AWS SDK, and the time at which it was signed.
func sdkURL(t testing.TB, c Config, key string) (string, time.Time) {
	t.Helper()
	signed, err := sdk(c).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: &c.Bucket, Key: &key})
	if err != nil {
		t.Fatalf("%+v: %q: the SDK: %v", c, key, err)
	}
	parsed, err := url.Parse(signed.URL)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(awssignature.TimeFormat, parsed.Query().Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	return signed.URL, at
}

func sdk(c Config) *s3.PresignClient {
	options := s3.Options{
		Region: c.Region, Credentials: c.Credentials, UsePathStyle: c.PathStyle,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if c.Endpoint != "" {
		options.BaseEndpoint = &c.Endpoint
	}
	return s3.NewPresignClient(s3.New(options), s3.WithPresignExpires(c.Lifetime))
}

func newPresigner(t testing.TB, c Config) *Presigner {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// check compares a URL with the SDK's.
func check(t *testing.T, p *Presigner, key string) {
	t.Helper()
	want, at := sdkURL(t, p.config, key)
	p.now = func() time.Time { return at.In(time.FixedZone("elsewhere", -5*3600)).Add(999 * time.Millisecond) }
	if got, err := p.PresignGet(t.Context(), key); err != nil || got != want {
		t.Errorf("%s %s %t: %q:\n%s, %v, and the SDK's is\n%s", p.config.Endpoint, p.config.Bucket, p.config.PathStyle, key, got, err, want)
	}
}

// TestLikeSDK compares URLs with those of the SDK, byte for byte.
func TestLikeSDK(t *testing.T) {
	const token = "IQoJb3JpZ2luX2VjEJr//////////wEaDGV1LWNlbnRyYWwtMSJHMEUCIQ+a b&c=="
	configs := []Config{plain}
	with := func(change func(*Config)) {
		c := plain
		change(&c)
		configs = append(configs, c)
	}
	for _, region := range []string{
		"us-east-1", "us-west-2", "ap-southeast-7", "mx-central-1", "us-gov-west-1", "cn-north-1", "cn-northwest-1", "eusc-de-east-1",
		"us-iso-east-1", "us-isob-east-1", "eu-isoe-west-1", "us-isof-south-1", "garage", "us-east", "0",
	} {
		with(func(c *Config) { c.Region = region })
	}
	for _, bucket := range []string{"abc", "ab", "a", "a.b", "lar.der", "lar.d", "La_rder", "larder-s3", "192.0.2.1", strings.Repeat("a", 63), strings.Repeat("a", 64), "-a-", "a..b", "my-bucket.s3"} {
		for _, endpoint := range []string{"", "http://s3.example.com", "https://s3.example.com"} {
			with(func(c *Config) { c.Bucket, c.Endpoint = bucket, endpoint })
			with(func(c *Config) { c.Bucket, c.Endpoint, c.PathStyle = bucket, endpoint, true })
		}
	}
	for _, endpoint := range []string{
		"https://s3.example.com:9443", "https://s3.example.com:443", "https://s3.example.com:80", "http://s3.example.com:80/", "http://s3.example.com:443",
		"http://127.0.0.1:7070", "http://[::1]:7070", "https://192.0.2.1", "https://S3.Example.com", "HTTPS://s3.example.com", "https://s3.example.com:",
		"https://s3.example.com/", "https://s3.example.com/a/b", "https://s3.example.com:9443/a-b_c.d~/", "https://s3.example.com//a//", "https://localhost",
	} {
		with(func(c *Config) { c.Endpoint = endpoint })
		with(func(c *Config) { c.Endpoint, c.PathStyle = endpoint, true })
	}
	for _, id := range []string{"AKID", "A/K+I D=", "é"} {
		with(func(c *Config) { c.Credentials = credentials.NewStaticCredentialsProvider(id, "s", token) })
	}
	for _, lifetime := range []time.Duration{time.Second, 1999 * time.Millisecond, time.Hour, maxLifetime} {
		with(func(c *Config) { c.Lifetime = lifetime })
	}
	for i, c := range configs {
		p := newPresigner(t, c)
		for j, key := range nasty {
			if (i+j)%len(nasty) < 2 || i == 0 { // every key with some, and two with each
				check(t, p, key)
			}
		}
	}
}

func FuzzLikeSDK(f *testing.F) {
	for _, key := range nasty {
		f.Add(key, "larder", "token")
	}
	f.Fuzz(func(t *testing.T, key, bucket, token string) {
		c := plain
		c.Bucket, c.Credentials = bucket, credentials.NewStaticCredentialsProvider("AKID", "secret", token)
		if p, err := New(c); err == nil && key != "" {
			check(t, p, key)
		}
	})
}

func TestNew(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string // of the error; empty: none
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.Bucket = "" }, "no Bucket is set"},
		{func(c *Config) { c.Bucket = "a/b" }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Bucket = "a b" }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Bucket = "arn:aws:s3:us-east-1:1:accesspoint:a" }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Bucket = "a--use1-az4--x-s3" }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Bucket = "a--use1-az4--xa-s3" }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Bucket = "a--table-s3" }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Bucket = "a--op-s3" }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Bucket = strings.Repeat("a", 255) }, ""},
		{func(c *Config) { c.Bucket = strings.Repeat("a", 256) }, "Bucket is not the name of a bucket"},
		{func(c *Config) { c.Region = "" }, "no Region is set"},
		{func(c *Config) { c.Region = "eu central 1" }, `Region is "eu central 1"`},
		{func(c *Config) { c.Region = "eu.central" }, `Region is "eu.central"`},
		{func(c *Config) { c.Region = "-eu" }, `Region is "-eu"`},
		{func(c *Config) { c.Region = "eu-" }, `Region is "eu-"`},
		{func(c *Config) { c.Region = "aws-global" }, `Region is "aws-global"`},
		{func(c *Config) { c.Region = "fips-us-east-1" }, `Region is "fips-us-east-1"`},
		{func(c *Config) { c.Region = "us-east-1-fips" }, `Region is "us-east-1-fips"`},
		{func(c *Config) { c.Region = strings.Repeat("a", 63) }, ""},
		{func(c *Config) { c.Region = strings.Repeat("a", 64) }, "Region is"},
		{func(c *Config) { c.Credentials = nil }, "no Credentials are set"},
		{func(c *Config) { c.Lifetime = time.Second - 1 }, "Lifetime is 999.999999ms"},
		{func(c *Config) { c.Lifetime = time.Second }, ""},
		{func(c *Config) { c.Lifetime = maxLifetime }, ""},
		{func(c *Config) { c.Lifetime = maxLifetime + 1 }, "Lifetime is 168h0m0.000000001s"},
		{func(c *Config) { c.Endpoint = "s3.example.com" }, `Endpoint is "s3.example.com"`},
		{func(c *Config) { c.Endpoint = "ftp://s3.example.com" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https:///a" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://a@s3.example.com" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://s3.example.com?" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://s3.example.com?a=b" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://s3.example.com#a" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://s3.example.com/a b" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://s3.example.com/a%2Fb" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "https://s3.example.com/é" }, "Endpoint is"},
		{func(c *Config) { c.Endpoint = "\x00" }, "Endpoint is"},
	} {
		config := plain
		c.change(&config)
		if _, err := New(config); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: New = %v, want an error with %q", config, err, c.want)
		}
	}
	_, err := New(Config{})
	for _, want := range []string{"no Bucket", "no Region", "no Credentials", "Lifetime"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an empty config: %v, without %q", err, want)
		}
	}
}

// changing are credentials that change, and fail.
type changing struct {
	aws.Credentials
	err error
}

func (c *changing) Retrieve(ctx context.Context) (aws.Credentials, error) {
	return c.Credentials, errors.Join(c.err, ctx.Err())
}

// TestChanges checks that a URL is signed by the credentials and for the day of its own
// time, whatever the last one had.
func TestChanges(t *testing.T) {
	now := time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)
	keys := &changing{Credentials: aws.Credentials{AccessKeyID: "one", SecretAccessKey: "secret"}}
	config := plain
	config.Credentials = keys
	lasting := newPresigner(t, config)
	lasting.now = func() time.Time { return now }
	seen := map[string]bool{}
	for _, change := range []func(){
		func() {},
		func() { keys.AccessKeyID = "two" },
		func() { keys.SecretAccessKey = "other" },
		func() { keys.SessionToken = "token" },
		func() { keys.SessionToken = "" },
		func() { now = now.Add(time.Second) },
		func() { now = now.Add(-24 * time.Hour) },
	} {
		change()
		fresh := newPresigner(t, config)
		fresh.now = lasting.now
		want, err := fresh.PresignGet(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := lasting.PresignGet(t.Context(), "a"); err != nil || got != want {
				t.Errorf("%+v at %v: %s, %v, want %s", keys.Credentials, now, got, err, want)
			}
		}
		seen[want] = true
	}
	if len(seen) != 6 { // without a token it is the third again
		t.Errorf("%d URLs differ, want 6", len(seen))
	}
}

func TestFails(t *testing.T) {
	failed := errors.New("no role")
	config := plain
	config.Credentials = &changing{err: failed}
	if got, err := newPresigner(t, config).PresignGet(t.Context(), "some/key"); got != "" || !errors.Is(err, failed) || !strings.Contains(err.Error(), `presign "some/key"`) {
		t.Errorf("without credentials: %q, %v", got, err)
	}
	if got, err := newPresigner(t, plain).PresignGet(t.Context(), ""); got != "" || err == nil {
		t.Errorf("without a key: %q, %v", got, err)
	}
}

const packageKey = "registry/providers/acme/widget/1.0.0/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/terraform-provider-widget_1.0.0_linux_amd64.zip"

// TestAllocations holds a URL to what it costs: with the SDK it has 300 and more.
func TestAllocations(t *testing.T) {
	const most = 13
	p := newPresigner(t, plain)
	if got := testing.AllocsPerRun(100, func() { _, _ = p.PresignGet(t.Context(), packageKey) }); got > most {
		t.Errorf("a URL has %v allocations, and may have %d", got, most)
	}
}

func BenchmarkPresignGet(b *testing.B) {
	config := plain
	config.Credentials = credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", strings.Repeat("abcd/+=xyz", 100)) // as long as Lambda's
	p := newPresigner(b, config)
	client := sdk(config)
	for name, presign := range map[string]func() error{
		"larder": func() error { _, err := p.PresignGet(b.Context(), packageKey); return err },
		"sdk": func() error {
			_, err := client.PresignGetObject(b.Context(), &s3.GetObjectInput{Bucket: aws.String(config.Bucket), Key: aws.String(packageKey)})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := presign(); err != nil {
					b.Fatal(fmt.Errorf("presign: %w", err))
				}
			}
		})
	}
}
