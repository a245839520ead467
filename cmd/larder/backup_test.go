package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A node is backed up while it serves, to a folder and to a stream, and serves again from
// either, on other addresses: with its tokens, and with nothing wrong.
func TestBackup(t *testing.T) {
	t.Parallel()
	n := newNode(t, "LARDER_AUTH=required")
	n.publish(t)
	token := strings.TrimSpace(n.must(t, "larder token create --name ci --scope 'read *' 2>/dev/null"))
	const list = "/v1/providers/acme/widget/versions"
	if status, body := n.ask(t, list, token); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	const has = `2 versions, 0 uploads not published yet, 5 files of the data folder, \d+ KiB`
	for script, prints := range map[string]string{
		"larder backup create backup 2>/dev/null":                        `backup: ` + has + `; all of it was verified\n`,
		"larder backup create - 2>&1 >backup.tar":                        `(?:.*what is published\n)+` + has + `; written\n`,
		"larder backup create again >/dev/null":                          `(?:.*what is published\n)+(?:.*the backup\n)+`,
		"larder backup restore backup 2>&1 || true":                      `larder: ` + n.dir + `/\.larder is not empty, and nothing is overwritten: name another folder with --data, or move this one away while no server runs\n`,
		"LARDER_DATA= larder backup restore backup --data= 2>&1 || true": `larder: --data is empty: give the data folder, or leave it out for \.larder\n`,
		"larder backup restore - --plain --data x 2>&1 || true":          `larder: --plain is for a folder: name it in place of -\n`,
		"LARDER_DATA=nowhere larder backup create x 2>&1 || true":        `larder: ` + n.dir + `/nowhere is not the data folder of a registry: name it with --data, or LARDER_DATA \(.*\)\n`,
	} {
		n.prints(t, script, prints)
	}
	for script, prints := range map[string]string{
		"larder backup verify backup 2>/dev/null":                        `backup: ` + has + `; all of it was verified\n`,
		"larder backup verify - <backup.tar 2>/dev/null":                 has + `; all of it was verified\n`,
		"larder backup restore backup --data one 2>/dev/null":            has + `; all of it was verified\nstart it with  larder serve --data ` + n.dir + `/one\n`,
		"larder backup restore - --data two <backup.tar 2>/dev/null":     has + `; all of it was verified\nstart it with  larder serve --data ` + n.dir + `/two\n`,
		"head -c 30000 backup.tar | larder backup verify - 2>&1 || true": `failed  the backup\nlarder: the backup is cut off in \S+/data/\S+: manifest.json, its last file, is missing\n`,
	} {
		n.prints(t, script, prints)
	}
	n.stop()
	if err := os.RemoveAll(filepath.Join(n.dir, ".larder")); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{"one", "two"} {
		if err := os.Rename(filepath.Join(n.dir, data), filepath.Join(n.dir, ".larder")); err != nil {
			t.Fatal(err)
		}
		n.start(t)
		if status, body := n.ask(t, list, token); status != 200 || !strings.Contains(string(body), `"1.0.0"`) {
			t.Errorf("%s: %d %s", data, status, body)
		}
		n.must(t, "larder verify", "nothing is wrong")
		n.stop()
		n.must(t, "larder backup create stopped-"+data, "2 versions, 0 uploads not published yet, ", "all of it was verified")
		if err := os.RemoveAll(filepath.Join(n.dir, ".larder")); err != nil {
			t.Fatal(err)
		}
	}
}

// prints runs lines of a shell that print just what a pattern says.
func (n *node) prints(t *testing.T, script, pattern string) {
	t.Helper()
	if out := n.must(t, script); !regexp.MustCompile(`^` + pattern + `$`).MatchString(out) {
		t.Errorf("%s: printed\n%s\nwant\n%s", script, out, pattern)
	}
}
