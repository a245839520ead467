package awstest

import (
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	signatureTime   = "20060102T150405Z"
	unsignedPayload = "UNSIGNED-PAYLOAD"
)

// signer signs as S3 requires: paths are encoded once.
var signer = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })

// sign replaces the signature of a request. The local S3 knows one access key and no sessions,
// but functions on AWS have sessions.
func sign(r *http.Request, credentials aws.Credentials) error {
	hash := cmp.Or(r.Header.Get("X-Amz-Content-Sha256"), unsignedPayload)
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		r.Header.Del(name)
	}
	r.Header.Set("X-Amz-Content-Sha256", hash)
	return signer.SignHTTP(r.Context(), credentials, r, hash, "s3", region, time.Now())
}

// checkPresigned says whether a presigned URL was made with the credentials and has not expired.
func checkPresigned(r *http.Request, credentials aws.Credentials) error {
	query := r.URL.Query()
	at, err := time.Parse(signatureTime, query.Get("X-Amz-Date"))
	if err != nil {
		return fmt.Errorf("X-Amz-Date: %w", err)
	}
	lifetime, err := strconv.Atoi(query.Get("X-Amz-Expires"))
	if err != nil {
		return fmt.Errorf("X-Amz-Expires: %w", err)
	}
	if time.Now().After(at.Add(time.Duration(lifetime) * time.Second)) {
		return errors.New("request has expired")
	}
	unsigned := &http.Request{Method: r.Method, Host: r.Host, Header: http.Header{}, URL: withoutSignature(r.URL)}
	unsigned.URL.Scheme, unsigned.URL.Host = "https", r.Host
	unsigned.URL.RawQuery += "&X-Amz-Expires=" + strconv.Itoa(lifetime)
	again, _, err := signer.PresignHTTP(r.Context(), credentials, unsigned, unsignedPayload, "s3", region, at)
	if err != nil {
		return err
	}
	signed, err := url.Parse(again)
	if err != nil {
		return err
	}
	want := signed.Query().Get("X-Amz-Signature")
	if subtle.ConstantTimeCompare([]byte(want), []byte(query.Get("X-Amz-Signature"))) == 0 {
		return errors.New("the request signature we calculated does not match the signature you provided")
	}
	return nil
}

// withoutSignature returns a presigned URL without the parameters of its signature.
func withoutSignature(u *url.URL) *url.URL {
	query := u.Query()
	for name := range query {
		if strings.HasPrefix(name, "X-Amz-") {
			query.Del(name)
		}
	}
	bare := *u
	bare.RawQuery = query.Encode()
	return &bare
}
