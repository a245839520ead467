package oldertest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// A Question is a GET of the registry.
type Question struct {
	Path   string `json:"path"`
	Who    string `json:"who,omitempty"`    // whose token of [Secrets] is shown; empty for none
	Client string `json:"client,omitempty"` // the header X-Terraform-Version
}

// An Answer is what clients get, whatever the address of the bucket, the time and the
// key with which links are signed.
type Answer struct {
	Question
	Status int               `json:"status"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`
	Files  []string          `json:"files,omitempty"` // the sha256 of what each link of the answer leads to
}

// Headers are those that an [Answer] has.
var Headers = []string{"Content-Type", "Cache-Control", "Location", "Www-Authenticate", "X-Terraform-Get"}

// A Door is how the registry is asked.
type Door struct {
	Ask    func(Question) Answer // all of the headers and the body as they are
	Fetch  func(link string) []byte
	Bucket string // the URL of the bucket, as links have it
}

var (
	link   = regexp.MustCompile(`https?://[^"\s]*X-Amz-Signature=[0-9a-f]+`)
	signed = regexp.MustCompile(`(X-Amz-(?:Credential|Date|Security-Token|Signature)=)[^&"\\]*`)
)

// Answer asks.
func (d Door) Answer(q Question) Answer {
	raw := d.Ask(q)
	a := Answer{Question: q, Status: raw.Status, Header: map[string]string{}, Body: d.timeless(raw.Body)}
	links := link.FindAllString(raw.Body, -1)
	for _, name := range Headers {
		if value := raw.Header[name]; value != "" {
			links = append(links, link.FindAllString(value, -1)...)
			a.Header[name] = d.timeless(value)
		}
	}
	for _, l := range links {
		sum := sha256.Sum256(d.Fetch(strings.ReplaceAll(l, `\u0026`, "&")))
		a.Files = append(a.Files, hex.EncodeToString(sum[:]))
	}
	return a
}

// timeless is a text without what differs from run to run.
func (d Door) timeless(text string) string {
	return signed.ReplaceAllString(strings.ReplaceAll(text, d.Bucket+"/", "https://bucket.example.com/"), "${1}_")
}

const answersName = "answers.json"

// KeepAnswers keeps the answers to all questions.
func (f Folder) KeepAnswers(t *testing.T, d Door) {
	t.Helper()
	var answers []Answer
	for _, q := range questions() {
		answers = append(answers, d.Answer(q))
	}
	f.Write(t, answersName, answers)
}

// CheckAnswers holds that the questions which were asked then are answered as they
// were then: those of whom, if anybody is named.
func (f Folder) CheckAnswers(t *testing.T, d Door, whose ...string) {
	t.Helper()
	var answers []Answer
	f.Read(t, answersName, &answers)
	asked := 0
	for _, want := range answers {
		if len(whose) > 0 && want.Who != whose[0] {
			continue
		}
		asked++
		if want.Header == nil {
			want.Header = map[string]string{}
		}
		got := d.Answer(want.Question)
		if details(want.Body) && stillSays(want.Body, got.Body) {
			got.Body = want.Body
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v: the answer is\n%+v\nand was\n%+v", want.Question, got, want)
		}
	}
	if asked == 0 {
		t.Error("no question was asked")
	}
}

// details says whether an answer describes a version. Later releases say more of it, and must
// still say all that was said then.
func details(body string) bool { return strings.HasPrefix(body, `{"id":`) }

// stillSays says whether every field of a JSON document has the same value in a later one.
func stillSays(then, now string) bool {
	var before, after map[string]any
	if json.Unmarshal([]byte(then), &before) != nil || json.Unmarshal([]byte(now), &after) != nil {
		return false
	}
	for field, value := range before {
		if !reflect.DeepEqual(after[field], value) {
			return false
		}
	}
	return true
}

// answer is what a question was answered then.
func (f Folder) answer(t *testing.T, q Question) Answer {
	t.Helper()
	var answers []Answer
	f.Read(t, answersName, &answers)
	for _, a := range answers {
		if a.Question == q {
			return a
		}
	}
	t.Fatalf("nobody asked %+v", q)
	return Answer{}
}

// NewAnswer is an answer as it is.
func NewAnswer(status int, header func(string) string, body string) Answer {
	a := Answer{Status: status, Header: map[string]string{}, Body: body}
	for _, name := range Headers {
		a.Header[name] = header(name)
	}
	return a
}
