package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// adapted is a reader by the adapter of AWS, to which ours is held.
func adapted(h http.Handler) lambda.Handler {
	adapter := httpadapter.NewV2(h)
	return lambda.NewHandler(func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		event = escaped(event)
		event.Cookies = nil
		event.Body, event.IsBase64Encoded = "", false
		return adapter.ProxyWithContext(ctx, event)
	})
}

// asked is what a handler sees of a request.
type asked struct {
	Method, Path, Escaped, Query, Host, Remote, Proto string
	Header                                            http.Header
	Body                                              string
	Length                                            int64
	Value                                             any
}

type key struct{}

// ask invokes a function with an event, and returns what its handler sees, and the answer.
func ask(t *testing.T, of func(http.Handler) lambda.Handler, payload []byte, write func(http.ResponseWriter)) (asked, events.APIGatewayV2HTTPResponse, error) {
	t.Helper()
	var seen asked
	serve := of(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen = asked{r.Method, r.URL.Path, r.URL.EscapedPath(), r.URL.RawQuery, r.Host, r.RemoteAddr, r.Proto, r.Header, string(body), r.ContentLength, r.Context().Value(key{})}
		write(w)
	}))
	text, err := serve.Invoke(context.WithValue(t.Context(), key{}, "value"), payload)
	var answer events.APIGatewayV2HTTPResponse
	if err == nil {
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("the answer is %q: %v", text, err)
		}
	}
	return seen, answer, err
}

// compare holds a reader to the adapter.
func compare(t *testing.T, payload []byte, write func(http.ResponseWriter)) {
	t.Helper()
	wantSeen, want, err := ask(t, adapted, payload, write)
	if err != nil {
		return // the adapter refuses methods and hosts that no gateway has
	}
	ours := func(h http.Handler) lambda.Handler { return reader{h} }
	throughAdapt := func(h http.Handler) lambda.Handler { return lambda.NewHandler(Adapt(h)) }
	for name, of := range map[string]func(http.Handler) lambda.Handler{"reader": ours, "Adapt": throughAdapt} {
		seen, got, err := ask(t, of, payload, write)
		if wantSeen.Path == "/*" { // the adapter leaves the star of "*" alone, and no other
			wantSeen.Escaped = seen.Escaped
		}
		if err != nil || !reflect.DeepEqual(seen, wantSeen) {
			t.Errorf("%s: %s:\nthe handler sees %+v, %v, and by the adapter\n%+v", name, payload, seen, err, wantSeen)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s:\nthe answer is %+v, and by the adapter\n%+v", name, payload, got, want)
		}
	}
}

// ordinary is an answer of the registry.
func ordinary(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, `{"modules":[]}`)
}

// TestReaderSeesEvents compares what handlers see of the golden events.
func TestReaderSeesEvents(t *testing.T) {
	golden, err := filepath.Glob("../../../events/*/*.json")
	if err != nil || len(golden) < 50 {
		t.Fatal(golden, err)
	}
	for _, path := range golden {
		payload, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, payload, ordinary)
	}
}

// marshalled is an event as Lambda hands it over.
func marshalled(t *testing.T, event events.APIGatewayV2HTTPRequest) []byte {
	t.Helper()
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func TestReaderSeesNastyEvents(t *testing.T) {
	for _, change := range []func(*events.APIGatewayV2HTTPRequest){
		func(e *events.APIGatewayV2HTTPRequest) { e.RawPath = "" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RawPath, e.RequestContext.HTTP.Path = "", "" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RawPath, e.RequestContext.HTTP.Path = "", "no slash" },
		func(e *events.APIGatewayV2HTTPRequest) {
			e.RawPath, e.RequestContext.Stage = "/stage/v1/modules", "stage"
		},
		func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.Method = "" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.Method = "head" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.Method = "PROPFIND" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.SourceIP = "2001:db8::1" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.SourceIP = "" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.DomainName = "registry.example.com:8443" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.DomainName = "" },
		func(e *events.APIGatewayV2HTTPRequest) { e.Headers = nil },
		func(e *events.APIGatewayV2HTTPRequest) { e.Headers = map[string]string{} },
		func(e *events.APIGatewayV2HTTPRequest) { e.Headers = map[string]string{"": "", "a b": " ", "é": "é"} },
		func(e *events.APIGatewayV2HTTPRequest) {
			e.Headers = map[string]string{"x-forwarded-for": "192.0.2.1, 2001:db8::1 ,,", "user-agent": " a, b ", "accept": " a ", "if-none-match": `W/"a,b", "c"`, "AUTHORIZATION": " Basic a, b"}
		},
		func(e *events.APIGatewayV2HTTPRequest) { e.Headers["cookie"], e.Cookies = "a=b", []string{"c=d"} },
		func(e *events.APIGatewayV2HTTPRequest) { e.RawQueryString, e.Body = "a=b", "body" },
		func(e *events.APIGatewayV2HTTPRequest) { e.RawQueryString = "q=%zz&a b\x00#c?d=\xffé" },
		func(e *events.APIGatewayV2HTTPRequest) { e.Body, e.IsBase64Encoded = "Ym9keQ==", true },
		func(e *events.APIGatewayV2HTTPRequest) {
			e.StageVariables = map[string]string{"a": "b"}
			e.PathParameters = map[string]string{"proxy": "x"}
		},
	} {
		event := request(http.MethodGet, "/v1/modules/acme/vpc/aws/versions")
		change(&event)
		compare(t, marshalled(t, event), ordinary)
	}
	for _, path := range awkward {
		compare(t, marshalled(t, request(http.MethodHead, path)), ordinary)
	}
}

// A name in two spellings has the values of both. By the adapter their order changes.
func TestHeaderInTwoSpellings(t *testing.T) {
	e := event{Headers: map[string]string{"accept": "a", "Accept": "b, c", "ACCEPT": "d"}}
	header := e.header()
	slices.Sort(header["Accept"])
	if want := (http.Header{"Accept": {"a", "b", "c", "d"}}); !reflect.DeepEqual(header, want) {
		t.Errorf("the header is %v, want %v", header, want)
	}
	e = event{Headers: map[string]string{"accept": "a", "host": "b"}}
	header = e.header()
	header.Add("Accept", "c") // which is not the next header's value
	if header.Get("Host") != "b" {
		t.Errorf("the header is %v", header)
	}
}

func TestReaderAnswers(t *testing.T) {
	payload := marshalled(t, request(http.MethodGet, "/"))
	for name, write := range map[string]func(http.ResponseWriter){
		"no body":      func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"no status":    func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"no header":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound); _, _ = io.WriteString(w, "x") },
		"empty body":   func(w http.ResponseWriter) { _, _ = w.Write(nil) },
		"two writes":   func(w http.ResponseWriter) { ordinary(w); _, _ = io.WriteString(w, "more") },
		"not UTF-8":    func(w http.ResponseWriter) { _, _ = io.WriteString(w, "\x1f\x8b\x08\x00\xff") },
		"all of ASCII": func(w http.ResponseWriter) { _, _ = io.WriteString(w, asciiText()) },
		"all of UTF-8": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "é☃\u2028\u2029\U0001f600\ufffd</script>") },
		"several":      func(w http.ResponseWriter) { w.Header()["Vary"] = []string{"a", "b"}; ordinary(w) },
		"odd header":   func(w http.ResponseWriter) { w.Header().Set("X-A", "\"\\\n\xff é"); ordinary(w) },
		"cookies":      func(w http.ResponseWriter) { w.Header()["Set-Cookie"] = []string{"a=b, c", "d=\"e\""}; ordinary(w) },
		"X-Terraform": func(w http.ResponseWriter) {
			w.Header().Set("X-Terraform-Get", "https://a/?b=c&d=e")
			w.WriteHeader(204)
		},
		"internal fail": func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) { compare(t, payload, write) })
	}
	_, got, err := ask(t, func(h http.Handler) lambda.Handler { return reader{h} }, payload, func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusNotFound)
		w.WriteHeader(http.StatusOK)
	})
	if err != nil || got.StatusCode != http.StatusNotFound {
		t.Errorf("of two statuses the answer has %d, %v", got.StatusCode, err)
	}
	if _, got, err := ask(t, func(h http.Handler) lambda.Handler { return reader{h} }, payload, func(http.ResponseWriter) {}); err != nil || got.StatusCode != http.StatusOK {
		t.Errorf("without a status the answer has %d, %v", got.StatusCode, err)
	}
}

func asciiText() string {
	var b strings.Builder
	for c := range 0x80 {
		b.WriteByte(byte(c))
	}
	return b.String()
}

func TestReaderRefusesWhatIsNoEvent(t *testing.T) {
	for _, payload := range []string{"", "{", `{"rawPath":1}`, `[]`} {
		if got, err := (reader{http.NotFoundHandler()}).Invoke(t.Context(), []byte(payload)); err == nil {
			t.Errorf("%q is answered: %s", payload, got)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, path := range awkward {
		f.Add(http.MethodGet, path, "accept", "a, b", []byte("body"), "X-A", "value")
	}
	f.Add("head", "/v1/é", "user-agent", "a, b", []byte("\x1f\x8b"), "Vary", "\u2028\xff")
	f.Fuzz(func(t *testing.T, method, path, name, value string, body []byte, named, content string) {
		event := request(method, path)
		event.Headers = map[string]string{name: value, "host": "registry.example.com"}
		if http.CanonicalHeaderKey(name) == "Host" {
			delete(event.Headers, name) // in two spellings their order changes
		}
		compare(t, marshalled(t, event), func(w http.ResponseWriter) {
			w.Header()[named] = []string{content}
			_, _ = w.Write(body)
		})
	})
}

// TestInvokeAllocates holds an invocation to what it costs: by the adapter it has 143.
func TestInvokeAllocates(t *testing.T) {
	const most = 72
	payload, err := os.ReadFile("../../../events/versions/module.json")
	if err != nil {
		t.Fatal(err)
	}
	serve := reader{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { ordinary(w) })}
	got := testing.AllocsPerRun(100, func() { _, _ = serve.Invoke(t.Context(), payload) })
	if got > most {
		t.Errorf("an invocation has %v allocations, and may have %d", got, most)
	}
	t.Logf("%v allocations", got)
}
