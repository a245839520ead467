package serve

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"
)

// TestSessionsAreResumed checks that a client that comes again, to either port, needs no
// second handshake with certificates: it costs the server a signature each time.
func TestSessionsAreResumed(t *testing.T) {
	r := start(t, localSettings(t))
	for name, url := range map[string]string{
		"registry": "https://" + r.env(t, "LARDER_HOST") + "/.well-known/terraform.json",
		"bucket":   r.env(t, "AWS_ENDPOINT_URL_S3") + "/larder",
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			client := r.client(t)
			transport := client.Transport.(*http.Transport)
			transport.DisableKeepAlives = true
			transport.TLSClientConfig.MaxVersion = version
			transport.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
			for i, resumed := range []bool{false, true, true} {
				response, err := client.Get(url)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if err != nil || response.TLS.DidResume != resumed {
					t.Errorf("%s, %s: connection %d is resumed: %t, want %t (%v)", name, tls.VersionName(version), i+1, response.TLS.DidResume, resumed, err)
				}
			}
		}
	}
}
