package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// An origin that contradicts itself is never believed.
func TestLies(t *testing.T) {
	other := signingKeys()[1]
	sumOther := checksum([]byte("another archive"))
	for name, test := range map[string]struct {
		lie   func(o *origin)
		words []string
	}{
		"a swapped key": {
			func(o *origin) {
				o.describe(linux, map[string]any{"signing_keys": keysOf(other.PublicKey().ASCIIArmor)})
			},
			[]string{"the signature over " + sumsURL + " does not verify", documentURL(linux), "no public key"},
		},
		"a swapped key of one platform, and the same URLs": {
			func(o *origin) {
				o.describe(darwin, map[string]any{"signing_keys": keysOf(other.PublicKey().ASCIIArmor)})
			},
			[]string{documentURL(darwin), "no public key"},
		},
		"a signature by another key": {
			func(o *origin) { o.body(signatureURL, signature(o.T, other, o.sums)) },
			[]string{"no public key"},
		},
		"a signature over another SHA256SUMS": {
			func(o *origin) { o.body(signatureURL, signature(o.T, o.key, o.sums+sumOther+"  other.zip\n")) },
			[]string{"does not match the document"},
		},
		"another SHA256SUMS and checksum under the old signature": {
			func(o *origin) {
				o.body(sumsURL, []byte(strings.ReplaceAll(o.sums, checksum(o.archives[linux]), sumOther)))
				o.describe(linux, map[string]any{"shasum": sumOther})
			},
			[]string{"does not match the document"},
		},
		"no signature": {
			func(o *origin) { o.body(signatureURL, nil) },
			[]string{"it is empty"},
		},
		"a page for a signature": {
			func(o *origin) { o.body(signatureURL, []byte("<html>sign in</html>")) },
			[]string{"not a detached binary OpenPGP signature"},
		},
		"an armored signature": {
			func(o *origin) { o.body(signatureURL, []byte("-----BEGIN PGP SIGNATURE-----\n\nAAAA\n")) },
			[]string{"armored text"},
		},
		"no keys":       {func(o *origin) { o.describe(linux, map[string]any{"signing_keys": keysOf()}) }, []string{"no public key"}},
		"keys are null": {func(o *origin) { o.describe(linux, map[string]any{"signing_keys": nil}) }, []string{"no public key"}},
		"a null key": {
			func(o *origin) {
				o.describe(linux, map[string]any{"signing_keys": map[string]any{"gpg_public_keys": []any{nil}}})
			},
			[]string{"read public key"},
		},
		"an undecodable key among others": {
			func(o *origin) {
				o.describe(linux, map[string]any{"signing_keys": keysOf("junk", o.key.PublicKey().ASCIIArmor)})
			},
			[]string{"read public key 51852D87348FFC4C"},
		},
		"another checksum in the document": {
			func(o *origin) { o.describe(linux, map[string]any{"shasum": sumOther}) },
			[]string{documentURL(linux) + " has the checksum " + sumOther, sumsURL, checksum([]byte("linux archive"))},
		},
		"no checksum in the document": {func(o *origin) { o.describe(linux, map[string]any{"shasum": nil}) }, []string{"has the checksum  for"}},
		"a checksum for another name": {
			func(o *origin) {
				o.sign(strings.ReplaceAll(o.sums, filename(linux), "terraform-provider-widget_1.0.1_linux_amd64.zip"))
			},
			[]string{"does not list terraform-provider-widget_1.0.0_linux_amd64.zip"},
		},
		"another file name": {
			func(o *origin) { o.describe(linux, map[string]any{"filename": filename(darwin)}) },
			[]string{"calls the package", filename(darwin), filename(linux)},
		},
		"no file name":     {func(o *origin) { o.describe(linux, map[string]any{"filename": nil}) }, []string{"calls the package"}},
		"another platform": {func(o *origin) { o.describe(linux, map[string]any{"arch": "AMD64"}) }, []string{`for "linux_AMD64"`}},
		"a signed SHA256SUMS of a form that breaks clients": {
			func(o *origin) { o.sign(o.sums + "\n") },
			[]string{"blank"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			test.lie(o)
			packages, err := o.packages()
			says(t, err, append(test.words, "registry.example.com/acme/widget 1.0.0: not to be trusted: ")...)
			if _, ok := errors.AsType[*Untrusted](err); !ok || packages != nil {
				t.Errorf("packages %v, error %#v", packages, err)
			}
		})
	}
}

// What is unusual, and good enough for the clients.
func TestTruths(t *testing.T) {
	for name, tell := range map[string]func(o *origin){
		"a checksum in upper case": func(o *origin) {
			o.describe(linux, map[string]any{"shasum": strings.ToUpper(checksum(o.archives[linux]))})
		},
		"the second key": func(o *origin) {
			o.describe(linux, map[string]any{"signing_keys": keysOf(signingKeys()[1].PublicKey().ASCIIArmor, o.key.PublicKey().ASCIIArmor)})
		},
		"a key that has expired since": func(o *origin) {
			author := newAuthor(o.T, 24*time.Hour)
			o.body(signatureURL, author.sign(o.sums))
			for _, p := range []registry.Platform{linux, darwin} {
				o.describe(p, map[string]any{"signing_keys": keysOf(author.armor())})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			tell(o)
			if packages, err := o.packages(); err != nil || len(packages) != 2 || packages[0] != o.pkg() {
				t.Errorf("%v, %v", packages, err)
			}
		})
	}
}

// That a key has expired excuses nothing else.
func TestExpiredAndRevokedKeys(t *testing.T) {
	for name, test := range map[string]struct {
		lifetime time.Duration
		revoked  bool
		more     string // signed, and not served
		want     error
	}{
		"expired, over another SHA256SUMS": {24 * time.Hour, false, "more", signing.ErrSignatureMismatch},
		"expired and revoked":              {24 * time.Hour, true, "", signing.ErrKeyRevoked},
		"revoked":                          {0, true, "", signing.ErrKeyRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			o, author := newOrigin(t), newAuthor(t, test.lifetime)
			o.body(signatureURL, author.sign(o.sums+test.more))
			if test.revoked {
				author.revoke()
			}
			o.describe(linux, map[string]any{"signing_keys": keysOf(author.armor())})
			_, err := o.client().Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{linux})
			if _, ok := errors.AsType[*Untrusted](err); !ok || !errors.Is(err, test.want) {
				t.Errorf("the error is %v, want one of kind %v", err, test.want)
			}
		})
	}
}

// author has a key made a year ago.
type author struct {
	t      *testing.T
	entity *openpgp.Entity
}

func newAuthor(t *testing.T, lifetime time.Duration) author {
	t.Helper()
	entity, err := openpgp.NewEntity("Author", "", "author@example.com", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: lastYear, KeyLifetimeSecs: uint32(lifetime / time.Second),
	})
	if err != nil {
		t.Fatal(err)
	}
	return author{t, entity}
}

func lastYear() time.Time { return time.Now().AddDate(-1, 0, 0) }

// sign signs half a day after the key was made.
func (a author) sign(document string) []byte {
	a.t.Helper()
	var b bytes.Buffer
	at := func() time.Time { return lastYear().Add(12 * time.Hour) }
	if err := openpgp.DetachSign(&b, a.entity, strings.NewReader(document), &packet.Config{Time: at}); err != nil {
		a.t.Fatal(err)
	}
	return b.Bytes()
}

func (a author) revoke() {
	a.t.Helper()
	if err := a.entity.RevokeKey(packet.KeyCompromised, "stolen", nil); err != nil {
		a.t.Fatal(err)
	}
}

func (a author) armor() string {
	a.t.Helper()
	var b strings.Builder
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(a.entity.Serialize(w), w.Close())
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return b.String()
}

// An archive that is not what was signed is an error, whatever was written.
func TestArchivesThatLie(t *testing.T) {
	untrusted := func(err error) bool { _, ok := errors.AsType[*Untrusted](err); return ok }
	unavailable := func(err error) bool { return !untrusted(err) && !errors.Is(err, registry.ErrNotFound) }
	for name, test := range map[string]struct {
		page  http.HandlerFunc
		kind  func(error) bool
		words string
	}{
		"wrong bytes":  {send([]byte("linux Archive")), untrusted, "has the checksum"},
		"shorter":      {send([]byte("linux archiv")), untrusted, "has the checksum"},
		"longer":       {send([]byte("linux archive\n")), untrusted, "has the checksum"},
		"empty":        {send(nil), untrusted, "has the checksum"},
		"cut off":      {sendPart([]byte("linux archi"), 13), unavailable, "read " + filesURL},
		"too large":    {send(bytes.Repeat([]byte("x"), 101)), unavailable, "more than 100 bytes"},
		"missing":      {http.NotFound, unavailable, "status 404"},
		"down":         {status(http.StatusServiceUnavailable), unavailable, "status 503"},
		"a part of it": {status(http.StatusPartialContent), unavailable, "status 206"},
		"no content":   {status(http.StatusNoContent), unavailable, "status 204"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			o.at(filesURL+filename(linux), test.page)
			c := o.client()
			c.limits.archive = 100
			_, err := c.Download(t.Context(), o.pkg(), io.Discard)
			says(t, err, "registry.example.com/acme/widget 1.0.0 linux_amd64: ", test.words)
			if !test.kind(err) {
				t.Errorf("the error is %#v", err)
			}
		})
	}
}

func send(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }
}

// sendPart announces another size than it sends.
func sendPart(body []byte, announced int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(announced))
		_, _ = w.Write(body)
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// The largest archive is accepted.
func TestTheLargestArchive(t *testing.T) {
	o := newOrigin(t)
	c := o.client()
	c.limits.archive = int64(len(o.archives[linux]))
	if size, err := c.Download(t.Context(), o.pkg(), io.Discard); err != nil || size != c.limits.archive {
		t.Errorf("size %d, %v", size, err)
	}
}

func TestDownloadOfAPackageThatNobodyFound(t *testing.T) {
	o := newOrigin(t)
	for _, url := range []string{"", "http://files.example.com/a.zip", "file:///etc/passwd", "/a.zip", "https:///a.zip", "https://a:secret@files.example.com/a.zip", "https://%zz?X-Amz-Signature=secret"} {
		_, err := o.client().Download(t.Context(), Package{Address: widget, URL: url}, io.Discard)
		says(t, err)
	}
	p := o.pkg()
	p.SHA256 = ""
	if _, err := o.client().Download(t.Context(), p, io.Discard); err == nil {
		t.Error("a package without a checksum was downloaded")
	}
	if len(o.asked) != 1 {
		t.Errorf("%d requests, want that of the last package alone", len(o.asked))
	}
}

type fullDisk struct{}

var errFull = errors.New("the disk is full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestErrorsOfTheWriter(t *testing.T) {
	o := newOrigin(t)
	if _, err := o.client().Download(t.Context(), o.pkg(), fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
}

func TestOversizedAnswers(t *testing.T) {
	for url, limit := range map[string]int{
		discoveryURL: 1 << 20, listURL: 10 << 20, documentURL(linux): 1 << 20, sumsURL: shasums.MaxSize, signatureURL: signing.MaxSignature,
	} {
		t.Run(url, func(t *testing.T) {
			o := newOrigin(t)
			o.at(url, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", typeJSON)
				_, _ = w.Write(bytes.Repeat([]byte(" "), limit+1))
			})
			c := o.client()
			_, err := c.Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{linux})
			if url == listURL {
				_, err = c.Versions(t.Context(), widget)
			}
			says(t, err, url, fmt.Sprintf("more than %d bytes", limit))
		})
	}
	t.Run("as large as it may be", func(t *testing.T) {
		o := newOrigin(t)
		list := `{"versions":[{"version":"1.0.0"}]}`
		o.body(listURL, []byte(list+strings.Repeat(" ", maxVersions-len(list))))
		if got, err := o.client().Versions(t.Context(), widget); err != nil || len(got) != 1 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("header", func(t *testing.T) {
		o := newOrigin(t)
		o.at(listURL, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 64<<10))
			_, _ = w.Write([]byte(`{"versions":[]}`))
		})
		_, err := o.client().Versions(t.Context(), widget)
		says(t, err, listURL, "header")
	})
}
