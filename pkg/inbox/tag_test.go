package inbox

import (
	"strings"
	"testing"
)

func TestTagValue(t *testing.T) {
	for _, test := range []struct {
		reasons []string
		want    string
	}{
		{nil, ""},
		{[]string{`version "v1" has a leading v: write "1"`}, "version v1 has a leading v: write 1"},
		{[]string{"The file is empty (0 bytes).", "b", "c"}, "The file is empty - 0 bytes. - and 2 more"},
		{[]string{"a link, not a file; really"}, "a link - not a file - really"},
		{[]string{"schön\n"}, "sch n"},
		{[]string{"it has other bytes (sha256 " + strings.Repeat("0a", 32) + "; this file: " + strings.Repeat("1f", 32) + "): publish a new one"}, "it has other bytes: publish a new one"},
		{[]string{"another hash (h1:" + strings.Repeat("A", 43) + "=; the package: h1:" + strings.Repeat("B", 43) + "=)"}, "another hash"},
		{[]string{"sign anew (gpg --detach-sign)"}, "sign anew - gpg --detach-sign"},
		{[]string{"goes to providers/<namespace>/<type>/"}, "goes to providers/NAMESPACE/TYPE/"},
		{[]string{"under terraform-provider-<type>_<any name>.zip"}, "under terraform-provider-TYPE_ANY NAME.zip"},
		{[]string{strings.Repeat("x", 300)}, strings.Repeat("x", 256)},
		{[]string{strings.Repeat("x", 300), "b"}, strings.Repeat("x", 243) + " - and 1 more"},
	} {
		got := TagValue(test.reasons)
		if got != test.want {
			t.Errorf("TagValue(%q) = %q, want %q", test.reasons, got, test.want)
		}
		if len(got) > 256 || strings.ContainsFunc(strings.ReplaceAll(got, " ", ""), notInTags) {
			t.Errorf("TagValue(%q) = %q is not within S3's alphabet and length", test.reasons, got)
		}
	}
}
