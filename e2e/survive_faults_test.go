package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/awstest"
)

// failing has the requests of publish to a service fail, by one fault after the other.
func (s *stack) failing(service string, faults ...awstest.Fault) {
	var count atomic.Int64
	s.Interfere(func(c awstest.Call) awstest.Fault {
		if c.Function == "publish" && c.Service() == service {
			return faults[int(count.Add(1))%len(faults)]
		}
		return nil
	})
}

// failures counts the tries of publish that found no outcome for a message.
func (s *stack) failures() int {
	count := 0
	for _, run := range s.Invocations() {
		if run.Failed {
			count++
		}
	}
	return count
}

// While a service of AWS fails, only whole versions are listed. When it works again, the queue has publish finish the
// rest. Nobody has to do anything.
func TestServicesFailForAWhile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, service string
		faults        []awstest.Fault // in turn
	}{
		{"S3 is slow or not available", "s3", []awstest.Fault{awstest.SlowDown(), awstest.ServiceUnavailable()}},
		{"KMS fails itself", "kms", []awstest.Fault{awstest.KMSInternal()}},
		{"DynamoDB throttles", "dynamodb", []awstest.Fault{awstest.Throttled()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := startStack(t)
			const label = "modules/acme/label/null/1.0.0.tar.gz"
			packages := widgetPackages(t, "acme", "1.0.0")
			s.failing(c.service, c.faults...)
			s.put(t, label, tinyModule(t, "1.0.0"))
			s.putAll(t, packages)
			eventually(t, func() error {
				if count := s.failures(); count < 4 {
					return fmt.Errorf("publish failed %d times", count)
				}
				return nil
			})
			if modules, providers := s.moduleVersions(t, "acme/label/null"), s.providerVersions(t, "acme/widget"); len(modules)+len(providers) > 0 {
				t.Errorf("listed meanwhile: %v, %v", modules, providers)
			}
			s.Interfere(nil)
			s.expect(t, s.latest(t, label), published)
			for key := range packages {
				s.expect(t, s.latest(t, key), published)
			}
			checkWhole(t, s.registry, "acme/widget", "1.0.0", packages)
			if dead := s.DeadLetters(); len(dead) > 0 {
				t.Errorf("%d messages were given up", len(dead))
			}
		})
	}
}

// While KMS fails, modules are published: they are not signed.
func TestKMSFailsAndModulesDoNot(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	s.publish(t, "modules/acme/label/null/1.0.0.tar.gz", tinyModule(t, "1.0.0"))
	s.failing("kms", awstest.KMSInternal())
	pkg := s.put(t, "providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", providerZip(t, "widget", "1.0.0", "x"))
	s.publish(t, "modules/acme/label/null/1.1.0.tar.gz", tinyModule(t, "1.1.0"))
	if listed := s.providerVersions(t, "acme/widget"); len(listed) > 0 {
		t.Errorf("listed unsigned: %v", listed)
	}
	s.Interfere(nil)
	s.expect(t, pkg, published)
}

// An upload that finds no outcome in all tries ends among the dead letters, with its reason in the log. No other
// upload waits for it. When the cause is mended, it is sent to the queue again and is published.
func TestPoisonedUpload(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	s.Interfere(func(c awstest.Call) awstest.Fault {
		if c.Function == "publish" && strings.HasPrefix(c.Context["dynamodb:LeadingKeys"], "P#poisoned/") {
			return awstest.Throttled()
		}
		return nil
	})
	const key = "providers/poisoned/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
	poisoned := s.put(t, key, providerZip(t, "widget", "1.0.0", "poisoned"))
	s.Send("no message of anybody's")
	others := widgetPackages(t, "fine", "1.0.0")
	s.publishAll(t, others)
	if dead := s.DeadLetters(); slices.ContainsFunc(dead, func(m awstest.Message) bool { return strings.Contains(m.Body, key) }) {
		t.Error("the others have waited for the poisoned one")
	}
	checkWhole(t, s.registry, "fine/widget", "1.0.0", others)

	var dead []awstest.Message
	eventually(t, func() error {
		if dead = s.DeadLetters(); len(dead) < 2 {
			return errors.New("not both messages were given up")
		}
		return nil
	})
	for _, reason := range []string{"ThrottlingException", "the message is not readable"} {
		if !strings.Contains(s.Logs("publish"), reason) {
			t.Errorf("the log does not say %q", reason)
		}
	}
	if listed := s.providerVersions(t, "poisoned/widget"); len(listed) > 0 {
		t.Errorf("listed: %v", listed)
	}

	s.Interfere(nil)
	for _, m := range dead {
		if strings.Contains(m.Body, key) {
			s.Send(m.Body)
		}
	}
	s.expect(t, poisoned, published)
}

// Events that come twice, late and at the same time change nothing.
func TestEventsComeAgain(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	packages := widgetPackages(t, "acme", "1.0.0")
	s.publishAll(t, packages)
	s.Rest(t)
	for range 2 {
		for _, run := range s.Invocations() {
			s.Send(run.Body)
		}
	}
	s.Rest(t)
	if count := s.failures(); count > 0 || len(s.DeadLetters()) > 0 {
		t.Errorf("%d messages failed", count)
	}
	checkWhole(t, s.registry, "acme/widget", "1.0.0", packages)
}

// The daily reconcile publishes uploads whose event was lost. It goes on in further invocations if one has not enough
// time.
func TestEventsAreLost(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	s.publish(t, "modules/acme/label/null/1.0.0.tar.gz", tinyModule(t, "1.0.0"))
	s.LoseEvents(true)
	packages := widgetPackages(t, "acme", "1.0.0")
	s.putAll(t, packages)
	module := s.put(t, "modules/acme/label/null/1.1.0+b c.tar.gz", tinyModule(t, "bad name"))
	s.Rest(t)
	if listed := s.providerVersions(t, "acme/widget"); len(listed) > 0 {
		t.Fatalf("listed without an event: %v", listed)
	}
	s.Schedule(t, 30*time.Second) // less than a reconcile leaves for others to end
	for key := range packages {
		s.expect(t, s.latest(t, key), published)
	}
	s.expect(t, module, rejected)
	checkWhole(t, s.registry, "acme/widget", "1.0.0", packages)
	s.Rest(t)
	if !slices.ContainsFunc(s.Invocations(), func(run awstest.Invocation) bool { return strings.HasPrefix(run.Body, `{"reconcile":{"after"`) }) {
		t.Error("the reconcile did not go on in another invocation")
	}
}

// While the catalog fails, the answer says so in the registry's own words, and nothing else.
func TestCatalogFailsForReaders(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	publishWire(t, s.registry)
	s.Interfere(func(c awstest.Call) awstest.Fault {
		if c.Service() == "dynamodb" {
			return awstest.Throttled()
		}
		return nil
	})
	for _, path := range []string{sharedModule + "versions", sharedProvider + "1.0.0/download/linux/amd64"} {
		a := s.ask(t, http.MethodGet, path)
		if a.status < http.StatusInternalServerError || strings.Contains(string(a.body), "Throttling") {
			t.Errorf("GET %s: %d: %s", path, a.status, a.body)
		}
		checkShape(t, "GET "+path, a)
	}
	s.Interfere(nil)
	if a := s.ask(t, http.MethodGet, sharedModule+"versions"); a.status != http.StatusOK {
		t.Errorf("after that: %d: %s", a.status, a.body)
	}
}
