package shasums

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	linux  = "terraform-provider-widget_1.0.0_linux_amd64.zip"
	darwin = "terraform-provider-widget_1.0.0_darwin_arm64.zip"
)

var (
	hashA = strings.Repeat("0a", 32)
	hashB = strings.Repeat("f9", 32)
)

func TestParse(t *testing.T) {
	document := hashB + "  " + linux + "\n" + hashA + "  " + darwin + "\n"
	sums, err := Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(sums.Bytes()); got != document {
		t.Errorf("Bytes() = %q, want the bytes that were parsed", got)
	}
	if hash, ok := sums.SHA256(darwin); !ok || hash != hashA {
		t.Errorf("SHA256(%q) = %q, %v", darwin, hash, ok)
	}
	if hash, ok := sums.SHA256("other.zip"); ok {
		t.Errorf("SHA256 of a file that is not listed = %q", hash)
	}
	var names []string
	for name := range sums.All() {
		names = append(names, name)
	}
	if want := []string{linux, darwin}; !slices.Equal(names, want) || sums.Len() != 2 {
		t.Errorf("All() = %q, Len() = %d, want %q in the document's order", names, sums.Len(), want)
	}
	for range sums.All() {
		break // stopping early must not panic
	}
}

func TestParseAccepts(t *testing.T) {
	for _, name := range []string{
		"terraform-provider-widget_1.0.0_manifest.json",
		"-", "a", ".hidden", "größe.zip", "a+b~c.zip",
		strings.Repeat("n", maxNameLength),
	} {
		if _, err := Parse([]byte(hashA + "  " + name + "\n")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestParseRejects(t *testing.T) {
	good := hashA + "  good.zip\n"
	tests := map[string]struct {
		document string
		want     []string // a part of each violation, all of them
	}{
		"empty":                 {"", []string{"document is empty"}},
		"too large":             {strings.Repeat("x", MaxSize+1), []string{"1048577 bytes, more than the 1048576"}},
		"only a line feed":      {"\n", []string{"line 1 is blank"}},
		"blank first line":      {"\n" + good, []string{"line 1 is blank"}},
		"blank line inside":     {good + "\n" + hashB + "  b\n", []string{"line 2 is blank"}},
		"blank last line":       {good + "\n", []string{"line 2 is blank"}},
		"line of spaces":        {good + "  \t\n", []string{"line 2 is blank"}},
		"no final line feed":    {strings.TrimSuffix(good, "\n"), []string{"last line does not end in a line feed"}},
		"CRLF":                  {hashA + "  a\r\n" + hashB + "  b\r\n", []string{"line 1 ends in a carriage return", "line 2 ends in a carriage return"}},
		"CR alone":              {hashA + "  a\r" + hashB + "  b\n", []string{"line 1 has white space"}},
		"binary mode":           {good + hashB + " *b.zip\n", []string{`line 2 marks its file with "*"`}},
		"text mode with *":      {hashB + "  *b.zip\n", []string{`line 1 has a "*"`}},
		"duplicate":             {good + hashB + "  b\n" + hashB + "  good.zip\n", []string{`line 3 lists "good.zip" again, after line 1`}},
		"same line twice":       {good + good, []string{"line 2 lists"}},
		"upper-case hash":       {strings.ToUpper(hashA) + "  a\n", []string{"line 1 has a hash with upper-case"}},
		"short hash":            {hashA[1:] + "  a\n", []string{"line 1 does not have a SHA-256"}},
		"long hash":             {hashA + "0  a\n", []string{"line 1 does not have a SHA-256"}},
		"SHA-512":               {hashA + hashB + "  a\n", []string{"line 1 does not have a SHA-256"}},
		"not hexadecimal":       {hashA[:63] + "g  a\n", []string{"line 1 does not have a SHA-256"}},
		"hash of wide letters":  {hashA[:61] + "ａ  a\n", []string{"line 1 does not have a SHA-256"}},
		"byte order mark":       {"\ufeff" + good, []string{"line 1 does not have a SHA-256"}},
		"one space":             {hashA + " a\n", []string{"line 1 lacks the two spaces"}},
		"tab":                   {hashA + "\ta\n", []string{"line 1 lacks the two spaces", "line 1 does not have a SHA-256"}},
		"three spaces":          {hashA + "   a\n", []string{"line 1 has white space"}},
		"leading space":         {" " + hashA + "  a\n", []string{"line 1 does not have a SHA-256"}},
		"hash alone":            {hashA + "\n", []string{"line 1 lacks the two spaces"}},
		"no name":               {hashA + "  \n", []string{"line 1 has no file name"}},
		"dot":                   {hashA + "  .\n", []string{"line 1 has no file name"}},
		"dot dot":               {hashA + "  ..\n", []string{"line 1 has no file name"}},
		"trailing text":         {hashA + "  a.zip # checked\n", []string{"line 1 has white space or further text"}},
		"trailing space":        {hashA + "  a.zip \n", []string{"line 1 has white space"}},
		"no-break space":        {hashA + "  a\u00a0b\n", []string{"line 1 has white space"}},
		"path":                  {hashA + "  dist/a.zip\n", []string{"line 1 has a path"}},
		"backslash":             {hashA + "  dist\\a.zip\n", []string{"line 1 has a path"}},
		"NUL":                   {hashA + "  a\x00b\n", []string{"line 1 has a control or invisible character"}},
		"DEL":                   {hashA + "  a\x7f\n", []string{"line 1 has a control or invisible character"}},
		"right-to-left mark":    {hashA + "  a\u202eb\n", []string{"line 1 has a control or invisible character"}},
		"not UTF-8":             {hashA + "  a\xff\n", []string{"line 1 has a file name that is not UTF-8"}},
		"overlong UTF-8":        {hashA + "  a\xc0\xaf\n", []string{"line 1 has a file name that is not UTF-8"}},
		"long name":             {hashA + "  " + strings.Repeat("n", maxNameLength+1) + "\n", []string{"line 1 has a file name of 256 bytes"}},
		"BSD format":            {"SHA256 (a.zip) = " + hashA + "\n", []string{"line 1 lacks the two spaces", "line 1 does not have a SHA-256"}},
		"PGP clear text":        {"-----BEGIN PGP SIGNED MESSAGE-----\n", []string{"line 1 lacks", "line 1 does not have"}},
		"several things, a lot": {strings.ToUpper(hashA) + "  x/y\r\n\n" + good, []string{"line 1 ends in", "line 1 has a path", "line 1 has a hash with upper", "line 2 is blank"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(test.document))
			checkViolations(t, err, test.want)
		})
	}
}

func TestViolationsAreBounded(t *testing.T) {
	_, err := Parse([]byte(strings.Repeat("\n", 5000)))
	var found Violations
	if !errors.As(err, &found) || len(found) != maxViolations+1 {
		t.Fatalf("got %d violations, want %d", len(found), maxViolations+1)
	}
	if last := found[maxViolations]; !strings.Contains(last, "more problems") {
		t.Errorf("last violation is %q", last)
	}
	_, err = Parse([]byte(strings.Repeat("z", 100_000)))
	if len(err.Error()) > 1000 {
		t.Errorf("a long line makes an error of %d bytes", len(err.Error()))
	}
}

func TestNew(t *testing.T) {
	given := map[string]string{linux: hashB, darwin: hashA}
	sums, err := New(given)
	if err != nil {
		t.Fatal(err)
	}
	want := hashA + "  " + darwin + "\n" + hashB + "  " + linux + "\n"
	if got := string(sums.Bytes()); got != want {
		t.Errorf("Bytes() = %q, want lines sorted by name: %q", got, want)
	}
	given[linux] = "changed"
	if got := string(sums.Bytes()); got != want {
		t.Error("the document changes with the map that it was made from")
	}
	parsed, err := Parse(sums.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := maps.Collect(parsed.All()); !maps.Equal(got, maps.Collect(sums.All())) {
		t.Errorf("Parse(New(x).Bytes()) = %v", got)
	}
}

func TestNewRejects(t *testing.T) {
	tests := map[string]struct {
		sums map[string]string
		want []string
	}{
		"nothing":          {nil, []string{"document is empty"}},
		"bad hash":         {map[string]string{"a": "abc"}, []string{`"a" does not have a SHA-256`}},
		"upper-case hash":  {map[string]string{"a": strings.ToUpper(hashB)}, []string{`"a" has a hash with upper-case`}},
		"name with a line": {map[string]string{"a\n" + hashA + "  b": hashA}, []string{"has white space"}},
		"two at fault":     {map[string]string{"a/b": hashA, "c": ""}, []string{`"a/b" has a path`, `"c" does not have`}},
		"too large":        {crowd(MaxSize/crowdLine + 1), []string{"more than the 1048576"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(test.sums)
			checkViolations(t, err, test.want)
		})
	}
	if _, err := New(crowd(MaxSize / crowdLine)); err != nil {
		t.Errorf("a document just below the limit: %v", err)
	}
}

const crowdLine = hashLength + len(separator) + 200 + len("\n")

// crowd returns the sums of a document of n lines of crowdLine bytes each.
func crowd(n int) map[string]string {
	sums := make(map[string]string, n)
	for i := range n {
		sums[fmt.Sprintf("%0200d", i)] = hashA
	}
	return sums
}

func checkViolations(t *testing.T, err error, want []string) {
	t.Helper()
	var found Violations
	if !errors.As(err, &found) {
		t.Fatalf("error is %v, want Violations", err)
	}
	if len(found) != len(want) {
		t.Fatalf("violations are %q, want %d", found, len(want))
	}
	for i, part := range want {
		if !strings.Contains(found[i], part) {
			t.Errorf("violation %d is %q, want it to say %q", i, found[i], part)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		hashA + "  a.zip\n",
		hashA + "  a.zip\n" + hashB + "  b.zip\n",
		hashA + " *a.zip\r\n\n",
		strings.ToUpper(hashA) + "  a/b\n",
		"\n", "", "\ufeff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sums, err := Parse(data)
		if err != nil {
			var found Violations
			if !errors.As(err, &found) || len(found) == 0 || len(found) > maxViolations+1 {
				t.Fatalf("error is %v", err)
			}
			return
		}
		if string(sums.Bytes()) != string(data) {
			t.Fatalf("Bytes() = %q, want %q", sums.Bytes(), data)
		}
		checkAsClient(t, data, sums)
		sorted, err := New(maps.Collect(sums.All()))
		if err != nil {
			t.Fatalf("New refuses what Parse accepts: %v", err)
		}
		again, err := Parse(sorted.Bytes())
		if err != nil || !maps.Equal(maps.Collect(again.All()), maps.Collect(sums.All())) {
			t.Fatalf("Parse(New(x).Bytes()) = %v, %v", again, err)
		}
	})
}

// checkAsClient reads the document as the Terraform and OpenTofu CLIs do: by
// lines, and in each line by white space.
func checkAsClient(t *testing.T, data []byte, sums Sums) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if len(lines) != sums.Len() {
		t.Fatalf("%d lines, Len() = %d", len(lines), sums.Len())
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			t.Fatalf("a client sees %d fields in %q", len(fields), line)
		}
		if hash, _ := sums.SHA256(fields[1]); hash != fields[0] {
			t.Fatalf("a client sees %q for %q, SHA256 is %q", fields[0], fields[1], hash)
		}
	}
}
