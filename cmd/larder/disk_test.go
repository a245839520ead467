package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/larder-registry/larder/internal/node/disk/disktest"
)

// A disk that is nearly full takes no upload, and says so; what is published is served
// and can be pruned. With room again, all goes on.
func TestNearlyFullDisk(t *testing.T) {
	disktest.Run(t, "64m", testNearlyFullDisk)
}

func testNearlyFullDisk(t *testing.T, _ string) {
	n := newNode(t)
	n.publish(t)
	const again = `. .larder/env; larder publish network --module acme/network/aws --version `
	ballast := filepath.Join(n.dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 62<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	n.mustFail(t, again+"1.3.0", "The disk of the registry has no room for it: nothing was kept.")
	var listed struct {
		Modules []struct{ Versions []struct{ Version string } }
	}
	n.get(t, "/v1/modules/acme/network/aws/versions", &listed)
	if len(listed.Modules) != 1 || len(listed.Modules[0].Versions) != 1 {
		t.Errorf("listed: %+v", listed)
	}
	n.awaitOutcomes(t, "2 objects of ")
	n.stop()
	n.start(t) // and looks at what is in the inbox
	n.log.Await(t, "uploads wait until the disk has room")
	n.must(t, "larder verify", "nothing is wrong")
	n.must(t, "larder prune --older-than 0", "2 objects of ")
	fill(t, ballast)
	for _, command := range []string{"larder deprecate acme/widget 1.0.0 --message old", "larder withdraw acme/network/aws 1.2.3"} {
		out, ok := n.shell(t, command)
		if ok || !strings.HasSuffix(out, " in the bucket: the disk of the registry is full: make room on it, as larder prune does, and try again\n") {
			t.Errorf("%s: %v, printed\n%s", command, ok, out)
		}
	}
	n.mustFail(t, "larder keys rotate", "no space left on device: the disk of the data folder is full; make room on it, and try again")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	n.must(t, again+"1.3.0", "published")
	n.stop()
	for text, want := range map[string]int{"the disk is nearly full: uploads are refused": 2, "there is room on the disk again: uploads are taken": 1} {
		if got := strings.Count(n.log.String(), text); got != want {
			t.Errorf("the log says %d times, and not %d: %q\n%s", got, want, text, &n.log)
		}
	}
}

// fill makes a file larger until the disk has no room for more of it.
func fill(t *testing.T, name string) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for err == nil {
		_, err = file.Write(make([]byte, 4<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
