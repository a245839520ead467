package upstream

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func TestPrivateAddressesAreRefused(t *testing.T) {
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255",
		"127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255",
		"192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::10.0.0.1", "::8.8.8.8", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:10.0.0.1",
		"64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:20::1", "2001:db8::1",
		"2002:a00:1::1", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0",
		"fec0::1", "ff02::1", "2600::1%eth0",
	} {
		err := refusePrivate("tcp", net.JoinHostPort(address, "443"), nil)
		if err == nil || !strings.Contains(err.Error(), "not a public address") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"", "example.com:443", "127.0.0.1", "[::1]", "0x7f.1:443", "127.1:443", "010.0.0.1:443"} {
		if err := refusePrivate("tcp", address, nil); err == nil || !strings.Contains(err.Error(), "it is no address") {
			t.Errorf("%q is let pass", address)
		}
	}
}

func TestPublicAddressesAreNot(t *testing.T) {
	for _, address := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2001:200::1", "2600:9000::1", "2606:4700:4700::1111", "2a00:1450:4001::1", "2003::1",
	} {
		if err := refusePrivate("tcp", net.JoinHostPort(address, "443"), nil); err != nil {
			t.Error(err)
		}
	}
}

// listener counts who connects to it.
type listener struct {
	net.Listener
	accepted atomic.Int32
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return conn, err
}

// forbidden is a server on loopback that nobody may reach.
func forbidden(t *testing.T) (l *listener, port string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	l = &listener{Listener: server.Listener}
	server.Listener = l
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		if n := l.accepted.Load(); n > 0 {
			t.Errorf("%d connections were opened", n)
		}
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return l, port
}

// localHosts are ways to name a server on loopback.
var localHosts = []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "0.0.0.0", "[::]"}

func TestLoopbackIsNotReached(t *testing.T) {
	_, port := forbidden(t)
	c := New(Config{})
	for _, host := range localHosts {
		p := Package{Address: widget, URL: "https://" + host + ":" + port + "/a.zip"}
		_, err := c.Download(t.Context(), p, io.Discard)
		says(t, err, "refused to connect to", "not a public address")
		a := registry.ProviderAddress{Hostname: host + ":" + port, Namespace: "acme", Type: "widget"}
		_, err = c.Versions(t.Context(), a)
		says(t, err, "refused to connect to", "not a public address")
	}
}

func TestRedirectsToLoopbackAreNotFollowed(t *testing.T) {
	_, port := forbidden(t)
	for _, host := range localHosts {
		o := newOrigin(t)
		target := "https://" + host + ":" + port + "/a"
		for _, url := range []string{discoveryURL, listURL, documentURL(linux), sumsURL, signatureURL, filesURL + filename(linux)} {
			good := o.pages[url]
			o.at(url, redirectTo(target))
			_, err := o.everything()
			says(t, err, "refused to connect to", "not a public address")
			o.at(url, good)
		}
		for field, url := range map[string]string{"shasums_url": sumsURL, "shasums_signature_url": signatureURL, "download_url": filesURL + filename(linux)} {
			o.describe(linux, map[string]any{field: target})
			_, err := o.everything()
			says(t, err, "refused to connect to", "not a public address")
			o.describe(linux, map[string]any{field: url})
		}
		o.json(discoveryURL, map[string]any{"providers.v1": target})
		_, err := o.everything()
		says(t, err, "refused to connect to", "not a public address")
	}
}

func TestRedirects(t *testing.T) {
	for name, test := range map[string]struct {
		page  func(o *origin) http.HandlerFunc
		words string
	}{
		"loop": {func(*origin) http.HandlerFunc { return redirectTo(listURL) }, "more than 5 redirects"},
		"six":  {func(o *origin) http.HandlerFunc { return o.hops(6, o.pages[listURL]) }, "more than 5 redirects"},
		"http": {func(*origin) http.HandlerFunc {
			return redirectTo("http://registry.example.com/?X-Amz-Signature=secret")
		}, "http://registry.example.com/ is not an absolute https URL"},
		"file":       {func(*origin) http.HandlerFunc { return redirectTo("file:///etc/passwd") }, "is not an absolute https URL"},
		"user":       {func(*origin) http.HandlerFunc { return redirectTo("https://me:secret@registry.example.com/") }, "with a user name"},
		"nowhere":    {func(*origin) http.HandlerFunc { return status(http.StatusFound) }, "302"},
		"nonsense":   {func(*origin) http.HandlerFunc { return location("https://%zz/\x1b[2J") }, "Location"},
		"long":       {func(*origin) http.HandlerFunc { return location("https://%" + strings.Repeat("z", 30_000)) }, "Location"},
		"other code": {func(*origin) http.HandlerFunc { return status(http.StatusMultipleChoices) }, "status 300"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			o.at(listURL, test.page(o))
			_, err := o.client().Versions(t.Context(), widget)
			says(t, err, test.words)
			if errors.Is(err, registry.ErrNotFound) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	t.Run("five", func(t *testing.T) {
		o := newOrigin(t)
		o.at(listURL, o.hops(5, o.pages[listURL]))
		if got, err := o.client().Versions(t.Context(), widget); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// hops redirects n times before it answers.
func (o *origin) hops(n int, page http.HandlerFunc) http.HandlerFunc {
	for i := range n {
		url := "https://cdn.example.com/" + strings.Repeat("x", i)
		o.at(url, page)
		page = redirectTo(url)
	}
	return page
}

func location(value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", value)
		w.WriteHeader(http.StatusFound)
	}
}

func (o *origin) everything() (size int64, err error) { return everything(o.T, o.client()) }

// everything does all that there is to do for the linux package.
func everything(t *testing.T, c *Client) (size int64, err error) {
	if _, err := c.Versions(t.Context(), widget); err != nil {
		return 0, err
	}
	packages, err := c.Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{linux})
	if err != nil {
		return 0, err
	}
	return c.Download(t.Context(), packages[0], io.Discard)
}

func TestEverything(t *testing.T) {
	if size, err := newOrigin(t).everything(); err != nil || size != int64(len("linux archive")) {
		t.Errorf("size %d, %v", size, err)
	}
}
