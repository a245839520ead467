package dynamotest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// onlyStart makes this test binary start an engine, say where and hang.
const onlyStart = "DYNAMOTEST_ONLY_START"

func TestMain(m *testing.M) {
	if os.Getenv(onlyStart) != "" {
		endpoint, _, err := run()
		fmt.Println(endpoint)
		if err == nil {
			select {}
		}
		os.Exit(1)
	}
	os.Exit(Run(m))
}

// TestStart holds that there is one engine, with a table for each test that is
// gone afterwards.
func TestStart(t *testing.T) {
	engine := Start(t)
	var names []string
	for range 2 {
		t.Run("table", func(t *testing.T) {
			if again := Start(t); again != engine {
				t.Errorf("another engine: %+v, %+v", again, engine)
			}
			names = append(names, engine.CreateTable(t))
		})
	}
	if len(names) != 2 || names[0] == names[1] {
		t.Errorf("the tables are %q", names)
	}
	left, err := engine.Client().ListTables(t.Context(), &dynamodb.ListTablesInput{})
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(left.TableNames, name) }) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDiesWithTest kills a test binary, which can do nothing about its engine.
func TestDiesWithTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends the engine with a test that was killed")
	}
	local.Need(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), onlyStart+"=1")
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var endpoint string
	if _, err := fmt.Fscanln(output, &endpoint); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
		response, err := http.Get(endpoint)
		if err != nil {
			return
		}
		response.Body.Close()
		if time.Now().After(deadline) {
			t.Fatalf("the engine at %s lives on", endpoint)
		}
	}
}
