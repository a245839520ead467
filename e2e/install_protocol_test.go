package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	sharedModule   = "/v1/modules/wire/network/aws/"
	sharedProvider = "/v1/providers/wire/widget/"
	sharedMirror   = "/v1/mirror/registry.terraform.io/wire/widget/"
)

// publishWire publishes what these tests ask for.
func publishWire(t testing.TB, r *registry) {
	t.Helper()
	r.publish(t, "modules/wire/network/aws/1.2.0.tar.gz", tinyModule(t, "1.2.0"))
	r.publish(t, "modules/wire/network/aws/1.3.0+build.5.tar.gz", tinyModule(t, "1.3.0"))
	const widget = "wire/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
	for _, folder := range []string{"providers/", "mirror/registry.terraform.io/", "mirror/bücher.example/"} {
		r.publish(t, folder+widget, providerZip(t, "widget", "1.0.0", folder))
	}
}

// Requests as the clients and others send them, the path exactly as written.
func TestRequests(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	publishWire(t, r)
	long := strings.Repeat("a", 65)
	for path, statuses := range map[string][]int{
		"/.well-known/terraform.json":                 {200},
		sharedModule + "versions":                     {200},
		sharedModule + "1.2.0/download":               {204},
		sharedModule + "download":                     {302},
		sharedModule + "1.2.0":                        {200},
		sharedModule + "v1.3%2Bbuild.5":               {200},
		sharedModule + "9.9.9":                        {404},
		sharedModule + "latest":                       {404},
		sharedModule + "%2e%2e":                       {400, 404},
		sharedProvider + "1.0.0":                      {200},
		sharedProvider + "9.9.9":                      {404},
		sharedModule + "download/":                    {404},
		"/v1/modules/nobody/network/aws/download":     {404},
		sharedProvider + "versions":                   {200},
		sharedProvider + "1.0.0/download/linux/amd64": {200},
		sharedMirror + "index.json":                   {200},
		sharedMirror + "1.0.0.json":                   {200},

		// A slash at the end.
		sharedModule + "versions/":     {404},
		sharedProvider + "versions/":   {404},
		"/.well-known/terraform.json/": {404},

		// Versions are looked up as the clients canonicalise them.
		sharedModule + "v1.2/download":   {204},
		sharedModule + "1.2/download":    {204},
		sharedModule + "01.2.0/download": {204},
		sharedModule + "01.2.3/download": {404},
		sharedModule + "1.2.3/download":  {404},
		sharedModule + "latest/download": {404},

		// Build metadata, raw and encoded.
		sharedModule + "1.3.0+build.5/download":   {204},
		sharedModule + "1.3.0%2Bbuild.5/download": {204},
		sharedModule + "1.3.0%20build.5/download": {404},

		// What a segment cannot hold.
		"/v1/modules/%2e%2e/network/aws/versions":     {400, 404},
		"/v1/modules/wire/%2e%2e/aws/versions":        {400, 404},
		"/v1/modules/..%2fwire/network/aws/versions":  {400, 404},
		"/v1/modules/wire/network/..%2f/versions":     {400, 404},
		"/v1/modules/wire/net%00work/aws/versions":    {400, 404},
		"/v1/modules/wire/net%ffwork/aws/versions":    {400, 404},
		"/v1/modules/wire/%c0%ae%c0%ae/aws/versions":  {400, 404},
		"/v1/providers/%2e%2e/widget/versions":        {400, 404},
		"/v1/providers/wire/..%2fwidget/versions":     {400, 404},
		"/v1/providers/wire/wid%00get/versions":       {400, 404},
		"/v1/providers/wire/%ff/versions":             {400, 404},
		sharedModule + "%2e%2e/download":              {400, 404},
		sharedProvider + "..%2f/download/linux/amd64": {400, 404},
		sharedProvider + "1.0.0/download/%00/amd64":   {400, 404},
		"/v1/modules//network/aws/versions":           {404},
		"/../v1/modules/wire/network/aws/versions":    {400, 404},

		// What cannot be an address, and addresses that are not known.
		"/v1/modules/" + long + "/network/aws/versions": {404},
		"/v1/modules/-wire/network/aws/versions":        {404},
		"/v1/modules/w%C3%AFre/network/aws/versions":    {404},
		"/v1/modules/wire/network/a--b/versions":        {404},
		"/v1/modules/Wire/Network/aws/versions":         {200},
		"/v1/providers/" + long + "/widget/versions":    {404},
		"/v1/providers/-wire/widget/versions":           {404},
		"/v1/providers/wi--re/widget/versions":          {404},
		"/v1/providers/w%C3%AFre/widget/versions":       {404},
		"/v1/providers/Wire/Widget/versions":            {404},
		"/v1/modules/nobody/network/aws/versions":       {404},
		"/v1/providers/nobody/widget/versions":          {404},

		// Platforms are never guessed.
		sharedProvider + "1.0.0/download/Linux/AMD64": {404},
		sharedProvider + "1.0.0/download/linux/arm64": {404},
		sharedProvider + "9.0.0/download/linux/amd64": {404},

		// What is not a document of the network mirror.
		sharedMirror + "1.0.0.json.json":                                 {404},
		sharedMirror + "index.json/":                                     {404},
		sharedMirror + "INDEX.json":                                      {404},
		sharedMirror + ".json":                                           {404},
		sharedMirror + "latest.json":                                     {404},
		sharedMirror + "1.0.0":                                           {404},
		sharedMirror + "2.0.0.json":                                      {404},
		sharedMirror + "..%2findex.json":                                 {400, 404},
		sharedMirror + "terraform-provider-widget_1.0.0_linux_amd64.zip": {404},
		"/v1/mirror/registry.terraform.io/nobody/widget/index.json":      {404},
		"/v1/mirror/registry.terraform.io/nobody/widget/1.0.0.json":      {404},
		"/v1/mirror/registry.terraform.io/Wire/widget/index.json":        {404},
		"/v1/mirror/wire/widget/index.json":                              {404},

		// Hostnames are those that the clients send: in punycode and in lower case, never with a port.
		"/v1/mirror/Registry.Terraform.IO/wire/widget/index.json":                {200},
		"/v1/mirror/xn--bcher-kva.example/wire/widget/index.json":                {200},
		"/v1/mirror/xn--bcher-kva.example/wire/widget/1.0.0.json":                {200},
		"/v1/mirror/XN--BCHER-KVA.example/wire/widget/index.json":                {200},
		"/v1/mirror/b%C3%BCcher.example/wire/widget/index.json":                  {200},
		"/v1/mirror/registry.terraform.io:443/wire/widget/index.json":            {404},
		"/v1/mirror/registry.terraform.io%3A8443/wire/widget/index.json":         {404},
		"/v1/mirror/registry.terraform.io./wire/widget/index.json":               {404},
		"/v1/mirror/localhost/wire/widget/index.json":                            {404},
		"/v1/mirror/%2e%2e/wire/widget/index.json":                               {400, 404},
		"/v1/mirror/registry.terraform%00.io/wire/widget/index.json":             {400, 404},
		"/v1/mirror/registry.terraform.io%2fwire/widget/index.json":              {400, 404},
		"/v1/mirror/" + strings.Repeat("a.", 130) + "com/wire/widget/index.json": {404},

		// No route.
		"/":                                     {404},
		"/v1":                                   {404},
		"/v1/modules":                           {200},
		"/v2/modules/wire/network/aws/versions": {404},
	} {
		a := r.ask(t, http.MethodGet, path)
		if !slices.Contains(statuses, a.status) {
			t.Errorf("GET %s: %d, want %d: %s", path, a.status, statuses, a.body)
			continue
		}
		checkShape(t, "GET "+path, a)
		checkHead(t, path, a, r.ask(t, http.MethodHead, path))
	}
}

// checkShape wants JSON with the right content type: a document, or an error in the form that all errors have.
func checkShape(t testing.TB, request string, a answer) {
	t.Helper()
	if a.status == http.StatusFound {
		if len(a.body) != 0 || !strings.HasPrefix(a.header.Get("Location"), "/v1/modules/") {
			t.Errorf("%s: 302 with %d bytes and Location %q", request, len(a.body), a.header.Get("Location"))
		}
		return
	}
	if a.status == http.StatusNoContent {
		if len(a.body) != 0 || a.header.Get("X-Terraform-Get") == "" {
			t.Errorf("%s: 204 with %d bytes and X-Terraform-Get %q", request, len(a.body), a.header.Get("X-Terraform-Get"))
		}
		return
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: Content-Type %q", request, got)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &doc); err != nil {
		t.Errorf("%s: %d: %v in %q", request, a.status, err, a.body)
		return
	}
	if a.status == http.StatusOK {
		return
	}
	var messages []string
	if err := json.Unmarshal(doc["errors"], &messages); err != nil || len(doc) != 1 || len(messages) == 0 {
		t.Errorf("%s: %d: the error is %s", request, a.status, a.body)
	}
}

// checkHead wants HEAD to be answered as GET is, without a body.
func checkHead(t testing.TB, path string, get, head answer) {
	t.Helper()
	if head.status != get.status || len(head.body) != 0 {
		t.Errorf("HEAD %s: %d with %d bytes, GET: %d", path, head.status, len(head.body), get.status)
	}
	for name := range get.header {
		switch name {
		case "Date", "X-Terraform-Get": // differ from one request to the next
			if head.header.Get(name) == "" {
				t.Errorf("HEAD %s has no %s", path, name)
			}
		default:
			if g, h := get.header[name], head.header[name]; !slices.Equal(g, h) {
				t.Errorf("HEAD %s: %s is %q, GET: %q", path, name, h, g)
			}
		}
	}
	length := head.header.Get("Content-Length")
	if get.status != http.StatusNoContent && length != strconv.Itoa(len(get.body)) {
		t.Errorf("HEAD %s: Content-Length %q, GET has %d bytes", path, length, len(get.body))
	}
}

// Methods that change things are refused on every route that is read.
func TestOtherMethodsAreNotAllowed(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	publishWire(t, r)
	for _, path := range []string{
		"/.well-known/terraform.json",
		sharedModule + "versions",
		sharedModule + "1.2.0/download",
		sharedModule + "download",
		sharedModule + "1.2.0",
		sharedProvider + "1.0.0",
		sharedProvider + "versions",
		sharedProvider + "1.0.0/download/linux/amd64",
		sharedMirror + "index.json",
		sharedMirror + "1.0.0.json",
	} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			a := r.ask(t, method, path)
			allow := strings.Split(strings.ReplaceAll(a.header.Get("Allow"), " ", ""), ",")
			if a.status != http.StatusMethodNotAllowed || !slices.Contains(allow, "GET") || !slices.Contains(allow, "HEAD") {
				t.Errorf("%s %s: %d, Allow %q", method, path, a.status, a.header.Get("Allow"))
			}
			checkShape(t, fmt.Sprint(method, " ", path), a)
		}
	}
}

// Discovery names the two protocols, each with a slash at its end, and answers everybody.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const want = `{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/"}`
	for _, authorization := range []string{"", "Bearer", "Bearer stale", "Basic dXNlcjpwYXNz", "Bearer " + strings.Repeat("x", 9<<10)} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.host+"/.well-known/terraform.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		if a := r.do(t, req); a.status != http.StatusOK || strings.TrimSpace(string(a.body)) != want {
			t.Errorf("with Authorization %.20q: %d: %s", authorization, a.status, a.body)
		}
	}
}

// Every request for one version gets the same object, in each way to write the version.
func TestOneVersionManySpellings(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	publishWire(t, r)
	for canonical, spellings := range map[string][]string{
		"1.2.0":         {"1.2", "v1.2", "v1.2.0"},
		"1.3.0+build.5": {"1.3.0%2Bbuild.5"},
	} {
		want := r.moduleLocation(t, "wire/network/aws/"+canonical).Path
		for _, spelling := range spellings {
			if got := r.moduleLocation(t, "wire/network/aws/"+spelling).Path; got != want {
				t.Errorf("%s is served from %s, %s from %s", spelling, got, canonical, want)
			}
		}
	}
}
