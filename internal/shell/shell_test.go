package shell

import (
	"os/exec"
	"strings"
	"testing"
)

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "a b", "it's", `$HOME`, "`id`", "a\nb", "*", "~", "#", "-n", "ümlaut", `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) {
			return // can stand neither in an environment nor in a path
		}
		cmd := exec.Command("sh", "-euc", "printf %s "+Quote(s))
		out, err := cmd.Output()
		if err != nil || string(out) != s {
			t.Errorf("Quote(%q) is %q to a shell, %v", s, out, err)
		}
	})
}
