package functions_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/lambdatest"
)

const (
	// starts is how often each function is started.
	starts = 15

	// maxStart is how many times as long as an empty function one that reads
	// may take to start.
	maxStart = 3

	startTimeout = time.Minute
)

// environment is enough for every function to start.
var environment = append([]string{
	"LARDER_TABLE=larder", "LARDER_BUCKET=larder", "LARDER_HOST=registry.example.com", "LARDER_QUEUE_URL=" + queueURL, "LARDER_TOPIC_ARN=" + topicARN,
	"LARDER_FETCH_QUEUE_URL=" + fetchQueueURL, "LARDER_MIRROR_UPSTREAMS=registry.terraform.io/hashicorp/*", "LARDER_MIRROR_PLATFORMS=all",
	"LARDER_KMS_KEY=arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
}, credentials...)

// buildEmpty builds a function that does nothing, as the others are built.
func buildEmpty(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "bootstrap")
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w -buildid=",
		"-o", binary, "./functions/testdata/empty")
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// coldStart is how long a function takes from the start of its process to its
// first request for an invocation.
func coldStart(t testing.TB, binary string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	took, err := lambdatest.ColdStart(ctx, binary, environment)
	if err != nil {
		t.Fatal(err)
	}
	return took
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestColdStart starts the functions in turn, so that whatever else the machine
// does is in the way of all of them.
func TestColdStart(t *testing.T) {
	binaries := map[string]string{"empty": buildEmpty(t)}
	for _, function := range functions {
		binaries[function] = bootstrap(t, function)
	}
	took := map[string][]time.Duration{}
	for range starts {
		for function, binary := range binaries {
			took[function] = append(took[function], coldStart(t, binary))
		}
	}
	empty := median(took["empty"])
	t.Logf("%-9s  %5.1f ms", "empty", 1e3*empty.Seconds())
	for _, function := range functions {
		ratio := median(took[function]).Seconds() / empty.Seconds()
		t.Logf("%-9s  %5.1f ms, %.1f times as long", function, 1e3*median(took[function]).Seconds(), ratio)
		if slices.Contains(readFunctions, function) && ratio > maxStart {
			t.Errorf("%s takes %.1f times as long to start as an empty function, and may take %d times as long", function, ratio, maxStart)
		}
	}
}

func BenchmarkColdStart(b *testing.B) {
	binaries := map[string]string{"empty": buildEmpty(b)}
	for _, function := range functions {
		binaries[function] = bootstrap(b, function)
	}
	for _, function := range append([]string{"empty"}, functions...) {
		b.Run(function, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				took = append(took, coldStart(b, binaries[function]))
			}
			b.ReportMetric(1e3*median(took).Seconds(), "ms/start")
			b.ReportMetric(0, "ns/op") // which has the end of the process in it
		})
	}
}

// TestStartFails holds that a function which is not told what it needs does not
// start, and names what is missing.
func TestStartFails(t *testing.T) {
	for function, missing := range map[string][]string{
		"versions": {"LARDER_TABLE"},
		"download": {"LARDER_TABLE", "LARDER_BUCKET"},
		"publish":  {"LARDER_TABLE", "LARDER_BUCKET", "LARDER_KMS_KEY", "LARDER_QUEUE_URL", "LARDER_TOPIC_ARN"},
		"fetch":    {"LARDER_TABLE", "LARDER_BUCKET", "LARDER_FETCH_QUEUE_URL", "LARDER_MIRROR_UPSTREAMS", "LARDER_MIRROR_PLATFORMS"},
		"login":    {"LARDER_TABLE", "LARDER_HOST"},
	} {
		_, err := lambdatest.Start(t, bootstrap(t, function), nil).Invoke(t.Context(), []byte(`{}`))
		for _, name := range append(missing, "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY") {
			if !errors.Is(err, lambdatest.ErrExited) || !strings.Contains(err.Error(), name+" is not set") {
				t.Errorf("%s without %s: %v", function, name, err)
			}
		}
	}
	_, err := lambdatest.Start(t, bootstrap(t, "login"), append(environment, "LARDER_LOGIN_ISSUER=https://login.example.com")).Invoke(t.Context(), []byte(`{}`))
	if !errors.Is(err, lambdatest.ErrExited) || !strings.Contains(err.Error(), "LARDER_LOGIN_CLIENT_ID is not set") {
		t.Errorf("login with an issuer alone: %v", err)
	}
	if _, err := lambdatest.Start(t, bootstrap(t, "discovery"), nil).Invoke(t.Context(), []byte(`{"version":"2.0"}`)); err != nil {
		t.Errorf("discovery needs nothing: %v", err)
	}
}
