package archive

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
)

// A Module describes an accepted module archive.
type Module struct {
	H1       string   // "h1:" and base64, over the files of the module
	Files    int      // how many files it holds
	Expanded int64    // bytes of all files together
	Wrapper  string   // the top-level folder that is the module, for Unwrap; "" if the archive can be served as it is
	Warnings []string // full sentences about files that its publisher perhaps did not want to publish
}

// CheckModule checks a module archive. The error is [Violations] if the archive breaks a
// rule. Any other error comes from r or ctx, and the check can be tried again.
func CheckModule(ctx context.Context, r io.ReaderAt, size int64, format Format) (Module, error) {
	return checkModule(inspect(ctx, r, size, moduleRules()), format)
}

func checkModule(in *inspection, format Format) (Module, error) {
	switch format {
	case Zip:
		in.checkZip()
	case TarGz:
		in.checkTarGz()
	default:
		return Module{}, fmt.Errorf("archive: %v is not a format of module archives", format)
	}
	if err := in.verdict(); err != nil {
		return Module{}, err
	}
	in.checkConfiguration()
	if err := in.verdict(); err != nil {
		return Module{}, err
	}
	m := Module{Files: len(in.files), Expanded: in.expanded, Wrapper: in.wrapper(), Warnings: in.warnings()}
	if err := in.checkUnwrapped(format, m.Wrapper); err != nil {
		return Module{}, err
	}
	m.H1 = in.h1(m.Wrapper+"/", nil) // no name begins with a slash
	return m, nil
}

// checkConfiguration looks for configuration. A provider package under a module's name may
// have some, too, in a folder of examples.
func (in *inspection) checkConfiguration() {
	found, atRoot, executable := false, false, ""
	for _, f := range in.files {
		dir, base := path.Split(f.name)
		switch {
		case isConfiguration(base):
			found, atRoot = true, atRoot || dir == ""
		case dir == "" && strings.HasPrefix(base, executablePrefix) && executable == "":
			executable = base
		}
	}
	switch {
	case executable != "" && !atRoot:
		in.violate("The archive is a provider package, for it holds %s and no configuration beside it: upload it to providers/<namespace>/<type>/ under its own name, terraform-provider-<type>_<version>_<os>_<arch>.zip.", quote(executable))
	case !found:
		in.violate("The archive holds no configuration, and so is no module: no file ends in .tf, .tofu, .tf.json or .tofu.json.")
	}
}

// maxWarnings is how many files the warnings name.
const maxWarnings = 10

// warnings are about files with the publisher's own state and values. Nobody needs them in
// a module, and everyone who installs it gets them.
func (in *inspection) warnings() (all []string) {
	more := 0
	for _, f := range in.files {
		var what string
		switch base := path.Base(f.name); {
		case isState(base):
			what = "is a state file"
		case isValues(base):
			what = "has values of variables, which no client reads in a module"
		default:
			continue
		}
		if len(all) == maxWarnings {
			more++
			continue
		}
		all = append(all, fmt.Sprintf("%s %s: everyone who installs the module gets it, with any secret in it.", quote(f.name), what))
	}
	switch {
	case more == 1:
		all = append(all, "So it is with 1 more file.")
	case more > 1:
		all = append(all, fmt.Sprintf("So it is with %d more files.", more))
	}
	return all
}

// isState says whether it is a name that Terraform and OpenTofu give to a state or its backup.
func isState(base string) bool {
	return strings.HasSuffix(base, ".tfstate") || strings.Contains(base, ".tfstate.") && strings.HasSuffix(base, ".backup")
}

// isValues says whether Terraform and OpenTofu read values of variables from a file of
// this name by themselves.
func isValues(base string) bool {
	base = strings.TrimSuffix(base, ".json")
	return base == "terraform.tfvars" || strings.HasSuffix(base, ".auto.tfvars")
}

// checkUnwrapped checks the ratio of the unwrapped archive. It is the one rule that the
// unwrapped archive could break: it may be much smaller than the uploaded one.
func (in *inspection) checkUnwrapped(format Format, wrapper string) error {
	if wrapper == "" || in.expanded <= in.rules.ratioFree {
		return nil
	}
	var unwrapped counter
	if err := unwrap(in.src, format, wrapper, &unwrapped); err != nil {
		return err
	}
	if in.expanded > in.rules.ratioFree+in.rules.ratio*int64(unwrapped) {
		in.violate("Without the folder %s around it, the module expands to more than %d times the size of its archive, beyond the first %s.",
			quote(wrapper), in.rules.ratio, bytesText(in.rules.ratioFree))
	}
	return in.verdict()
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// wrapper returns the only top-level folder, if that is a module.
func (in *inspection) wrapper() string {
	top, only := in.tree.top()
	if !only {
		return ""
	}
	for _, f := range in.files {
		if dir, base := path.Split(f.name); dir == top.name+"/" && isConfiguration(base) {
			return top.name
		}
	}
	return ""
}

// isConfiguration reports whether Terraform or OpenTofu reads a file of this
// name. Both ignore files whose names begin with a dot.
func isConfiguration(base string) bool {
	if strings.HasPrefix(base, ".") {
		return false
	}
	for _, ext := range []string{".tf", ".tofu", ".tf.json", ".tofu.json"} {
		if strings.HasSuffix(base, ext) {
			return true
		}
	}
	return false
}
