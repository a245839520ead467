package topic

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/inbox"
)

const arn = "arn:aws:sns:eu-central-1:111122223333:larder-outcomes"

// serve is SNS, which answers in its own protocol what handle says, and the
// topic.
func serve(t *testing.T, handle http.HandlerFunc) *Topic {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return New(variables.Values{
		Topic: arn, Region: "eu-central-1", SNSEndpoint: server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("id", "s3cret", "t0ken"),
	})
}

func accept(w http.ResponseWriter) {
	_, _ = fmt.Fprint(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">`+
		`<PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>`)
}

var rejected = inbox.Outcome{
	Key: "providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", Version: "v1", Status: inbox.Rejected,
	Subject: "provider acme/widget 1.0.0 for linux_amd64", Reasons: []string{"<A> & \"b\" is no zip.", "It is too large."},
	SHA256: "0123", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
}

func TestAnnounce(t *testing.T) {
	var got url.Values
	topic := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		got = r.PostForm
		accept(w)
	})
	if err := topic.Announce(t.Context(), rejected); err != nil {
		t.Fatal(err)
	}
	if got.Get("Action") != "Publish" || got.Get("TopicArn") != arn || got.Get("Subject") != "rejected: provider acme/widget 1.0.0 for linux_amd64" {
		t.Errorf("published %v", got)
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(got.Get("Message")), &fields); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(rejected)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(document, &want); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(fields) != fmt.Sprint(want) {
		t.Errorf("the message is %v, want %v", fields, want)
	}
	if !strings.Contains(got.Get("Message"), `<A> & \"b\"`) {
		t.Errorf("people cannot read %s", got.Get("Message"))
	}
}

// An error says what failed, and nothing that a log must not have.
func TestAnnounceFails(t *testing.T) {
	topic := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AuthorizationError</Code>`+
			`<Message>User is not authorized to perform: SNS:Publish</Message></Error></ErrorResponse>`)
	})
	err := topic.Announce(t.Context(), rejected)
	if err == nil || !strings.Contains(err.Error(), "AuthorizationError") {
		t.Fatalf("Announce = %v", err)
	}
	for _, secret := range []string{"s3cret", "t0ken", "is no zip", "Signature"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error %q has %q", err, secret)
		}
	}
}

// SNS may fail for a moment: the function does not have to.
func TestAnnounceRetries(t *testing.T) {
	tries := 0
	topic := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries++; tries == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		accept(w)
	})
	if err := topic.Announce(t.Context(), rejected); err != nil || tries != 2 {
		t.Errorf("Announce = %v, after %d tries", err, tries)
	}
}

func TestSubject(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome inbox.Outcome
		want    string
	}{
		{"what it is", rejected, "rejected: provider acme/widget 1.0.0 for linux_amd64"},
		{"where it is", inbox.Outcome{Status: inbox.Ignored, Key: "modules/README.md"}, "ignored: modules/README.md"},
		{"not ASCII", inbox.Outcome{Status: inbox.Ignored, Key: "modules/ü\r\nBcc: x\x7f"}, "ignored: modules/???Bcc: x?"},
		{"as long as can be", inbox.Outcome{Status: inbox.Ignored, Key: strings.Repeat("k", 90)}, "ignored: " + strings.Repeat("k", 90)},
		{"longer", inbox.Outcome{Status: inbox.Ignored, Key: strings.Repeat("k", 91)}, "ignored: " + strings.Repeat("k", 87) + "..."},
	} {
		if got := subject(c.outcome); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAttributes(t *testing.T) {
	for key, want := range map[string]map[string]string{
		"modules/acme/vpc/aws/1.0.0.zip":              {"status": "pending", "folder": "modules", "namespace": "acme"},
		"providers/acme/widget/x.zip":                 {"status": "pending", "folder": "providers", "namespace": "acme"},
		"keys/acme/ann.asc":                           {"status": "pending", "folder": "keys", "namespace": "acme"},
		"mirror/registry.terraform.io/acme/widget/x":  {"status": "pending", "folder": "mirror"},
		"modules/README.md":                           {"status": "pending", "folder": "modules"},
		"README.md":                                   {"status": "pending"},
		"/README.md":                                  {"status": "pending"},
		"modules//vpc/1.0.0.zip":                      {"status": "pending", "folder": "modules"},
		"modules/acmé/vpc/aws/1.0.0.zip":              {"status": "pending", "folder": "modules"},
		"modules/ac\x00me/vpc/aws/1.0.0.zip":          {"status": "pending", "folder": "modules"},
		"modules/ACME Corporation/vpc/aws/1.0.0.zip":  {"status": "pending", "folder": "modules", "namespace": "ACME Corporation"},
		"providers/acme/widget/1.0.0/x_SHA256SUMS":    {"status": "pending", "folder": "providers", "namespace": "acme"},
		"providers/acme/widget/x_SHA256SUMS.sig/more": {"status": "pending", "folder": "providers", "namespace": "acme"},
	} {
		got := map[string]string{}
		for name, a := range attributes(inbox.Outcome{Key: key, Status: inbox.Pending}) {
			if *a.DataType != "String" {
				t.Errorf("%s: %s is a %s", key, name, *a.DataType)
			}
			got[name] = *a.StringValue
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

// A message fits, whatever the outcome says, and then as a document that says
// how many reasons it leaves out.
func TestBody(t *testing.T) {
	longest := strings.Repeat("\x01", 1024) // every byte is six in JSON
	for _, c := range []struct {
		name     string
		reasons  []string
		kept     int // of them; -1: some, and fewer
		complete bool
	}{
		{"none", nil, 0, true},
		{"two", []string{"It is no zip.", "It is too large."}, 2, true},
		{"many", slices.Repeat([]string{"A reason of some fifty characters, as most of them."}, 300), 300, true},
		{"too many", slices.Repeat([]string{"A reason of some fifty characters, as most of them."}, 5000), -1, false},
		{"one that is too long", slices.Repeat([]string{strings.Repeat("ü", maxMessage)}, 1), 0, false},
	} {
		o := inbox.Outcome{Key: longest, Version: longest, Subject: longest, Status: inbox.Rejected, Reasons: c.reasons}
		text, err := body(o)
		if err != nil || len(text) > maxMessage {
			t.Errorf("%s: %d bytes, %v", c.name, len(text), err)
		}
		var got inbox.Outcome
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.complete {
			if len(got.Reasons) != c.kept {
				t.Errorf("%s: has %d reasons, want %d", c.name, len(got.Reasons), c.kept)
			}
			continue
		}
		kept := len(got.Reasons) - 1
		if c.kept < 0 && (kept < 100 || kept >= len(c.reasons)) || c.kept >= 0 && kept != c.kept {
			t.Errorf("%s: has %d of %d reasons", c.name, kept, len(c.reasons))
		}
		if want := fmt.Sprintf("And %d more, ", len(c.reasons)-kept); !strings.HasPrefix(got.Reasons[kept], want) {
			t.Errorf("%s: says %q after %d reasons", c.name, got.Reasons[kept], kept)
		}
	}
}

// A message has the characters that SNS takes, which are those of XML, and says
// of every other what it was.
func TestBodyIsFitForXML(t *testing.T) {
	text, err := body(inbox.Outcome{Key: "modules/\x00\x1b\x7f\ufffe\uffff\xff\u2028ü☃😀"})
	if err != nil || !utf8.ValidString(text) {
		t.Fatalf("%q, %v", text, err)
	}
	for _, c := range text {
		if c < ' ' && c != '\n' || c == '\ufffe' || c == '\uffff' {
			t.Errorf("the message has %U", c)
		}
	}
	var got inbox.Outcome
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Key != "modules/\x00\x1b\x7f\ufffe\uffff\ufffd\u2028ü☃😀" {
		t.Errorf("the key is %q, %v", got.Key, err)
	}
}
