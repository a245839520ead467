package e2e

import (
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A registry moves from one machine to AWS by the lines of docs/moving.md, under its host name: what was published is
// served as it was, lock files go on working, and publishing goes on.
func TestMoveToAWS(t *testing.T) {
	t.Parallel()
	s := startStack(t)
	n := newNode(filepath.Join(t.TempDir(), "data"))
	n.resume(t)
	t.Cleanup(n.kill)
	sums := publishTime(t, n.registry, "hashicorp")
	n.publish(t, "modules/moved/network/aws/1.3.0+build.5.tar.gz", tinyModule(t, "1.3.0"))
	packages := map[string][]byte{}
	for _, platform := range []string{"linux_amd64", "windows_amd64"} {
		key := "providers/moved/widget/terraform-provider-widget_1.0.0_" + platform + ".zip"
		packages[key] = providerZip(t, "widget", "1.0.0", platform)
		n.publish(t, key, packages[key])
	}
	before := answersOf(t, n.registry)
	workspaces := map[string]workspace{}
	for _, c := range clients {
		workspaces[c.String()] = c.workspace(t, n.registry, timeConfig)
		workspaces[c.String()].run(t, "init", "-input=false")
	}

	moved := n.move(t, s)
	if after := answersOf(t, moved); !reflect.DeepEqual(after, before) {
		t.Errorf("before the move\n%+v\nafter it\n%+v", before, after)
	}
	checkTimeDocuments(t, moved, sums)
	moved.checkDoctor(t, "moved/network/aws", "hashicorp/time", "linux_amd64")
	forEachClient(t, func(t *testing.T, c client) {
		w := workspaces[c.String()]
		maps.Copy(w.env, moved.vars)
		if err := os.RemoveAll(filepath.Join(w.dir, ".terraform")); err != nil {
			t.Fatal(err)
		}
		w.run(t, "init", "-input=false", "-lockfile=readonly")
		checkLock(t, w, slices.Collect(maps.Values(sums)))
	})
	key := "providers/moved/widget/terraform-provider-widget_1.0.0_darwin_arm64.zip"
	packages[key] = providerZip(t, "widget", "1.0.0", "darwin_arm64")
	moved.publish(t, key, packages[key])
	checkWhole(t, moved, "moved/widget", "1.0.0", packages)
	if back, after := answersOf(t, s.moveBack(t)), answersOf(t, moved); !reflect.DeepEqual(back, after) {
		t.Errorf("on AWS\n%+v\nback on one machine\n%+v", after, back)
	}
}

// moveBack is a node that is restored from a copy of what a stack has published.
func (s *stack) moveBack(t testing.TB) *registry {
	t.Helper()
	dir := t.TempDir()
	command{dir: dir, env: s.vars, argv: []string{"aws", "s3", "sync", "--only-show-errors", "s3://" + s.Bucket + "/registry/", "copied/registry/"}}.must(t)
	n := newNode(filepath.Join(dir, "data"))
	command{dir: dir, argv: []string{larder, "backup", "restore", "copied", "--plain", "--data", n.data}}.must(t)
	n.resume(t)
	t.Cleanup(n.kill)
	return n.registry
}

// answersOf is the registry's answers about what is moved, with the sha256 of each file instead of its URL.
func answersOf(t testing.TB, r *registry) (all []any) {
	t.Helper()
	all = append(all, r.moduleVersions(t, "moved/network/aws"), r.providerVersions(t, "moved/widget"), r.providerVersions(t, "hashicorp/time"))
	all = append(all, r.moduleLocation(t, "moved/network/aws/1.3.0+build.5").Query().Get("checksum"))
	for _, pkg := range []string{"moved/widget/1.0.0", "hashicorp/time/" + timeVersion} {
		doc := r.packageDocument(t, pkg, "linux/amd64")
		for _, url := range []*string{&doc.SHASumsURL, &doc.SHASumsSignatureURL, &doc.DownloadURL} {
			*url = shaOf(r.fetch(t, *url))
		}
		all = append(all, doc)
	}
	return all
}

// move moves a node to a stack, in shells with the settings of each operator, and returns the stack under the node's
// host name.
func (n *node) move(t testing.TB, s *stack) *registry {
	t.Helper()
	dir := t.TempDir()
	for name, target := range map[string]string{"larder": larder, ".larder": n.data} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := dir + string(os.PathListSeparator) + os.Getenv("PATH")
	mover, operator := maps.Clone(s.vars), maps.Clone(s.operator)
	mover["PATH"], operator["PATH"] = path, path
	// The AWS CLI sends checksums in an encoding that S3 removes, and that the local S3 keeps as the object's own.
	mover["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"
	for _, step := range []struct {
		block string
		env   map[string]string
	}{{"out", map[string]string{"PATH": path}}, {"in", mover}, {"reindex", operator}} {
		script := strings.ReplaceAll(docBlock(t, "../docs/moving.md", step.block), "example-registry", s.Bucket)
		out := command{dir: dir, env: step.env, argv: []string{"sh", "-euc", script}}.must(t)
		if step.block == "reindex" && !strings.Contains(out, "3 versions: 3 written") {
			t.Errorf("larder reindex said\n%s", out)
		}
	}
	n.stop(t)
	forward(t, n.host, s.Host)
	moved := &registry{log: s.log}
	vars := maps.Clone(s.vars)
	vars["LARDER_HOST"] = n.host
	if err := moved.connect(vars); err != nil {
		t.Fatal(err)
	}
	return moved
}

// docBlock returns the block of lines to copy in a page that is marked for test with this name.
func docBlock(t testing.TB, page, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(string(readFile(t, page)), "<!-- test: "+name+" -->\n")
	indentation, rest, opened := strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "\n") // the language of the lines
	block, _, closed := strings.Cut(rest, indentation+"```\n")
	if !found || !opened || !closed || strings.TrimSpace(indentation) != "" {
		t.Fatalf("%s has no block that is marked %s", page, name)
	}
	return block
}

// forward makes an address lead to another one until the test ends, as a change of DNS does.
func forward(t testing.TB, from, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go splice(conn, to)
		}
	}()
}

// splice joins a connection with one to an address until one side of either ends, as the server's does with its test.
func splice(conn net.Conn, to string) {
	defer conn.Close()
	other, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer other.Close()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn, other}, {other, conn}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
}
