package lambdatest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// mode makes this test binary a function, in one way or another.
const mode = "LAMBDATEST_MODE"

func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "":
		os.Exit(m.Run())
	case "works":
		fmt.Println("started")
		lambda.Start(handle)
	case "exits":
		fmt.Println("LARDER_TABLE is not set")
		os.Exit(3)
	case "tells":
		body := strings.NewReader(`{"errorType":"Init","errorMessage":"LARDER_TABLE is not set"}`)
		if _, err := http.Post("http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01/runtime/init/error", "application/json", body); err != nil {
			panic(err)
		}
		os.Exit(4)
	}
}

type event struct {
	Do, Text string
}

func handle(ctx context.Context, e event) (string, error) {
	invocation, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	fmt.Println("invoked", e.Text)
	switch e.Do {
	case "echo":
		return e.Text, nil
	case "describe":
		return fmt.Sprint(invocation.AwsRequestID != "", invocation.InvokedFunctionArn != "", time.Until(deadline) > 0, os.Getpid() != 0, len(os.Environ())), nil
	case "pid":
		return fmt.Sprint(os.Getpid()), nil
	case "environment":
		return os.Getenv(e.Text), nil
	case "fail":
		return "", errors.New(e.Text)
	case "exit":
		os.Exit(5)
	case "panic":
		panic(e.Text)
	case "flood":
		return strings.Repeat("x", MaxResponse), nil
	}
	<-make(chan int) // hang, and disregard the context
	return "", nil
}

func start(t *testing.T, in string) *Function {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Start(t, binary, []string{mode + "=" + in})
}

func invoke(t *testing.T, f *Function, do, text string) (string, error) {
	t.Helper()
	payload, err := json.Marshal(event{do, text})
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.Invoke(t.Context(), payload)
	if err != nil {
		return "", err
	}
	var answer string
	if err := json.Unmarshal(response, &answer); err != nil {
		t.Fatal(err)
	}
	return answer, nil
}

func TestInvoke(t *testing.T) {
	f := start(t, "works")
	for _, text := range []string{"a", "ü☃\x00", ""} {
		if got, err := invoke(t, f, "echo", text); err != nil || got != text {
			t.Errorf("echo %q = %q, %v", text, got, err)
		}
	}
	if got, err := invoke(t, f, "describe", ""); err != nil || got != "true true true true 7" {
		t.Errorf("describe = %q, %v", got, err)
	}
	if logs := f.Logs(); !strings.HasPrefix(logs, "started\ninvoked a\n") {
		t.Errorf("logs %q", logs)
	}
}

// A change of the environment is seen by the next invocation, and what was
// logged before stays.
func TestSetenv(t *testing.T) {
	f := start(t, "works")
	for _, want := range []string{"", "first", "second"} {
		if want != "" {
			f.Setenv("LARDER_TABLE", want)
		}
		if got, err := invoke(t, f, "environment", "LARDER_TABLE"); err != nil || got != want {
			t.Errorf("LARDER_TABLE is %q, %v, want %q", got, err, want)
		}
	}
	if got := strings.Count(f.Logs(), "started"); got != 3 {
		t.Errorf("%d processes were started, want 3", got)
	}
}

func TestInvokeAtOnce(t *testing.T) {
	f := start(t, "works")
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			if got, err := invoke(t, f, "echo", fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
				t.Errorf("echo %d = %q, %v", i, got, err)
			}
		})
	}
	running.Wait()
}

// A function that reports an error goes on in the same environment, one that
// dies in another.
func TestErrors(t *testing.T) {
	f := start(t, "works")
	pid := func() string {
		t.Helper()
		pid, err := invoke(t, f, "pid", "")
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	for _, c := range []struct {
		do   string
		want string
		dies bool
	}{
		{"fail", "errorString: because", false},
		{"flood", "Function.ResponseSizeTooLarge", false},
		{"exit", "exit status 5", true},
		{"panic", "string: because", true},
	} {
		before := pid()
		_, err := invoke(t, f, c.do, "because")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.do, err, c.want)
		}
		if died := pid() != before; died != c.dies {
			t.Errorf("%s: died %t, want %t", c.do, died, c.dies)
		}
	}
}

func TestTimeout(t *testing.T) {
	f := start(t, "works")
	before, err := invoke(t, f, "pid", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Invoke(ctx, []byte(`{"Do":"hang"}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Invoke = %v", err)
	}
	if after, err := invoke(t, f, "pid", ""); err != nil || after == before {
		t.Errorf("the same process goes on: %v", err)
	}
}

func TestInitFails(t *testing.T) {
	for mode, want := range map[string]string{"exits": "exit status 3", "tells": "Init: LARDER_TABLE is not set"} {
		f := start(t, mode)
		for range 2 {
			_, err := invoke(t, f, "echo", "")
			if !errors.Is(err, ErrExited) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "LARDER_TABLE") {
				t.Errorf("%s: Invoke = %v", mode, err)
			}
		}
	}
}

func TestColdStart(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	took, err := ColdStart(t.Context(), binary, []string{mode + "=works"})
	if err != nil || took <= 0 {
		t.Errorf("ColdStart = %v, %v", took, err)
	}
	if _, err := ColdStart(t.Context(), binary, []string{mode + "=exits"}); !errors.Is(err, ErrExited) {
		t.Errorf("ColdStart = %v", err)
	}
}
