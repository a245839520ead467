package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/larder-registry/larder/internal/node/envfile"
)

// A shell gets what it needs to publish and to operate, wherever it is, and has its own
// settings back afterwards.
func TestEnv(t *testing.T) {
	t.Parallel()
	n := newNode(t, "AWS_PROFILE=dev")
	file, err := os.ReadFile(filepath.Join(n.dir, ".larder", "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"larder env", "cd / && larder env --data " + n.dir + "/.larder", ". .larder/env; cd /; larder env"} {
		if got := n.must(t, script); got != string(file) {
			t.Errorf("%s: printed\n%s\nwant\n%s", script, got, file)
		}
	}
	n.must(t, `eval "$(larder env)"; cd /; echo "<${AWS_PROFILE-}>"; larder token list`, "<>\nNAME  ID  OWNER")
	n.must(t, `. .larder/env; cd /; eval "$(larder env --unset)"; printenv AWS_PROFILE; echo "<${LARDER_DATA-unset}>"`, "dev\n<unset>\n")
	n.must(t, `. .larder/env; unset LARDER_ADDR LARDER_S3_ADDR; larder serve --addr 127.0.0.1:0 --s3-addr 127.0.0.1:0 2>&1 || true`, "the data folder is in use")
	if got := n.must(t, "cd /; larder env --unset"); got != envfile.Unset() {
		t.Errorf("--unset printed\n%s", got)
	}
	n.mustFail(t, "cd /; larder env", "larder: no registry serves from .larder: start one with larder serve, or name its data folder with --data\n")
}
