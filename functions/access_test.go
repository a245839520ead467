package functions_test

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/templatetest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// question is a request to a route.
type question struct {
	method, path string // no method is GET
	status       int    // for a caller who may ask

	// readers are the scopes of [everyScope] with which it may be asked.
	// Nil: it is for everybody, and nobody's token is looked at.
	readers []string

	// more is what the catalog is asked after the token and the first item, and again what it is
	// asked when the token is known.
	more, again string
}

// everyScope are the scopes of the tokens that every route is asked with, each
// of another token.
var everyScope = []string{
	"read modules:acme/*", "read modules:other/*", "read providers:acme/*", "read providers:other/*",
	"read mirror:registry.terraform.io/*", "read mirror:*", "read *",
}

// Who may read what.
var (
	modules   = []string{"read modules:acme/*", "read *"}
	providers = []string{"read providers:acme/*", "read *"}
	mirrored  = []string{"read mirror:registry.terraform.io/*", "read mirror:*", "read *"}
)

// decided says of each route of the template who may ask it what. Here, nobody
// is sent to log in: the questions of login are wrong ones.
var decided = map[string][]question{
	"ANY /.well-known/terraform.json": {{path: "/.well-known/terraform.json", status: 200}},
	"ANY /llms.txt":                   {{path: "/llms.txt", status: 200}},
	"ANY /mcp":                        {{method: http.MethodPost, path: "/mcp", status: 400}}, // without a message; who may read by one is for the tests of pkg/mcpserver
	"$default":                        {{path: "/v1/nothing", status: 404}},
	"ANY /v1/token":                   {{method: http.MethodPost, path: "/v1/token", status: 400}},
	"ANY /v1/login":                   {{path: "/v1/login", status: 400}},
	"ANY /v1/login/callback":          {{path: "/v1/login/callback?state=1&state=2", status: 400}},
	"ANY /v1/login/consent":           {{method: http.MethodPost, path: "/v1/login/consent", status: 400}},
	"ANY /v1/modules/{namespace}/{name}/{system}/versions": {
		{path: "/v1/modules/acme/vpc/aws/versions", status: 200, readers: modules},
		{path: "/v1/modules/acme/missing/aws/versions", status: 404, readers: modules},
	},
	"ANY /v1/modules/{namespace}/{name}/{system}/download": {
		{path: "/v1/modules/acme/vpc/aws/download", status: 302, readers: modules},
		{path: "/v1/modules/acme/missing/aws/download", status: 404, readers: modules},
	},
	"ANY /v1/modules/{namespace}/{name}/{system}/{version}/download": {
		{path: "/v1/modules/acme/vpc/aws/1.0.0/download", status: 204, readers: modules},
	},
	"ANY /v1/modules/{namespace}/{name}/{system}/{version}": {
		{path: "/v1/modules/acme/vpc/aws/1.0.0", status: 200, readers: modules, more: ", Query", again: "GetItem, Query"},
		{path: "/v1/modules/acme/missing/aws/1.0.0", status: 404, readers: modules},
	},
	"ANY /v1/modules/{namespace}/{name}/{system}": {
		{path: "/v1/modules/acme/vpc/aws", status: 200, readers: modules, more: ", GetItem", again: "Query, GetItem"},
		{path: "/v1/modules/acme/missing/aws", status: 404, readers: modules, again: "Query"},
	},
	"ANY /v1/modules/{namespace}/{name}/{system}/downloads/summary": {
		{path: "/v1/modules/acme/vpc/aws/downloads/summary", status: 200, readers: modules, again: "Query"},
		{path: "/v1/modules/acme/missing/aws/downloads/summary", status: 404, readers: modules, again: "Query"},
	},
	"ANY /v1/providers/{namespace}/{type}/versions": {
		{path: "/v1/providers/acme/widget/versions", status: 200, readers: providers},
	},
	"ANY /v1/providers/{namespace}/{type}/{version}": {
		{path: "/v1/providers/acme/widget/1.0.0", status: 200, readers: providers, more: ", Query", again: "GetItem, Query"},
		{path: "/v1/providers/acme/missing/1.0.0", status: 404, readers: providers},
	},
	"ANY /v1/providers/{namespace}/{type}": {
		{path: "/v1/providers/acme/widget", status: 200, readers: providers, more: ", GetItem", again: "Query, GetItem"},
		{path: "/v1/providers/acme/missing", status: 404, readers: providers, again: "Query"},
	},
	"ANY /v1/providers/{namespace}/{type}/{version}/docs": {
		{path: "/v1/providers/acme/widget/1.0.0/docs", status: 200, readers: providers, more: ", Query", again: "GetItem, Query"},
		{path: "/v1/providers/acme/missing/1.0.0/docs", status: 404, readers: providers},
	},
	"ANY /v1/providers/{namespace}/{type}/{version}/docs/{category}/{slug}": {
		{path: "/v1/providers/acme/widget/1.0.0/docs/guides/missing", status: 404, readers: providers, more: ", Query", again: "GetItem, Query"},
		{path: "/v1/providers/acme/missing/1.0.0/docs/guides/start", status: 404, readers: providers},
	},
	"ANY /v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}": {
		{path: "/v1/providers/acme/widget/1.0.0/download/linux/amd64", status: 200, readers: providers},
	},
	// Lists are for everybody with a token, and have what its scopes allow: see TestListsByScope.
	"ANY /v1/modules":                    {{path: "/v1/modules", status: 200, readers: everyScope}},
	"ANY /v1/modules/search":             {{path: "/v1/modules/search?q=vpc", status: 200, readers: everyScope}},
	"ANY /v1/modules/{namespace}":        {{path: "/v1/modules/acme", status: 200, readers: everyScope}},
	"ANY /v1/modules/{namespace}/{name}": {{path: "/v1/modules/acme/vpc", status: 200, readers: everyScope}},
	"ANY /v1/providers":                  {{path: "/v1/providers", status: 200, readers: everyScope}},
	"ANY /v1/providers/{namespace}":      {{path: "/v1/providers/acme", status: 200, readers: everyScope}},
	"ANY /v1/mirror/{hostname}/{namespace}/{type}/index.json": {
		{path: "/v1/mirror/registry.terraform.io/hashicorp/time/index.json", status: 200, readers: mirrored},
		{path: "/v1/mirror/registry.example.com/acme/widget/index.json", status: 200, readers: providers}, // the registry's own
	},
	"ANY /v1/mirror/{hostname}/{namespace}/{type}/{document}": {
		{path: "/v1/mirror/registry.terraform.io/hashicorp/time/0.14.2.json", status: 200, readers: mirrored},
		{path: "/v1/mirror/registry.example.com/acme/widget/1.0.0.json", status: 200, readers: providers},
	},
}

// watch is DynamoDB, to which requests are written down.
type watch struct {
	*httptest.Server

	mu    sync.Mutex
	asked []string
}

func watchDynamo(t *testing.T) *watch {
	t.Helper()
	target, err := url.Parse(dynamotest.Start(t).Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{}
	w.Server = httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // which is signed
		what := r.In.Header.Get("X-Amz-Target")
		w.mu.Lock()
		w.asked = append(w.asked, what[strings.LastIndex(what, ".")+1:])
		w.mu.Unlock()
	}})
	t.Cleanup(w.Close)
	return w
}

// take is what was asked since the last time.
func (w *watch) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return strings.Join(asked, ", ")
}

// walk is the registry that is asked.
type walk struct {
	*testing.T
	dynamo    *watch
	access    *dynamocatalog.Access
	functions map[string]*lambdatest.Function
}

// TestEveryRoute asks every route of the template as every kind of caller, of the
// functions as they are deployed, with a mirror that pulls through and without.
// A question costs one request, the caller's token included; the first use of a
// token on a day takes one more.
func TestEveryRoute(t *testing.T) {
	w := &walk{T: t, dynamo: watchDynamo(t), functions: map[string]*lambdatest.Function{}}
	table := dynamotest.Start(t).CreateTable(t)
	fill(t, table)
	w.access = newCatalog(t, table).Access()
	parameters := map[string]string{
		"BucketName": "larder", "DomainName": "registry.example.com", "CertificateArn": "arn:aws:acm:us-east-1:111122223333:certificate/1",
		"LoginIssuer": "https://login.example.com", "LoginClientId": "larder",
	}
	asked := map[string]bool{} // "<function> <route>"
	for _, upstreams := range []string{"", "127.0.0.1/*/*"} {
		parameters["MirrorUpstreams"] = upstreams
		d, err := templatetest.Load(filepath.Join(root, "template.yaml"), templatetest.Values{Region: "us-east-1", Parameters: parameters})
		if err != nil {
			t.Fatal(err)
		}
		for route, function := range d.Routes {
			questions, ok := decided[route]
			if !ok {
				t.Errorf("%q is a route of the template of which nothing is decided: say in this test who may ask it what", route)
			}
			if name := function + " " + route; !asked[name] {
				asked[name] = true
				w.start(function, table, d)
				for _, q := range questions {
					t.Run(function+q.path, func(t *testing.T) { w.in(t).walk(function, q) })
				}
			}
		}
		for route := range decided {
			if d.Routes[route] == "" {
				t.Errorf("%q is decided, and no route of the template", route)
			}
		}
	}
	w.tellOfLogin()
	for name, f := range w.functions {
		checkLog(t, name, f)
	}
}

// tellOfLogin checks that a refusal says that people can log in, and where.
func (w *walk) tellOfLogin() {
	const command = "terraform login registry.example.com"
	for _, c := range []struct{ function, path, words string }{
		{"discovery", "/.well-known/terraform.json", `"login.v1":{"client":"terraform-cli"`},
		{"versions", "/v1/modules/acme/vpc/aws/versions", command},
		{"download", "/v1/modules/acme/vpc/aws/1.0.0/download", command},
		{"catalog", "/v1/modules/acme/vpc/aws/1.0.0", command},
		{"fetch", "/v1/mirror/registry.terraform.io/hashicorp/time/index.json", command},
	} {
		if got := send(w.T, w.functions[c.function], http.MethodGet, c.path, nil, nil); !strings.Contains(got.Body, c.words) {
			w.Errorf("%s says %s, and nothing of %q", c.function, got.Body, c.words)
		}
	}
}

// in is the walk as a part of the test.
func (w *walk) in(t *testing.T) *walk {
	part := *w
	part.T = t
	return &part
}

// start starts a function of a deployment, once.
func (w *walk) start(function, table string, d *templatetest.Deployment) {
	if w.functions[function] != nil {
		return
	}
	environment := append([]string{"AWS_ENDPOINT_URL_DYNAMODB=" + w.dynamo.URL}, credentials...)
	for name, value := range d.Functions[function].Environment {
		if name == "LARDER_TABLE" {
			value = table // of an engine that all tests share
		}
		environment = append(environment, name+"="+value)
	}
	w.functions[function] = lambdatest.Start(w, bootstrap(w, function), environment)
	if function == "catalog" {
		documents(w.T, w.functions[function])
	}
}

// walk asks one question as everybody.
func (w *walk) walk(function string, q question) {
	fresh, _ := access.NewToken()
	for name, authorization := range map[string]string{
		"nobody": "", "no token": "Bearer larder_x", "a mistyped token": "Bearer " + fresh[:len(fresh)-1] + "x", "another scheme": "Basic " + w.token("read *", "", time.Time{}),
	} {
		w.refused(function, q, name, authorization, "", "")
	}
	revoked := w.token("read *", "", time.Time{})
	id, _ := access.ParseToken(revoked)
	if err := w.access.RevokeToken(w.Context(), id); err != nil {
		w.Fatal(err)
	}
	w.refused(function, q, "an unknown token", "Bearer "+fresh, "BatchGetItem", "BatchGetItem")
	w.refused(function, q, "a revoked token", "Bearer "+revoked, "BatchGetItem", "BatchGetItem")
	w.refused(function, q, "an expired token", "Bearer "+w.token("read *", "", time.Now().Add(-time.Minute)), "BatchGetItem", "")
	for _, scope := range everyScope {
		status, first, note, again := http.StatusNotFound, "BatchGetItem", "", ""
		switch {
		case q.readers == nil:
			status, first = q.status, ""
		case slices.Contains(q.readers, scope):
			status, note, again = q.status, ", UpdateItem", "GetItem"
			if function == "versions" || strings.HasSuffix(q.path, "/index.json") {
				again = "Query"
			}
			first, again = first+q.more, cmp.Or(q.again, again)
		}
		token, known := "Bearer "+w.token(scope, "", time.Time{}), "Bearer "+w.token(scope, access.DayOf(time.Now()), time.Time{})
		w.expect(function, q, scope+", for the first time", token, status, first+note)
		w.expect(function, q, scope+", once more", token, status, again)
		w.expect(function, q, scope+", used elsewhere today", known, status, first)
	}
}

// refused asks twice as somebody who has no good token.
func (w *walk) refused(function string, q question, who, authorization, first, again string) {
	w.Helper()
	status := http.StatusUnauthorized
	if q.readers == nil {
		status, first, again = q.status, "", ""
	}
	w.expect(function, q, who, authorization, status, first)
	w.expect(function, q, who+", once more", authorization, status, again)
}

// expect asks with an Authorization header.
func (w *walk) expect(function string, q question, who, authorization string, status int, requests string) {
	w.Helper()
	headers := map[string]string{}
	if authorization != "" {
		headers["authorization"] = authorization
	}
	method := q.method
	if method == "" {
		method = http.MethodGet
	}
	w.dynamo.take()
	got := send(w.T, w.functions[function], method, q.path, nil, headers)
	if took := w.dynamo.take(); got.StatusCode != status || took != requests {
		w.Errorf("%s: %d after %q, want %d after %q: %.200s", who, got.StatusCode, took, status, requests, got.Body)
	}
}

// token is a token that was used on a day, or never.
func (w *walk) token(scope string, used access.Day, expires time.Time) string {
	w.Helper()
	secret, id := access.NewToken()
	if err := w.access.CreateToken(w.Context(), access.Token{
		ID: id, Name: "test", Owner: "ann", Origin: access.ByOperator, Scopes: scopes(w.T, scope),
		Created: time.Now().Add(-time.Hour), Expires: expires, Used: used,
	}); err != nil {
		w.Fatal(err)
	}
	return secret
}

// TestListsByScope holds what each token finds in each list: nothing but what its scopes allow.
// Every list costs one request when the shards are known.
func TestListsByScope(t *testing.T) {
	w := &walk{T: t, dynamo: watchDynamo(t), functions: map[string]*lambdatest.Function{}}
	table := dynamotest.Start(t).CreateTable(t)
	fill(t, table)
	index := newCatalog(t, table)
	w.access = index.Access()
	vpc, widget := registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}, registry.ProviderAddress{Namespace: "acme", Type: "widget"}
	for _, a := range []registry.Address{vpc, widget} {
		if err := directory.NewWriter(directory.WriterConfig{Index: index}).Refresh(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	d, err := templatetest.Load(filepath.Join(root, "template.yaml"), templatetest.Values{Region: "us-east-1", Parameters: map[string]string{"BucketName": "larder"}})
	if err != nil {
		t.Fatal(err)
	}
	w.start("catalog", table, d)
	send(t, w.functions["catalog"], http.MethodGet, "/v1/modules", nil, map[string]string{"authorization": "Bearer " + w.token("read *", "", time.Time{})}) // which reads the shards
	for _, scope := range everyScope {
		header := map[string]string{"authorization": "Bearer " + w.token(scope, access.DayOf(time.Now()), time.Time{})}
		for path, readers := range map[string][]string{
			"/v1/modules": modules, "/v1/modules/search?q=vpc": modules, "/v1/modules/acme": modules, "/v1/modules/acme/vpc": modules,
			"/v1/providers": providers, "/v1/providers?q=widget": providers, "/v1/providers/acme": providers,
		} {
			allowed := slices.Contains(readers, scope)
			for round := range 2 {
				w.dynamo.take()
				got := send(t, w.functions["catalog"], http.MethodGet, path, nil, header)
				asked := w.dynamo.take()
				if got.StatusCode != 200 || strings.Contains(got.Body, `"id":"acme/`) != allowed || strings.Contains(got.Body, `"total":1`) != allowed {
					t.Errorf("%s: %s: %d %s", scope, path, got.StatusCode, got.Body)
				}
				if asked != "GetItem" && (asked != "BatchGetItem" || round > 0) { // the latter looks the token up, too
					t.Errorf("%s: %s took %q", scope, path, asked)
				}
			}
		}
	}
}
