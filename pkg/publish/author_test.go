package publish_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestAuthorsWordWinsInWhateverOrderItsFilesCome(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	orders := 24
	if testing.Short() {
		orders = 6
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range orders {
		r := publishtest.NewRelease(t, fmt.Sprintf("acme%d", n))
		uploads := r.Uploads()
		var order []string
		for key := range uploads {
			order = append(order, key)
		}
		slices.Sort(order)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, key := range order {
			w.Upload(key, uploads[key])
		}
		s := w.Provider(r.Namespace, "widget", "1.0.0")
		if got := w.Served(s); got != string(r.Sums) || !s.Release.Author {
			t.Errorf("%q: served is\n%s", order, got)
		}
		if got := s.Release.Keys[0].KeyID; got != r.Key.PublicKey().KeyID {
			t.Errorf("%q: key %s", order, got)
		}
		if got, want := w.Listed(r.Namespace+"/widget"), []string{"1.0.0 darwin_arm64 linux_amd64"}; !slices.Equal(got, want) {
			t.Errorf("%q: listed %q", order, got)
		}
		if got := s.Listed().Protocols; !slices.Equal(got, []string{"6.0"}) {
			t.Errorf("%q: protocols %q", order, got)
		}
		for _, key := range order {
			if got := w.Status(key); got != inbox.Published {
				t.Errorf("%q: %s is %s", order, key, got)
			}
		}
	}
}

func TestAuthorsWordWinsOnceItIsComplete(t *testing.T) {
	w := newWorld(t)
	r := publishtest.NewRelease(t, "acme")
	w.Upload(publishtest.WidgetFolder+"terraform-provider-widget_1.0.0_linux_amd64.zip", r.Files["terraform-provider-widget_1.0.0_linux_amd64.zip"])
	own := w.Key.PublicKey().KeyID
	for _, step := range []struct {
		key  string
		body []byte
		word string
	}{
		{r.SumsKey(), r.Sums, "SHA256SUMS.sig is not here yet"},
		{r.SumsKey() + ".sig", r.Signature, r.Key.PublicKey().KeyID},
	} {
		w.Want(w.Upload(step.key, step.body), inbox.Pending, step.word)
		if got := w.Provider("acme", "widget", "1.0.0").Release.Keys[0].KeyID; got != own {
			t.Errorf("after %s the key is %s", step.key, got)
		}
	}
	w.Want(w.Upload("keys/acme/author.asc", []byte(r.Key.PublicKey().ASCIIArmor)), inbox.Published)
	if got := w.Served(w.Provider("acme", "widget", "1.0.0")); got != string(r.Sums) {
		t.Errorf("served is %s", got)
	}
	w.S3.Delete(t, "keys/acme/author.asc") // breaks nothing
	w.Want(w.Upload(publishtest.WidgetFolder+"terraform-provider-widget_1.0.0_darwin_arm64.zip", r.Files["terraform-provider-widget_1.0.0_darwin_arm64.zip"]), inbox.Published)
	if got, want := w.Listed("acme/widget"), []string{"1.0.0 darwin_arm64 linux_amd64"}; !slices.Equal(got, want) {
		t.Errorf("listed %q", got)
	}
}

func TestAuthorsWordWinsOverWhatContradictsIt(t *testing.T) {
	w := newWorld(t)
	const zipName = "terraform-provider-widget_1.0.0_linux_amd64.zip"
	complete := func(r publishtest.Release) {
		for _, key := range []string{r.SumsKey(), r.SumsKey() + ".sig", "keys/" + r.Namespace + "/author.asc"} {
			w.Upload(key, r.Uploads()[key])
		}
	}
	folder := func(r publishtest.Release) string { return "providers/" + r.Namespace + "/widget/" }
	for _, test := range []struct {
		name string
		run  func(r publishtest.Release) inbox.Outcome
		want string
	}{
		{"a later package that it lists otherwise", func(r publishtest.Release) inbox.Outcome {
			complete(r)
			return w.Upload(folder(r)+zipName, publishtest.Widget("other"))
		}, "lists " + zipName + " with another sha256"},
		{"a later package that it does not list", func(r publishtest.Release) inbox.Outcome {
			complete(r)
			return w.Upload(folder(r)+"terraform-provider-widget_1.0.0_windows_amd64.zip", publishtest.Widget("other"))
		}, "does not list"},
		{"a later manifest that it lists otherwise", func(r publishtest.Release) inbox.Outcome {
			complete(r)
			return w.Upload(folder(r)+"terraform-provider-widget_1.0.0_manifest.json", []byte(`{"version":1,"metadata":{"protocol_versions":["5.0"]}}`))
		}, "manifest.json with another sha256"},
		{"a SHA256SUMS that contradicts a published package", func(r publishtest.Release) inbox.Outcome {
			w.Upload(folder(r)+zipName, publishtest.Widget("other"))
			w.Upload("keys/"+r.Namespace+"/author.asc", r.Uploads()["keys/"+r.Namespace+"/author.asc"])
			w.Upload(r.SumsKey()+".sig", r.Signature)
			return w.Upload(r.SumsKey(), r.Sums)
		}, "lists " + zipName + " with another sha256"},
		{"a SHA256SUMS that lacks a published package", func(r publishtest.Release) inbox.Outcome {
			w.Upload(folder(r)+"terraform-provider-widget_1.0.0_windows_amd64.zip", publishtest.Widget("other"))
			w.Upload("keys/"+r.Namespace+"/author.asc", r.Uploads()["keys/"+r.Namespace+"/author.asc"])
			w.Upload(r.SumsKey()+".sig", r.Signature)
			return w.Upload(r.SumsKey(), r.Sums)
		}, "does not list terraform-provider-widget_1.0.0_windows_amd64.zip"},
		{"another SHA256SUMS after the first", func(r publishtest.Release) inbox.Outcome {
			complete(r)
			return w.Upload(r.SumsKey(), []byte(publishtest.Line(r.Files, zipName)))
		}, "published already with another SHA256SUMS"},
		{"a signature over other bytes", func(r publishtest.Release) inbox.Outcome {
			r.Sums = []byte(publishtest.Line(r.Files, zipName))
			r.Sign(t, r.Key)
			w.Upload("keys/"+r.Namespace+"/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
			w.Upload(r.SumsKey(), publishtest.NewRelease(t, r.Namespace).Sums)
			return w.Upload(r.SumsKey()+".sig", r.Signature)
		}, "match"},
		{"an armored signature", func(r publishtest.Release) inbox.Outcome {
			return w.Upload(r.SumsKey()+".sig", []byte("-----BEGIN PGP SIGNATURE-----\n\nwsFz\n-----END PGP SIGNATURE-----\n"))
		}, "armor"},
		{"a SHA256SUMS with a blank line", func(r publishtest.Release) inbox.Outcome {
			return w.Upload(r.SumsKey(), append(r.Sums, '\n'))
		}, "blank"},
		{"a SHA256SUMS with CRLF", func(r publishtest.Release) inbox.Outcome {
			return w.Upload(r.SumsKey(), []byte(strings.ReplaceAll(string(r.Sums), "\n", "\r\n")))
		}, "carriage return"},
		{"a key file with junk", func(r publishtest.Release) inbox.Outcome {
			return w.Upload("keys/"+r.Namespace+"/junk.asc", []byte("not a key"))
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := publishtest.NewRelease(t, strings.ReplaceAll(strings.ToLower(test.name), " ", "-"))
			w.Want(test.run(r), inbox.Rejected, test.want)
		})
	}
}

func TestAuthorsWordWinsOnceAWrongFileIsReplaced(t *testing.T) {
	w := newWorld(t)
	r := publishtest.NewRelease(t, "acme")
	w.Upload("keys/acme/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
	wrong := r
	wrong.Sums = []byte("0000000000000000000000000000000000000000000000000000000000000000  x\n")
	wrong.Sign(t, r.Key)
	w.Upload(r.SumsKey(), r.Sums)
	w.Want(w.Upload(r.SumsKey()+".sig", wrong.Signature), inbox.Rejected)
	if got := w.Status(r.SumsKey()); got != inbox.Pending {
		t.Errorf("SHA256SUMS is %s beside a wrong signature", got)
	}
	w.Want(w.Upload(r.SumsKey()+".sig", r.Signature), inbox.Published)
	if got := w.Status(r.SumsKey()); got != inbox.Published {
		t.Errorf("SHA256SUMS is %s beside the right signature", got)
	}
	if got := w.Served(w.Provider("acme", "widget", "1.0.0")); got != string(r.Sums) {
		t.Errorf("served is %s", got)
	}
	if got := w.Listed("acme/widget"); got != nil {
		t.Errorf("a version without a package is listed: %q", got)
	}
}

func TestAuthorsWordIsThatOfItsOwnNamespace(t *testing.T) {
	w := newWorld(t)
	r := publishtest.NewRelease(t, "acme")
	w.Upload("keys/acme-evil/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
	w.Upload(r.SumsKey(), r.Sums)
	w.Want(w.Upload(r.SumsKey()+".sig", r.Signature), inbox.Pending, "keys/acme/")
	if s := w.Provider("acme", "widget", "1.0.0"); s.Release != nil {
		t.Errorf("it is served with key %s", s.Release.Keys[0].KeyID)
	}
	if got := w.KeysUnder(registry.AuthorKeysPrefix("acme")); len(got) != 0 {
		t.Errorf("keys of acme: %q", got)
	}
}

// meanwhile does something of others once, right before a call is made.
type meanwhile struct {
	before string
	others func()
}

func (m *meanwhile) Call(name string, do func() error) error {
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
		r := publishtest.NewRelease(t, fmt.Sprint("acme", n))
		w.Upload("keys/"+r.Namespace+"/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
		w.S3.Upload(t, r.SumsKey(), []byte(strings.Repeat("0", 64)+"  x\n"), nil)
		w.S3.Upload(t, r.SumsKey()+".sig", r.Signature, nil)
		late := &meanwhile{before: "tag " + r.SumsKey() + ".sig", others: func() { w.Upload(r.SumsKey(), r.Sums) }}
		if err := w.PartsOn(publishtest.FaultyBucket{Caller: late, Bucket: w.Bucket}, w.Index, w.Key).PublishKey(t.Context(), r.SumsKey()+delivered); err != nil {
			t.Fatal(err)
		}
		if got := w.Served(w.Provider(r.Namespace, "widget", "1.0.0")); got != string(r.Sums) {
			t.Errorf("served is %s", got)
		}
		for _, key := range []string{r.SumsKey(), r.SumsKey() + ".sig"} {
			if got := w.Status(key); got != inbox.Published {
				t.Errorf("after the event of SHA256SUMS%s, %s is %s", delivered, key, got)
			}
		}
	}
}

// dying is in the way until a call was made that is the process's last.
type dying struct {
	publishtest.Caller
	last string
	dead bool
}

func (d *dying) Call(name string, do func() error) error {
	if d.dead {
		return fmt.Errorf("%s: %w", name, publishtest.ErrFault)
	}
	d.dead = name == d.last
	return d.Caller.Call(name, do)
}

// Whoever reports late may die right after that, before it looks again: the
// report stands over that of what is served. The next walk over the inbox, or
// an event that comes again, puts it right.
func TestALateReportOfAPublisherThatDiedIsPutRight(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	for n, delivered := range []string{"", ".sig"} {
		r := publishtest.NewRelease(t, fmt.Sprint("acme", n))
		signature := r.SumsKey() + ".sig"
		w.Upload("keys/"+r.Namespace+"/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
		w.S3.Upload(t, r.SumsKey(), []byte(strings.Repeat("0", 64)+"  x\n"), nil)
		w.S3.Upload(t, signature, r.Signature, nil)
		late := &meanwhile{before: "tag " + signature, others: func() { w.Upload(r.SumsKey(), r.Sums) }}
		d := &dying{Caller: late, last: "put " + registry.OutcomeKey(signature)}
		if err := w.Through(d).PublishKey(t.Context(), r.SumsKey()+delivered); !errors.Is(err, publishtest.ErrFault) {
			t.Fatalf("the publisher ends with %v, want its death", err)
		}
		if got := w.Status(signature); got != inbox.Rejected {
			t.Fatalf("the signature is %q: the report was not late", got)
		}
		for _, key := range []string{r.SumsKey(), signature} {
			if err := w.PublishKey(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		for _, key := range []string{r.SumsKey(), signature} {
			var written inbox.Outcome
			err := json.Unmarshal(w.Read(registry.OutcomeKey(key)), &written)
			if got := w.Status(key); err != nil || got != inbox.Published || written.Status != inbox.Published {
				t.Errorf("%s is %q, and its outcome is %+v, %v", key, got, written, err)
			}
		}
	}
}

// A key comes while a signature that is not over its SHA256SUMS waits for it, and the
// report about both is late. SHA256SUMS does not go on saying that the key is missing.
func TestALateReportDoesNotKeepAReasonThatIsGone(t *testing.T) {
	for n, delivered := range []string{"", ".sig"} {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
		r := publishtest.NewRelease(t, fmt.Sprint("acme", n))
		wrong := r
		wrong.Sums = []byte(strings.Repeat("0", 64) + "  x\n")
		wrong.Sign(t, r.Key)
		w.S3.Upload(t, r.SumsKey(), r.Sums, nil)
		w.S3.Upload(t, r.SumsKey()+".sig", wrong.Signature, nil)
		late := &meanwhile{before: "tag " + r.SumsKey(), others: func() {
			w.Want(w.Upload("keys/"+r.Namespace+"/author.asc", []byte(r.Key.PublicKey().ASCIIArmor)), inbox.Published)
		}}
		if err := w.Through(late).PublishKey(t.Context(), r.SumsKey()+delivered); err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{r.SumsKey(): "its signature was rejected", r.SumsKey() + ".sig": "does not match"} {
			o, err := w.Inbox.LastOutcome(t.Context(), key)
			if err != nil || !strings.Contains(strings.Join(o.Reasons, ""), want) {
				t.Errorf("after the event of SHA256SUMS%s, the outcome of %s is %s: %q, %v", delivered, key, o.Status, o.Reasons, err)
			}
		}
	}
}

// A publisher dies between the record of a release and the catalog. Another signature,
// which is rejected, does not make SHA256SUMS published before it is served.
func TestAReleaseIsServedBeforeAFileOfItIsPublished(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	r := publishtest.NewRelease(t, "acme")
	w.Upload("keys/acme/author.asc", []byte(r.Key.PublicKey().ASCIIArmor))
	w.Upload(r.SumsKey()+".sig", r.Signature)
	version := w.S3.Upload(t, r.SumsKey(), r.Sums, nil)
	d := &dying{Caller: calm{}, last: "create " + registry.RecordKey(registry.Subject{Address: registry.ProviderAddress{Namespace: "acme", Type: "widget"}, Version: publishtest.MustVersion(t, "1.0.0")}.LogPrefix(), 1)}
	if _, err := w.Through(d).Publish(t.Context(), blob.Object{Key: r.SumsKey(), Version: version}); !errors.Is(err, publishtest.ErrFault) {
		t.Fatalf("the publisher ends with %v, want its death", err)
	}
	r.Sign(t, publishtest.NewKey(t, "stranger"))
	w.Want(w.Upload(r.SumsKey()+".sig", r.Signature), inbox.Rejected, "published already with another signature")
	if s := w.Provider("acme", "widget", "1.0.0"); w.Status(r.SumsKey()) == inbox.Published && s.Release == nil {
		t.Error("SHA256SUMS is published, and the release is not served")
	}
}
