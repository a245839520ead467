package wire

import (
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// TestKeptKey checks that a key is kept, and never for another day or other credentials: each
// signature is that of a client that has signed nothing before.
func TestKeptKey(t *testing.T) {
	client := func() *Client {
		c, err := New(Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("A", "secret", "")})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	signed := func(c *Client, by aws.Credentials, at time.Time) string {
		r := &http.Request{Host: "dynamodb.eu-central-1.amazonaws.com", Header: http.Header{"X-Amz-Target": {"DynamoDB_20120810.GetItem"}}}
		c.sign(r, by, "hash", at)
		return r.Header.Get("Authorization")
	}
	evening := time.Date(2026, 11, 22, 23, 59, 59, 0, time.UTC)
	one := client()
	seen := map[string]bool{}
	for n, tt := range []struct {
		id, secret string
		at         time.Time
	}{
		{"A", "secret", evening}, {"A", "secret", evening.Add(time.Second)}, {"A", "secret", evening.Add(24 * time.Hour)},
		{"A", "another", evening.Add(24 * time.Hour)}, {"B", "another", evening.Add(24 * time.Hour)},
	} {
		by := aws.Credentials{AccessKeyID: tt.id, SecretAccessKey: tt.secret}
		got := signed(one, by, tt.at)
		if want := signed(client(), by, tt.at); got != want || seen[got] {
			t.Errorf("signature %d is %s, want %s", n, got, want)
		}
		seen[got] = true
		kept := one.key.Load()
		if signed(one, by, tt.at); one.key.Load() != kept {
			t.Errorf("the key of signature %d is not kept", n)
		}
	}
}
