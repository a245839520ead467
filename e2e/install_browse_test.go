package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// browsed is what tools read of an answer of the API.
type browsed struct {
	Modules    []struct{ ID string }
	Providers  json.RawMessage // in a list providers, in details of a module systems
	ID, Source string
	Versions   []string
	Root       struct {
		Readme  string
		Inputs  []struct{ Name, Default string }
		Outputs []struct{ Name string }
	}
	Docs    []struct{ ID string }
	Content string
	Larder  struct {
		Documented bool
		Problems   []string
		Total      int
	}
}

// browse asks for a path until an answer is right, for five seconds.
func (r *registry) browse(t testing.TB, path string, right func(browsed) bool) {
	t.Helper()
	var last answer
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		last = r.ask(t, http.MethodGet, path)
		var got browsed
		if last.status == http.StatusOK {
			last.decode(t, &got)
			if right(got) {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Errorf("%s is answered %d: %s", path, last.status, last.body)
			return
		}
	}
}

// What is published can be found and read within seconds: by its name, by what it takes, and with its README.
func TestBrowse(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	module := tarGzOf(t,
		entry{name: "README.md", body: []byte("# Harbour\n\nMakes a harbour for ships.\n")},
		entry{name: "main.tf", body: []byte("variable \"berths\" {\n  default = 3\n}\n\noutput \"quay\" {\n  value = var.berths\n}\n")},
	)
	r.publish(t, "modules/browsed/harbour/null/1.0.0.tar.gz", module)
	r.publish(t, "modules/browsed/harbour/null/1.1.0.tar.gz", tarGzOf(t, entry{name: "main.tf", body: []byte("variable \"berths\" {}\n")}))
	const newest = "browsed/harbour/null/1.1.0"
	isNewest := func(b browsed) bool { return len(b.Modules) == 1 && b.Modules[0].ID == newest && b.Larder.Total == 1 }
	for _, path := range []string{"/v1/modules/browsed", "/v1/modules/browsed/harbour", "/v1/modules/search?q=harb&namespace=browsed", "/v1/modules/search?q='berths'&namespace=browsed"} {
		r.browse(t, path, isNewest)
	}
	r.browse(t, "/v1/modules/browsed/harbour/null", func(b browsed) bool { return b.ID == newest && len(b.Versions) == 2 })
	r.browse(t, "/v1/modules/browsed/harbour/null/1.0.0", func(b browsed) bool {
		return b.Larder.Documented && strings.Contains(b.Root.Readme, "a harbour for ships") && len(b.Root.Inputs) == 1 && b.Root.Inputs[0].Default == "3" &&
			len(b.Root.Outputs) == 1 && b.Root.Outputs[0].Name == "quay"
	})

	const stem = "providers/browsed/time/terraform-provider-time_" + timeVersion + "_"
	publishTime(t, r, "browsed")
	r.publish(t, stem+"docs.zip", zipOf(t, entry{name: "docs/index.md", body: []byte("# Time\n")}, entry{name: "docs/resources/static.md", body: []byte("Keeps a moment.\n")}))
	r.browse(t, "/v1/providers/browsed", func(b browsed) bool {
		return b.Larder.Total == 1 && strings.Contains(string(b.Providers), `"id":"browsed/time/`+timeVersion+`"`)
	})
	r.browse(t, "/v1/providers/browsed/time", func(b browsed) bool { return len(b.Docs) == 2 && b.Larder.Documented })
	r.browse(t, "/v1/providers/browsed/time/"+timeVersion+"/docs/resources/static", func(b browsed) bool { return b.Content == "Keeps a moment.\n" })

	for path, status := range map[string]int{
		"/v1/modules/search": 400, "/v1/modules?limit=0": 400, "/v1/modules?offset=1000000000000000000": 400, "/v1/modules/search?q=%00": 400, "/v1/modules/search?q=%ff": 400,
		"/v1/modules/browsed/nothing/null": 404, "/v1/modules/browsed/harbour/null/9.9.9": 404, "/v1/providers/browsed/time/" + timeVersion + "/docs/resources/none": 404,
		"/v1/modules/": 404, "/v1/modules/browsed/harbour/null/downloads/summary": 200,
	} {
		if a := r.ask(t, http.MethodGet, path); a.status != status {
			t.Errorf("%s is answered %d, want %d: %s", path, a.status, status, a.body)
		}
	}
}
