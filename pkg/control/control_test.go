package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// registryDouble answers as a registry with a few versions does. What walks do
// to a real one is tested with them.
type registryDouble struct {
	steps  []upkeep.Step
	signed []upkeep.Signed
	errs   map[string]error // by subject; of the whole under ""
	asked  []string

	authors []authorkeys.Fact

	held []upkeep.Held
	told []inbox.Entry
}

func (d *registryDouble) Inventory(_ context.Context, of, after string) iter.Seq2[upkeep.Held, error] {
	d.asked = append(d.asked, fmt.Sprintf("inventory %q %q", of, after))
	return func(yield func(upkeep.Held, error) bool) {
		for _, held := range d.held {
			if held.After > after && !yield(held, nil) {
				return
			}
		}
		if err := d.errs[""]; err != nil {
			yield(upkeep.Held{}, err)
		}
	}
}

func (d *registryDouble) Outcomes(_ context.Context, prefix, after string) iter.Seq2[inbox.Entry, error] {
	d.asked = append(d.asked, fmt.Sprintf("outcomes %q %q", prefix, after))
	return func(yield func(inbox.Entry, error) bool) {
		for _, told := range d.told {
			if told.After > after && !yield(told, d.errs[told.After]) {
				return
			}
		}
		if err := d.errs[""]; err != nil {
			yield(inbox.Entry{}, err)
		}
	}
}

func (d *registryDouble) SetStanding(_ context.Context, version registry.Subject, to registry.Standing) (registry.Listed, bool, error) {
	kind, _, _ := strings.Cut(version.String(), " ")
	d.asked = append(d.asked, fmt.Sprintf("%s %s %q", version, to.State, to.Message))
	return registry.Listed{Version: version.Version, Standing: to}, kind == "module", d.errs[kind]
}

func (d *registryDouble) walk(name, after string) upkeep.Walk {
	d.asked = append(d.asked, strings.TrimSpace(name+" "+after))
	return func(yield func(upkeep.Step, error) bool) {
		if err := d.errs[""]; err != nil {
			yield(upkeep.Step{}, err)
			return
		}
		for _, step := range d.steps {
			if step.After > after && !yield(step, d.errs[step.Subject]) {
				return
			}
		}
	}
}

func (d *registryDouble) Reindex(_ context.Context, after string, withContents bool) upkeep.Walk {
	return d.walk(fmt.Sprintf("reindex %v", withContents), after)
}

func (d *registryDouble) ReadAgain(_ context.Context, after string) upkeep.Walk {
	return d.walk("read again", after)
}

func (d *registryDouble) Resign(_ context.Context, after string) upkeep.Walk {
	return d.walk("resign", after)
}

func (d *registryDouble) Verify(_ context.Context, after string, quickly bool) upkeep.Walk {
	return d.walk(fmt.Sprintf("verify %v", quickly), after)
}

func (d *registryDouble) Signatures(_ context.Context, after string) iter.Seq2[upkeep.Signed, error] {
	return func(yield func(upkeep.Signed, error) bool) {
		if err := d.errs[""]; err != nil {
			yield(upkeep.Signed{}, err)
			return
		}
		for _, signed := range d.signed {
			if signed.After > after && !yield(signed, d.errs[signed.Subject]) {
				return
			}
		}
	}
}

func (d *registryDouble) OwnKeys(context.Context) ([]signing.PublicKey, error) {
	return []signing.PublicKey{{KeyID: "A", Fingerprint: "AA"}, {KeyID: "B", Fingerprint: "BB"}}, d.errs["own"]
}

func (d *registryDouble) All(_ context.Context, after string) iter.Seq2[authorkeys.Fact, error] {
	return func(yield func(authorkeys.Fact, error) bool) {
		for _, key := range d.authors {
			if key.After > after && !yield(key, nil) {
				return
			}
		}
		if err := d.errs["authors"]; err != nil {
			yield(authorkeys.Fact{}, err)
		}
	}
}

func (d *registryDouble) Distrust(_ context.Context, fingerprint string) (bool, error) {
	d.asked = append(d.asked, "distrust "+fingerprint)
	return strings.HasPrefix(fingerprint, "A"), d.errs["distrust"]
}

func (d *registryDouble) PublicKey() signing.PublicKey { return signing.PublicKey{KeyID: "B"} }

// of is the rooms of a registry.
func of(d *registryDouble) Registry { return Registry{Log: d, Keys: d, Inbox: d, Walks: d} }

// ask sends a request as it comes over a wire, and reads the answer so.
func ask(t *testing.T, h *Handler, request string) (a Answer) {
	t.Helper()
	var r Request
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(h.Handle(t.Context(), r))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStanding(t *testing.T) {
	for request, want := range map[string]string{
		`{"address":"acme/widget","version":"1.0.0","state":"deprecated","message":" use 2 "}`:  `provider acme/widget 1.0.0 deprecated "use 2"`,
		`{"address":"Registry.terraform.io/acme/widget","version":"1.0.0","state":"withdrawn"}`: `provider registry.terraform.io/acme/widget 1.0.0 withdrawn ""`,
		`{"address":"acme/widget","version":"1.0.0","state":"withdrawn"}`:                       `provider acme/widget 1.0.0 withdrawn ""`,
		`{"address":"ACME/vpc/aws","version":"1.0.0","state":"restored"}`:                       `module acme/vpc/aws 1.0.0 restored ""`,
	} {
		d := &registryDouble{}
		a := ask(t, New(Config{Registry: of(d)}), `{"standing":`+request+`}`)
		if a.Error != "" || !reflect.DeepEqual(d.asked, []string{want}) {
			t.Errorf("%s: asked for %q, %s", request, d.asked, a.Error)
		}
		if subject, _, _ := strings.Cut(want, " 1.0.0"); a.Standing.Subject != subject+" 1.0.0" || a.Standing.Changed != strings.HasPrefix(want, "module") {
			t.Errorf("%s is answered %+v", request, a.Standing)
		}
	}
}

func TestStandingIsRefused(t *testing.T) {
	for request, want := range map[string]string{
		`{"address":"acme","version":"1.0.0","state":"withdrawn"}`:                              "the address neither",
		`{"address":"a/b/c/d","version":"1.0.0","state":"withdrawn"}`:                           "the address neither",
		`{"address":"example.com","version":"1.0.0","state":"withdrawn"}`:                       "the address neither",
		`{"address":"example.com/acme/widget/x","version":"1.0.0","state":"withdrawn"}`:         "the address neither",
		`{"address":"example.com:8443/acme/widget","version":"1.0.0","state":"withdrawn"}`:      "has a port",
		`{"address":"Acme/widget","version":"1.0.0","state":"withdrawn"}`:                       "lower-case",
		`{"address":"acme/vpc/a b","version":"1.0.0","state":"withdrawn"}`:                      "module address",
		`{"address":"acme/widget","version":"v1.0.0","state":"withdrawn"}`:                      "leading v",
		`{"address":"acme/widget","version":"","state":"withdrawn"}`:                            "full semantic version",
		`{"address":"acme/widget","version":"1.0.0","state":"gone"}`:                            "no state",
		`{"address":"acme/widget","version":"1.0.0","state":"deprecated"}`:                      "needs a message",
		`{"address":"acme/widget","version":"1.0.0","state":"deprecated","message":"a\u0000b"}`: "control characters",
	} {
		d := &registryDouble{}
		a := ask(t, New(Config{Registry: of(d)}), `{"standing":`+request+`}`)
		if !strings.Contains(a.Error, want) || len(d.asked) > 0 {
			t.Errorf("%s: %q, want %q; asked for %q", request, a.Error, want, d.asked)
		}
		var r Standing
		if err := json.Unmarshal([]byte(request), &r); err != nil || fmt.Sprint(r.Validate()) != a.Error {
			t.Errorf("%s: Validate says %v, want %q (%v)", request, r.Validate(), a.Error, err)
		}
	}
	d := &registryDouble{errs: map[string]error{"provider": registry.ErrNotFound, "module": errors.New("it is withdrawn")}}
	for address, want := range map[string]string{"acme/widget": "there is no provider acme/widget 1.0.0", "acme/vpc/aws": "module acme/vpc/aws 1.0.0: it is withdrawn"} {
		if a := ask(t, New(Config{Registry: of(d)}), `{"standing":{"address":"`+address+`","version":"1.0.0","state":"withdrawn"}}`); a.Error != want {
			t.Errorf("%q, want %q", a.Error, want)
		}
	}
}

func double() *registryDouble {
	return &registryDouble{
		steps: []upkeep.Step{
			{After: "1", Leg: "records", Subject: "module a", Changed: true},
			{After: "2", Leg: "records", Subject: "provider b", Problems: []string{"It is blue.", "It is old."}},
			{After: "2c", Leg: upkeep.ContentsLeg, Subject: "module a", Changed: true},
			{After: "3", Leg: "inbox", Subject: "upload c", Notes: []string{"It is late."}},
		},
		errs: map[string]error{"upload c": errors.New("it cannot be read")},
	}
}

func TestWalks(t *testing.T) {
	want := Walked{
		Last: "upload c", Steps: map[string]int{"records": 2, "contents": 1, "inbox": 1}, Changed: 1, Read: 1,
		Findings: []Finding{{"provider b", "It is blue."}, {"provider b", "It is old."}, {"upload c", "it cannot be read"}},
		Notes:    []Finding{{"upload c", "It is late."}},
	}
	for request, asked := range map[string]string{
		`{"reindex":{}}`: "reindex false", `{"reindex":{"contents":true}}`: "reindex true", `{"reindex":{"contents":true,"again":true}}`: "read again", `{"resign":{}}`: "resign", `{"verify":{}}`: "verify false", `{"verify":{"quick":true}}`: "verify true",
	} {
		d := double()
		a := ask(t, New(Config{Registry: of(d)}), request)
		if a.Error != "" || !reflect.DeepEqual(*a.Walked, want) || d.asked[0] != asked {
			t.Errorf("%s: asked for %q and answered %+v, want %+v", request, d.asked, a.Walked, want)
		}
	}
}

// However little time a part has, it comes a step further.
func TestWalksGoInParts(t *testing.T) {
	d := double()
	h := New(Config{Registry: of(d)})
	h.partTime = -time.Second
	var last []string
	for after, more := "", true; more; {
		a := ask(t, h, `{"reindex":{"after":"`+after+`"}}`)
		if a.Error != "" {
			t.Fatal(a.Error)
		}
		last = append(last, a.Walked.Last)
		after = a.Walked.Next
		more = after != ""
	}
	if !reflect.DeepEqual(last, []string{"module a", "provider b", "module a", "upload c", ""}) {
		t.Errorf("the parts ended with %q", last)
	}
}

func TestAPartEndsWithTooManyFindings(t *testing.T) {
	d := &registryDouble{}
	for i := range MaxFindings + 10 {
		d.steps = append(d.steps, upkeep.Step{After: fmt.Sprintf("%05d", i), Leg: "records", Subject: "b", Problems: []string{"It is blue."}})
	}
	a := ask(t, New(Config{Registry: of(d)}), `{"verify":{}}`)
	if len(a.Walked.Findings) != MaxFindings || a.Walked.Next == "" {
		t.Errorf("%d findings, next %q", len(a.Walked.Findings), a.Walked.Next)
	}
}

func TestAPartEndsWithTooManyNotes(t *testing.T) {
	d := &registryDouble{}
	for i := range MaxFindings + 10 {
		d.steps = append(d.steps, upkeep.Step{After: fmt.Sprintf("%05d", i), Leg: "records", Subject: "b", Notes: []string{"It is blue."}})
	}
	if a := ask(t, New(Config{Registry: of(d)}), `{"verify":{}}`); len(a.Walked.Notes) != MaxFindings || a.Walked.Next == "" {
		t.Errorf("%d notes, next %q", len(a.Walked.Notes), a.Walked.Next)
	}
}

func TestAWalkThatFails(t *testing.T) {
	d := &registryDouble{errs: map[string]error{"": errors.New("no bucket")}}
	for _, request := range []string{`{"verify":{}}`, `{"keys":{}}`} {
		if a := ask(t, New(Config{Registry: of(d)}), request); a.Error != "no bucket" || a.Walked != nil {
			t.Errorf("%s is answered %+v", request, a)
		}
	}
}

func TestKeys(t *testing.T) {
	step := func(n, subject string) upkeep.Step { return upkeep.Step{After: n, Leg: "records", Subject: subject} }
	d := &registryDouble{signed: []upkeep.Signed{
		{Step: step("1", "module acme/vpc/aws 1.0.0")},
		{Step: step("2", "provider acme/widget 1.0.0"), KeyID: "A"},
		{Step: step("3", "provider acme/widget 1.1.0"), KeyID: "B"},
		{Step: step("4", "provider acme/widget 2.0.0"), KeyID: "C", Author: true},
		{Step: step("5", "provider acme/widget 3.0.0"), KeyID: longID('D'), Author: true},
	}, authors: []authorkeys.Fact{
		{After: "1", Fingerprint: long('D'), Namespace: "acme"},
		{After: "2", Fingerprint: long('E'), Namespace: "acme"},
		{After: "3", Fingerprint: long('D'), Namespace: "labs"},
		{After: "4", Fingerprint: long('D'), Namespace: "labs"}, // in another form
		{After: "5", Fingerprint: long('E'), Distrusted: true},
		{After: "6", Fingerprint: long('F'), Distrusted: true},
		{After: "7", Fingerprint: long('F'), Revoked: true},
	}}
	want := []Key{
		{KeyID: "A", Fingerprint: "AA", Role: Replaced, Versions: []string{"acme/widget 1.0.0"}},
		{KeyID: "B", Fingerprint: "BB", Role: Current, Versions: []string{"acme/widget 1.1.0"}},
		{KeyID: longID('D'), Fingerprint: long('D'), Role: Author, Trust: Trusted, Namespaces: []string{"acme", "labs"}, Versions: []string{"acme/widget 3.0.0"}},
		{KeyID: longID('E'), Fingerprint: long('E'), Role: Author, Trust: Distrusted, Namespaces: []string{"acme"}},
		{KeyID: longID('F'), Fingerprint: long('F'), Role: Author, Trust: Revoked},
		{KeyID: "C", Role: Author, Versions: []string{"acme/widget 2.0.0"}},
	}
	h := New(Config{Registry: of(d)})
	if a := ask(t, h, `{"keys":{}}`); a.Error != "" || !reflect.DeepEqual(a.Walked.Keys, want) || a.Walked.Steps["records"] != 5 || a.Walked.Next != "" {
		t.Errorf("answered %+v, want %+v", a.Walked, want)
	}
	want = []Key{
		{KeyID: "A", Role: Replaced, Versions: []string{"acme/widget 1.0.0"}},
		{KeyID: "B", Role: Current, Versions: []string{"acme/widget 1.1.0"}},
		{KeyID: "C", Role: Author, Versions: []string{"acme/widget 2.0.0"}},
		{KeyID: longID('D'), Role: Author, Versions: []string{"acme/widget 3.0.0"}},
	}
	if a := ask(t, h, `{"keys":{"after":"1"}}`); !reflect.DeepEqual(a.Walked.Keys, want) {
		t.Errorf("a later part is %+v, want the keys of its own versions, %+v", a.Walked.Keys, want)
	}
}

// Authors' keys are as many as those want who publish: a part ends after so many, or
// after its time.
func TestManyKeys(t *testing.T) {
	d := &registryDouble{signed: []upkeep.Signed{{Step: upkeep.Step{After: "1", Leg: "records", Subject: "provider acme/widget 1.0.0"}, KeyID: "A"}}}
	h := New(Config{Registry: of(d)})
	for _, more := range []int{0, 1} {
		d.authors = nil
		for n := range MaxKeys + more {
			d.authors = append(d.authors, authorkeys.Fact{After: fmt.Sprintf("%04d", n), Fingerprint: fmt.Sprintf("%040d", n), Namespace: "acme"})
		}
		end := fmt.Sprintf("keys:%04d", MaxKeys-1)
		first := ask(t, h, `{"keys":{}}`)
		if w := first.Walked; len(w.Keys) != 2+MaxKeys || w.Next != end || w.Last != "key "+d.authors[MaxKeys-1].Fingerprint || len(w.Steps) != 0 {
			t.Fatalf("the first part ends after %q with %d keys: %+v", w.Next, len(w.Keys), w.Last)
		}
		w := ask(t, h, `{"keys":{"after":"`+end+`"}}`).Walked
		want := []Key{{KeyID: "A", Role: Replaced, Versions: []string{"acme/widget 1.0.0"}}}
		for _, k := range d.authors[MaxKeys:] {
			want = append([]Key{{KeyID: k.Fingerprint[24:], Fingerprint: k.Fingerprint, Role: Author, Trust: Trusted, Namespaces: []string{"acme"}}}, want...)
		}
		if !reflect.DeepEqual(w.Keys, want) || w.Next != "" || w.Steps["records"] != 1 {
			t.Errorf("the second part is %+v, want the keys %+v", w, want)
		}
	}
	h.partTime = 0
	if w := ask(t, h, `{"keys":{}}`).Walked; len(w.Keys) != 3 || w.Next != "keys:0000" {
		t.Errorf("without time, it is %+v", w)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := h.Handle(ctx, Request{Keys: &Part{}}); a.Error != context.Canceled.Error() || a.Walked != nil {
		t.Errorf("for nobody, it is %+v", a)
	}
}

func long(c byte) string   { return strings.Repeat(string(c), 40) }
func longID(c byte) string { return strings.Repeat(string(c), 16) }

func TestKeysThatCannotBeListed(t *testing.T) {
	for _, keys := range []string{"own", "authors"} {
		d := &registryDouble{errs: map[string]error{keys: errors.New("no bucket")}}
		if a := ask(t, New(Config{Registry: of(d)}), `{"keys":{}}`); a.Error != "no bucket" || a.Walked != nil {
			t.Errorf("without the keys %q: answered %+v", keys, a)
		}
	}
}

func TestDistrust(t *testing.T) {
	for written, want := range map[string]TrustEnded{
		long('A'):                         {long('A'), true},
		long('0'):                         {long('0'), false},
		strings.ToLower(long('A')):        {long('A'), true},
		"0x" + strings.ToLower(long('A')): {long('A'), true},
		" AAAA AAAA AAAA AAAA AAAA  AAAA AAAA AAAA AAAA AAAA ": {long('A'), true},
	} {
		d := &registryDouble{}
		a := ask(t, New(Config{Registry: of(d)}), `{"distrust":{"fingerprint":"`+written+`"}}`)
		if a.Error != "" || *a.Distrusted != want || !reflect.DeepEqual(d.asked, []string{"distrust " + want.Fingerprint}) {
			t.Errorf("%q: asked for %q, answered %+v, %s", written, d.asked, a.Distrusted, a.Error)
		}
	}
	for _, written := range []string{"", longID('A'), long('A')[1:], long('A') + "A", long('G'), "../../" + long('A')[6:]} {
		d := &registryDouble{}
		a := ask(t, New(Config{Registry: of(d)}), `{"distrust":{"fingerprint":"`+written+`"}}`)
		if !strings.Contains(a.Error, "is not the fingerprint of a key: it has 40") || len(d.asked) > 0 {
			t.Errorf("%q: asked for %q, %s", written, d.asked, a.Error)
		}
		if err := (Distrust{Fingerprint: written}).Validate(); fmt.Sprint(err) != a.Error {
			t.Errorf("%q: Validate says %v, want %s", written, err, a.Error)
		}
	}
	for fault, want := range map[error]string{
		registry.ErrNotFound:    "no namespace has a key with the fingerprint " + long('A') + ": larder keys lists",
		authorkeys.ErrOwnKey:    "larder keys rotate",
		errors.New("no bucket"): "key " + long('A') + ": no bucket",
	} {
		d := &registryDouble{errs: map[string]error{"distrust": fault}}
		if a := ask(t, New(Config{Registry: of(d)}), `{"distrust":{"fingerprint":"`+long('A')+`"}}`); !strings.Contains(a.Error, want) || a.Distrusted != nil {
			t.Errorf("%v: answered %+v", fault, a)
		}
	}
}

func TestRotate(t *testing.T) {
	rotate := func(context.Context) (signing.PublicKey, error) {
		return signing.PublicKey{KeyID: "N", Fingerprint: "NN"}, nil
	}
	if a := ask(t, New(Config{Registry: of(double()), Rotate: rotate}), `{"rotate":{}}`); a.Error != "" || !reflect.DeepEqual(*a.Rotated, Key{KeyID: "N", Fingerprint: "NN", Role: Current}) {
		t.Errorf("answered %+v", a)
	}
	if a := ask(t, New(Config{Registry: of(double())}), `{"rotate":{}}`); !strings.Contains(a.Error, "SigningKeyArn") {
		t.Errorf("where keys are in KMS: %+v", a)
	}
	fails := func(context.Context) (signing.PublicKey, error) {
		return signing.PublicKey{KeyID: "N"}, errors.New("no disk")
	}
	if a := ask(t, New(Config{Registry: of(double()), Rotate: fails}), `{"rotate":{}}`); a.Error != "make a new signing key: no disk" || a.Rotated != nil {
		t.Errorf("without a disk: %+v", a)
	}
}

// Of tokens and rules a handler says what its own says that knows them.
func TestAccess(t *testing.T) {
	store, err := boltcatalog.OpenAccess(filepath.Join(t.TempDir(), "access.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	h := New(Config{Registry: of(double()), Access: admin.New(store, func(context.Context, access.Decision) {})})
	if a := ask(t, h, `{"access":{"list_rules":{}}}`); a.Error != "" || a.Access == nil || a.Access.Rules == nil {
		t.Errorf("answered %+v", a)
	}
	if a := ask(t, h, `{"access":{"remove_rule":{"name":"x"}}}`); !strings.Contains(a.Error, "there is no rule") || a.Access != nil {
		t.Errorf("answered %+v", a)
	}
	if a := ask(t, New(Config{Registry: of(double())}), `{"access":{"list_rules":{}}}`); !strings.Contains(a.Error, "login") {
		t.Errorf("where another function knows them: %+v", a)
	}
}

func TestARequestForNothing(t *testing.T) {
	for _, request := range []string{`{}`, `{"frobnicate":{}}`} {
		if a := ask(t, New(Config{Registry: of(double())}), request); !strings.Contains(a.Error, "newer one") {
			t.Errorf("%s: %+v", request, a)
		}
	}
}

// A walk that is cut off, in a step or between two of them, does not pass for one
// that is done, nor what failed by it for something that is wrong.
func TestAWalkThatIsCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	inStep := double()
	inStep.signed = []upkeep.Signed{{Step: inStep.steps[0]}}
	inStep.held, inStep.told = []upkeep.Held{{After: "1", Subject: registry.Subject{Address: registry.ModuleAddress{}}}}, []inbox.Entry{{After: "1"}}
	for where, d := range map[string]*registryDouble{"in a step": inStep, "before the next": {}} {
		h := New(Config{Registry: of(d)})
		h.partTime = -time.Second // so that a step would end the part
		for _, r := range []Request{{Reindex: &Reindex{}}, {Resign: &Part{}}, {Verify: &Verify{}}, {Keys: &Part{}}, {List: &List{}}, {Uploads: &Uploads{}}} {
			if a := h.Handle(ctx, r); a.Error != context.Canceled.Error() || a.Walked != nil {
				t.Errorf("%s, %+v is answered %+v", where, r, a)
			}
		}
	}
}
