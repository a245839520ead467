package credentials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// home makes a home folder with files, and the environment for it.
func home(t *testing.T, contents map[string]string, more ...string) []string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"HOME=" + dir}
	for _, variable := range more {
		environ = append(environ, strings.ReplaceAll(variable, "DIR", dir))
	}
	return environ
}

func TestFind(t *testing.T) {
	const host = "registry.example.com"
	block := func(host, token string) string {
		return "plugin_cache_dir = \"$HOME/x\"\ncredentials \"" + host + "\" {\n  token = \"" + token + "\"\n}\n"
	}
	stored := func(host, token string) string {
		return `{"credentials":{"` + host + `":{"token":"` + token + `"}},"other":1}`
	}
	const login = ".terraform.d/credentials.tfrc.json"
	for _, tt := range []struct {
		name  string
		files map[string]string
		more  []string
		host  string
		want  string
		fails string
	}{
		{"nothing", nil, nil, host, "", ""},
		{"the environment", map[string]string{".terraformrc": block(host, "b")}, []string{"TF_TOKEN_registry_example_com=a"}, host, "a", ""},
		{"a configuration", map[string]string{".terraformrc": block(host, "b"), login: stored(host, "c")}, nil, host, "b", ""},
		{"one of OpenTofu", map[string]string{".tofurc": block(host, "d"), ".terraformrc": block(host, "b")}, nil, host, "d", ""},
		{"a login", map[string]string{".terraformrc": block("other.example.com", "b"), login: stored(host, "c")}, nil, host, "c", ""},
		{"a login of OpenTofu", map[string]string{".config/opentofu/credentials.tfrc.json": stored(host, "e")}, nil, host, "e", ""},
		{"a folder for configurations", map[string]string{"x/opentofu/tofurc": block(host, "f")}, []string{"XDG_CONFIG_HOME=DIR/x"}, host, "f", ""},
		{"another file", map[string]string{".terraformrc": block(host, "b"), "mine": block(host, "g")}, []string{"TF_CLI_CONFIG_FILE=DIR/mine"}, host, "g", ""},
		{"an older variable", map[string]string{"mine": block(host, "g")}, []string{"TERRAFORM_CONFIG=DIR/mine"}, host, "g", ""},
		{"Windows", map[string]string{"app/terraform.rc": block(host, "h")}, []string{"APPDATA=DIR/app"}, host, "h", ""},
		{"a port", map[string]string{".terraformrc": block("127.0.0.1:8443", "i")}, nil, "127.0.0.1:8443", "i", ""},
		{"another port", map[string]string{".terraformrc": block("127.0.0.1:8443", "i")}, nil, "127.0.0.1:9443", "", ""},
		{"capitals", map[string]string{login: stored("Registry.Example.com:443", "c")}, nil, host, "c", ""},
		{"a block without a token", map[string]string{".terraformrc": "credentials \"" + host + "\" {}\n"}, nil, host, "", ""},
		{"a mistake", map[string]string{".terraformrc": "x = {\n"}, nil, host, "", ".terraformrc cannot be read: there is a mistake in line"},
		{"a mistake, and a login", map[string]string{".terraformrc": "x = {\n", login: stored(host, "c")}, nil, host, "c", ""},
		{"no text", map[string]string{".terraformrc": "credentials \"" + host + "\" {\n token = secret\n}\n"}, nil, host, "", "is not a text in quotes"},
		{"null", map[string]string{".terraformrc": "credentials \"" + host + "\" {\n token = null\n}\n"}, nil, host, "", "is not a text in quotes"},
		{"no JSON", map[string]string{login: "secret"}, nil, host, "", "it is not a JSON document with credentials"},
		{"a large file", map[string]string{login: strings.Repeat(" ", maxFile+1)}, nil, host, "", "larger than 1 MiB"},
		{"a folder", map[string]string{".terraformrc/x": ""}, nil, host, "", ".terraformrc"},
	} {
		got, err := Find(tt.host, home(t, tt.files, tt.more...))
		if got != tt.want || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %q, %v, want %q, %q", tt.name, got, err, tt.want, tt.fails)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has the content: %v", tt.name, err)
		}
	}
	if got, err := Find(host, nil); got != "" || err != nil {
		t.Errorf("without a home: %q, %v", got, err)
	}
}

func FuzzInHCL(f *testing.F) {
	f.Add([]byte("credentials \"a.example.com\" {\n token = \"x\"\n}\n"))
	f.Add([]byte("credentials \"a.example.com\" {\n token = \"${x}\"\n}\n"))
	f.Add([]byte("credentials = 1\ncredentials {}\n"))
	f.Fuzz(func(_ *testing.T, content []byte) {
		_, _ = inHCL(content, "a.example.com")
		_, _ = inJSON(content, "a.example.com")
	})
}
