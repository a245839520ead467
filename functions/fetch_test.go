package functions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/functions/internal/jsonlog"
	"github.com/larder-registry/larder/functions/internal/pullmirror"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/awstest"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/internal/templatetest"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/blob/s3presign"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/protocol"
)

// The hosts of the origin registry. They lead nowhere but by its transport.
const (
	originHost = "registry.example.com"
	filesHost  = "files.example.com"
)

const (
	widgetPackage = "terraform-provider-widget_1.0.0_"
	widgetVersion = "/v1/mirror/" + originHost + "/acme/widget/1.0.0.json"
	widgetIndex   = "/v1/mirror/" + originHost + "/acme/widget/index.json"
)

// widgetPlatforms are those for which acme/widget 1.0.0 is fetched, and rarePlatform
// is one more for which its origin has it: fetched where all are.
var widgetPlatforms = []string{"darwin_arm64", "linux_amd64"}

const rarePlatform = "freebsd_amd64"

// origin is another registry, which a mirror asks by the test's own transport: that of
// production connects only to public addresses.
type origin struct {
	server *httptest.Server
	files  *url.URL
	zips   map[string][]byte // by platform

	down      atomic.Bool
	lies      atomic.Bool // it has other bytes than it signed
	downloads atomic.Int64
}

// startOrigin starts a registry that has published acme/widget 1.0.0, and acme/rare
// 1.0.0 for the rare platform alone.
func startOrigin(t *testing.T, bucket *s3test.Server) *origin {
	t.Helper()
	w := newWorldIn(t, bucket)
	files, err := url.Parse(w.s3.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	o := &origin{files: files, zips: map[string][]byte{}}
	published := func(key string) []byte {
		zip := content(t, key)
		version := w.s3.Upload(t, key, zip, nil)
		if failures := w.invoke(uploaded(t, w.s3, key, version)); failures != 0 || w.s3.Tags(t, key, version)[inbox.StatusTag] != "published" {
			t.Fatalf("%s is not published", key)
		}
		return zip
	}
	for _, platform := range append(slices.Clone(widgetPlatforms), rarePlatform) {
		o.zips[platform] = published("providers/acme/widget/" + widgetPackage + platform + ".zip")
	}
	published("providers/acme/rare/terraform-provider-rare_1.0.0_" + rarePlatform + ".zip")
	presigner, err := s3presign.New(s3presign.Config{
		Bucket: w.s3.Bucket, Region: "us-east-1", Credentials: s3blob.StaticCredentials(w.s3.AccessKey, w.s3.SecretKey),
		Endpoint: "https://" + filesHost, PathStyle: true, Lifetime: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.server = httptest.NewTLSServer(protocol.New(protocol.Config{
		Reader: catalog.NewReader(catalog.ReaderConfig{Catalog: w.catalog}), Presigner: presigner, Logger: slog.New(slog.DiscardHandler),
		Open: true,
	}))
	t.Cleanup(o.server.Close)
	return o
}

// RoundTrip sends a request to the host that the origin is for it.
func (o *origin) RoundTrip(r *http.Request) (*http.Response, error) {
	if o.down.Load() || r.URL.Scheme != "https" {
		return nil, errors.New("connection refused")
	}
	answer, err := o.reach(r)
	if err != nil {
		return nil, err
	}
	answer.Request = r
	if strings.HasSuffix(r.URL.Path, ".zip") {
		o.downloads.Add(1)
		if o.lies.Load() {
			answer.Body = io.NopCloser(io.MultiReader(strings.NewReader("lies"), answer.Body))
		}
	}
	return answer, nil
}

func (o *origin) reach(r *http.Request) (*http.Response, error) {
	there := r.Clone(r.Context())
	there.Host = r.URL.Host // which the URLs of files are signed for
	switch r.URL.Host {
	case originHost:
		there.URL.Host = o.server.Listener.Addr().String()
		return o.server.Client().Transport.RoundTrip(there)
	case filesHost:
		there.URL.Scheme, there.URL.Host = o.files.Scheme, o.files.Host
		return http.DefaultTransport.RoundTrip(there)
	}
	return nil, fmt.Errorf("%s is not of the origin", r.URL.Host)
}

// pulling is a registry whose mirror pulls through, and what it asks AWS.
type pulling struct {
	*world
	origin     *origin
	deployment *templatetest.Deployment
	settings   map[string]string
	log        logtest.Log

	wanted *awstest.Queue // of packages

	mu       sync.Mutex
	requests []string // "<service> <what>"
}

func startPulling(t *testing.T) *pulling {
	t.Helper()
	w := newWorld(t)
	p := &pulling{world: w, origin: startOrigin(t, w.s3.Another(t, "larder-origin"))}
	var err error
	p.deployment, err = templatetest.Load(filepath.Join(root, "template.yaml"), templatetest.Values{
		Region: "us-east-1", Parameters: map[string]string{"BucketName": p.s3.Bucket, "ReadAccess": "open", "MirrorUpstreams": originHost + "/acme/*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.wanted = awstest.NewQueue(p.deployment.Fetching.Queue)
	sqs := awstest.ServeSQS(p.wanted)
	queue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.note("sqs", strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS."))
		sqs.ServeHTTP(w, r)
	}))
	t.Cleanup(queue.Close)
	p.settings = maps.Clone(p.deployment.Functions["fetch"].Environment)
	maps.Copy(p.settings, map[string]string{
		"LARDER_TABLE": p.table, // of an engine that all tests share
		"AWS_REGION":   "us-east-1", "AWS_ACCESS_KEY_ID": p.s3.AccessKey, "AWS_SECRET_ACCESS_KEY": p.s3.SecretKey, "AWS_ENDPOINT_URL_SQS": queue.URL,
		"AWS_ENDPOINT_URL_S3": p.watched(p.s3.Endpoint, "s3"), "AWS_ENDPOINT_URL_DYNAMODB": p.watched(dynamotest.Start(t).Endpoint, "dynamodb"),
	})
	return p
}

// note writes down a request to AWS.
func (p *pulling) note(service, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, service+" "+what)
}

// asked takes the requests to AWS that were made since the last time.
func (p *pulling) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	requests := p.requests
	p.requests = nil
	slices.Sort(requests)
	return requests
}

// watched is a service to which requests are written down.
func (p *pulling) watched(endpoint, service string) string {
	p.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		p.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // which is signed
		if what := r.In.Header.Get("X-Amz-Target"); what != "" {
			p.note(service, what[strings.LastIndex(what, ".")+1:])
		} else if r.In.Header.Get("Authorization") != "" { // else it is an URL that was presigned
			p.note(service, r.In.Method+" "+strings.TrimPrefix(r.In.URL.Path, "/"+p.s3.Bucket+"/"))
		}
	}})
	p.Cleanup(server.Close)
	return server.URL
}

// messages are the bodies of the queue's messages.
func (p *pulling) messages() []string { return slices.Sorted(slices.Values(p.wanted.Waiting())) }

// instance is a new instance of the function fetch.
func (p *pulling) instance() *pullmirror.Function {
	p.Helper()
	env, err := variables.Read(func(name string) string { return p.settings[name] }, variables.Table, variables.Bucket, variables.Hostname, variables.Auth,
		variables.URLLifetime, variables.FetchQueue, variables.Upstreams, variables.Platforms)
	if err != nil {
		p.Fatal(err)
	}
	m, err := pullmirror.Open(env, p.origin, jsonlog.New(&p.log))
	if err != nil {
		p.Fatal(err)
	}
	return m
}

// handle hands an event to an instance, as JSON, and reads the result.
func (p *pulling) handle(m *pullmirror.Function, payload []byte, result any) {
	p.Helper()
	var event pullmirror.Event
	if err := json.Unmarshal(payload, &event); err != nil {
		p.Error(err)
		return
	}
	got, err := m.Handle(p.Context(), event)
	if err != nil {
		p.Error(err)
		return
	}
	text, err := json.Marshal(got)
	if err != nil {
		p.Error(err)
		return
	}
	if err := json.Unmarshal(text, result); err != nil {
		p.Errorf("%v: %s", err, text)
	}
}

// get asks an instance for a document.
func (p *pulling) get(m *pullmirror.Function, rawPath string) (status int, body string) {
	p.Helper()
	payload, err := json.Marshal(events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: rawPath, Headers: map[string]string{"host": "mirror.example.com"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: http.MethodGet, Path: rawPath}},
	})
	if err != nil {
		p.Fatal(err)
	}
	var response events.APIGatewayV2HTTPResponse
	p.handle(m, payload, &response)
	return response.StatusCode, strings.TrimSpace(response.Body)
}

// archives asks an instance for the archives of the version.
func (p *pulling) archives(m *pullmirror.Function) (found map[string]offered) {
	p.Helper()
	status, body := p.get(m, widgetVersion)
	var document struct{ Archives map[string]offered }
	if err := json.Unmarshal([]byte(body), &document); err != nil || status != http.StatusOK {
		p.Errorf("%s: %d %s", widgetVersion, status, body)
	}
	return document.Archives
}

// offered is an archive as a mirror offers it.
type offered struct {
	URL    string
	Hashes []string
}

// deliver delivers a message of the queue, and says whether it failed.
func (p *pulling) deliver(m *pullmirror.Function, body string) bool {
	p.Helper()
	payload, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "1", ReceiptHandle: "AQEB", Body: body, EventSource: "aws:sqs", Attributes: map[string]string{"ApproximateReceiveCount": "1"},
	}}})
	if err != nil {
		p.Fatal(err)
	}
	hold(p.T, p.wanted, payload)
	var response events.SQSEventResponse
	p.handle(m, payload, &response)
	return len(response.BatchItemFailures) > 0
}

// uploaded is the event of the queue of uploads for an object version.
func uploaded(t *testing.T, bucket *s3test.Server, key, version string) []byte {
	t.Helper()
	var record events.S3EventRecord
	record.EventName, record.EventTime = "ObjectCreated:Put", time.Now()
	record.S3.Bucket.Name = bucket.Bucket
	record.S3.Object = events.S3Object{Key: url.QueryEscape(key), VersionID: version}
	body, err := json.Marshal(events.S3Event{Records: []events.S3EventRecord{record}})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: string(body)}}})
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// publishFetched has published what lies in the inbox of the mirror, as S3's
// events would.
func (p *pulling) publishFetched(platforms ...string) {
	p.Helper()
	for _, platform := range platforms {
		key := inboxKey(platform)
		head, err := p.s3.Client().HeadObject(p.Context(), &s3.HeadObjectInput{Bucket: &p.s3.Bucket, Key: &key})
		if err != nil {
			p.Fatalf("%s was not fetched: %v", key, err)
		}
		if failures := p.invoke(uploaded(p.T, p.s3, key, *head.VersionId)); failures != 0 || p.s3.Tags(p.T, key, *head.VersionId)[inbox.StatusTag] != "published" {
			p.Errorf("%s is not published", key)
		}
	}
}

func inboxKey(platform string) string {
	return "mirror/" + originHost + "/acme/widget/" + widgetPackage + platform + ".zip"
}

// checkAllowed checks that the template's policies allow fetch what it has asked.
func (p *pulling) checkAllowed(action, resource string) {
	p.Helper()
	if !p.deployment.Allows("fetch", action, resource, nil) {
		p.Errorf("template.yaml does not allow fetch %s on %s", action, resource)
	}
}

// TestPullThrough goes from the first client who asks for what only the origin
// has to those who get it from the mirror, while the origin is down.
func TestPullThrough(t *testing.T) {
	p := startPulling(t)
	first := p.instance()
	if status, body := p.get(first, widgetIndex); status != http.StatusOK || body != `{"versions":{"1.0.0":{}}}` {
		t.Errorf("the index is %d %s", status, body)
	}
	if got, want := p.asked(), []string{"dynamodb Query"}; !slices.Equal(got, want) {
		t.Errorf("the index took %q, want %q", got, want)
	}

	// The first client gets the origin's URLs, and what the origin has signed.
	for platform, archive := range p.archives(first) {
		if !strings.HasPrefix(archive.URL, "https://"+filesHost+"/") || !slices.Equal(archive.Hashes, []string{archivetest.ZH(p.origin.zips[platform])}) {
			t.Errorf("the first client is offered %+v for %s", archive, platform)
		}
	}
	if got, want := p.asked(), []string{"dynamodb GetItem", "sqs SendMessage", "sqs SendMessage"}; !slices.Equal(got, want) {
		t.Errorf("the version took %q, want %q", got, want)
	}

	// Many others ask at once, of several instances: still each package is wanted once.
	var clients sync.WaitGroup
	for _, m := range []*pullmirror.Function{first, p.instance()} {
		for range 25 {
			clients.Go(func() {
				if got := p.archives(m); len(got) != len(widgetPlatforms) {
					t.Errorf("a client is offered %v", got)
				}
			})
		}
	}
	clients.Wait()
	wanted := p.messages()
	if sends := slices.DeleteFunc(p.asked(), func(r string) bool { return r != "sqs SendMessage" }); len(wanted) != 2 || len(sends) != 2 {
		t.Errorf("fifty clients caused %q by %q, want two messages and a second instance that sent the like", wanted, sends)
	}

	// Each message is delivered twice, and fetched once.
	for _, body := range slices.Concat(wanted, wanted) {
		if p.deliver(first, body) {
			t.Errorf("%s failed: %s", body, p.log.String())
		}
	}
	var want []string
	for _, platform := range widgetPlatforms {
		want = append(want, "s3 HEAD "+inboxKey(platform), "s3 HEAD "+inboxKey(platform), "s3 PUT "+inboxKey(platform))
		p.checkAllowed("s3:GetObject", "arn:aws:s3:::"+p.s3.Bucket+"/"+inboxKey(platform)) // HEAD
		p.checkAllowed("s3:PutObject", "arn:aws:s3:::"+p.s3.Bucket+"/"+inboxKey(platform))
	}
	p.checkAllowed("s3:ListBucket", "arn:aws:s3:::"+p.s3.Bucket) // a HEAD that is answered with 404
	p.checkAllowed("sqs:SendMessage", p.deployment.Fetching.Queue.ARN)
	slices.Sort(want)
	if got := p.asked(); !slices.Equal(got, want) || p.origin.downloads.Load() != 2 {
		t.Errorf("fetching took %q and %d downloads, want %q and 2", got, p.origin.downloads.Load(), want)
	}

	// From the inbox they are published. Then everybody gets them from the mirror.
	p.publishFetched(widgetPlatforms...)
	p.asked()
	for _, down := range []bool{false, true} {
		p.origin.down.Store(down)
		p.checkMirrored(p.instance(), widgetPlatforms...)
	}
	if status, _ := p.get(p.instance(), strings.Replace(widgetVersion, "1.0.0", "2.0.0", 1)); status != http.StatusNotFound {
		t.Errorf("what nobody has is answered with %d", status)
	}
	for _, secret := range []string{"X-Amz-Signature", p.s3.SecretKey} {
		if strings.Contains(p.log.String(), secret) {
			t.Errorf("the log contains %s", secret)
		}
	}
}

// checkMirrored checks that the mirror has the version itself, for some platforms:
// both hashes, and the same bytes.
func (p *pulling) checkMirrored(m *pullmirror.Function, platforms ...string) {
	p.Helper()
	p.asked()
	if status, body := p.get(m, widgetIndex); status != http.StatusOK || body != `{"versions":{"1.0.0":{}}}` {
		p.Errorf("the index is %d %s", status, body)
	}
	found := p.archives(m)
	if got, want := p.asked(), []string{"dynamodb GetItem", "dynamodb Query"}; !slices.Equal(got, want) || len(found) != len(platforms) {
		p.Errorf("%v took %q, want %q", found, got, want)
	}
	for platform, archive := range found {
		zip := p.origin.zips[platform]
		if want := []string{archivetest.H1(p.T, zip), archivetest.ZH(zip)}; !slices.Equal(archive.Hashes, want) {
			p.Errorf("the hashes for %s are %q, want %q", platform, archive.Hashes, want)
		}
		response, err := http.Get(archive.URL)
		if err != nil {
			p.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !bytes.Equal(body, zip) {
			p.Errorf("the archive for %s: status %d, %d bytes, %v", platform, response.StatusCode, len(body), err)
		}
	}
}

// TestAllPlatforms checks that what the origin has for all platforms is offered and
// fetched where that is the setting, and nowhere else.
func TestAllPlatforms(t *testing.T) {
	p := startPulling(t)
	rareIndex := strings.Replace(widgetIndex, "widget", "rare", 1)
	if status, body := p.get(p.instance(), rareIndex); status != http.StatusNotFound {
		t.Errorf("what is for another platform alone is listed: %d %s", status, body)
	}
	p.settings["LARDER_MIRROR_PLATFORMS"] = "all"
	m := p.instance()
	if status, body := p.get(m, rareIndex); status != http.StatusOK || body != `{"versions":{"1.0.0":{}}}` {
		t.Errorf("the index is %d %s", status, body)
	}
	all := append(slices.Clone(widgetPlatforms), rarePlatform)
	found := p.archives(m)
	for _, platform := range all {
		if !slices.Equal(found[platform].Hashes, []string{archivetest.ZH(p.origin.zips[platform])}) {
			t.Errorf("for %s is offered %+v", platform, found[platform])
		}
	}
	wanted := p.messages()
	for _, body := range wanted {
		if p.deliver(m, body) {
			t.Errorf("%s failed: %s", body, p.log.String())
		}
	}
	p.publishFetched(all...)
	p.checkMirrored(m, all...)
	if again := p.messages(); len(found) != len(all) || len(wanted) != len(all) || len(again) != len(all) {
		t.Errorf("%d are offered, %d wanted, and %d after they are here, want %d", len(found), len(wanted), len(again), len(all))
	}
}

// TestLiesAreNotFetched checks that bytes which the origin has not signed never come into the
// inbox, and that the message is postponed.
func TestLiesAreNotFetched(t *testing.T) {
	p := startPulling(t)
	m := p.instance()
	p.archives(m)
	p.origin.lies.Store(true)
	p.asked()
	for _, body := range p.messages() {
		if !p.deliver(m, body) {
			t.Errorf("%s did not fail", body)
		}
	}
	if got := p.asked(); slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "PUT") }) || !slices.Contains(got, "sqs ChangeMessageVisibility") {
		t.Errorf("lies took %q", got)
	}
	if !strings.Contains(p.log.String(), "not to be trusted") {
		t.Errorf("the log does not say why: %s", p.log.String())
	}
}

// logs says whether a function writes something to its log, of which so much was
// there before. Nothing makes the log come before the answer.
func logs(f *lambdatest.Function, before int, want string) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if strings.Contains(f.Logs()[before:], want) {
			return true
		}
	}
	return false
}

// fetches are the golden events of the queue of packages, and what they lead to.
var fetches = map[string]struct {
	failures int
	requests []string
	log      string
}{
	"package":                    {0, []string{"s3 HEAD mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.14.2_linux_amd64.zip"}, ""},
	"package-not-pulled-through": {0, nil, "not pulled through any more"},
	"package-at-private-address": {1, []string{"s3 HEAD mirror/127.0.0.1/hashicorp/time/terraform-provider-time_0.14.2_linux_amd64.zip", "sqs ChangeMessageVisibility"}, "it is not a public address"},
	"unreadable":                 {1, []string{"sqs ChangeMessageVisibility"}, "the message is not readable"},
}

// TestFetches replays the queue's events through the function's binary. One
// package lies in the inbox; another's origin is not to be connected to.
func TestFetches(t *testing.T) {
	p := startPulling(t)
	maps.Copy(p.settings, map[string]string{"LARDER_MIRROR_UPSTREAMS": "registry.terraform.io/hashicorp/*,127.0.0.1/*/*"})
	var environment []string
	for name, value := range p.settings {
		environment = append(environment, name+"="+value)
	}
	f := lambdatest.Start(t, bootstrap(t, "fetch"), environment)
	p.s3.Upload(t, "mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.14.2_linux_amd64.zip", []byte("uploaded"), nil)
	for name, want := range fetches {
		before := len(f.Logs())
		payload := golden(t, "fetch/"+name)
		hold(t, p.wanted, payload)
		response, err := f.Invoke(t.Context(), payload)
		var batch events.SQSEventResponse
		if err == nil {
			err = json.Unmarshal(response, &batch)
		}
		if err != nil || len(batch.BatchItemFailures) != want.failures || !strings.Contains(string(response), "batchItemFailures") {
			t.Errorf("%s: %s, %v, want %d failures", name, response, err, want.failures)
		}
		if got := p.asked(); !slices.Equal(got, want.requests) {
			t.Errorf("%s took %q, want %q", name, got, want.requests)
		}
		if !logs(f, before, want.log) {
			t.Errorf("%s logged %q, want %q", name, f.Logs()[before:], want.log)
		}
	}
	checkLog(t, "fetch", f)
}
