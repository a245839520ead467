package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

const (
	// seedVariable is the seed of the random runs, 1 where it is not set: their
	// uploads and what each publisher goes through. How several publishers at once
	// take turns is not in a seed, so such a run may have to be repeated a few
	// times.
	seedVariable = "LARDER_SEED"

	// minutesVariable is for how many minutes random runs follow one another,
	// each from a seed of its own, instead of one.
	minutesVariable = "LARDER_RANDOM_MINUTES"
)

// A registry comes to what the model says, whatever its publishers and their
// storage went through.
func TestARandomRunEndsAsTheModelSays(t *testing.T) {
	rounds := 16
	if testing.Short() {
		rounds = 4
	}
	forSeeds(t, func(t *testing.T, seed uint64) {
		newRandomRun(t, seed, func() publishing.Index { return publishtest.OnBolt(t).Index }).play(rounds)
	})
}

func TestARandomRunOnDynamoDBEndsAsTheModelSays(t *testing.T) {
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	forSeeds(t, func(t *testing.T, seed uint64) {
		newRandomRun(t, seed, func() publishing.Index { return publishtest.OnDynamoDB(t).Index }).play(rounds)
	})
}

// forSeeds runs once, or for as long as it is asked to.
func forSeeds(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Helper()
	end, seed := time.Now(), uint64(1)
	if text := os.Getenv(minutesVariable); text != "" {
		minutes, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", minutesVariable, err)
		}
		end = end.Add(time.Duration(minutes) * time.Minute)
	}
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	for first := true; first || time.Now().Before(end); first = false {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { run(t, seed) })
		if t.Failed() {
			t.Fatalf("repeat this with %s=%d", seedVariable, seed)
		}
		seed++
	}
}

// randomRun is a registry that goes through a lot.
type randomRun struct {
	*testing.T
	random     *rand.Rand
	bucket     *blobtest.Memory
	index      publishing.Index
	emptyIndex func() publishing.Index
	key        *signing.Key
	senders    []*sender
	records    map[string][]byte // as they were found first
	deliveries int
	deaths     int
}

func newRandomRun(t *testing.T, seed uint64, emptyIndex func() publishing.Index) *randomRun {
	return &randomRun{
		T: t, random: rand.New(rand.NewPCG(seed, 0)), bucket: blobtest.NewMemory(), index: emptyIndex(), emptyIndex: emptyIndex,
		key: publishtest.NewKey(t, "registry"), records: map[string][]byte{},
	}
}

// play plays rounds, each in a namespace, and then loses the catalog.
func (r *randomRun) play(rounds int) {
	uploads := 0
	for n := range rounds {
		s := &sender{Rand: r.random, namespace: fmt.Sprint("acme", n), author: publishtest.NewKey(r.T, "author"), stranger: publishtest.NewKey(r.T, "stranger")}
		s.send(r.T, 60+r.random.IntN(60))
		uploads += len(s.uploads)
		r.senders = append(r.senders, s)
		workers := 1 + 3*(n%2)
		r.round(s, workers, n%4 < 2, workers == 1 || n%8 < 4)
		r.check(s, r.compare)
		if r.Failed() {
			return
		}
	}
	r.index = r.emptyIndex()
	if err := r.calm().Recover(r.Context()); err != nil {
		r.Fatal(err)
	}
	for _, s := range r.senders {
		r.check(s, r.compare)
	}
	r.Logf("%d uploads, %d deliveries, %d deaths of publishers", uploads, r.deliveries, r.deaths)
}

// calm is a publisher that nothing happens to.
func (r *randomRun) calm() *publishtest.Parts { return r.publisher(calm{}) }

type calm struct{}

func (calm) Call(_ string, do func() error) error {
	runtime.Gosched() // or others would hardly ever come between two calls
	return do()
}

func (r *randomRun) publisher(c publishtest.Caller) *publishtest.Parts {
	return publishtest.Assemble(publishing.Config{
		Bucket: publishtest.FaultyBucket{Caller: c, Bucket: r.bucket}, Index: publishtest.FaultyIndex{Caller: c, Index: r.index}, Signer: publishtest.FaultySigner{Caller: c, Key: r.key},
		Scratch: r.TempDir(), Logger: slog.New(slog.DiscardHandler),
	})
}

// chaos lets calls fail, and in the end no call through any more: then the
// process behind them is dead.
type chaos struct {
	*rand.Rand
	left int // calls before it dies
}

var errDead = errors.New("the publisher is dead")

func (c *chaos) Call(name string, do func() error) error {
	runtime.Gosched()
	c.left--
	switch {
	case c.left < 0:
		return errDead
	case c.left == 0 && chance(c.Rand, 50), c.left > 0 && !chance(c.Rand, 2):
		err := do()
		if c.left == 0 {
			err = errDead
		}
		return err
	case c.left > 0 && chance(c.Rand, 50):
		if err := do(); err != nil { // failed, but done
			return err
		}
	}
	return fmt.Errorf("%s: %w", name, publishtest.ErrFault)
}

// round is what happens to the uploads of one sender: several workers put them
// into the bucket and deliver their events, each of which is sent once or more
// often and comes whenever it likes.
type round struct {
	*randomRun
	chaotic bool // calls fail, and publishers die
	byEvent bool // each upload is published by its own event; else events are but hints, some get lost, and a walk finds the rest
	sender  *sender

	lock    sync.Mutex
	next    int // of the sender's uploads
	events  []*sent
	busy    int                      // events that are being delivered
	settled map[*sent]*inbox.Outcome // the first final outcome of a module or package
}

func (r *randomRun) round(s *sender, workers int, byEvent, chaotic bool) {
	d := &round{randomRun: r, byEvent: byEvent, chaotic: chaotic, sender: s, settled: map[*sent]*inbox.Outcome{}}
	var group sync.WaitGroup
	for range workers {
		random := rand.New(rand.NewPCG(r.random.Uint64(), 0))
		group.Go(func() { d.work(random) })
	}
	group.Wait()
	if byEvent {
		r.check(s, func(map[*sent]inbox.Status) {}) // only what nobody waits for any more has its last tags
	}
	if r.Failed() {
		return
	}
	p := r.calm()
	if err := errors.Join(p.Recover(r.Context()), r.walk(p)); err != nil {
		r.Error(err)
	}
}

func (d *round) work(random *rand.Rand) {
	var c *chaos
	p := d.calm()
	for {
		u, more := d.take(random)
		if !more {
			return
		}
		if d.chaotic && (c == nil || c.left <= 0) {
			c = &chaos{random, 1 + random.IntN(3000)}
			p = d.restart(c)
		}
		if u == nil {
			continue
		}
		err := d.deliver(p, u)
		if err != nil && !errors.Is(err, publishtest.ErrFault) && !errors.Is(err, errDead) {
			d.Errorf("%s: %v", u.key, err)
			return
		}
		d.done(random, u, err)
		if chance(random, 5) {
			d.servable(d.sender.namespace)
		}
	}
}

// restart is a new publisher in place of one that died. It begins as one does
// after an interruption, and may be interrupted in that.
func (d *round) restart(c *chaos) *publishtest.Parts {
	p := d.publisher(c)
	if c.left%3 == 0 {
		d.lock.Lock()
		d.deaths++
		d.lock.Unlock()
		if err := p.Recover(d.Context()); err == nil {
			_ = d.walk(p) // whatever it could not do comes again
		}
	}
	return p
}

// walk publishes what no event told of.
func (r *randomRun) walk(p *publishtest.Parts) error {
	for key, err := range p.Uploads(r.Context(), "") {
		if err == nil {
			err = p.PublishKey(r.Context(), key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take is the next thing to do: to deliver an event, or nil after one more
// upload was made.
func (d *round) take(random *rand.Rand) (u *sent, more bool) {
	d.lock.Lock()
	defer d.lock.Unlock()
	all := d.sender.uploads
	if d.next < len(all) && (len(d.events) == 0 || chance(random, 40)) {
		u := all[d.next]
		d.next++
		u.object = d.bucket.Upload(d.T, u.key, u.body, nil)
		for range 1 + random.IntN(2) {
			d.events = append(d.events, u)
		}
		d.disturb(random, all[random.IntN(d.next)])
		return nil, true
	}
	if len(d.events) == 0 {
		return nil, d.busy > 0 || d.next < len(all)
	}
	at := random.IntN(len(d.events))
	u = d.events[at]
	d.events = slices.Delete(d.events, at, at+1)
	d.busy++
	return u, true
}

// disturb does what users and lifecycle rules do to uploads that need not stay.
func (d *round) disturb(random *rand.Rand, u *sent) {
	if u.kind != sentModule && u.kind != sentPackage && u.kind != sentDocs && u.kind != sentKey {
		return
	}
	switch roll := random.IntN(100); {
	case roll < 5:
		d.bucket.Delete(d.T, u.key)
	case roll < 15 && d.byEvent && u.kind != sentKey:
		u.expired = true
		d.bucket.Expire(u.key, u.object)
	}
}

func (d *round) deliver(p *publishtest.Parts, u *sent) error {
	if !d.byEvent {
		return p.PublishKey(d.Context(), u.key)
	}
	o, err := p.Publish(d.Context(), blob.Object{Key: u.key, Version: u.object})
	if err != nil || u.kind != sentModule && u.kind != sentPackage && u.kind != sentDocs {
		return err
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	if before := d.settled[u]; before != nil && before.Status != inbox.Pending && before.Status != o.Status && !u.expired {
		d.Errorf("%s was %s and is %s: %q", u.key, before.Status, o.Status, append(before.Reasons, o.Reasons...))
	}
	d.settled[u] = &o
	return nil
}

// done sends an event again that failed, unless it was but a hint.
func (d *round) done(random *rand.Rand, u *sent, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.busy--
	d.deliveries++
	if err != nil && (d.byEvent || chance(random, 50)) {
		d.events = append(d.events, u)
	}
}

// servable checks that all that is listed of a namespace can be served.
func (r *randomRun) servable(namespace string) {
	module := registry.ModuleAddress{Namespace: namespace, Name: "vpc", System: "aws"}
	listing, err := catalog.Listing(r.Context(), r.index, module)
	r.found(err)
	for _, entry := range listing {
		m, err := catalogtest.ModuleVersion(r.Context(), r.index, module, entry.Version)
		if err != nil {
			r.Error(err)
			continue
		}
		if data := r.read(module.ArchiveKey(m.Version, m.Archive)); blob.SHA256(data) != m.Archive.SHA256 || int64(len(data)) != m.Archive.Size {
			r.Errorf("%s %s is served as other bytes", module, m.Version)
		}
	}
	for _, typ := range sentTypes {
		address := registry.ProviderAddress{Namespace: namespace, Type: typ}
		listing, err := catalog.Listing(r.Context(), r.index, address)
		r.found(err)
		for _, entry := range listing {
			s, err := catalogtest.ProviderVersion(r.Context(), r.index, address, entry.Version)
			if err != nil {
				r.Error(err)
				continue
			}
			if r.provider(s); len(entry.Platforms) == 0 {
				r.Errorf("%s %s is listed without a platform", address, s.Version)
			}
			for _, platform := range entry.Platforms {
				if _, ok := s.Package(platform); !ok {
					r.Errorf("%s %s for %s is listed and not served", address, s.Version, platform)
				}
			}
		}
	}
}

// found passes over a listing that does not exist.
func (r *randomRun) found(err error) {
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		r.Error(err)
	}
}

// read is the current object under a key, or nothing and an error of the test.
func (r *randomRun) read(key string) []byte {
	data, _, err := blob.Read(r.Context(), r.bucket, key, "", inbox.MaxUpload)
	if err != nil {
		r.Errorf("%s: %v", key, err)
	}
	return data
}

// provider checks that what is served of a provider version is whole, and
// returns its SHA256SUMS.
func (r *randomRun) provider(s registry.ProviderVersion) (document string) {
	if s.Docs != nil {
		if body := r.read(s.Address.DocsKey(s.Version, *s.Docs)); blob.SHA256(body) != s.Docs.SHA256 || int64(len(body)) != s.Docs.Size {
			r.Errorf("the documentation of %s %s has other bytes", s.Address, s.Version)
		}
	}
	if s.Release == nil {
		return ""
	}
	data := r.read(s.Address.SHA256SUMSKey(s.Version, *s.Release))
	sums, err := shasums.Parse(data)
	if err != nil {
		r.Errorf("SHA256SUMS of %s %s: %v", s.Address, s.Version, err)
	}
	keys, err := signing.ParseKeyFile([]byte(s.Release.Keys[0].ASCIIArmor))
	if err == nil {
		_, err = signing.Verify(keys, data, r.read(s.Address.SignatureKey(s.Version, *s.Release)))
	}
	if err != nil {
		r.Errorf("signature of %s %s: %v", s.Address, s.Version, err)
	}
	served := 0
	for _, pkg := range s.Packages {
		if _, ok := s.Package(pkg.Platform); !ok {
			continue
		}
		served++
		if body := r.read(s.Address.PackageKey(s.Version, pkg)); blob.SHA256(body) != pkg.SHA256 || int64(len(body)) != pkg.Size {
			r.Errorf("%s %s for %s is served as other bytes", s.Address, s.Version, pkg.Platform)
		}
		if listed, _ := sums.SHA256(s.Address.PackageFilename(s.Version, pkg.Platform)); listed != pkg.SHA256 {
			r.Errorf("SHA256SUMS of %s %s does not cover %s", s.Address, s.Version, pkg.Platform)
		}
	}
	if !s.Release.Author && sums.Len() != served {
		r.Errorf("SHA256SUMS of %s %s has %d lines for %d packages", s.Address, s.Version, sums.Len(), served)
	}
	return string(data)
}

// check compares what there is of a sender's namespace with the model, and
// gives away the statuses that follow from it.
func (r *randomRun) check(s *sender, compare func(map[*sent]inbox.Status)) {
	r.servable(s.namespace)
	m := newModel(r.T, s)
	m.tagged = func(u *sent) inbox.Status {
		return inbox.Status(r.bucket.Tags(r.T, u.key, u.object)[inbox.StatusTag])
	}
	for identity, uploads := range m.byIdentity(sentModule) {
		compare(m.module(identity, uploads, r.moduleState(identity)))
	}
	for identity, uploads := range m.byIdentity(sentPackage, sentManifest, sentDocs, sentSums, sentSignature) {
		state := r.providerState(identity)
		sums := r.provider(state)
		compare(m.provider(identity, uploads, state, sums))
		compare(m.release(identity, uploads, state, sums))
	}
	always := map[*sent]inbox.Status{}
	for _, u := range s.uploads {
		if status, ok := map[sentKind]inbox.Status{sentKey: inbox.Published, sentBroken: inbox.Rejected, sentStray: inbox.Ignored}[u.kind]; ok && !strings.HasPrefix(u.key, "dist/") {
			always[u] = status
		}
	}
	compare(always)
	if r.Failed() {
		r.Logf("in namespace %s", s.namespace)
	}
}

// compare compares the tags of uploads with the statuses that they must have.
func (r *randomRun) compare(statuses map[*sent]inbox.Status) {
	for u, want := range statuses {
		if u.expired {
			continue
		}
		tags := r.bucket.Tags(r.T, u.key, u.object)
		if got := tags[inbox.StatusTag]; got != string(want) {
			r.Errorf("%s (version %s, sha256 %s) is %q, want %s: %q", u.key, u.object, u.sha, got, want, tags[inbox.ReasonTag])
		}
		if reason := tags[inbox.ReasonTag]; (reason != "") != (want != inbox.Published) {
			r.Errorf("%s is %s with the reason %q", u.key, want, reason)
		}
		r.compareDocument(u, want)
	}
}

// compareDocument compares the outcome that was written last for a key, which is
// that of its newest upload.
func (r *randomRun) compareDocument(u *sent, want inbox.Status) {
	for o, err := range r.bucket.Versions(r.Context(), u.key, "") {
		if err != nil || o.Key != u.key || o.Version != u.object {
			return
		}
		break
	}
	var written inbox.Outcome
	err := json.Unmarshal(r.read(registry.OutcomeKey(u.key)), &written)
	if err != nil || written.Version != u.object || written.Status != want {
		r.Errorf("the outcome of %s (version %s) is written as %+v, %v, want %s", u.key, u.object, written, err, want)
	}
}

// moduleState is what the catalog and the records have of a module version,
// which has to be the same, or nil.
func (r *randomRun) moduleState(identity string) *registry.ModuleVersion {
	parts := strings.FieldsFunc(identity, func(c rune) bool { return c == '/' || c == ' ' })
	address, version := registry.ModuleAddress{Namespace: parts[0], Name: parts[1], System: parts[2]}, publishtest.MustVersion(r.T, parts[3])
	replayed := registry.ModuleVersion{Address: address, Version: version}
	r.replay(&replayed)
	stored, err := catalogtest.ModuleVersion(r.Context(), r.index, address, version)
	if errors.Is(err, registry.ErrNotFound) && replayed.Revision == 0 {
		return nil
	}
	r.same(identity, stored, replayed)
	listing, err := catalog.Listing(r.Context(), r.index, address)
	if err != nil {
		r.Error(err)
	}
	r.listed(listing, replayed.Listed())
	if replayed.Revision != 1 {
		r.Errorf("%s has %d records, want one", identity, replayed.Revision)
	}
	return &stored
}

// providerState does for a provider version what moduleState does for a module.
func (r *randomRun) providerState(identity string) registry.ProviderVersion {
	parts := strings.FieldsFunc(identity, func(c rune) bool { return c == '/' || c == ' ' })
	address, version := registry.ProviderAddress{Namespace: parts[0], Type: parts[1]}, publishtest.MustVersion(r.T, parts[2])
	replayed := registry.ProviderVersion{Address: address, Version: version}
	r.replay(&replayed)
	stored, err := catalogtest.ProviderVersion(r.Context(), r.index, address, version)
	if errors.Is(err, registry.ErrNotFound) && replayed.Revision == 0 {
		return replayed
	}
	r.same(identity, stored, replayed)
	listing, err := catalog.Listing(r.Context(), r.index, address)
	r.found(err)
	if len(replayed.Packages) > 0 {
		r.listed(listing, replayed.Listed())
	} else if listing.Find(version).Revision != 0 {
		r.Errorf("%s is listed without a package", identity)
	}
	if !replayed.Settled() {
		r.Errorf("%s has packages that are not served", identity)
	}
	return stored
}

// replay applies all records of a version, which are those that were there
// before and follow one another.
func (r *randomRun) replay(s interface {
	NextRecordKey() string
	Apply(registry.Record) error
}) {
	first := s.NextRecordKey()
	prefix := first[:strings.LastIndex(first, "/")+1]
	for object, err := range r.bucket.Versions(context.Background(), prefix, "") {
		if err != nil || object.Key != s.NextRecordKey() {
			r.Errorf("record %s, %v, want %s", object.Key, err, s.NextRecordKey())
			return
		}
		data := r.read(object.Key)
		if before, ok := r.records[object.Key]; ok && !bytes.Equal(before, data) {
			r.Errorf("record %s has changed", object.Key)
		}
		r.records[object.Key] = data
		var record registry.Record
		err := json.Unmarshal(data, &record)
		if err == nil {
			err = s.Apply(record)
		}
		if err != nil {
			r.Errorf("record %s: %v", object.Key, err)
			return
		}
	}
}

func (r *randomRun) same(identity string, got, want any) {
	g, errGot := json.Marshal(got)
	w, errWant := json.Marshal(want)
	if err := errors.Join(errGot, errWant); err != nil || !bytes.Equal(g, w) {
		r.Errorf("the catalog has of %s\n%s, want\n%s, %v", identity, g, w, err)
	}
}

// listed checks an entry of a listing that is in order.
func (r *randomRun) listed(listing registry.Listing, want registry.Listed) {
	if !slices.IsSortedFunc(listing, func(a, b registry.Listed) int { return a.Version.Compare(b.Version) }) {
		r.Errorf("the listing is not in order: %+v", listing)
	}
	at := slices.IndexFunc(listing, func(l registry.Listed) bool { return l.Version.Key() == want.Version.Key() })
	if at < 0 {
		r.Errorf("%s is not listed", want.Version)
		return
	}
	r.same("the listing", listing[at], want)
}
