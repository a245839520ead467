package archive

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// FuzzNames makes archives of names, one on each line: at the top level, and in a folder that
// is unwrapped.
func FuzzNames(f *testing.F) {
	for _, rule := range nameRules {
		f.Add(strings.Join(rule.names, "\n"))
	}
	f.Fuzz(func(t *testing.T, lines string) {
		names := strings.Split(lines, "\n")
		if len(names) > 20 || slices.Contains(names, "") || strings.Contains(lines, "\x00") { // a tar has no such names
			return
		}
		members := files(names...)
		wrapped := files("w/main.tf")
		for _, m := range members {
			m.name = "w/" + strings.TrimPrefix(m.name, "./")
			wrapped = append(wrapped, m)
		}
		_, alone := checkModuleBytes(zipOf(t, append(members, files("main~.tf")...)...), Zip)
		for _, format := range []Format{Zip, TarGz} {
			data := archiveOf(t, format, wrapped...)
			got, err := checkModuleBytes(data, format)
			if err != nil {
				wantViolation(t, err, "")
				continue
			}
			if alone != nil && !strings.Contains(alone.Error(), "main~.tf") {
				t.Errorf("%v: %q is accepted in a folder, but not by itself: %v", format, names, alone)
			}
			if got.Wrapper != "w" {
				t.Errorf("%v: %q has the wrapper %q", format, names, got.Wrapper)
			}
			wantSameModule(t, data, unwrapBytes(t, data, format, "w"), format)
			wantApart(t, names)
		}
	})
}

// wantApart checks that no name or folder in it is that of another one to a file
// system that ignores case or keeps letters and accents apart.
func wantApart(t *testing.T, names []string) {
	t.Helper()
	seen := make(map[string]string)
	for _, name := range names {
		for i := range name + "/" {
			if i < len(name) && name[i] != '/' {
				continue
			}
			part := name[:i]
			for _, form := range []norm.Form{norm.NFC, norm.NFD} {
				for _, as := range []string{strings.ToLower(form.String(part)), form.String(strings.ToUpper(part))} {
					if other, ok := seen[as]; ok && other != part {
						t.Errorf("%+q and %+q are both accepted", other, part)
					}
					seen[as] = part
				}
			}
		}
	}
}
