package archive

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestParseManifest(t *testing.T) {
	for _, test := range []struct {
		name, data string
		want       []string
	}{
		{"plain", `{"version":1,"metadata":{"protocol_versions":["5.0"]}}`, []string{"5.0"}},
		{"two majors", `{"version":1,"metadata":{"protocol_versions":["6.0","5.1"]}}`, []string{"5.1", "6.0"}},
		{"highest minor", `{"version":1,"metadata":{"protocol_versions":["5.9","5.10","5.0","5.10"]}}`, []string{"5.10"}},
		{"order of numbers", `{"version":1,"metadata":{"protocol_versions":["10.0","9.0"]}}`, []string{"9.0", "10.0"}},
		{"unknown fields", `{"$schema":"x","version":1,"metadata":{"protocol_versions":["5.0"],"more":{}}}` + "\n", []string{"5.0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseManifest([]byte(test.data))
			check(t, err)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q; want %q", got, test.want)
			}
		})
	}
}

func TestParseManifestRejects(t *testing.T) {
	protocols := func(list string) string { return `{"version":1,"metadata":{"protocol_versions":` + list + `}}` }
	for _, test := range []struct{ rule, data, want string }{
		{"empty", ``, "not the JSON that is expected"},
		{"not JSON", `version: 1`, "not the JSON that is expected"},
		{"array", `[]`, "not the JSON that is expected"},
		{"more after it", protocols(`["5.0"]`) + `{}`, "not the JSON that is expected"},
		{"too large", protocols(`["5.0"]`) + strings.Repeat(" ", MaxManifest), "more than 64 KiB"},
		{"no version", `{"metadata":{"protocol_versions":["5.0"]}}`, `"version" is 0 or missing`},
		{"version 2", `{"version":2,"metadata":{"protocol_versions":["5.0"]}}`, `"version" is 2`},
		{"version as text", `{"version":"1","metadata":{"protocol_versions":["5.0"]}}`, "not the JSON that is expected"},
		{"null", `null`, `"version" is 0 or missing`},
		{"no metadata", `{"version":1}`, "empty or missing"},
		{"no protocols", protocols(`[]`), "empty or missing"},
		{"protocols as text", protocols(`"5.0"`), "not the JSON that is expected"},
		{"numbers", protocols(`[5.0]`), "not the JSON that is expected"},
		{"null among them", protocols(`["5.0",null]`), `"" is not MAJOR.MINOR`},
		{"major alone", protocols(`["5"]`), `"5" is not MAJOR.MINOR`},
		{"patch", protocols(`["5.0.0"]`), `"5.0.0" is not MAJOR.MINOR`},
		{"leading v", protocols(`["v5.0"]`), "is not MAJOR.MINOR"},
		{"leading zero", protocols(`["05.0"]`), "is not MAJOR.MINOR"},
		{"sign", protocols(`["+5.0"]`), "is not MAJOR.MINOR"},
		{"space", protocols(`["5.0\n"]`), "is not MAJOR.MINOR"},
		{"huge", protocols(`["5.100000"]`), "is not MAJOR.MINOR"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := ParseManifest([]byte(test.data))
			if err == nil || !strings.Contains(err.Error(), test.want) || got != nil {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"version":1,"metadata":{"protocol_versions":["5.0","6.1"]}}`))
	f.Add([]byte(`{"version":1,"metadata":{"protocol_versions":["5","v6.0",null]}}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		protocols, err := ParseManifest(data)
		if err != nil {
			return
		}
		if len(protocols) == 0 {
			t.Fatal("no protocols and no error")
		}
		again, err := json.Marshal(map[string]any{"version": 1, "metadata": map[string]any{"protocol_versions": protocols}})
		check(t, err)
		got, err := ParseManifest(again)
		check(t, err)
		if !slices.Equal(got, protocols) {
			t.Errorf("%q is normalised again to %q", protocols, got)
		}
	})
}
