package archive

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// A Package describes an accepted provider zip.
type Package struct {
	H1        string   // "h1:" and base64, as in a lock file
	Files     int      // how many files it holds
	Expanded  int64    // bytes of all files together
	Protocols []string // of its terraform-registry-manifest.json, as ParseManifest returns them; nil without one
}

// Provider says what a provider zip must hold.
type Provider struct {
	Type     string
	OS, Arch string // on which its executable must run; empty: not checked
}

// CheckProvider checks the zip of a provider. The error is [Violations] if the zip breaks
// a rule. Any other error comes from r or ctx, and the check can be tried again.
func CheckProvider(ctx context.Context, r io.ReaderAt, size int64, p Provider) (Package, error) {
	return checkProvider(inspect(ctx, r, size, providerRules()), p)
}

func checkProvider(in *inspection, p Provider) (Package, error) {
	files := in.checkZip()
	if len(files) > 0 {
		in.checkExecutable(files, p)
	}
	protocols := in.manifest(files)
	if err := in.verdict(); err != nil {
		return Package{}, err
	}
	return Package{
		H1:        in.h1("", in.folders),
		Files:     len(in.files),
		Expanded:  in.expanded,
		Protocols: protocols,
	}, nil
}

// executablePrefix begins the name of a provider's executable.
const executablePrefix = "terraform-provider-"

// checkExecutable looks for the file that the clients would run.
func (in *inspection) checkExecutable(files []zipFile, p Provider) {
	want := executablePrefix + p.Type
	slices.SortFunc(files, func(a, b zipFile) int { return strings.Compare(a.name, b.name) })
	var misplaced, foreign string
	for _, f := range files {
		dir, base := path.Split(f.name)
		switch {
		case isExecutable(base, want) && dir == "":
			if f.UncompressedSize64 == 0 {
				in.violate("%s, which the clients would run, is empty.", quote(f.name))
			} else if !in.exceeded {
				in.checkPlatform(f, p)
			}
			return
		case isExecutable(base, want) && misplaced == "":
			misplaced = f.name
		case strings.HasPrefix(base, executablePrefix) && foreign == "":
			foreign = f.name
		}
	}
	rule := fmt.Sprintf(`a file named %s, followed by nothing, "_" or ".", must lie at the top level of the zip.`, want)
	switch {
	case misplaced != "":
		in.violate("The executable %s lies in a folder: %s", quote(misplaced), rule)
	case foreign != "":
		in.violate("%s is not an executable of this provider: %s", quote(foreign), rule)
	default:
		in.violate("The zip holds no executable: %s", rule)
	}
}

func isExecutable(base, want string) bool {
	rest, ok := strings.CutPrefix(base, want)
	return ok && (rest == "" || rest[0] == '_' || rest[0] == '.')
}

// manifest returns the protocols of the manifest among the files, if any.
func (in *inspection) manifest(files []zipFile) []string {
	i := slices.IndexFunc(files, func(f zipFile) bool { return f.name == ManifestName })
	if i < 0 || in.exceeded {
		return nil
	}
	rc, err := files[i].Open()
	if err != nil {
		return nil // readZipFile has reported it
	}
	defer rc.Close()
	data, err := io.ReadAll(io.LimitReader(rc, MaxManifest+1))
	if err != nil {
		return nil // as above
	}
	protocols, err := ParseManifest(data)
	if err != nil {
		in.violate("The %s in the zip is not valid: %v.", ManifestName, err)
	}
	return protocols
}
