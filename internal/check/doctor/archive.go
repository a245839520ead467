package doctor

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/larder-registry/larder/internal/hostname"
	"github.com/larder-registry/larder/internal/httperror"
)

// archive is a downloaded archive without its bytes.
type archive struct {
	size   int64
	sha256 string // lower-case hex
	head   []byte // its first bytes
}

// checkArchive downloads an archive as the clients do, without the token, and compares it with
// its checksum, if there is one. It returns nil if that failed.
func (v *visit) checkArchive(ctx context.Context, section string, u *url.URL, sha256 string) *archive {
	got, encoding, err := v.client.download(ctx, u)
	if err != nil {
		const advice = "see that the object is in the bucket, and that the signer of the URL may read it; the clock of the machine that signs must be right, and a proxy before the bucket must not change path and Host header"
		v.Fail(section+".archive", v.adviceOnBucket(u, err, advice), "%s: %v", place(u), err)
		return nil
	}
	v.OK(section+".archive", "%d bytes from %s", got.size, u.Host)
	v.checkEncoding(section, encoding)
	switch {
	case sha256 == "":
	case got.sha256 != sha256:
		v.Fail(section+".checksum", "find out who changed the object: what is published never changes", "the archive has sha256 %s, not %s", got.sha256, quote(sha256))
	default:
		v.OK(section+".checksum", "sha256 %s", got.sha256)
	}
	v.checkArchiveHead(ctx, section, u, got.size)
	return got
}

// checkEncoding checks the Content-Encoding: the clients would decode gzip, but no others today.
func (v *visit) checkEncoding(section, encoding string) {
	const advice = "take the Content-Encoding off the object: an archive is sent as it is"
	switch {
	case encoding == "":
		v.OK(section+".encoding", "no Content-Encoding")
	case strings.EqualFold(encoding, "gzip"):
		v.Fail(section+".encoding", advice, "Content-Encoding: gzip, so the clients unpack it before they look into it")
	default:
		v.Warn(section+".encoding", advice, "Content-Encoding: %s", quote(encoding))
	}
}

// checkArchiveHead sends HEAD for the length, as some clients do before they download. They use
// only the length of a 200; the answer for a URL that is signed for GET is 403.
func (v *visit) checkArchiveHead(ctx context.Context, section string, u *url.URL, size int64) {
	const advice = "state the true length to HEAD, or refuse it: Terraform up to 1.13 does not download an archive of stated length 0"
	got, err := v.client.ask(ctx, http.MethodHead, u, "Accept-Encoding", "identity")
	switch {
	case err != nil:
		v.Fail(section+".head", advice, "%v", err)
	case got.status == http.StatusOK && got.length != size:
		v.Fail(section+".head", advice, "HEAD states %d bytes, but there are %d", got.length, size)
	case got.status == http.StatusOK:
		v.OK(section+".head", "HEAD states the length")
	default:
		v.OK(section+".head", "HEAD is %d, which the clients ignore", got.status)
	}
}

// download reads an archive, and keeps only its first bytes.
func (c *client) download(ctx context.Context, u *url.URL) (got *archive, encoding string, err error) {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	// With this header, net/http does not decode the archive; without it, it would do so
	// silently.
	resp, err := send(ctx, &http.Client{Transport: c.transport}, http.MethodGet, u, []string{"Accept-Encoding", "gzip"})
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // read only
	if resp.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("it answers %d", resp.StatusCode)
	}
	head, hash := &start{}, sha256.New()
	size, err := io.Copy(io.MultiWriter(head, hash), io.LimitReader(resp.Body, maxArchive+1))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("it breaks off after %d bytes: %w", size, httperror.WithoutURL(err))
	case size > maxArchive:
		return nil, "", fmt.Errorf("it has more than %d bytes", int64(maxArchive))
	case size == 0:
		return nil, "", fmt.Errorf("it is empty")
	}
	return &archive{size, hex.EncodeToString(hash.Sum(nil)), head.bytes}, resp.Header.Get("Content-Encoding"), nil
}

// start keeps the first bytes that are written to it.
type start struct{ bytes []byte }

func (s *start) Write(p []byte) (int, error) {
	const most = 8
	s.bytes = append(s.bytes, p[:min(len(p), most-len(s.bytes))]...)
	return len(p), nil
}

// adviceOnBucket returns the advice about an error from the address of the bucket: how to reach
// it if it did not answer, or else the advice answered.
func (v *visit) adviceOnBucket(u *url.URL, err error, answered string) string {
	var silent *noAnswerError
	var distrusted *tls.CertificateVerificationError
	switch {
	case !errors.As(err, &silent):
		return answered
	case errors.As(err, &distrusted):
		return fmt.Sprintf("modules and providers are downloaded from the bucket, so trust the certificate at https://%s on every machine, too (SSL_CERT_FILE, or its system's store)", u.Host)
	case hostname.IsLoopback(u.Hostname()) && !hostname.IsLoopback(v.client.serverName()):
		return fmt.Sprintf("modules and providers are downloaded from the bucket, and %s is each machine's own address: set LARDER_S3_ADDR to an address that others reach, or LARDER_S3_URL to the URL at which they reach it", u.Host)
	default:
		return fmt.Sprintf("modules and providers are downloaded from the bucket, so this machine must reach %s: look at name server, firewall and proxy; on a single node, LARDER_S3_URL sets the URL at which others reach its bucket", u.Host)
	}
}

// place returns a URL without its query.
func place(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }
