package parameter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/functions/internal/variables"
)

const name = "/larder/login-secret"

// store is Systems Manager with one parameter.
type store struct {
	value atomic.Pointer[string] // nil: there is no such parameter
	down  atomic.Int32           // how many of the next requests fail
	asked atomic.Int32
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	var in struct {
		Name           string
		WithDecryption bool
	}
	err := json.NewDecoder(r.Body).Decode(&in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	switch value := s.value.Load(); {
	case s.down.Add(-1) >= 0:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprint(w, `{"__type":"InternalServerError"}`)
	case err != nil || in.Name != name || !in.WithDecryption || r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" || value == nil:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"__type":"ParameterNotFound"}`)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]any{"Name": name, "Type": "SecureString", "Value": *value}})
	}
}

func (s *store) set(value string) { s.value.Store(&value) }

// start is a store and the parameter in it, with a clock.
func start(t *testing.T) (*store, *Parameter, *time.Time) {
	t.Helper()
	s := &store{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p := New(variables.Values{
		Region: "eu-central-1", SSMEndpoint: server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "key", "t0ken"),
	}, name)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p.now = func() time.Time { return now }
	return s, p, &now
}

// TestValue checks that a value is kept for a while, and then read again.
func TestValue(t *testing.T) {
	s, p, now := start(t)
	s.set("one\n")
	for _, c := range []struct {
		after time.Duration
		want  string
		asked int32
	}{
		{0, "one", 1},
		{keptFor - time.Second, "one", 1},
		{time.Second, "two", 2},
		{-time.Second, "two", 3}, // the clock was set back
	} {
		*now = now.Add(c.after)
		if got, err := p.Value(t.Context()); err != nil || got != c.want || s.asked.Load() != c.asked {
			t.Errorf("%v: %q, %v, asked %d times, want %q and %d", c.after, got, err, s.asked.Load(), c.want, c.asked)
		}
		s.set("two")
	}
}

// TestValueFails checks that an error names the parameter, and that the next one
// who needs the value asks again.
func TestValueFails(t *testing.T) {
	s, p, _ := start(t)
	for _, set := range []func(){func() {}, func() { s.set("") }, func() { s.set("\n") }} {
		set()
		if got, err := p.Value(t.Context()); err == nil || got != "" || !strings.Contains(err.Error(), name) {
			t.Errorf("Value = %q, %v", got, err)
		}
	}
	s.set("s3cret")
	s.down.Store(1) // once: the SDK tries again
	if got, err := p.Value(t.Context()); err != nil || got != "s3cret" {
		t.Errorf("Value = %q, %v", got, err)
	}
}
