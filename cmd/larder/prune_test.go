package main

import (
	"strings"
	"testing"
	"time"
)

// A node's inbox is pruned while it serves and while it does not, and what is served
// stays.
func TestPrune(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.publish(t)
	const (
		pkg     = `published    \d{4}-\d\d-\d\d  \d+ bytes  providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip\n`
		archive = `published    \d{4}-\d\d-\d\d  \d+ bytes  modules/acme/network/aws/1.2.3.tar.gz\n`
	)
	n.awaitOutcomes(t, "2 objects of ")
	n.prints(t, "larder prune", `0 objects of 0 bytes removed\n`)
	n.prints(t, "larder prune --dry-run --older-than 0", archive+pkg+`2 objects of \d+ bytes would be removed\n`)
	n.prints(t, "larder prune --older-than 0", archive+pkg+`2 objects of \d+ bytes removed\n`)
	n.prints(t, "larder prune --older-than -1 2>&1 || true", `larder: --older-than is -1: give a number of days, or 0\n`)
	n.must(t, "larder verify", "nothing is wrong")
	n.must(t, `. .larder/env
		larder publish network --module acme/network/aws --version 1.2.3`, "published")
	n.awaitOutcomes(t, "1 object of ")
	n.must(t, `. .larder/env
		aws s3 cp network/main.tf "s3://$LARDER_BUCKET/modules/acme/$(printf 'a\nremoved').txt"`)
	n.awaitOutcomes(t, "2 objects of ")
	n.prints(t, "larder prune --older-than 0 --dry-run | grep removed.txt", `ignored      \d{4}-\d\d-\d\d  \d+ bytes  modules/acme/a�removed.txt\n`)
	n.stop()
	n.prints(t, "larder prune --older-than 0", `ignored .*removed.txt\n`+archive+`2 objects of \d+ bytes removed\n`)
	n.start(t)
	n.must(t, "larder verify", "nothing is wrong")
}

// awaitOutcomes waits until so much could be pruned: an outcome is written after the tags
// that a publisher waits for.
func (n *node) awaitOutcomes(t *testing.T, prunable string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out := n.must(t, "larder prune --dry-run --older-than 0")
		if strings.Contains(out, prunable) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no more to prune than\n%s", out)
		}
	}
}
