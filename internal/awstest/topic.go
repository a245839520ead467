package awstest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"unicode/utf8"
)

// Announcement is a message that was published to the topic of outcomes.
type Announcement struct {
	Subject, Message string
	Attributes       map[string]string
}

// Topic is a topic of SNS. It is safe for concurrent use.
type Topic struct {
	arn string

	mu   sync.Mutex
	told []Announcement
}

// NewTopic makes a topic without messages.
func NewTopic(arn string) *Topic { return &Topic{arn: arn} }

// Announcements returns the messages so far about uploads with the key.
func (t *Topic) Announcements(tb testing.TB, key string) []Announcement {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.told), func(a Announcement) bool {
		var outcome struct{ Key string }
		if err := json.Unmarshal([]byte(a.Message), &outcome); err != nil {
			tb.Errorf("the topic was told %q: %v", a.Message, err)
		}
		return outcome.Key != key
	})
}

// Announcements returns the messages of the registry's topic about uploads with the key.
func (s *Stack) Announcements(t testing.TB, key string) []Announcement {
	t.Helper()
	return s.topic.Announcements(t, key)
}

// snsCalls returns the permissions that a request to SNS needs.
func snsCalls(_ *http.Request, body []byte) ([]Call, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("a request to SNS: %w", err)
	}
	action := "sns:" + form.Get("Action")
	return []Call{{Action: action, Resource: form.Get("TopicArn"), Request: action}}, nil
}

// maxAnnouncement is the largest message of SNS by default, in bytes, with the attributes.
const maxAnnouncement = 256 << 10

// ServeHTTP answers Publish in the protocol of SNS, which is AWS's Query protocol.
// See https://docs.aws.amazon.com/sns/latest/api/API_Publish.html
func (t *Topic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4*maxAnnouncement)
	if err := r.ParseForm(); err != nil {
		refuseQuery(w, http.StatusBadRequest, "MalformedQueryString", err.Error())
		return
	}
	a, err := readAnnouncement(r.PostForm)
	switch {
	case r.PostForm.Get("Action") != "Publish" || r.PostForm.Get("Version") != "2010-03-31":
		refuseQuery(w, http.StatusBadRequest, "InvalidAction", r.PostForm.Get("Action"))
	case r.PostForm.Get("TopicArn") != t.arn:
		refuseQuery(w, http.StatusNotFound, "NotFound", "Topic does not exist")
	case err != nil:
		refuseQuery(w, http.StatusBadRequest, "InvalidParameter", "Invalid parameter: "+err.Error())
	default:
		t.mu.Lock()
		t.told = append(t.told, a)
		t.mu.Unlock()
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprintf(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>%s</MessageId></PublishResult>`+ //nolint:errcheck // the client may have left
			`<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></PublishResponse>`, rand.Text(), rand.Text())
	}
}

// announced is the form of messages and the values of attributes in SNS: the characters of XML.
var announced = regexp.MustCompile(`^[\t\n\r\x{20}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]+$`)

// subjectLine is the form of a subject in SNS: less than 100 characters of ASCII.
var subjectLine = regexp.MustCompile(`^[!-~][ -~]{0,98}$`)

// readAnnouncement reads a message, unless SNS would not take it.
func readAnnouncement(form url.Values) (Announcement, error) {
	a := Announcement{form.Get("Subject"), form.Get("Message"), map[string]string{}}
	size := len(a.Message)
	for n := 1; ; n++ {
		entry := "MessageAttributes.entry." + strconv.Itoa(n) + "."
		name := form.Get(entry + "Name")
		if name == "" {
			break
		}
		kind, value := form.Get(entry+"Value.DataType"), form.Get(entry+"Value.StringValue")
		if kind != "String" || !announced.MatchString(value) {
			return a, fmt.Errorf("the attribute %s is a %s, %q", name, kind, value)
		}
		a.Attributes[name] = value
		size += len(name) + len(kind) + len(value)
	}
	switch {
	case !utf8.ValidString(a.Message) || !announced.MatchString(a.Message):
		return a, fmt.Errorf("the message is %q", a.Message)
	case !subjectLine.MatchString(a.Subject):
		return a, fmt.Errorf("the subject is %q", a.Subject)
	case size > maxAnnouncement:
		return a, fmt.Errorf("the message is too long: %d bytes", size)
	}
	return a, nil
}

// refuseQuery answers with an error in AWS's Query protocol.
func refuseQuery(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Code>%s</Code><Message>%s</Message></Error>`+ //nolint:errcheck // the client may have left
		`<RequestId>%s</RequestId></ErrorResponse>`, code, xmlText(message), rand.Text())
}
