package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/registry"
)

// moduleVersionsDocument is the document that the clients read, with the parts that they ignore
// if their types are right.
type moduleVersionsDocument struct {
	Modules []*struct {
		Versions []*struct {
			Version    string
			Root       *moduleParts
			Submodules []*moduleParts
		}
	}
}

type moduleParts struct {
	Path         string
	Providers    []json.RawMessage
	Dependencies []json.RawMessage
}

// checkModule installs a module.
func (v *visit) checkModule(ctx context.Context, m Module) {
	if v.modules == nil {
		v.Fail("module.versions", "name modules.v1 in the discovery document", "the registry offers no modules")
		return
	}
	listed := v.checkModuleVersions(ctx, m)
	if listed == nil {
		return
	}
	version, ok := v.choose("module", m.Address, m.Version, listed)
	if !ok {
		return
	}
	from, ok := v.checkModuleDownload(ctx, m.Address, version)
	if !ok {
		return
	}
	if got := v.checkArchive(ctx, "module", from.url, from.sha256); got != nil {
		v.checkFormat(got.head, from.format)
	}
}

// checkModuleVersions lists a module.
func (v *visit) checkModuleVersions(ctx context.Context, m Module) []registry.Version {
	body, ok := v.list(ctx, "module", v.modules, m.Address)
	if !ok {
		return nil
	}
	var document moduleVersionsDocument
	const check, advice = "module.document", `answer {"modules":[{"versions":[{"version":"1.2.3"}]}]}; the clients crash over a null among modules or versions`
	if err := json.Unmarshal(body, &document); err != nil {
		v.Fail(check, advice, "%s", jsonProblem(err))
		return nil
	}
	if len(document.Modules) == 0 || document.Modules[0] == nil {
		v.Fail(check, advice, "there is no first module in it")
		return nil
	}
	var texts []string
	for _, entry := range document.Modules[0].Versions {
		if entry == nil {
			v.Fail(check, advice, "one of the versions is null")
			return nil
		}
		texts = append(texts, entry.Version)
	}
	v.OK(check, "%s", size.Count(len(texts), "version"))
	return v.checkNumbers("module", texts)
}

// checkModuleDownload finds out where a version's archive is.
func (v *visit) checkModuleDownload(ctx context.Context, a registry.ModuleAddress, version registry.Version) (source, bool) {
	got, err := v.api(ctx, http.MethodGet, v.modules.JoinPath(a.String(), version.String(), "download"))
	location := got.header.Get("X-Terraform-Get")
	const check, advice = "module.download", "answer 204 with X-Terraform-Get: every version of Terraform and OpenTofu follows that"
	switch {
	case err != nil:
		v.Fail(check, advice, "%v", err)
		return source{}, false
	case got.status != http.StatusNoContent && got.status != http.StatusOK:
		v.Fail(check, advice, "%d: %s", got.status, quote(string(got.body)))
		return source{}, false
	case location == "":
		v.Fail(check, advice, "%d without X-Terraform-Get", got.status)
		return source{}, false
	case got.status == http.StatusOK && !json.Valid(got.body):
		v.Fail(check, advice, "200 with a body that is not JSON, which OpenTofu refuses")
		return source{}, false
	}
	v.OK(check, "%d, X-Terraform-Get", got.status)
	from, problem := parseSource(got.url, location)
	if problem != "" {
		v.Fail("module.location", "answer an https URL with archive= and checksum=sha256:… added to its query after it was signed", "%s", problem)
		return source{}, false
	}
	if from.sha256 == "" {
		v.Warn("module.location", "add checksum=sha256:… to it: the clients then verify what they download", "%s, without a checksum", place(from.url))
		return from, true
	}
	v.OK("module.location", "%s", place(from.url))
	return from, true
}

// source is the address from which the clients download a module.
type source struct {
	url    *url.URL // of the request
	format string   // of the archive
	sha256 string   // lower-case hex; empty if there is no checksum
}

// archiveFormats are the ends of paths that mean an archive to the clients, each with its
// format.
var archiveFormats = []struct{ suffix, format string }{
	{"tar.gz", "tar.gz"}, {"tgz", "tar.gz"}, {"zip", "zip"},
	{"tar.xz", "tar.xz"}, {"txz", "tar.xz"}, {"tar.bz2", "tar.bz2"}, {"tbz2", "tar.bz2"},
}

// parseSource reads an address as go-getter does, with which both clients download: it takes
// archive and checksum off the query, and sorts the rest.
func parseSource(document *url.URL, location string) (source, string) {
	u, err := document.Parse(location)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		text, _, _ := strings.Cut(location, "?")
		return source{}, quote(text) + " is not an https URL"
	}
	query := u.Query()
	format := formatOf(u.Path, query.Get("archive"))
	if format == "" {
		return source{}, "neither archive= nor the end of the path say how to unpack " + place(u)
	}
	kind, sum, _ := strings.Cut(query.Get("checksum"), ":")
	if sum != "" && kind != "sha256" {
		return source{}, fmt.Sprintf("the checksum is of the kind %s, not sha256", quote(kind))
	}
	query.Del("archive")
	query.Del("checksum")
	u.RawQuery = query.Encode()
	return source{u, format, strings.ToLower(sum)}, ""
}

func formatOf(path, stated string) string {
	for _, known := range archiveFormats {
		if stated == known.suffix || stated == "" && strings.HasSuffix(path, "."+known.suffix) {
			return known.format
		}
	}
	return ""
}

// magic is the first bytes of archives.
var magic = map[string][]byte{
	"zip": []byte("PK\x03\x04"), "tar.gz": {0x1f, 0x8b}, "tar.xz": []byte("\xfd7zXZ\x00"), "tar.bz2": []byte("BZh"),
}

func (v *visit) checkFormat(head []byte, format string) {
	if !bytes.HasPrefix(head, magic[format]) {
		v.Fail("module.format", "say in archive= what it is", "it would be unpacked as %s, but begins with %q", format, head)
		return
	}
	v.OK("module.format", "%s", format)
}
