package s3test_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/larder-registry/larder/internal/s3test"
)

// TestStart starts one server after another, each with a bucket of its own.
func TestStart(t *testing.T) {
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			s := s3test.Start(t)
			tags := map[string]string{"team": "a b+c"}
			version := s.Upload(t, "a/b.zip", []byte("1"), tags)
			if again := s.Upload(t, "a/b.zip", []byte("2"), nil); version == "" || again == version {
				t.Errorf("versions %q and %q, want two", version, again)
			}
			s.Delete(t, "a/b.zip")
			if got := s.Tags(t, "a/b.zip", version); !maps.Equal(got, tags) {
				t.Errorf("tags = %v, want %v", got, tags)
			}
		})
	}
	if after, err := os.Getwd(); err != nil || after != before {
		t.Errorf("working directory = %q, %v, want %q again", after, err, before)
	}
}

// TestTransport fails requests before and after the server has served them.
func TestTransport(t *testing.T) {
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		fault          s3test.Fault
		status, served int
	}{
		{s3test.None, http.StatusOK, 1},
		{s3test.Refused, http.StatusForbidden, 0},
		{s3test.Lost, http.StatusForbidden, 1},
	} {
		served = 0
		transport := &s3test.Transport{Fault: func(*http.Request) s3test.Fault { return c.fault }}
		response, err := (&http.Client{Transport: transport}).Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != c.status || served != c.served || transport.Count() != 1 {
			t.Errorf("fault %d: status %d, served %d times, counted %d, want %d, %d, 1", c.fault, response.StatusCode, served, transport.Count(), c.status, c.served)
		}
	}
}
