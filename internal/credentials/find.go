package credentials

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/zclconf/go-cty/cty"
)

// maxFile is the largest configuration file that is read, in bytes.
const maxFile = 1 << 20

// Find finds the token for a host, as [ParseHost] returns it: in the environment (the form of
// [os.Environ]), in the configuration files of Terraform and OpenTofu, or where they keep the
// tokens of logins. It returns "" if there is none. Helper programs are not asked.
//
// An error says which file could not be read. There may be a token in it, or in a later one:
// the token is that of the other files, if they have one.
func Find(host string, environ []string) (token string, err error) {
	if token := FindToken(host, environ); token != "" {
		return token, nil
	}
	var failed error
	for _, file := range files(environ) {
		found, err := inFile(file, host)
		if found != "" {
			return found, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// files are those that may have tokens, in the order of the clients: what a person wrote comes
// before what a login stored.
func files(environ []string) []string {
	env := func(name string) string { return value(environ, name) }
	written := []string{cmp.Or(env("TF_CLI_CONFIG_FILE"), env("TERRAFORM_CONFIG"))}
	var folders []string
	if home := cmp.Or(env("HOME"), env("USERPROFILE")); home != "" {
		if written[0] == "" {
			written = []string{filepath.Join(home, ".tofurc"), filepath.Join(home, ".terraformrc")}
		}
		folders = append(folders, filepath.Join(home, ".terraform.d"), filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "opentofu"))
	}
	if data := env("APPDATA"); data != "" { // on Windows
		written = append(written, filepath.Join(data, "tofu.rc"), filepath.Join(data, "terraform.rc"))
		folders = append(folders, filepath.Join(data, "terraform.d"))
	}
	for _, folder := range folders {
		written = append(written, filepath.Join(folder, "tofurc"))
	}
	for _, folder := range folders {
		written = append(written, filepath.Join(folder, "credentials.tfrc.json"))
	}
	return slices.DeleteFunc(written, func(file string) bool { return file == "" })
}

// value is the value of a variable, the last one if there are several.
func value(environ []string, name string) string {
	for _, variable := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// inFile is the token for a host in one file. A file that is not there has none.
func inFile(file, host string) (string, error) {
	opened, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err // names the file
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = errors.New("it is larger than 1 MiB")
	}
	var token string
	if err == nil {
		read := inHCL
		if strings.HasSuffix(file, ".json") {
			read = inJSON
		}
		token, err = read(content, host)
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", file, err)
	}
	return token, nil
}

// inJSON reads what logins store. The errors have nothing of the content, which is secret.
func inJSON(content []byte, host string) (string, error) {
	var stored struct {
		Credentials map[string]struct {
			Token string `json:"token"`
		} `json:"credentials"`
	}
	if json.Unmarshal(content, &stored) != nil {
		return "", errors.New("it is not a JSON document with credentials")
	}
	for name, credentials := range stored.Credentials {
		if isHost(name, host) {
			return credentials.Token, nil
		}
	}
	return "", nil
}

// inHCL reads blocks such as
//
//	credentials "registry.example.com" {
//	  token = "larder_…"
//	}
func inHCL(content []byte, host string) (string, error) {
	file, problems := hclsyntax.ParseConfig(content, "", hcl.InitialPos)
	if problems.HasErrors() {
		return "", fmt.Errorf("there is a mistake in line %d", line(problems))
	}
	body, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "credentials", LabelNames: []string{"host"}}}})
	if body == nil {
		return "", nil
	}
	for _, block := range body.Blocks {
		if !isHost(block.Labels[0], host) {
			continue
		}
		attributes, _, _ := block.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "token"}}})
		if attributes == nil || attributes.Attributes["token"] == nil {
			continue
		}
		v, problems := attributes.Attributes["token"].Expr.Value(nil)
		if problems.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
			return "", errors.New("the token of the host is not a text in quotes")
		}
		return v.AsString(), nil
	}
	return "", nil
}

func line(problems hcl.Diagnostics) int {
	for _, problem := range problems {
		if problem.Severity == hcl.DiagError && problem.Subject != nil {
			return problem.Subject.Start.Line
		}
	}
	return 1
}

// isHost says whether a name in a file is that of a host.
func isHost(name, host string) bool {
	named, err := svchost.ForComparison(svchost.ForDisplay(name))
	return err == nil && named.String() == host
}
