package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/awstest"
)

// announced waits until an upload is announced to the topic, and returns the message, which may have come several
// times.
func (s *stack) announced(t testing.TB, u upload) (last awstest.Announcement) {
	t.Helper()
	eventually(t, func() error {
		all := slices.DeleteFunc(s.Announcements(t, u.key), func(a awstest.Announcement) bool {
			return fields(t, []byte(a.Message))["version_id"] != u.version
		})
		if len(all) == 0 {
			return fmt.Errorf("nothing of %s was announced", u.key)
		}
		last = all[len(all)-1]
		return nil
	})
	return last
}

// fields are those of a JSON object.
func fields(t testing.TB, object []byte) map[string]any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(object, &all); err != nil {
		t.Fatalf("%q: %v", object, err)
	}
	return all
}

// outcome is the document that says what became of the newest upload with a key.
func (r *registry) outcome(t testing.TB, key string) map[string]any {
	t.Helper()
	return r.document(t, "registry/outcomes/"+key+".json")
}

// document is a JSON document of the bucket.
func (r *registry) document(t testing.TB, key string) map[string]any {
	t.Helper()
	out, err := r.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &r.bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	document, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fields(t, document)
}

// checkLogged wants a line of the log to have all fields of an outcome, but for the time, which is the line's own.
func (s *stack) checkLogged(t testing.TB, outcome map[string]any) {
	t.Helper()
	outcome = maps.Clone(outcome)
	delete(outcome, "time")
	for line := range strings.SplitSeq(s.Logs("publish"), "\n") {
		var logged map[string]any
		if json.Unmarshal([]byte(line), &logged) != nil || logged["version_id"] != outcome["version_id"] {
			continue // a line of Lambda's own, or of another upload
		}
		maps.DeleteFunc(logged, func(name string, _ any) bool { _, ok := outcome[name]; return !ok })
		if reflect.DeepEqual(logged, outcome) {
			return
		}
	}
	t.Errorf("the log has no line with the fields %v", outcome)
}

// Every outcome is announced to the topic: with a subject for people, with attributes for filters, and with the fields
// that the document and the log have.
func TestOutcomesAreAnnounced(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	const module, stray = "modules/acme/label/null/1.0.0.tar.gz", "modules/acme/größe.txt"
	const pkg, mirrored = "providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", "mirror/registry.example.com/a/b/README.md"
	for _, c := range []struct {
		name, key       string
		body            []byte
		status, subject string
		attributes      map[string]string // besides the status
	}{
		{"a module", module, tinyModule(t, "1.0.0"), published, "published: module acme/label/null 1.0.0",
			map[string]string{"folder": "modules", "namespace": "acme"}},
		{"other bytes", module, tinyModule(t, "other"), rejected, "rejected: module acme/label/null 1.0.0",
			map[string]string{"folder": "modules", "namespace": "acme"}},
		{"no zip", pkg, []byte("no zip"), rejected, "rejected: provider acme/widget 1.0.0 for linux_amd64",
			map[string]string{"folder": "providers", "namespace": "acme"}},
		{"a package", pkg, providerZip(t, "widget", "1.0.0", "x"), published, "published: provider acme/widget 1.0.0 for linux_amd64",
			map[string]string{"folder": "providers", "namespace": "acme"}},
		{"a stray file", stray, []byte("stray"), ignored, "ignored: modules/acme/gr??e.txt",
			map[string]string{"folder": "modules", "namespace": "acme"}},
		{"a file of a mirror", mirrored, []byte("stray"), ignored, "ignored: " + mirrored,
			map[string]string{"folder": "mirror"}},
	} {
		u := s.put(t, c.key, c.body)
		s.expect(t, u, c.status)
		s.Rest(t)
		a := s.announced(t, u)
		c.attributes["status"] = c.status
		if a.Subject != c.subject || !maps.Equal(a.Attributes, c.attributes) {
			t.Errorf("%s: announced %q with %v, want %q with %v", c.name, a.Subject, a.Attributes, c.subject, c.attributes)
		}
		message := fields(t, []byte(a.Message))
		if document := s.outcome(t, c.key); !reflect.DeepEqual(message, document) || message["status"] != c.status {
			t.Errorf("%s: announced %v, and the document is %v", c.name, message, document)
		}
		s.checkLogged(t, message)
	}
}

// An outcome that did not change is not announced again, however often its events come.
func TestOutcomesAreAnnouncedOnce(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	const key = "modules/acme/label/null/1.0.0.tar.gz"
	s.publish(t, key, tinyModule(t, "1.0.0"))
	s.Rest(t)
	for _, run := range s.Invocations() {
		s.Send(run.Body)
	}
	s.Rest(t)
	if all := s.Announcements(t, key); len(all) != 1 {
		t.Errorf("announced %d times: %v", len(all), all)
	}
}

// While SNS fails, uploads are published and served. When SNS works again, the queue has their outcomes announced.
func TestSNSFailsForAWhile(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	const key = "modules/acme/label/null/1.0.0.tar.gz"
	s.failing("sns", awstest.SNSInternal())
	u := s.put(t, key, tinyModule(t, "1.0.0"))
	eventually(t, func() error {
		if s.failures() < 2 {
			return errors.New("publish has not failed twice")
		}
		return nil
	})
	if listed := s.moduleVersions(t, "acme/label/null"); len(listed) != 1 {
		t.Errorf("meanwhile these are listed: %v", listed)
	}
	if all := s.Announcements(t, key); len(all) > 0 {
		t.Errorf("announced meanwhile: %v", all)
	}
	s.Interfere(nil)
	if a := s.announced(t, u); a.Attributes["status"] != published {
		t.Errorf("announced %+v", a)
	}
	s.Rest(t)
	s.expect(t, u, published)
	if dead := s.DeadLetters(); len(dead) > 0 {
		t.Errorf("%d messages were given up", len(dead))
	}
}
