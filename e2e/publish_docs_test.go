package e2e

import (
	"bytes"
	"strings"
	"testing"
)

// The documentation of a provider comes before or after its packages, and is published once. It lists no version by
// itself, changes nothing that clients see, and they install the provider as before.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const stem = "providers/documented/time/terraform-provider-time_" + timeVersion + "_"
	pages := []entry{
		{name: "docs/index.md", body: []byte("---\npage_title: Time\n---\n# Time\n\nKnows what time it is.\n")},
		{name: "docs/resources/static.md", body: []byte("# time_static\n")},
	}
	docs := zipOf(t, pages...)
	r.expect(t, r.copyIn(t, saveAs(t, "docs.zip", docs), stem+"docs.zip"), published)
	if listed := r.providerVersions(t, "documented/time"); len(listed) > 0 {
		t.Errorf("documentation alone is listed as %v", listed)
	}
	publishTime(t, r, "documented")
	platform := strings.Replace(timePlatforms[0], "_", "/", 1)
	before := r.packageDocument(t, "documented/time/"+timeVersion, platform)
	if sums := r.fetch(t, before.SHASumsURL).body; bytes.Contains(sums, []byte("docs.zip")) {
		t.Errorf("the registry's own SHA256SUMS has documentation, which no client installs:\n%s", sums)
	}

	folder := strings.Replace(stem, "terraform-provider-", timeVersion+"/terraform-provider-", 1)
	r.expect(t, r.put(t, folder+"docs.zip", docs), published)
	tags := r.expect(t, r.put(t, stem+"docs.zip", zipOf(t, pages[0])), rejected)
	checkSays(t, tags["larder-reason"], "has documentation already")
	kept := r.onlyKey(t, "registry/providers/documented/time/"+timeVersion+"/", "_docs.zip")
	if got := r.aws(t, "s3", "cp", "--only-show-errors", "s3://"+r.bucket+"/"+kept, "-"); got != string(docs) {
		t.Errorf("%s has %d bytes, and %d were published", kept, len(got), len(docs))
	}
	forEachClient(t, func(t *testing.T, c client) {
		w := c.workspace(t, r, strings.ReplaceAll(timeConfig, "hashicorp/time", "documented/time"))
		w.run(t, "init", "-input=false")
		w.run(t, "apply", "-input=false", "-auto-approve")
	})
}
