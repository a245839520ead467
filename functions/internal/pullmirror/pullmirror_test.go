package pullmirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/functions/internal/queue"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/registry"
)

var errOrigin = errors.New("the origin does not answer")

// world is a mirror of all of hashicorp and what it did.
type world struct {
	*Function
	fetched   []string // fails for those with "fail" in their names
	until     time.Time
	postponed []string // receipts
	lost      error    // of Postpone
	log       bytes.Buffer
}

func newWorld(t testing.TB) *world {
	t.Helper()
	patterns, err := pullthrough.ParsePatterns("registry.terraform.io/hashicorp/*")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{}
	w.Function = New(Config{
		Handler: http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(answer, r.Method+" "+r.URL.Path)
		}),
		Fetch: func(ctx context.Context, wanted pullthrough.Wanted) error {
			w.fetched = append(w.fetched, wanted.String())
			w.until, _ = ctx.Deadline()
			if strings.Contains(wanted.String(), "fail") {
				return errOrigin
			}
			return ctx.Err()
		},
		Patterns: patterns,
		Postpone: func(ctx context.Context, receipt string, by time.Duration) error {
			w.postponed = append(w.postponed, receipt+" "+by.String())
			return errors.Join(w.lost, ctx.Err())
		},
		Logger: slog.New(slog.NewJSONHandler(&w.log, nil)),
	})
	return w
}

// deliver delivers messages in one batch, and returns those that failed.
func (w *world) deliver(t testing.TB, ctx context.Context, bodies ...string) (failed []string) {
	t.Helper()
	var event Event
	for _, body := range bodies {
		event.Messages = append(event.Messages, events.SQSMessage{MessageId: body, ReceiptHandle: "receipt of " + body, Body: body})
	}
	result, err := w.Handle(ctx, event)
	if err != nil || result.SQSEventResponse == nil || result.APIGatewayV2HTTPResponse != nil {
		t.Fatalf("Handle = %+v, %v", result, err)
	}
	for _, failure := range result.BatchItemFailures {
		failed = append(failed, failure.ItemIdentifier)
	}
	return failed
}

func body(hostname, namespace, typ, version, platform string) string {
	return `{"provider":{"hostname":"` + hostname + `","namespace":"` + namespace + `","type":"` + typ + `"},"version":"` + version + `","platform":"` + platform + `"}`
}

var timeBody = body("registry.terraform.io", "hashicorp", "time", "0.13.1", "linux_amd64")

// A message for a package that is pulled through is fetched. A message for another package
// is dropped, and a malformed one fails.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		body    string
		fetched string
		fails   bool
	}{
		{timeBody, "registry.terraform.io/hashicorp/time/terraform-provider-time_0.13.1_linux_amd64.zip", false},
		{body("registry.terraform.io", "hashicorp", "failing", "1.0.0", "linux_amd64"), "registry.terraform.io/hashicorp/failing/terraform-provider-failing_1.0.0_linux_amd64.zip", true},
		{body("registry.terraform.io", "acme", "time", "0.13.1", "linux_amd64"), "", false},
		{body("registry.example.com", "hashicorp", "time", "0.13.1", "linux_amd64"), "", false},
		{body("", "hashicorp", "time", "0.13.1", "linux_amd64"), "", true},
		{body("registry.terraform.io", "hashicorp", "../time", "0.13.1", "linux_amd64"), "", true},
		{body("registry.terraform.io", "hashicorp", "time", "v0.13.1", "linux_amd64"), "", true},
		{body("registry.terraform.io", "hashicorp", "time", "../1", "linux_amd64"), "", true},
		{body("registry.terraform.io", "hashicorp", "time", "0.13.1", "linux/amd64"), "", true},
		{body("registry.terraform.io", "hashicorp", "time", "0.13.1", ""), "", true},
		{`{}`, "", true},
		{`null`, "", true},
		{`fetch it`, "", true},
	} {
		w := newWorld(t)
		failed := w.deliver(t, t.Context(), c.body)
		if strings.Join(w.fetched, " ") != c.fetched {
			t.Errorf("%s: fetched %q, want %q", c.body, w.fetched, c.fetched)
		}
		if len(failed) > 0 != c.fails || len(w.postponed) > 0 != c.fails {
			t.Errorf("%s: failed %q and postponed %q, want %t", c.body, failed, w.postponed, c.fails)
		}
	}
}

// Only the failed messages of a batch fail. Each is tried again after some minutes, or when
// the queue itself does so, if it cannot be postponed.
func TestFailures(t *testing.T) {
	failing := body("registry.terraform.io", "hashicorp", "failing", "1.0.0", "linux_amd64")
	for _, lost := range []error{nil, errors.New("the queue does not answer")} {
		w := newWorld(t)
		w.lost = lost
		if failed := w.deliver(t, t.Context(), failing, timeBody); !slices.Equal(failed, []string{failing}) {
			t.Errorf("failed %q", failed)
		}
		if want := []string{"receipt of " + failing + " 5m0s"}; !slices.Equal(w.postponed, want) {
			t.Errorf("postponed %q, want %q", w.postponed, want)
		}
		if log := w.log.String(); !strings.Contains(log, errOrigin.Error()) || strings.Contains(log, "cannot be told") != (lost != nil) {
			t.Errorf("the log is %s", log)
		}
	}
}

// A fetch is given up while there is time to say so.
func TestAFetchThatTakesTooLong(t *testing.T) {
	w := newWorld(t)
	deadline := time.Now().Add(time.Minute)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	if w.deliver(t, ctx, timeBody); !w.until.Equal(deadline.Add(-lastWords)) {
		t.Errorf("it may take until %v, and the invocation until %v", w.until, deadline)
	}
	late, cancel := context.WithTimeout(t.Context(), lastWords)
	defer cancel()
	if failed := w.deliver(t, late, timeBody); len(failed) != 1 || len(w.postponed) != 1 || strings.Contains(w.log.String(), "cannot be told") {
		t.Errorf("failed %q, postponed %q: %s", failed, w.postponed, w.log.String())
	}
}

// An answer that the gateway does not wait for any more is not worked on.
func TestAnAnswerThatTakesTooLong(t *testing.T) {
	m := New(Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		if deadline, ok := r.Context().Deadline(); !ok || time.Until(deadline) > answerTime {
			t.Errorf("an answer may take until %v", deadline)
		}
	})})
	var event Event
	event.RequestContext.HTTP.Method = http.MethodGet
	if _, err := m.Handle(t.Context(), event); err != nil {
		t.Error(err)
	}
}

// An event that is not a batch of the queue is a request, or an error. In JSON a result has
// only the fields for the sender of its event.
func TestEventsAreToldApart(t *testing.T) {
	const request = `{"version":"2.0","rawPath":"/v1/mirror/a%2Fb","headers":{"host":"registry.example.com"},"requestContext":{"http":{"method":"GET"}}}`
	for payload, want := range map[string]string{
		`{"Records":[{"messageId":"1","body":"no"}]}`:                                              `{"batchItemFailures":[{"itemIdentifier":"1"}]}`,
		`{"Records":[{"messageId":"1","body":"` + strings.ReplaceAll(timeBody, `"`, `\"`) + `"}]}`: `{"batchItemFailures":[]}`,
		request:          `"body":"GET /v1/mirror/a%2Fb"`,
		`{}`:             "neither",
		`{"Records":[]}`: "neither",
	} {
		w := newWorld(t)
		var event Event
		if err := json.Unmarshal([]byte(payload), &event); err != nil {
			t.Fatal(err)
		}
		result, err := w.Handle(t.Context(), event)
		text, _ := json.Marshal(result)
		if err != nil {
			text = []byte(err.Error())
		}
		if !strings.Contains(string(text), want) || strings.Contains(string(text), "batchItem") && strings.Contains(string(text), "statusCode") {
			t.Errorf("%s = %s, want %s", payload, text, want)
		}
	}
}

// Fifty clients who miss a package cause one message, and more cause one in as
// long as the queue remembers it.
func TestEachPackageIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		a := newAsker(func(_ context.Context, id, body string) error {
			if len(id) != 64 || body != timeBody {
				t.Errorf("sent %q as %q", body, id)
			}
			time.Sleep(time.Second)
			sent.Add(1)
			return nil
		})
		wanted, err := readWanted(timeBody)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			var clients sync.WaitGroup
			for range 50 {
				clients.Go(func() {
					if err := a.want(t.Context(), wanted); err != nil {
						t.Error(err)
					}
				})
			}
			clients.Wait()
			if got := int(sent.Load()); got != round+1 {
				t.Errorf("%d messages were sent, want %d", got, round+1)
			}
			time.Sleep(queue.OnceFor)
		}
	})
}

// What was not sent is asked for again, after a while: the client does not wait
// for a queue that does not answer, for one package after another.
func TestAMessageThatIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sends, fails := 0, true
		a := newAsker(func(ctx context.Context, _, _ string) error {
			if sends++; fails {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		began := time.Now()
		for n, want := range []error{context.DeadlineExceeded, errSilent, errSilent} {
			wanted := pullthrough.Wanted{Platform: registry.Platform{OS: "linux", Arch: fmt.Sprint("arch", n%2)}}
			if err := a.want(t.Context(), wanted); !errors.Is(err, want) {
				t.Errorf("want = %v, want %v", err, want)
			}
		}
		if took := time.Since(began); took != sendTime || sends != 1 {
			t.Errorf("%d messages took %v", sends, took)
		}
		time.Sleep(failedFor)
		fails = false
		if err := a.want(t.Context(), pullthrough.Wanted{Platform: registry.Platform{OS: "linux", Arch: "arch0"}}); err != nil || sends != 2 {
			t.Errorf("it was not asked for again: %v", err)
		}
	})
}

// Two packages never share an id, and however much is asked for, no more is
// remembered than there is room for.
func TestIDs(t *testing.T) {
	ids, sent := map[string]bool{}, 0
	a := newAsker(func(_ context.Context, id, _ string) error { ids[id] = true; sent++; return nil })
	ask := func(n int) {
		t.Helper()
		version, err := registry.ParseVersion(fmt.Sprint("1.0.", n))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.want(t.Context(), pullthrough.Wanted{Version: version, Platform: registry.Platform{OS: "linux", Arch: "amd64"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ packages, sent int }{{maxAsked, maxAsked}, {maxAsked, maxAsked}, {maxAsked + 1, maxAsked + 1}} {
		for n := range tt.packages {
			ask(n)
		}
		if len(ids) != tt.sent || sent != tt.sent {
			t.Errorf("%d messages with %d ids were sent, want %d", sent, len(ids), tt.sent)
		}
	}
	for n := range maxAsked + 1 {
		ask(n)
	}
	if len(ids) != maxAsked+1 || sent == maxAsked+1 {
		t.Errorf("all of %d are remembered, with %d ids", sent, len(ids))
	}
}

func TestOpenRefuses(t *testing.T) {
	env := variables.Values{Table: "larder", Bucket: "larder", Region: "us-east-1", URLLifetime: time.Minute, Platforms: "all"}
	for upstreams, platforms := range map[string]string{
		"*/hashicorp/*": "all", "registry.terraform.io/hashicorp/*": "linux",
	} {
		env.Upstreams, env.Platforms = upstreams, platforms
		if _, err := Open(env, nil, slog.New(slog.DiscardHandler)); err == nil || !strings.HasPrefix(err.Error(), "LARDER_MIRROR_") {
			t.Errorf("%s for %s: %v", upstreams, platforms, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	for _, text := range []string{timeBody, body("registry.terraform.io", "hashicorp", "..", "1.0.0", "a_b"), `{}`, `null`, ``} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		wanted, err := readWanted(text)
		if err != nil {
			return
		}
		_, again, err := message(wanted)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := readWanted(again); err != nil || read != wanted {
			t.Errorf("%q is read as %v, written as %q, and read as %v, %v", text, wanted, again, read, err)
		}
		if key := wanted.String(); strings.Contains(key, "..") || strings.Count(key, "/") != 3 {
			t.Errorf("%q names %q", text, key)
		}
	})
}
