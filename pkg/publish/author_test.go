package publish_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// release is what an author uploads for one version of <namespace>/widget.
type release struct {
	namespace string
	version   string
	files     map[string][]byte // by name, without SHA256SUMS and signature
	sums      []byte
	signature []byte
	key       *signing.Key
}

const manifestJSON = `{"version":1,"metadata":{"protocol_versions":["6.0"]}}`

func newRelease(t *testing.T, namespace string) release {
	t.Helper()
	return newReleaseOf(t, namespace, "1.0.0")
}

func newReleaseOf(t *testing.T, namespace, version string) release {
	t.Helper()
	linux, darwin, manifest := providerName("widget", version, "linux_amd64.zip"), providerName("widget", version, "darwin_arm64.zip"), providerName("widget", version, "manifest.json")
	r := release{namespace: namespace, version: version, key: newKey(t, "author"), files: map[string][]byte{
		linux: widget("amd64"), darwin: widget("arm64"), manifest: []byte(manifestJSON),
	}}
	r.sums = []byte(line(r.files, linux) + line(r.files, darwin) + line(r.files, manifest))
	r.sign(t, r.key)
	return r
}

func line(files map[string][]byte, name string) string {
	sum := sha256.Sum256(files[name])
	return hex.EncodeToString(sum[:]) + "  " + name + "\n"
}

func (r *release) sign(t *testing.T, key *signing.Key) {
	t.Helper()
	var err error
	if r.signature, err = key.Sign(t.Context(), r.sums); err != nil {
		t.Fatal(err)
	}
}

// uploads is every file of the release by its key in the inbox.
func (r *release) uploads() map[string][]byte {
	all := map[string][]byte{
		r.sumsKey():                           r.sums,
		r.sumsKey() + ".sig":                  r.signature,
		"keys/" + r.namespace + "/author.asc": []byte(r.key.PublicKey().ASCIIArmor),
	}
	for name, body := range r.files {
		all["providers/"+r.namespace+"/widget/"+name] = body
	}
	return all
}

func (r *release) sumsKey() string {
	return "providers/" + r.namespace + "/widget/" + providerName("widget", r.version, "SHA256SUMS")
}

func (w *world) status(key string) inbox.Status {
	w.Helper()
	return inbox.Status(w.s3.Tags(w.T, key, "")[inbox.StatusTag])
}

func TestAuthorsWordWinsInWhateverOrderItsFilesCome(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	orders := 24
	if testing.Short() {
		orders = 6
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range orders {
		r := newRelease(t, fmt.Sprintf("acme%d", n))
		uploads := r.uploads()
		var order []string
		for key := range uploads {
			order = append(order, key)
		}
		slices.Sort(order)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, key := range order {
			w.upload(key, uploads[key])
		}
		s := w.provider(r.namespace, "widget", "1.0.0")
		if got := w.served(s); got != string(r.sums) || !s.Release.Author {
			t.Errorf("%q: served is\n%s", order, got)
		}
		if got := s.Release.Keys[0].KeyID; got != r.key.PublicKey().KeyID {
			t.Errorf("%q: key %s", order, got)
		}
		if got, want := w.listed(r.namespace+"/widget"), []string{"1.0.0 darwin_arm64 linux_amd64"}; !slices.Equal(got, want) {
			t.Errorf("%q: listed %q", order, got)
		}
		if got := s.Listed().Protocols; !slices.Equal(got, []string{"6.0"}) {
			t.Errorf("%q: protocols %q", order, got)
		}
		for _, key := range order {
			if got := w.status(key); got != inbox.Published {
				t.Errorf("%q: %s is %s", order, key, got)
			}
		}
	}
}

func TestAuthorsWordWinsOnceItIsComplete(t *testing.T) {
	w := newWorld(t)
	r := newRelease(t, "acme")
	w.upload(widgetFolder+"terraform-provider-widget_1.0.0_linux_amd64.zip", r.files["terraform-provider-widget_1.0.0_linux_amd64.zip"])
	own := w.key.PublicKey().KeyID
	for _, step := range []struct {
		key  string
		body []byte
		word string
	}{
		{r.sumsKey(), r.sums, "SHA256SUMS.sig is not here yet"},
		{r.sumsKey() + ".sig", r.signature, r.key.PublicKey().KeyID},
	} {
		w.want(w.upload(step.key, step.body), inbox.Pending, step.word)
		if got := w.provider("acme", "widget", "1.0.0").Release.Keys[0].KeyID; got != own {
			t.Errorf("after %s the key is %s", step.key, got)
		}
	}
	w.want(w.upload("keys/acme/author.asc", []byte(r.key.PublicKey().ASCIIArmor)), inbox.Published)
	if got := w.served(w.provider("acme", "widget", "1.0.0")); got != string(r.sums) {
		t.Errorf("served is %s", got)
	}
	w.s3.Delete(t, "keys/acme/author.asc") // breaks nothing
	w.want(w.upload(widgetFolder+"terraform-provider-widget_1.0.0_darwin_arm64.zip", r.files["terraform-provider-widget_1.0.0_darwin_arm64.zip"]), inbox.Published)
	if got, want := w.listed("acme/widget"), []string{"1.0.0 darwin_arm64 linux_amd64"}; !slices.Equal(got, want) {
		t.Errorf("listed %q", got)
	}
}

func TestAuthorsWordWinsOverWhatContradictsIt(t *testing.T) {
	w := newWorld(t)
	const zipName = "terraform-provider-widget_1.0.0_linux_amd64.zip"
	complete := func(r release) {
		for _, key := range []string{r.sumsKey(), r.sumsKey() + ".sig", "keys/" + r.namespace + "/author.asc"} {
			w.upload(key, r.uploads()[key])
		}
	}
	folder := func(r release) string { return "providers/" + r.namespace + "/widget/" }
	for _, test := range []struct {
		name string
		run  func(r release) inbox.Outcome
		want string
	}{
		{"a later package that it lists otherwise", func(r release) inbox.Outcome {
			complete(r)
			return w.upload(folder(r)+zipName, widget("other"))
		}, "lists " + zipName + " with another sha256"},
		{"a later package that it does not list", func(r release) inbox.Outcome {
			complete(r)
			return w.upload(folder(r)+"terraform-provider-widget_1.0.0_windows_amd64.zip", widget("other"))
		}, "does not list"},
		{"a later manifest that it lists otherwise", func(r release) inbox.Outcome {
			complete(r)
			return w.upload(folder(r)+"terraform-provider-widget_1.0.0_manifest.json", []byte(`{"version":1,"metadata":{"protocol_versions":["5.0"]}}`))
		}, "manifest.json with another sha256"},
		{"a SHA256SUMS that contradicts a published package", func(r release) inbox.Outcome {
			w.upload(folder(r)+zipName, widget("other"))
			w.upload("keys/"+r.namespace+"/author.asc", r.uploads()["keys/"+r.namespace+"/author.asc"])
			w.upload(r.sumsKey()+".sig", r.signature)
			return w.upload(r.sumsKey(), r.sums)
		}, "lists " + zipName + " with another sha256"},
		{"a SHA256SUMS that lacks a published package", func(r release) inbox.Outcome {
			w.upload(folder(r)+"terraform-provider-widget_1.0.0_windows_amd64.zip", widget("other"))
			w.upload("keys/"+r.namespace+"/author.asc", r.uploads()["keys/"+r.namespace+"/author.asc"])
			w.upload(r.sumsKey()+".sig", r.signature)
			return w.upload(r.sumsKey(), r.sums)
		}, "does not list terraform-provider-widget_1.0.0_windows_amd64.zip"},
		{"another SHA256SUMS after the first", func(r release) inbox.Outcome {
			complete(r)
			return w.upload(r.sumsKey(), []byte(line(r.files, zipName)))
		}, "published already with another SHA256SUMS"},
		{"a signature over other bytes", func(r release) inbox.Outcome {
			r.sums = []byte(line(r.files, zipName))
			r.sign(t, r.key)
			w.upload("keys/"+r.namespace+"/author.asc", []byte(r.key.PublicKey().ASCIIArmor))
			w.upload(r.sumsKey(), newRelease(t, r.namespace).sums)
			return w.upload(r.sumsKey()+".sig", r.signature)
		}, "match"},
		{"an armored signature", func(r release) inbox.Outcome {
			return w.upload(r.sumsKey()+".sig", []byte("-----BEGIN PGP SIGNATURE-----\n\nwsFz\n-----END PGP SIGNATURE-----\n"))
		}, "armor"},
		{"a SHA256SUMS with a blank line", func(r release) inbox.Outcome {
			return w.upload(r.sumsKey(), append(r.sums, '\n'))
		}, "blank"},
		{"a SHA256SUMS with CRLF", func(r release) inbox.Outcome {
			return w.upload(r.sumsKey(), []byte(strings.ReplaceAll(string(r.sums), "\n", "\r\n")))
		}, "carriage return"},
		{"a key file with junk", func(r release) inbox.Outcome {
			return w.upload("keys/"+r.namespace+"/junk.asc", []byte("not a key"))
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRelease(t, strings.ReplaceAll(strings.ToLower(test.name), " ", "-"))
			w.want(test.run(r), inbox.Rejected, test.want)
		})
	}
}

func TestAuthorsWordWinsOnceAWrongFileIsReplaced(t *testing.T) {
	w := newWorld(t)
	r := newRelease(t, "acme")
	w.upload("keys/acme/author.asc", []byte(r.key.PublicKey().ASCIIArmor))
	wrong := r
	wrong.sums = []byte("0000000000000000000000000000000000000000000000000000000000000000  x\n")
	wrong.sign(t, r.key)
	w.upload(r.sumsKey(), r.sums)
	w.want(w.upload(r.sumsKey()+".sig", wrong.signature), inbox.Rejected)
	if got := w.status(r.sumsKey()); got != inbox.Pending {
		t.Errorf("SHA256SUMS is %s beside a wrong signature", got)
	}
	w.want(w.upload(r.sumsKey()+".sig", r.signature), inbox.Published)
	if got := w.status(r.sumsKey()); got != inbox.Published {
		t.Errorf("SHA256SUMS is %s beside the right signature", got)
	}
	if got := w.served(w.provider("acme", "widget", "1.0.0")); got != string(r.sums) {
		t.Errorf("served is %s", got)
	}
	if got := w.listed("acme/widget"); got != nil {
		t.Errorf("a version without a package is listed: %q", got)
	}
}

func TestAuthorsWordIsThatOfItsOwnNamespace(t *testing.T) {
	w := newWorld(t)
	r := newRelease(t, "acme")
	w.upload("keys/acme-evil/author.asc", []byte(r.key.PublicKey().ASCIIArmor))
	w.upload(r.sumsKey(), r.sums)
	w.want(w.upload(r.sumsKey()+".sig", r.signature), inbox.Pending, "keys/acme/")
	if s := w.provider("acme", "widget", "1.0.0"); s.Release != nil {
		t.Errorf("it is served with key %s", s.Release.Keys[0].KeyID)
	}
	if got := w.keysUnder(registry.AuthorKeysPrefix("acme")); len(got) != 0 {
		t.Errorf("keys of acme: %q", got)
	}
}

// meanwhile does something of others once, right before a call is made.
type meanwhile struct {
	before string
	others func()
}

func (m *meanwhile) call(name string, do func() error) error {
	if others := m.others; others != nil && name == m.before {
		m.others = nil
		others()
	}
	return do()
}

// Whoever judged a signature beside a wrong SHA256SUMS is about to report that
// when the right one comes and is served. The report is late, and does not
// stand.
func TestALateReportOfAReleaseDoesNotStand(t *testing.T) {
	w := newWorld(t)
	for n, delivered := range []string{"", ".sig"} {
		r := newRelease(t, fmt.Sprint("acme", n))
		w.upload("keys/"+r.namespace+"/author.asc", []byte(r.key.PublicKey().ASCIIArmor))
		w.s3.Upload(t, r.sumsKey(), []byte(strings.Repeat("0", 64)+"  x\n"), nil)
		w.s3.Upload(t, r.sumsKey()+".sig", r.signature, nil)
		late := &meanwhile{before: "tag " + r.sumsKey() + ".sig", others: func() { w.upload(r.sumsKey(), r.sums) }}
		if err := w.publisher(faultyBucket{late, w.bucket}, w.index, w.key).PublishKey(t.Context(), r.sumsKey()+delivered); err != nil {
			t.Fatal(err)
		}
		if got := w.served(w.provider(r.namespace, "widget", "1.0.0")); got != string(r.sums) {
			t.Errorf("served is %s", got)
		}
		for _, key := range []string{r.sumsKey(), r.sumsKey() + ".sig"} {
			if got := w.status(key); got != inbox.Published {
				t.Errorf("after the event of SHA256SUMS%s, %s is %s", delivered, key, got)
			}
		}
	}
}

// dying is in the way until a call was made that is the process's last.
type dying struct {
	caller
	last string
	dead bool
}

func (d *dying) call(name string, do func() error) error {
	if d.dead {
		return fmt.Errorf("%s: %w", name, errFault)
	}
	d.dead = name == d.last
	return d.caller.call(name, do)
}

// Whoever reports late may die right after that, before it looks again: the
// report stands over that of what is served. The next walk over the inbox, or
// an event that comes again, puts it right.
func TestALateReportOfAPublisherThatDiedIsPutRight(t *testing.T) {
	w := newWorldOn(t, inMemory, onBolt)
	for n, delivered := range []string{"", ".sig"} {
		r := newRelease(t, fmt.Sprint("acme", n))
		signature := r.sumsKey() + ".sig"
		w.upload("keys/"+r.namespace+"/author.asc", []byte(r.key.PublicKey().ASCIIArmor))
		w.s3.Upload(t, r.sumsKey(), []byte(strings.Repeat("0", 64)+"  x\n"), nil)
		w.s3.Upload(t, signature, r.signature, nil)
		late := &meanwhile{before: "tag " + signature, others: func() { w.upload(r.sumsKey(), r.sums) }}
		d := &dying{caller: late, last: "put " + registry.OutcomeKey(signature)}
		if err := w.through(d).PublishKey(t.Context(), r.sumsKey()+delivered); !errors.Is(err, errFault) {
			t.Fatalf("the publisher ends with %v, want its death", err)
		}
		if got := w.status(signature); got != inbox.Rejected {
			t.Fatalf("the signature is %q: the report was not late", got)
		}
		for _, key := range []string{r.sumsKey(), signature} {
			if err := w.PublishKey(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{r.sumsKey(), signature} {
			var written inbox.Outcome
			err := json.Unmarshal(w.read(registry.OutcomeKey(key)), &written)
			if got := w.status(key); err != nil || got != inbox.Published || written.Status != inbox.Published {
				t.Errorf("%s is %q, and its outcome is %+v, %v", key, got, written, err)
			}
		}
	}
}
