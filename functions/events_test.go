package functions_test

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// golden is an event of the folder events.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	return read(t, filepath.Join(root, "events", filepath.FromSlash(name)+".json"))
}

// expectAll checks that every golden event of a function is replayed.
func expectAll(t *testing.T, function string, replayed []string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(root, "events", function))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".json"))
	}
	slices.Sort(names)
	slices.Sort(replayed)
	if replayed = slices.Compact(replayed); !slices.Equal(names, replayed) {
		t.Errorf("the events of %s are %q, and replayed are %q", function, names, replayed)
	}
}

// answer is what a golden event of the gateway is answered: a status, and words
// of the body, of X-Terraform-Get or of Location. HEAD has no words of a body.
type answer struct {
	status int
	words  string
}

var answers = map[string]map[string]answer{
	"discovery": {
		"get":                       {200, `{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/"}`},
		"head":                      {200, ""},
		"query":                     {200, `"modules.v1"`},
		"post":                      {405, "GET and HEAD alone"},
		"anything-else":             {404, "there is nothing at /"},
		"route-of-another-function": {404, "there is nothing at /v1/modules/acme/vpc/aws/versions"},
		"double-slash":              {404, "there is nothing at //.well-known/terraform.json"},
		"trailing-slash":            {404, "there is nothing at /.well-known/terraform.json/"},
		"stray-percent":             {404, "there is nothing at /%25"},
		"llms":                      {200, "# Larder at registry.example.com"},
		"dot-segments":              {400, `\"..\" cannot be part of an address`},
		"control-character":         {400, `\"a%00b\" cannot be part of an address`},
	},
	"versions": {
		"module":                {200, `{"modules":[{"source":"` + source + `","versions":[{"version":"1.0.0"}]}]}`},
		"module-head":           {200, ""},
		"module-missing":        {404, "there is no module acme/subnet/aws"},
		"module-newest":         {302, "/v1/modules/acme/vpc/aws/1.0.0/download"},
		"module-newest-head":    {302, "/v1/modules/acme/vpc/aws/1.0.0/download"},
		"module-newest-missing": {404, "there is no module acme/subnet/aws"},
		"provider":              {200, `{"version":"1.1.0+build.5","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]}`},
		"provider-head":         {200, ""},
		"provider-delete":       {405, "GET and HEAD alone"},
		"provider-upper-case":   {404, "in lower case"},
		"percent":               {404, `\"acme/100%\" is not a provider address`},
		"percent-zz":            {404, `\"acme/%zz\" is not a provider address`},
		"zero-byte":             {400, `\"a%00b\" cannot be part of an address`},
		"hash":                  {404, `\"acme/a#b\" is not a provider address`},
		"question-mark":         {404, `\"acme/a?b\" is not a provider address`},
		"encoded-dots":          {404, `\"acme/%2e%2e\" is not a provider address`},
		"dots":                  {400, `\"..\" cannot be part of an address`},
		"empty-segment":         {404, "there is nothing at /v1/providers/acme//versions"},
		"unicode":               {404, `\"acme/wídget☃\" is not a provider address`},
		"plus":                  {404, `\"acme/wid+get\" is not a provider address`},
		"space":                 {404, `\"acme/wid get\" is not a provider address`},
		"backslash":             {400, "cannot be part of an address"},
		"encoded-slash":         {404, "there is nothing at /v1/modules/acme/vpc/aws/1.0.0/download"},
		"mirror":                {200, `{"versions":{"0.14.2":{}}}`},
		"mirror-head":           {200, ""},
		"mirror-own":            {200, `{"versions":{"1.0.0":{},"1.1.0+build.5":{}}}`},
		"mirror-missing":        {404, "there is no provider registry.terraform.io/hashicorp/null"},
		"mirror-port":           {404, `\"example.com:8443/acme/widget\" is not the address`},
	},
	"download": {
		"module":               {204, "https://larder-bucket.s3.us-east-1.amazonaws.com/registry/modules/acme/vpc/aws/1.0.0/" + hash + ".zip?X-Amz-Algorithm="},
		"module-head":          {204, "&archive=zip&checksum=sha256:" + hash},
		"module-missing":       {404, "module acme/vpc/aws has no version 9.9.9"},
		"module-other-client":  {204, hash + ".zip?X-Amz-Algorithm="},
		"provider":             {200, `"download_url":"https://larder-bucket.s3.us-east-1.amazonaws.com/registry/providers/acme/widget/1.0.0/` + hash + "/terraform-provider-widget_1.0.0_linux_amd64.zip?X-Amz-Algorithm="},
		"provider-head":        {200, ""},
		"provider-missing":     {404, "provider acme/widget has no version 1.0.0 for plan9_mips"},
		"build-metadata":       {200, "terraform-provider-widget_1.1.0%2Bbuild.5_linux_amd64.zip?X-Amz-Algorithm="},
		"build-metadata-space": {404, `provider acme/widget has no version \"1.1.0 build.5\"`},
		"percent":              {404, `provider acme/widget has no version \"1.0.0%\"`},
		"encoded-dots":         {404, `provider acme/widget has no version \"%2e%2e\"`},
		"leading-v":            {204, "/registry/modules/acme/vpc/aws/1.0.0/"},
		"mirror":               {200, `{"archives":{"linux_amd64":{"url":"https://larder-bucket.s3.us-east-1.amazonaws.com/registry/mirror/registry.terraform.io/hashicorp/time/0.14.2/` + hash + "/terraform-provider-time_0.14.2_linux_amd64.zip?X-Amz-Algorithm="},
		"mirror-head":          {200, ""},
		"mirror-own":           {200, `"hashes":["h1:own=","zh:` + hash + `"]`},
		"mirror-unicode":       {404, "there is no version 1.0.0 of xn--bcher-kva.example/acme/widget"},
		"mirror-missing":       {404, "there is no version 9.9.9 of registry.terraform.io/hashicorp/time"},
		"mirror-stray":         {404, `there is no version \"latest.json\" of registry.terraform.io/hashicorp/time`},
	},
	"catalog": {
		"module-details":           {200, `{"id":"acme/vpc/aws/1.0.0","owner":"acme","namespace":"acme","name":"vpc","version":"1.0.0","provider":"aws","description":"","source":"` + source + `","tag":"","downloads":0,"verified":false,"root":{"path":"","name":"","readme":"# VPC"`},
		"module-details-head":      {200, ""},
		"module-details-missing":   {404, "module acme/vpc/aws has no version 9.9.9"},
		"module-newest":            {200, `{"id":"acme/vpc/aws/1.0.0"`},
		"module-newest-missing":    {404, "there is no module acme/missing/aws"},
		"module-downloads":         {200, `{"data":{"type":"module-downloads-summary","id":"acme/vpc/aws","attributes":{"week":0,"month":0,"year":0,"total":0}}}`},
		"provider-details":         {200, `{"id":"acme/widget/1.0.0","owner":"acme","namespace":"acme","name":"widget","version":"1.0.0","description":"","source":"` + source + `"`},
		"provider-details-head":    {200, ""},
		"provider-details-missing": {404, "provider acme/widget has no version 9.9.9"},
		"provider-newest":          {200, `{"id":"acme/widget/1.1.0+build.5"`},
		"provider-newest-missing":  {404, "there is no provider acme/missing"},
		"provider-docs":            {200, `{"id":"acme/widget/1.0.0","docs":[],"larder":{"documented":false,"problems":["No documentation was published with this version.`},
		"provider-page-missing":    {404, "provider acme/widget has no version 1.0.0 with a page guides/start"},
		"search":                   {200, `"modules":[{"id":"acme/vpc/aws/1.0.0","owner":"acme",`},
		"search-without-words":     {400, "q is missing"},
		"search-zero-byte":         {400, "q must be text in UTF-8"},
		"list":                     {200, `{"meta":{"limit":1,"current_offset":0},"modules":[{"id":"acme/vpc/aws/1.0.0"`},
		"list-limit":               {400, "limit must be a number from 1 to 100"},
		"list-providers":           {200, `"providers":[{"id":"acme/widget/1.1.0+build.5"`},
		"post":                     {405, "GET and HEAD alone"},
		"module-page":              {200, "# Module acme/vpc/aws 1.0.0\n"},
		"module-accept-markdown":   {200, "source  = \"registry.example.com/acme/vpc/aws\""},
		"provider-page-newest":     {200, "# Provider acme/widget 1.1.0+build.5\n"},
		"message":                  {200, "The newest version of `acme/vpc/aws` is `1.0.0`."},
		"message-other-site":       {403, "a page of another site may not ask this registry"},
		"message-get":              {405, "this address answers POST alone"},
	},
	"fetch": {
		"index":           {200, `{"versions":{"0.14.2":{}}}`},
		"index-head":      {200, ""},
		"index-own":       {200, `{"versions":{"1.0.0":{},"1.1.0+build.5":{}}}`},
		"index-missing":   {404, "there is no provider registry.terraform.io/hashicorp/null"},
		"version":         {200, `{"archives":{"linux_amd64":{"url":"https://larder-bucket.s3.us-east-1.amazonaws.com/registry/mirror/registry.terraform.io/hashicorp/time/0.14.2/` + hash + "/terraform-provider-time_0.14.2_linux_amd64.zip?X-Amz-Algorithm="},
		"version-own":     {200, `"hashes":["h1:own=","zh:` + hash + `"]`},
		"version-missing": {404, "there is no version 9.9.9 of registry.terraform.io/hashicorp/time"},
	},
}

// source is where all that was made.
const source = "https://git.example.com/acme/all"

// hash stands for any sha256.
const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// fill fills a table with what the golden events of the gateway ask for.
func fill(t *testing.T, table string) {
	t.Helper()
	catalog := newCatalog(t, table)
	module := registry.ModuleVersion{Address: registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}, Revision: 1}
	module.Version = registrytest.Version(t, "1.0.0")
	module.Archive = registry.ModuleArchive{Format: "zip", SHA256: hash, UploadSHA256: hash, Source: source}
	if err := catalog.Put(t.Context(), &module); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"1.0.0", "1.1.0+build.5"} {
		if err := catalog.Put(t.Context(), &registry.ProviderVersion{
			Address:  registry.ProviderAddress{Namespace: "acme", Type: "widget"},
			Version:  registrytest.Version(t, v),
			Revision: 2,
			Packages: []registry.Package{{Platform: registry.Platform{OS: "linux", Arch: "amd64"}, SHA256: hash, H1: "h1:own=", Sequence: 1, Source: source}},
			Release:  &registry.Release{SHA256: hash, Signature: hash, Keys: []registry.SigningKey{{KeyID: "K", ASCIIArmor: "A"}}, Sequence: 2},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := catalog.Put(t.Context(), &registry.ProviderVersion{
		Address:  registry.ProviderAddress{Hostname: "registry.terraform.io", Namespace: "hashicorp", Type: "time"},
		Version:  registrytest.Version(t, "0.14.2"),
		Revision: 1,
		Packages: []registry.Package{{Platform: registry.Platform{OS: "linux", Arch: "amd64"}, SHA256: hash, H1: "h1:time=", Sequence: 1}},
	}); err != nil {
		t.Fatal(err)
	}
}

// documents gives a function a bucket with the document of what fill has published.
func documents(t *testing.T, f *lambdatest.Function) {
	t.Helper()
	bucket := s3test.Start(t)
	document, err := json.Marshal(contents.Module{Root: contents.Part{Readme: "# VPC"}})
	if err != nil {
		t.Fatal(err)
	}
	bucket.Upload(t, registry.ContentsKey(contents.Reader, hash), document, nil)
	f.Setenv("LARDER_BUCKET", bucket.Bucket)
	f.Setenv("AWS_ENDPOINT_URL_S3", bucket.Endpoint)
}

// ask replays a golden event of the gateway.
func ask(t *testing.T, f *lambdatest.Function, name string) events.APIGatewayV2HTTPResponse {
	t.Helper()
	response, err := f.Invoke(t.Context(), golden(t, name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var got events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(response, &got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got.IsBase64Encoded {
		got.Body = plain(t, got)
	}
	return got
}

// plain is a body that was compressed for the client.
func plain(t *testing.T, got events.APIGatewayV2HTTPResponse) string {
	t.Helper()
	compressed, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(got.Body)))
	if err != nil || got.Headers["Content-Encoding"] != "gzip" {
		t.Fatalf("%v: %v", got.Headers, err)
	}
	body, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestRequests replays the gateway's events through the functions' binaries.
func TestRequests(t *testing.T) {
	table := dynamotest.Start(t).CreateTable(t)
	fill(t, table)
	for function, want := range answers {
		f := reader(t, function, table, "LARDER_AUTH=open", "LARDER_HOSTNAME=registry.example.com")
		if function == "catalog" {
			documents(t, f)
			writer := directory.NewWriter(directory.WriterConfig{Index: newCatalog(t, table)})
			if err := writer.Refresh(t.Context(), registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}); err != nil {
				t.Fatal(err)
			}
			if err := writer.Refresh(t.Context(), registry.ProviderAddress{Namespace: "acme", Type: "widget"}); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range want {
			got := ask(t, f, function+"/"+name)
			if got.StatusCode != want.status || !strings.Contains(got.Body+got.Headers["X-Terraform-Get"]+got.Headers["Location"], want.words) {
				t.Errorf("%s/%s: %d %s %v, want %d with %q", function, name, got.StatusCode, got.Body, got.Headers, want.status, want.words)
			}
			if strings.HasSuffix(name, "other-client") && strings.Contains(got.Headers["X-Terraform-Get"], "checksum=") {
				t.Errorf("%s/%s is answered with what S3 refuses: %v", function, name, got.Headers)
			}
			if strings.HasSuffix(name, "head") && got.Body != "" {
				t.Errorf("%s/%s has a body", function, name)
			}
		}
		replayed := slices.Collect(maps.Keys(want))
		if function == "fetch" {
			replayed = slices.AppendSeq(replayed, maps.Keys(fetches))
		}
		expectAll(t, function, replayed)
		checkLog(t, function, f)
	}
}

// TestRequestsAreClosed checks that reading wants a token unless it was opened.
func TestRequestsAreClosed(t *testing.T) {
	table := dynamotest.Start(t).CreateTable(t)
	fill(t, table)
	for function, names := range map[string][]string{
		"discovery": {"get"}, "versions": {"module", "module-missing", "module-newest", "provider", "mirror", "mirror-own", "mirror-missing"},
		"download": {"module", "module-missing", "provider", "mirror", "mirror-own", "mirror-missing"},
		"catalog":  {"module-details", "module-details-missing", "module-newest", "module-downloads", "provider-details", "provider-newest", "provider-docs", "provider-page-missing", "search", "list", "list-providers"},
		"fetch":    {"index", "index-own", "index-missing", "version", "version-own", "version-missing"},
	} {
		f := reader(t, function, table)
		for _, name := range names {
			want := 401
			if function == "discovery" {
				want = 200
			}
			if got := ask(t, f, function+"/"+name); got.StatusCode != want {
				t.Errorf("%s/%s: %d, want %d", function, name, got.StatusCode, want)
			}
		}
	}
}

// checkLog checks that a log has a JSON object per line, the name of the
// invocation in each, and no secret.
func checkLog(t *testing.T, function string, f *lambdatest.Function, secrets ...string) {
	t.Helper()
	log := f.Logs()
	log = log[:strings.LastIndex(log, "\n")+1] // the last line may be on its way
	for line := range strings.Lines(log) {
		var parsed struct {
			Level, Msg string
			RequestID  string `json:"request_id"`
		}
		if err := json.Unmarshal([]byte(line), &parsed); err != nil || parsed.Level == "" || parsed.Msg == "" || parsed.RequestID == "" {
			t.Errorf("%s logged %q", function, line)
		}
	}
	for _, secret := range append(secrets, "X-Amz-Signature", "test-secret", access.Prefix) {
		if strings.Contains(log, secret) {
			t.Errorf("the log of %s contains %s", function, secret)
		}
	}
	if log == "" {
		t.Errorf("%s logged nothing", function)
	}
}

// outcome is what a golden event of the queue leads to: how many messages fail,
// and the status of every upload.
type outcome struct {
	failures int
	statuses map[string]inbox.Status
}

var outcomes = map[string]outcome{
	"module":           {0, map[string]inbox.Status{"modules/acme/vpc/aws/1.0.0.zip": inbox.Published}},
	"provider":         {0, map[string]inbox.Status{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip": inbox.Published}},
	"mirror":           {0, map[string]inbox.Status{"mirror/registry.terraform.io/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip": inbox.Published}},
	"multipart":        {0, map[string]inbox.Status{"providers/acme/widget/terraform-provider-widget_1.0.1_linux_amd64.zip": inbox.Published}},
	"key-with-plus":    {0, map[string]inbox.Status{"providers/acme/widget/terraform-provider-widget_1.1.0+build.5_linux_amd64.zip": inbox.Published}},
	"key-with-space":   {0, map[string]inbox.Status{"modules/acme/vpc/aws/1.0.0 copy.zip": inbox.Rejected}},
	"key-with-unicode": {0, map[string]inbox.Status{"modules/acme/größe☃/aws/1.0.0.zip": inbox.Rejected}},
	"key-with-percent": {0, map[string]inbox.Status{"modules/acme/vpc/aws/1.2.0%2Bb.zip": inbox.Rejected}},
	"key-with-signs":   {0, map[string]inbox.Status{"modules/acme/vpc/aws/a=b&c?d#e'(f)!*~$,;:@.txt": inbox.Ignored}},
	"several-records": {0, map[string]inbox.Status{
		"modules/acme/vpc/aws/1.3.0.zip": inbox.Published, "modules/acme/vpc/aws/1.3.1.tar.gz": inbox.Published, "modules/README.md": inbox.Ignored,
	}},
	"batch":          {1, map[string]inbox.Status{"modules/acme/vpc/aws/1.4.0.zip": inbox.Published, "modules/acme/vpc/aws/1.4.1.zip": inbox.Published}},
	"duplicate":      {0, map[string]inbox.Status{"modules/acme/vpc/aws/1.5.0.zip": inbox.Published}},
	"deletion":       {0, map[string]inbox.Status{"modules/acme/vpc/aws/1.6.0.zip": ""}},
	"gone":           {0, map[string]inbox.Status{"modules/acme/vpc/aws/1.7.0.zip": ""}},
	"registrys-own":  {0, map[string]inbox.Status{"registry/outcomes/modules/a.json": ""}},
	"another-bucket": {1, nil},
	"test-event":     {0, nil},
}

// TestUploads replays the queue's events through the function's binary, with their uploads
// in the bucket.
func TestUploads(t *testing.T) {
	w := newWorld(t)
	for name, want := range outcomes {
		payload, versions := w.upload(golden(t, "publish/"+name))
		if name == "gone" {
			w.erase("modules/acme/vpc/aws/1.7.0.zip", versions)
		}
		failures := w.invoke(payload)
		if postponed := w.queue.Postponed(); failures != want.failures || postponed != failures {
			t.Errorf("%s: %d messages failed, want %d, and %d are tried again half an hour later", name, failures, want.failures, postponed)
		}
		for key, status := range want.statuses {
			if name == "gone" {
				continue
			}
			if got := w.s3.Tags(t, key, versions[key])[inbox.StatusTag]; got != string(status) {
				t.Errorf("%s: %s is %q, want %q", name, key, got, status)
			}
			if got := w.heard(key); got != string(status) {
				t.Errorf("%s: the topic was told that %s is %q, want %q", name, key, got, status)
			}
		}
		if len(versions) != len(want.statuses) {
			t.Errorf("%s tells of %v", name, versions)
		}
	}
	replayed := append(slices.Collect(maps.Keys(outcomes)), "reconcile", "reconcile-continued")
	for _, request := range requests {
		replayed = append(replayed, request.event)
	}
	expectAll(t, "publish", replayed)
	listing, err := catalog.Listing(t.Context(), w.catalog, registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"})
	if err != nil {
		t.Error(err)
	}
	if got := listed(listing); got != "1.0.0 1.3.0 1.3.1 1.4.0 1.4.1 1.5.0" {
		t.Errorf("listed: %s", got)
	}
	listing, err = catalog.Listing(t.Context(), w.catalog, registry.ProviderAddress{Namespace: "acme", Type: "widget"})
	if err != nil {
		t.Error(err)
	}
	if got := listed(listing); got != "1.0.0 1.0.1 1.1.0+build.5" {
		t.Errorf("listed: %s", got)
	}
	checkLog(t, "publish", w.publish)
}

func listed(l registry.Listing) string {
	var versions []string
	for _, entry := range l {
		versions = append(versions, entry.Version.String())
	}
	return strings.Join(versions, " ")
}

// upload uploads the keys of an event, each once, and puts the test's own bucket and versions
// into the event.
func (w *world) upload(payload []byte) (event []byte, versions map[string]string) {
	w.Helper()
	versions = map[string]string{}
	text := strings.ReplaceAll(string(payload), "larder-bucket", w.s3.Bucket)
	var batch events.SQSEvent
	if err := json.Unmarshal([]byte(text), &batch); err != nil {
		w.Fatal(err)
	}
	for _, message := range batch.Records {
		var told events.S3Event
		if err := json.Unmarshal([]byte(message.Body), &told); err != nil {
			continue // it is not meant to be one
		}
		for _, record := range told.Records {
			key := record.S3.Object.URLDecodedKey
			if versions[key] != "" || record.S3.Bucket.Name != w.s3.Bucket {
				continue
			}
			versions[key] = w.s3.Upload(w.T, key, content(w.T, key), nil)
			text = strings.ReplaceAll(text, record.S3.Object.VersionID, versions[key])
		}
	}
	return []byte(text), versions
}

// erase removes an object version for good.
func (w *world) erase(key string, versions map[string]string) {
	w.Helper()
	id := versions[key]
	if _, err := w.s3.Client().DeleteObject(w.Context(), &s3.DeleteObjectInput{Bucket: &w.s3.Bucket, Key: &key, VersionId: &id}); err != nil {
		w.Fatal(err)
	}
}

// invoke hands an event to the function, and counts the messages that failed.
func (w *world) invoke(payload []byte) (failures int) {
	w.Helper()
	hold(w.T, w.queue, payload)
	response, err := w.publish.Invoke(w.Context(), payload)
	if err != nil {
		w.Fatal(err)
	}
	var batch events.SQSEventResponse
	if err := json.Unmarshal(response, &batch); err != nil {
		w.Fatal(err)
	}
	return len(batch.BatchItemFailures)
}

// requests are the events by which operators ask, in an order that makes sense,
// and words of the answers.
var requests = []struct{ event, words string }{
	{"control-deprecate", `{"standing":{"subject":"provider acme/widget 1.0.0","state":"deprecated","changed":true}}`},
	{"control-withdraw", `{"standing":{"subject":"module acme/vpc/aws 1.0.0","state":"withdrawn","changed":true}}`},
	{"control-withdraw", `"changed":false`},
	{"control-verify-quick", `"steps":{"catalog":2,"inbox":2,"records":2},"changed":0}}`},
	{"control-restore", `{"standing":{"subject":"module acme/vpc/aws 1.0.0","state":"restored","changed":true}}`},
	{"control-rotate", `{"error":"this registry signs with a key in KMS`},
	{"control-keys", `"role":"current","versions":["acme/widget 1.0.0"]`},
	{"control-resign", `"changed":0}}`},
	{"control-reindex", `"changed":0}}`},
	{"control-verify", `"steps":{"catalog":2,"inbox":2,"records":2},"changed":0}}`},
}

// TestControl replays what operators ask for. The walks find nothing wrong.
func TestControl(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"module", "provider"} {
		payload, _ := w.upload(golden(t, "publish/"+name))
		if failures := w.invoke(payload); failures != 0 {
			t.Fatalf("%s was not published", name)
		}
	}
	for _, request := range requests {
		answer, err := w.publish.Invoke(t.Context(), golden(t, "publish/"+request.event))
		if err != nil || !strings.Contains(string(answer), request.words) || strings.Contains(string(answer), "findings") {
			t.Errorf("%s: %s, %v, want %s", request.event, answer, err, request.words)
		}
	}
	checkLog(t, "publish", w.publish)
}

// TestReconcile replays the schedule's event over a bucket whose uploads had no events. Here
// an invocation has time for one step only, so that the function goes on by its queue.
func TestReconcile(t *testing.T) {
	w := newWorld(t)
	keys := []string{
		"modules/acme/vpc/aws/1.0.0.zip", "modules/acme/vpc/aws/1.1.0 copy.zip",
		"providers/acme/widget/terraform-provider-widget_1.1.0+build.5_linux_amd64.zip",
	}
	versions := map[string]string{}
	for _, key := range keys {
		versions[key] = w.s3.Upload(t, key, content(t, key), nil)
	}
	if failures := w.invoke(golden(t, "publish/reconcile-continued")); failures != 0 {
		t.Error("the continued reconcile failed")
	}
	if sent := w.queue.Take(); len(sent) != 2 || !strings.Contains(sent[0], url.QueryEscape(keys[1])) || !strings.Contains(sent[1], `"reconcile"`) {
		t.Errorf("the continued reconcile sent %q, want the next upload and where to go on", sent)
	}
	invocations := 1
	w.invoke(golden(t, "publish/reconcile"))
	for sent := w.queue.Take(); len(sent) > 0; sent = w.queue.Take() {
		for _, body := range sent {
			if invocations++; invocations > 20 {
				t.Fatal("the reconcile does not come to its end")
			}
			batch, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: fmt.Sprint(invocations), Body: body}}})
			if err != nil {
				t.Fatal(err)
			}
			if failures := w.invoke(batch); failures != 0 {
				t.Errorf("failed: %s", body)
			}
		}
	}
	for key, status := range map[string]inbox.Status{keys[0]: inbox.Published, keys[1]: inbox.Rejected, keys[2]: inbox.Published} {
		if got := w.s3.Tags(t, key, versions[key])[inbox.StatusTag]; got != string(status) {
			t.Errorf("%s is %q, want %q", key, got, status)
		}
	}
	w.invoke(golden(t, "publish/reconcile"))
	if sent := w.queue.Take(); len(sent) != 1 || !strings.Contains(sent[0], `"reconcile"`) {
		t.Errorf("another reconcile sent %q, want nothing but where to go on", sent)
	}
	checkLog(t, "publish", w.publish)
}
