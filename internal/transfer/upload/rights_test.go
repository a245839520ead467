package upload

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// action is the permission that a request to S3 takes.
func action(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && query.Has("tagging") && query.Has("versionId"):
		return "s3:GetObjectVersionTagging"
	case r.Method == http.MethodGet && query.Has("tagging"):
		return "s3:GetObjectTagging"
	case r.Method == http.MethodPut && len(query) == 0,
		r.Method == http.MethodPut && query.Has("partNumber"),
		r.Method == http.MethodPost && (query.Has("uploads") || query.Has("uploadId")):
		return "s3:PutObject"
	case r.Method == http.MethodPut && query.Get("x-id") != "":
		return "s3:" + strings.Replace(query.Get("x-id"), "UploadPart", "PutObject", 1)
	case r.Method == http.MethodDelete && query.Has("uploadId"):
		return "s3:AbortMultipartUpload"
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/"+registry.Prefix):
		return "read registry/"
	default:
		return r.Method + " " + r.URL.String()
	}
}

// behind is an inbox that is reached through a proxy, which notes the actions it
// takes and lets nobody read what the registry keeps.
func behind(t *testing.T, in *Inbox) (restricted *Inbox, taken func() []string) {
	t.Helper()
	target, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL_S3"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[action(r)] = true
		mu.Unlock()
		if action(r) == "read registry/" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"))
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
	if restricted, err = Open(t.Context(), in.options); err != nil {
		t.Fatal(err)
	}
	return restricted, func() (actions []string) {
		mu.Lock()
		defer mu.Unlock()
		for name := range seen {
			actions = append(actions, name)
		}
		slices.Sort(actions)
		return actions
	}
}

// Rights on the inbox are enough: for a large file, which goes up in parts, and
// for a rejected one, whose tag has to do where its document may not be read.
func TestRightsOnTheInboxAreEnough(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	restricted, taken := behind(t, inbox)
	all := append(files(t, 10, "rejected"), files(t, 34<<20, "published")...)
	done := inbox.registry(t, all)
	var out strings.Builder
	_, err := restricted.Publish(t.Context(), all, &out, quiet())
	<-done
	if errorText(err) != "of 2 files: 1 rejected" || !strings.Contains(out.String(), "because of rejected") {
		t.Errorf("%v\n%s", err, out.String())
	}
	want := []string{"read registry/", "s3:GetObjectVersionTagging", "s3:PutObject"}
	if got := taken(); !slices.Equal(got, want) {
		t.Errorf("it took %q, want %q, of which the first was refused", got, want)
	}
}

// Whoever may read the outcome is told every violation, and no control
// characters, wherever the outcome lies.
func TestEveryViolationIsTold(t *testing.T) {
	for name, outcomeKey := range map[string]func(string) string{"its place": registry.OutcomeKey, "by hash": registry.OutcomeKeyByHash} {
		t.Run(name, func(t *testing.T) { testEveryViolationIsTold(t, outcomeKey) })
	}
}

func testEveryViolationIsTold(t *testing.T, outcomeKey func(string) string) {
	in := open(t, Options{Timeout: long})
	f := files(t, 10, "wrong")[0]
	version, err := in.put(t.Context(), f, quiet())
	if err != nil {
		t.Fatal(err)
	}
	in.tag(t, f, version, "rejected", "the first reason - and 1 more")
	document, err := json.Marshal(inbox.Outcome{Key: f.Key, Version: version, Status: inbox.Rejected, Reasons: []string{"the first reason", "the \x1b[31msecond"}})
	if err != nil {
		t.Fatal(err)
	}
	key := outcomeKey(f.Key)
	if _, err := in.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &in.options.Bucket, Key: &key, Body: strings.NewReader(string(document))}); err != nil {
		t.Fatal(err)
	}
	results := []*result{{File: f, version: version}}
	in.wait(t.Context(), results)
	in.readReasons(t.Context(), results)
	var out strings.Builder
	if err := in.writeTable(&out, results); err != nil {
		t.Fatal(err)
	}
	if want := "STATUS    FILE   NOTE\nrejected  wrong  the first reason\n                 the  [31msecond\n"; out.String() != want {
		t.Errorf("it said\n%s, want\n%s", out.String(), want)
	}
}
