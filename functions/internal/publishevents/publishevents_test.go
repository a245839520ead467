package publishevents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

var errStorage = errors.New("the storage does not answer")

// publisher notes what it is asked, and fails for keys with "fail" in them.
type publisher struct {
	published []string // key and version
	by        []string
	after     []string // of reconciles
	until     time.Time
	next      string
	missed    []blob.Object
	asked     []control.Request
	answer    control.Answer
}

func (p *publisher) Publish(ctx context.Context, object blob.Object) (inbox.Outcome, error) {
	p.published = append(p.published, object.Key+" "+object.Version)
	p.by = append(p.by, object.By)
	if strings.Contains(object.Key, "fail") {
		return inbox.Outcome{}, errStorage
	}
	return inbox.Outcome{Status: inbox.Rejected}, ctx.Err() // an outcome like any other
}

func (p *publisher) Reconcile(ctx context.Context, after string, until time.Time, missed func(context.Context, blob.Object) error) (string, error) {
	p.after, p.until = append(p.after, after), until
	for _, object := range p.missed {
		if err := missed(ctx, object); err != nil {
			return "", err
		}
	}
	if strings.Contains(after, "fail") {
		return "", errStorage
	}
	return p.next, nil
}

func (p *publisher) Handle(_ context.Context, r control.Request) control.Answer {
	p.asked = append(p.asked, r)
	return p.answer
}

// world is a function and all around it.
type world struct {
	*Function
	publisher publisher
	opened    int
	openError error
	sent      []string
	sendError error
	postponed []string
	log       bytes.Buffer

	postponeError error
}

func newWorld() *world {
	w := &world{}
	w.Function = New(Config{
		Bucket: "larder",
		Open: func(context.Context) (Publisher, error) {
			w.opened++
			return &w.publisher, w.openError
		},
		Send: func(_ context.Context, body string) error {
			w.sent = append(w.sent, body)
			return w.sendError
		},
		Postpone: func(ctx context.Context, receipt string, by time.Duration) error {
			w.postponed = append(w.postponed, fmt.Sprint(receipt, " ", by))
			return cmp.Or(ctx.Err(), w.postponeError)
		},
		Logger: slog.New(slog.NewJSONHandler(&w.log, nil)),
	})
	return w
}

// deliver delivers messages in one batch, and returns which of them failed.
func (w *world) deliver(t *testing.T, bodies ...string) (failed []string) {
	t.Helper()
	var event Event
	for i, body := range bodies {
		event.Messages = append(event.Messages, events.SQSMessage{MessageId: fmt.Sprint(i), ReceiptHandle: fmt.Sprint("receipt-", i), Body: body})
	}
	response, err := w.Handle(t.Context(), event)
	if err != nil || response.SQSEventResponse == nil || response.BatchItemFailures == nil {
		t.Fatalf("Handle = %v, %v, want a list and no error", response, err)
	}
	for _, failure := range response.BatchItemFailures {
		failed = append(failed, failure.ItemIdentifier)
	}
	return failed
}

func uploadOf(key string) string {
	return fmt.Sprintf(`{"Records":[%s]}`, recordOf("ObjectCreated:Put", "larder", key, "v1"))
}

func recordOf(event, bucket, key, version string) string {
	return fmt.Sprintf(`{"eventName":%q,"s3":{"bucket":{"name":%q},"object":{"key":%q,"versionId":%q}}}`, event, bucket, key, version)
}

func TestMessages(t *testing.T) {
	for name, c := range map[string]struct {
		body      string
		published []string
		fails     bool
	}{
		"an upload":         {uploadOf("modules/a.zip"), []string{"modules/a.zip v1"}, false},
		"a space":           {uploadOf("modules/a+b%2Bc.zip"), []string{"modules/a b+c.zip v1"}, false},
		"not ASCII":         {uploadOf("modules/%C3%BC%E2%98%83"), []string{"modules/ü☃ v1"}, false},
		"percent":           {uploadOf("modules/%252F%25"), []string{"modules/%2F% v1"}, false},
		"multipart":         {strings.Replace(uploadOf("a"), "Put", "CompleteMultipartUpload", 1), []string{"a v1"}, false},
		"a storage error":   {uploadOf("fail"), []string{"fail v1"}, true},
		"an encoding error": {uploadOf("a%zz"), nil, true},
		"several": {
			`{"Records":[` + recordOf("ObjectCreated:Copy", "larder", "a", "1") + "," + recordOf("ObjectCreated:Put", "larder", "fail", "2") + "," + recordOf("ObjectCreated:Post", "larder", "c", "3") + `]}`,
			[]string{"a 1", "fail 2", "c 3"}, true,
		},
		"a deletion":         {strings.Replace(uploadOf("a"), "Created:Put", "Removed:Delete", 1), nil, false},
		"the registry's own": {uploadOf("registry/records/a.json"), nil, false},
		"another bucket":     {strings.Replace(uploadOf("a"), `"larder"`, `"other"`, 1), nil, true},
		"no version":         {strings.Replace(uploadOf("a"), `"v1"`, `""`, 1), nil, true},
		"no key":             {uploadOf(""), nil, true},
		"a test event":       {`{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2026-11-20T15:00:00.000Z","Bucket":"larder"}`, nil, false},
		"another event":      {`{"Event":"s3:OtherEvent"}`, nil, true},
		"no JSON":            {`hello`, nil, true},
		"empty":              {``, nil, true},
		"null":               {`null`, nil, true},
		"an array":           {`[]`, nil, true},
		"nothing":            {`{}`, nil, true},
		"no records":         {`{"Records":[]}`, nil, true},
	} {
		w := newWorld()
		failed := w.deliver(t, c.body)
		if (len(failed) == 1) != c.fails || !slices.Equal(w.publisher.published, c.published) {
			t.Errorf("%s: failed %q, published %q, want failure %t, %q", name, failed, w.publisher.published, c.fails, c.published)
		}
		if logged := strings.Contains(w.log.String(), `"message_id":"0"`); logged != c.fails {
			t.Errorf("%s: the log says %s", name, w.log.String())
		}
	}
}

// Each message of a batch fails by itself.
func TestPartialFailures(t *testing.T) {
	w := newWorld()
	failed := w.deliver(t, uploadOf("a"), uploadOf("fail/1"), "malformed", uploadOf("b"), uploadOf("fail/2"), uploadOf("c"))
	if !slices.Equal(failed, []string{"1", "2", "4"}) {
		t.Errorf("failed %q", failed)
	}
	if want := []string{"a v1", "fail/1 v1", "b v1", "fail/2 v1", "c v1"}; !slices.Equal(w.publisher.published, want) {
		t.Errorf("published %q, want %q", w.publisher.published, want)
	}
	if !strings.Contains(w.log.String(), errStorage.Error()) {
		t.Errorf("the log does not say why: %s", w.log.String())
	}
}

// The publisher is opened when it is needed first, until that works, and then
// never again.
func TestThePublisherIsOpenedOnce(t *testing.T) {
	w := newWorld()
	if w.deliver(t, `{"Event":"s3:TestEvent"}`); w.opened != 0 {
		t.Error("the publisher was opened for a test event")
	}
	w.openError = errStorage
	if failed := w.deliver(t, uploadOf("a")); len(failed) != 1 {
		t.Error("an upload did not fail for want of a publisher")
	}
	w.openError = nil
	if failed := w.deliver(t, uploadOf("a"), uploadOf("b")); len(failed) != 0 || w.opened != 2 {
		t.Errorf("failed %q, opened %d times", failed, w.opened)
	}
}

func TestOtherEvents(t *testing.T) {
	for _, payload := range []string{`{}`, `{"Records":[]}`, `{"detail-type":"Scheduled Event"}`, `{"control":null}`} {
		var event Event
		if err := json.Unmarshal([]byte(payload), &event); err != nil {
			t.Fatal(err)
		}
		if _, err := newWorld().Handle(t.Context(), event); err == nil {
			t.Errorf("%s is taken for an event", payload)
		}
	}
}

// An operator's request comes to the publisher as it was written, and its answer
// is the whole of the result.
func TestControl(t *testing.T) {
	w := newWorld()
	w.publisher.answer = control.Answer{Walked: &control.Walked{Steps: map[string]int{"records": 2}, Next: "n"}}
	for _, c := range []struct {
		payload string
		want    control.Request
	}{
		{`{"control":{"verify":{"after":"a","quick":true}}}`, control.Request{Verify: &control.Verify{Part: control.Part{After: "a"}, Quick: true}}},
		{`{"control":{"standing":{"address":"acme/widget","version":"1.0.0","state":"withdrawn"}}}`,
			control.Request{Standing: &control.Standing{Address: "acme/widget", Version: "1.0.0", State: registry.Withdrawn}}},
		{`{"control":{}}`, control.Request{}},
	} {
		var event Event
		if err := json.Unmarshal([]byte(c.payload), &event); err != nil {
			t.Fatal(err)
		}
		w.publisher.asked = nil
		result, err := w.Handle(t.Context(), event)
		if err != nil || len(w.publisher.asked) != 1 || !reflect.DeepEqual(w.publisher.asked[0], c.want) {
			t.Errorf("%s: asked %+v, %v", c.payload, w.publisher.asked, err)
		}
		if text, err := json.Marshal(result); err != nil || string(text) != `{"walked":{"next":"n","steps":{"records":2},"changed":0}}` {
			t.Errorf("%s: answered %s, %v", c.payload, text, err)
		}
	}
}

// If there is no answer, the operator gets the reason, and the log has it.
func TestControlWithoutAPublisher(t *testing.T) {
	w := newWorld()
	w.openError = errStorage
	result, err := w.Handle(t.Context(), Event{Control: &control.Request{}})
	if err != nil || result.Answer == nil || result.Error != errStorage.Error() || !strings.Contains(w.log.String(), errStorage.Error()) {
		t.Errorf("Handle = %+v, %v, with the log %s", result, err, w.log.String())
	}
}

// A reconcile goes on after what its message says, and a message of its own
// asks for the rest, in letters that every queue carries.
func TestReconcile(t *testing.T) {
	const strange = "modules/ü +%\x01\uffff.zip"
	w := newWorld()
	w.publisher.next = strange
	if _, err := w.Handle(t.Context(), Event{Reconcile: &Reconcile{}}); err != nil {
		t.Fatal(err)
	}
	// An alarm counts the lines of reconciles that are complete.
	const goesOn, complete = `"msg":"the reconcile goes on in another invocation"`, `"msg":"the reconcile is complete"`
	if log := w.log.String(); !strings.Contains(log, goesOn) || strings.Contains(log, complete) {
		t.Errorf("of a reconcile that goes on is logged %s", log)
	}
	w.log.Reset()
	if len(w.sent) != 1 || strings.ContainsFunc(w.sent[0], func(c rune) bool { return c < ' ' || c > '~' }) {
		t.Fatalf("sent %q, want one message in ASCII", w.sent)
	}
	w.publisher.next = ""
	if failed := w.deliver(t, w.sent[0]); len(failed) > 0 || len(w.sent) != 1 {
		t.Errorf("failed %q, sent %q", failed, w.sent)
	}
	if want := []string{"", strange}; !slices.Equal(w.publisher.after, want) {
		t.Errorf("reconciled after %q, want %q", w.publisher.after, want)
	}
	if log := w.log.String(); strings.Contains(log, goesOn) || strings.Count(log, complete) != 1 {
		t.Errorf("of its end is logged %s", log)
	}
}

// What a reconcile finds missed comes back as an upload like any other.
func TestReconcileSendsWhatWasMissed(t *testing.T) {
	w := newWorld()
	w.publisher.missed = []blob.Object{
		{Key: "keys/acme/a b+c%2F☃.asc", Version: "v/1+=", Size: 3, Modified: time.Now()},
		{Key: "modules/acme/vpc/aws/1.0.0.zip", Version: "2"},
	}
	if _, err := w.Handle(t.Context(), Event{Reconcile: &Reconcile{}}); err != nil {
		t.Fatal(err)
	}
	if failed := w.deliver(t, w.sent...); len(failed) > 0 {
		t.Errorf("failed %q", failed)
	}
	if want := []string{"keys/acme/a b+c%2F☃.asc v/1+=", "modules/acme/vpc/aws/1.0.0.zip 2"}; !slices.Equal(w.publisher.published, want) {
		t.Errorf("published %q, want %q", w.publisher.published, want)
	}
}

// A reconcile that fails is tried again from where it began, and nobody else
// goes on.
func TestReconcileFails(t *testing.T) {
	w := newWorld()
	if _, err := w.Handle(t.Context(), Event{Reconcile: &Reconcile{After: "fail"}}); !errors.Is(err, errStorage) {
		t.Errorf("Handle = %v", err)
	}
	if failed := w.deliver(t, `{"reconcile":{"after":"fail"}}`, `{"reconcile":{"after":"%zz"}}`); len(failed) != 2 {
		t.Errorf("failed %q", failed)
	}
	if len(w.sent) != 0 {
		t.Errorf("sent %q", w.sent)
	}
	w.publisher.next, w.sendError = "a", errStorage
	if failed := w.deliver(t, `{"reconcile":{}}`); len(failed) != 1 {
		t.Error("a reconcile whose rest nobody was asked for did not fail")
	}
	w.publisher.next, w.publisher.missed = "", []blob.Object{{Key: "keys/acme/a.asc", Version: "1"}}
	if failed := w.deliver(t, `{"reconcile":{}}`); len(failed) != 1 {
		t.Error("a reconcile that could not send what was missed did not fail")
	}
	if strings.Contains(w.log.String(), "the reconcile is complete") {
		t.Errorf("of reconciles that fail is logged %s", w.log.String())
	}
}

// A reconcile begins no step in the second half of its invocation's time.
func TestReconcileHasTime(t *testing.T) {
	deadline := time.Now().Add(5 * time.Minute)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	w := newWorld()
	if _, err := w.Handle(ctx, Event{Reconcile: &Reconcile{}}); err != nil {
		t.Fatal(err)
	}
	half := deadline.Add(-(5*time.Minute + lastWords) / 2)
	if early := half.Sub(w.publisher.until); early.Abs() > 10*time.Second {
		t.Errorf("until %v, want %v", w.publisher.until, half)
	}
}

// An upload is given up while there is time to say so.
func TestAnUploadThatTakesTooLong(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), lastWords)
	defer cancel()
	w := newWorld()
	response, err := w.Handle(ctx, Event{Messages: []events.SQSMessage{{MessageId: "0", ReceiptHandle: "receipt-0", Body: uploadOf("a")}}})
	if err != nil || len(response.BatchItemFailures) != 1 || ctx.Err() != nil || strings.Count(w.log.String(), "deadline exceeded") != 1 {
		t.Errorf("Handle = %v, %v, with the log %s", response, err, w.log.String())
	}
	if !slices.Equal(w.postponed, []string{"receipt-0 30m0s"}) {
		t.Errorf("postponed %q", w.postponed)
	}
}

// What fails is tried again half an hour later, and nothing else is.
func TestPostponed(t *testing.T) {
	w := newWorld()
	if failed := w.deliver(t, uploadOf("a"), uploadOf("fail"), `hello`); !slices.Equal(failed, []string{"1", "2"}) {
		t.Errorf("failed %q", failed)
	}
	if !slices.Equal(w.postponed, []string{"receipt-1 30m0s", "receipt-2 30m0s"}) {
		t.Errorf("postponed %q", w.postponed)
	}
	w.postponeError = errStorage
	if failed := w.deliver(t, uploadOf("fail")); !slices.Equal(failed, []string{"0"}) || !strings.Contains(w.log.String(), "it cannot be told when") {
		t.Errorf("failed %q, with the log %s", failed, w.log.String())
	}
}

func FuzzMessages(f *testing.F) {
	for _, body := range []string{
		uploadOf("a+%C3%BC"), `{"Event":"s3:TestEvent"}`, `{"reconcile":{"after":"a%2Fb"}}`, `{"Records":[{"s3":null}]}`, `{"Records":[null]}`, `null`, ``,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := newWorld()
		failed := w.deliver(t, body)
		if len(failed) == 0 && len(w.publisher.published) == 0 && len(w.publisher.after) == 0 && !json.Valid([]byte(body)) {
			t.Errorf("%q was taken and nothing done", body)
		}
		for _, published := range w.publisher.published {
			if strings.HasPrefix(published, "registry/") || strings.HasPrefix(published, " ") {
				t.Errorf("%q published %q", body, published)
			}
		}
	})
}

// The publisher gets the name of the uploader from S3's event.
func TestWhoUploaded(t *testing.T) {
	w := newWorld()
	body := `{"Records":[{"eventName":"ObjectCreated:Put","userIdentity":{"principalId":"AWS:AROAEXAMPLEID:ci"},"s3":{"bucket":{"name":"larder"},"object":{"key":"modules/acme/vpc/aws/1.0.0.zip","versionId":"1"}}}]}`
	if err := w.handle(t.Context(), body); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.publisher.by, []string{"AWS:AROAEXAMPLEID:ci"}) {
		t.Errorf("published by %q", w.publisher.by)
	}
}
