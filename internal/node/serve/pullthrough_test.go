package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// clientPatience is how long the clients wait for a document of a mirror.
const clientPatience = 10 * time.Second

// pulling is a node that pulls through what an origin has of hashicorp.
type pulling struct {
	*running
	node     *node
	settings settings.Settings
	wire     *wire
	http     *http.Client
	host     string
}

func newPulling(t *testing.T, o *origin) *pulling {
	t.Helper()
	p := &pulling{settings: mirrorSettings(t, originHostname+"/hashicorp/*"), wire: newWire(t, o)}
	p.start(t)
	return p
}

func mirrorSettings(t *testing.T, patterns string) settings.Settings {
	t.Helper()
	set := localSettings(t)
	var err1, err2 error
	set.MirrorUpstreams, err1 = pullthrough.ParsePatterns(patterns)
	set.MirrorPlatforms, err2 = pullthrough.ParsePlatforms(pullthrough.DefaultPlatforms)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return set
}

// start runs the node with the data that it has.
func (p *pulling) start(t *testing.T) {
	t.Helper()
	p.node = &node{settings: p.settings, toOrigins: p.wire}
	p.running = startNode(t, p.node)
	p.http = p.client(t)
	p.http.Timeout = clientPatience
	p.host = p.env(t, "LARDER_HOST")
}

// mirrored is a document of a mirror.
type mirrored struct {
	Versions map[string]struct{}
	Archives map[string]struct {
		URL    string
		Hashes []string
	}
}

// ask asks the mirror for a document of a provider.
func (p *pulling) ask(t *testing.T, provider, name string) (int, mirrored) {
	t.Helper()
	response, err := p.http.Get("https://" + p.host + "/v1/mirror/" + provider + "/" + name)
	if err != nil {
		t.Error(err)
		return 0, mirrored{}
	}
	defer response.Body.Close()
	var document mirrored
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		t.Errorf("%s/%s: %v", provider, name, err)
	}
	return response.StatusCode, document
}

// checkIndex wants the versions of a provider to be these.
func (p *pulling) checkIndex(t *testing.T, kind string, versions ...string) {
	t.Helper()
	status, index := p.ask(t, originHostname+"/hashicorp/"+kind, "index.json")
	if got := slices.Sorted(maps.Keys(index.Versions)); !slices.Equal(got, versions) || (status == http.StatusOK) != (len(versions) > 0) {
		t.Errorf("%s: status %d, versions %q, want %q", kind, status, got, versions)
	}
}

// version is version 1.0.0 of a provider, or of hashicorp/time, which is a real
// one, the version of that.
func (p *pulling) version(t *testing.T, kind string) (int, mirrored) {
	t.Helper()
	version := "1.0.0"
	if kind == "time" {
		version = builtTime
	}
	return p.ask(t, originHostname+"/hashicorp/"+kind, version+".json")
}

// checkOffered wants an origin's packages to be offered by its own URLs, with
// the hashes that it has signed alone.
func (p *pulling) checkOffered(t *testing.T, kind string, packages map[string][]byte) {
	t.Helper()
	status, document := p.version(t, kind)
	if got := slices.Sorted(maps.Keys(document.Archives)); status != http.StatusOK || !slices.Equal(got, slices.Sorted(maps.Keys(packages))) {
		t.Errorf("%s: status %d, for %q", kind, status, got)
	}
	for platform, archive := range document.Archives {
		if !strings.HasPrefix(archive.URL, p.wire.origin.env(t, "AWS_ENDPOINT_URL_S3")) || !slices.Equal(archive.Hashes, []string{archivetest.ZH(packages[platform])}) {
			t.Errorf("%s is offered for %s as %+v", kind, platform, archive)
		}
	}
}

// awaitHere waits until the mirror itself has packages, and wants them to be there
// byte by byte and with all of their hashes.
func (p *pulling) awaitHere(t *testing.T, kind string, packages map[string][]byte) {
	t.Helper()
	eventually(t, func() error {
		_, document := p.version(t, kind)
		for platform := range packages {
			if len(document.Archives[platform].Hashes) != 2 {
				return fmt.Errorf("%s for %s: %+v\n%s", kind, platform, document.Archives[platform], p.said())
			}
		}
		return nil
	})
	p.checkHere(t, kind, packages)
}

func (p *pulling) checkHere(t *testing.T, kind string, packages map[string][]byte) {
	t.Helper()
	_, document := p.version(t, kind)
	for platform, body := range packages {
		archive := document.Archives[platform]
		if want := []string{archivetest.H1(t, body), archivetest.ZH(body)}; !slices.Equal(archive.Hashes, want) || !strings.HasPrefix(archive.URL, p.env(t, "AWS_ENDPOINT_URL_S3")) {
			t.Errorf("%s is here for %s as %+v, want %q", kind, platform, archive, want)
			continue
		}
		response, err := p.http.Get(archive.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s for %s has other bytes here, %v", kind, platform, err)
		}
	}
}

// What another registry has is offered at once, brought, and served without it.
func TestPullThrough(t *testing.T) {
	o := newOrigin(t)
	p := newPulling(t, o)
	packages := map[string][]byte{}
	for _, platform := range []string{"linux_amd64", "darwin_arm64"} {
		packages[platform] = provider(t, "widget", platform)
	}
	published := maps.Clone(packages)
	published["freebsd_amd64"] = provider(t, "widget", "not for a platform of the setting")
	o.publish(t, "widget", "1.0.0", published)
	p.checkIndex(t, "widget", "1.0.0")
	p.checkOffered(t, "widget", packages)
	p.awaitHere(t, "widget", packages)

	t.Run("many at once", func(t *testing.T) { manyAtOnce(t, o, p) })
	t.Run("withdrawn", func(t *testing.T) { withdrawn(t, o, p) })
	t.Run("not by a pattern", func(t *testing.T) { notByAPattern(t, p) })
	t.Run("lies", func(t *testing.T) { lies(t, o, p) })
	if strings.Contains(p.log.String(), "X-Amz-") {
		t.Error("the log has a presigned URL")
	}

	t.Run("all platforms", func(t *testing.T) { allPlatforms(t, o, p, published) })
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	p.start(t)
	p.wire.set(func() { p.wire.hangs = true })
	t.Run("the origin hangs", func(t *testing.T) {
		p.checkIndex(t, "widget", "1.0.0")
		p.checkHere(t, "widget", packages)
		p.checkIndex(t, "nothing")
	})
	if err := errors.Join(o.stop(), p.stop()); err != nil {
		t.Fatal(err)
	}
	p.wire.set(func() { p.wire.hangs = false })
	p.start(t)
	t.Run("the origin is down", func(t *testing.T) {
		p.checkIndex(t, "widget", "1.0.0")
		p.checkHere(t, "widget", packages)
		p.checkIndex(t, "nothing")
		if status, _ := p.version(t, "nothing"); status != http.StatusNotFound {
			t.Errorf("what is not here is answered %d", status)
		}
	})
}

// Fifty clients that ask at once for what is not here cause one look for it, and
// one download.
func manyAtOnce(t *testing.T, o *origin, p *pulling) {
	packages := map[string][]byte{"linux_amd64": provider(t, "crowd", "crowd")}
	o.publish(t, "crowd", "1.0.0", packages)
	var asking sync.WaitGroup
	for range 50 {
		asking.Go(func() {
			if status, document := p.version(t, "crowd"); status != http.StatusOK || len(document.Archives) != 1 {
				t.Errorf("status %d, %+v", status, document)
			}
		})
	}
	asking.Wait()
	p.awaitHere(t, "crowd", packages)
	for ending, want := range map[string]int{
		"/hashicorp/crowd/versions":                           1,
		"/hashicorp/crowd/1.0.0/download/linux/amd64":         2, // for those who ask, and before the download
		"/terraform-provider-crowd_1.0.0_SHA256SUMS":          2,
		"/terraform-provider-crowd_1.0.0_linux_amd64.zip":     1,
		"/terraform-provider-crowd_1.0.0_windows_amd64.zip":   0,
		"/hashicorp/crowd/1.0.0/download/windows/amd64":       0,
		"/terraform-provider-crowd_1.0.0_SHA256SUMS.sig":      2,
		"/terraform-provider-crowd_1.0.0_manifest.json":       0,
		"/terraform-provider-crowd_1.0.0_linux_amd64.zip.sig": 0,
	} {
		if got := p.wire.count(ending); got != want {
			t.Errorf("the origin was asked %d times for %s, want %d", got, ending, want)
		}
	}
}

// A version that was withdrawn here is not offered again because its origin has
// it: neither in the index, nor what is missing of it.
func withdrawn(t *testing.T, o *origin, p *pulling) {
	packages := map[string][]byte{"linux_amd64": provider(t, "withdrawn", "linux"), "darwin_arm64": provider(t, "withdrawn", "darwin")}
	o.publish(t, "withdrawn", "1.0.0", packages)
	p.wire.set(func() { p.wire.lies["withdrawn"] = at("darwin_arm64.zip", status(http.StatusServiceUnavailable)) })
	p.checkOffered(t, "withdrawn", packages)
	here := map[string][]byte{"linux_amd64": packages["linux_amd64"]}
	p.awaitHere(t, "withdrawn", here)
	if _, document := p.version(t, "withdrawn"); len(document.Archives) != 2 {
		t.Errorf("%+v: what is not here yet is not offered any more", document)
	}
	a := registry.ProviderAddress{Hostname: originHostname, Namespace: "hashicorp", Type: "withdrawn"}
	v := registrytest.Version(t, "1.0.0")
	if _, _, err := p.node.publisher.Log.SetStanding(t.Context(), registry.Subject{Address: a, Version: v}, registry.Standing{State: registry.Withdrawn}); err != nil {
		t.Fatal(err)
	}
	if status, index := p.ask(t, a.String(), "index.json"); status != http.StatusOK || len(index.Versions) > 0 {
		t.Errorf("status %d, %+v", status, index)
	}
	p.checkHere(t, "withdrawn", here)
	if _, document := p.version(t, "withdrawn"); len(document.Archives) != 1 {
		t.Errorf("%+v: of a withdrawn version, what is missing is offered", document)
	}
}

// A node that is told so offers and brings what its origin has for all platforms,
// also what is for none of those that it has otherwise.
func allPlatforms(t *testing.T, o *origin, p *pulling, widget map[string][]byte) {
	rare := map[string][]byte{"freebsd_amd64": provider(t, "rare", "rare")}
	o.publish(t, "rare", "1.0.0", rare)
	p.checkIndex(t, "rare")
	some := p.settings
	restart := func(set settings.Settings) {
		t.Helper()
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
		p.settings = set
		p.start(t)
	}
	var err error
	all := p.settings
	if all.MirrorPlatforms, err = pullthrough.ParsePlatforms("all"); err != nil {
		t.Fatal(err)
	}
	restart(all)
	p.checkIndex(t, "rare", "1.0.0")
	p.checkOffered(t, "rare", rare)
	p.awaitHere(t, "rare", rare)
	p.awaitHere(t, "widget", widget)
	restart(some)
	p.checkIndex(t, "rare", "1.0.0") // which is here now
}

// Nobody is asked for what no pattern names.
func notByAPattern(t *testing.T, p *pulling) {
	before := p.wire.count("")
	for _, provider := range []string{originHostname + "/other/widget", "registry.opentofu.org/hashicorp/widget", "169.254.169.254/hashicorp/widget"} {
		for _, name := range []string{"index.json", "1.0.0.json"} {
			if status, _ := p.ask(t, provider, name); status != http.StatusNotFound {
				t.Errorf("%s/%s: status %d", provider, name, status)
			}
		}
	}
	if after := p.wire.count(""); after != before {
		t.Errorf("%d requests were sent", after-before)
	}
}

// What an origin says against itself is never offered, and an archive that is not
// what was signed is never here.
func lies(t *testing.T, o *origin, p *pulling) {
	const (
		nothing   = iota // is offered, and none is listed
		noPackage        // is offered, of a version that is listed
		noCopy           // is made, of a package that is offered
	)
	another := []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----")
	for kind, test := range map[string]struct {
		lie  lie
		left int
		says string
	}{
		"signature": {at(".sig", change(func(body []byte) []byte { body[len(body)-1] ^= 1; return body })), noPackage, "the signature over"},
		"sums":      {at("SHA256SUMS", change(func(body []byte) []byte { return sumsLine.ReplaceAll(body, otherSum) })), noPackage, "does not match the document"},
		"checksum":  {at("/amd64", change(func(body []byte) []byte { return shasum.ReplaceAll(body, otherSum) })), noPackage, "has the checksum"},
		"key":       {at("/amd64", change(func(body []byte) []byte { return swapKey(t, body) })), noPackage, "no public key"},
		"junk":      {at("/amd64", change(func(body []byte) []byte { return bytes.ReplaceAll(body, another, []byte("-----BEGIN NOTHING-----")) })), noPackage, "read public key"},
		"loop":      {at("/versions", redirect("https://"+originHostname+"/v1/providers/hashicorp/loop/versions")), nothing, "more than 5 redirects"},
		"private":   {at("/versions", redirect("https://169.254.169.254/latest/meta-data/")), nothing, "not a public address"},
		"plain":     {at("/versions", redirect("http://"+originHostname+"/")), nothing, "not an absolute https URL"},
		"bytes":     {at(".zip", change(func(body []byte) []byte { body[len(body)/2] ^= 1; return body })), noCopy, "has the checksum"},
		"truncated": {at(".zip", change(func(body []byte) []byte { return body[:len(body)/2] })), noCopy, "has the checksum"},
		"moved":     {at(".zip", redirect("https://10.0.0.1/archive.zip")), noCopy, "not a public address"},
	} {
		t.Run(kind, func(t *testing.T) {
			packages := map[string][]byte{"linux_amd64": provider(t, kind, kind)}
			o.publish(t, kind, "1.0.0", packages)
			p.wire.set(func() { p.wire.lies[kind] = test.lie })
			if test.left == nothing {
				p.checkIndex(t, kind)
			} else {
				p.checkIndex(t, kind, "1.0.0")
			}
			if test.left == noCopy {
				p.checkOffered(t, kind, packages)
			} else if status, _ := p.version(t, kind); status != http.StatusNotFound {
				t.Errorf("the version is answered %d", status)
			}
			line := regexp.MustCompile(`(?m)^.*hashicorp/` + kind + `\b.*` + test.says)
			eventually(t, func() error {
				if !line.MatchString(p.log.String()) {
					return fmt.Errorf("the log does not say %q of %s:\n%s", test.says, kind, p.said())
				}
				return nil
			})
			if test.left == noCopy {
				p.checkOffered(t, kind, packages)
			}
			key := "mirror/" + originHostname + "/hashicorp/" + kind + "/terraform-provider-" + kind + "_1.0.0_linux_amd64.zip"
			if _, err := p.bucket(t).Head(t.Context(), key); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("it is in the bucket: %v", err)
			}
		})
	}
}

// at lies about what has a path that ends so.
func at(ending string, l lie) lie {
	return func(r *http.Request, truth *http.Response) *http.Response {
		if strings.HasSuffix(r.URL.Path, ending) {
			return l(r, truth)
		}
		return truth
	}
}

// change lies about a body.
func change(to func([]byte) []byte) lie {
	return func(r *http.Request, truth *http.Response) *http.Response {
		body, _ := io.ReadAll(truth.Body)
		truth.Body.Close()
		body = to(body)
		truth.Body, truth.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		truth.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return truth
	}
}

func status(code int) lie {
	return func(r *http.Request, truth *http.Response) *http.Response {
		truth.Body.Close()
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody, Request: r}
	}
}

func redirect(location string) lie {
	return func(r *http.Request, truth *http.Response) *http.Response {
		found := status(http.StatusFound)(r, truth)
		found.Header.Set("Location", location)
		return found
	}
}

var (
	sumsLine = regexp.MustCompile(`(?m)^()[0-9a-f]{64}`)          // of SHA256SUMS
	shasum   = regexp.MustCompile(`("shasum":\s*")[0-9a-f]{64}`)  // of the document of a package
	otherSum = []byte("${1}" + strings.Repeat("5a", sha256.Size)) // in the place of either
)

// swapKey is the document of a package with a key that has signed nothing.
func swapKey(t *testing.T, body []byte) []byte {
	var document map[string]any
	if err := json.Unmarshal(body, &document); err != nil {
		t.Error(err)
		return nil
	}
	key := publicKey(t, newKeyFile(t, t.TempDir(), "key"))
	document["signing_keys"] = map[string]any{"gpg_public_keys": []any{map[string]any{"key_id": key.KeyID, "ascii_armor": key.ASCIIArmor}}}
	swapped, err := json.Marshal(document)
	if err != nil {
		t.Error(err)
	}
	return swapped
}

// Whatever the operator names, a node connects to public addresses alone.
func TestPullThroughFromPrivateAddresses(t *testing.T) {
	r := startNode(t, &node{settings: mirrorSettings(t, "127.0.0.1/hashicorp/*,10.0.0.1/hashicorp/*")})
	p := &pulling{running: r, http: r.client(t), host: r.env(t, "LARDER_HOST")}
	for _, host := range []string{"127.0.0.1", "10.0.0.1"} {
		for _, name := range []string{"index.json", "1.0.0.json"} {
			if status, _ := p.ask(t, host+"/hashicorp/widget", name); status != http.StatusNotFound {
				t.Errorf("%s: status %d", host, status)
			}
		}
		if want := "refused to connect to " + host; !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, r.log)
		}
	}
}
