package archive

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
)

// A Module is what is learnt from a module archive.
type Module struct {
	H1       string // "h1:" and base64, over the files of the module
	Files    int    // how many files it holds
	Expanded int64  // bytes of all files together
	Wrapper  string // the top-level folder that is the module, for Unwrap; "" when the archive can be served as it is
}

// CheckModule judges a module archive. The error is [Violations] when the
// archive breaks a rule; any other error comes from r or ctx, and the check can
// be tried again.
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
	m := Module{Files: len(in.files), Expanded: in.expanded, Wrapper: in.wrapper()}
	prefix := ""
	if m.Wrapper != "" {
		prefix = m.Wrapper + "/"
	}
	m.H1 = in.h1(prefix, nil)
	return m, nil
}

// wrapper returns the only top-level folder, if it is one that is a module.
func (in *inspection) wrapper() string {
	top, only := in.tree.top()
	if !only || top.kind == file {
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
// name; both pass over files whose names begin with a dot.
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
