package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxSize is the largest that the binary may be, in bytes: some hundredths more than it is.
const maxSize = 54_500_000

// The embedded S3 imports clients of message queues, directories and vaults. The linker
// leaves them out as long as nothing calls them. (It keeps 0.3 MB of the one for NATS.)
func TestTheBinaryIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	file := filepath.Join(t.TempDir(), "larder")
	command := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, ".") // as make larder does
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(len(binary))/1e6)
	if len(binary) > maxSize {
		t.Errorf("the binary has %d bytes, and may have %d", len(binary), maxSize)
	}
	// The names of methods are in a binary also without its debug information.
	for method, want := range map[string]bool{
		"github.com/versity/versitygw/backend/posix.(*Posix).PutObject": true,
		"github.com/segmentio/kafka-go.(*Writer).":                      false,
		"github.com/rabbitmq/amqp091-go.(*Connection).":                 false,
		"github.com/go-ldap/ldap/v3.(*Conn).":                           false,
		"github.com/hashicorp/vault-client-go.(*Client).":               false,
	} {
		if got := bytes.Contains(binary, []byte(method)); got != want {
			t.Errorf("the binary has %s: %v, want %v", method, got, want)
		}
	}
}
