package credentials

import "testing"

func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"registry.example.com":           "registry.example.com",
		"https://registry.example.com":   "registry.example.com",
		"https://Registry.Example.com/":  "registry.example.com",
		"registry.example.com:443":       "registry.example.com",
		"https://127.0.0.1:8443":         "127.0.0.1:8443",
		"bücher.example.com":             "xn--bcher-kva.example.com",
		"http://registry.example.com":    "",
		"https://registry.example.com/x": "",
		"https://u@registry.example.com": "",
		"registry.example.com?x":         "",
		"":                               "",
		"registry example.com":           "",
		"registry.example.com:port":      "",
	} {
		if got, err := ParseHost(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestFindToken(t *testing.T) {
	environ := []string{
		"PATH=/bin", "TF_TOKEN_registry_example_com=a", "TF_TOKEN_my__registry_example_com=b", "TF_TOKEN_127_0_0_1:8443=c",
		"TF_TOKEN_dotted.example.com=d", "TF_TOKEN_=x", "TF_TOKEN_xn____bcher__kva_example_com=e",
	}
	for host, want := range map[string]string{
		"registry.example.com": "a", "my-registry.example.com": "b", "127.0.0.1:8443": "c",
		"dotted.example.com": "d", "xn--bcher-kva.example.com": "e", "other.example.com": "",
	} {
		if got := FindToken(host, environ); got != want {
			t.Errorf("the token for %s is %q, want %q", host, got, want)
		}
		if name := TokenVariable(host); want != "" && want != "d" && FindToken(host, []string{name + "=same"}) != "same" {
			t.Errorf("%s is not found in %s", host, name)
		}
	}
}
