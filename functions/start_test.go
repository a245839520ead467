package functions_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/lambdatest"
)

const (
	// maxStart is how much a function that reads may allocate before its main
	// begins, which is in every cold start. The function fetch has the most, for it
	// has an S3 client and the parsers of OpenPGP.
	maxStart = 5_900

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

// initialized is a package in what Go says of a start.
var initialized = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) allocs$`)

// TestStartAllocates counts what the packages of each function allocate when it
// starts. How long that takes is for [BenchmarkColdStart]: it is the machine's
// business as much as the function's.
func TestStartAllocates(t *testing.T) {
	for _, function := range functions {
		ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
		defer cancel()
		command := exec.CommandContext(ctx, bootstrap(t, function))
		command.Env = []string{"GODEBUG=inittrace=1"} // and nothing that it needs to go on
		out, err := command.CombinedOutput()
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatalf("%s: %v: %s", function, err, out)
		}
		total, largest, of := 0, 0, ""
		for _, found := range initialized.FindAllSubmatch(out, -1) {
			count, err := strconv.Atoi(string(found[2]))
			if err != nil {
				t.Fatal(err)
			}
			total += count
			if count > largest {
				largest, of = count, string(found[1])
			}
		}
		t.Logf("%-9s  %5d allocations, of which %d by %s", function, total, largest, of)
		if total == 0 || slices.Contains(readFunctions, function) && total > maxStart {
			t.Errorf("%s allocates %d times before its main begins, and may %d times; %s does %d times", function, total, maxStart, of, largest)
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

// TestStartFails checks that a function without a variable that it needs does not start, and
// names the variable.
func TestStartFails(t *testing.T) {
	for function, missing := range map[string][]string{
		"versions": {"LARDER_TABLE"},
		"download": {"LARDER_TABLE", "LARDER_BUCKET"},
		"catalog":  {"LARDER_TABLE", "LARDER_BUCKET"},
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
