// Package rows is the requests that are measured, and what their answers must say.
package rows

import (
	"path"
	"strings"

	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/load"
)

// Function is the function that answers a request on AWS.
type Function string

// The functions that answer from the catalog, or without it.
const (
	Discovery Function = "discovery"
	Versions  Function = "versions"
	Download  Function = "download"
	Catalog   Function = "catalog"
)

// Row is a request to a set of data.
type Row struct {
	Name     string // by which rows are chosen
	Title    string // for people
	Function Function
	Paths    []string // asked for in turn
	Status   int

	// Correct says what is wrong with an answer. Of the peer it asks only for what the
	// protocol requires.
	Correct func(path string, a load.Answer, peer bool) error

	// Partition and Item are the item that one read of the catalog must read, and empty if
	// none must be read.
	Partition, Item string

	// More is how many more reads an answer may take. They are no part of the floor.
	More float64

	// NotOfPeer says that the peer has no route for it, and answers 404. It is not asked.
	NotOfPeer bool
}

// Calls is how many requests to the store an answer may take.
func (r Row) Calls() float64 {
	if r.Partition == "" {
		return 0
	}
	return 1 + r.More
}

// All is all rows, if there are some packages beside those that are measured one by one.
func All(packages int) []Row {
	middle := dataset.Middle(dataset.MediumProvider.Versions)
	return []Row{
		{Name: "discovery", Title: "discovery", Function: Discovery, Paths: []string{"/.well-known/terraform.json"}, Status: 200, Correct: discovery},
		providerVersions("10x5", "10 × 5", dataset.SmallProvider),
		providerVersions("400x12", "400 × 12", dataset.MediumProvider),
		providerVersions("1000x14", "1,000 × 14", dataset.LargeProvider),
		providerDownload("12", "12 platforms", []dataset.Provider{dataset.MediumProvider}, middle),
		providerDownload("5000", "of 5,000 packages", others(packages), 0),
		moduleVersions("5", dataset.SmallModule),
		moduleVersions("100", dataset.MediumModule),
		moduleVersions("1000", dataset.LargeModule),
		moduleVersions("10000", dataset.LargerModule),
		moduleDownload(dataset.MediumModule, dataset.Middle(dataset.MediumModule.Versions)),
		moduleNewest(dataset.MediumModule),
		mirrorVersions(dataset.Mirrored),
		mirrorVersion(dataset.Mirrored, middle),
		moduleDetails(dataset.MediumModule, dataset.Middle(dataset.MediumModule.Versions)),
		providerDetails(dataset.MediumProvider, middle),
	}
}

func others(packages int) (all []dataset.Provider) {
	for n := range packages / 2 {
		all = append(all, dataset.Other(n))
	}
	return all
}

// Matches says whether a name is chosen by one of some patterns, with spaces between them. No
// pattern chooses all names.
func Matches(patterns, name string) bool {
	all := strings.Fields(patterns)
	for _, pattern := range all {
		if ok, _ := path.Match(pattern, name); ok { // CheckPatterns has looked at it
			return true
		}
	}
	return len(all) == 0
}

// CheckPatterns says what is wrong with patterns.
func CheckPatterns(patterns string) error {
	for pattern := range strings.FieldsSeq(patterns) {
		if _, err := path.Match(pattern, ""); err != nil {
			return err
		}
	}
	return nil
}

func providerVersions(name, title string, p dataset.Provider) Row {
	return Row{
		Name: "versions-provider-" + name, Title: "provider versions, " + title, Function: Versions, Status: 200,
		Paths: []string{"/v1/providers/" + p.Address.String() + "/versions"}, Correct: listsProvider(p),
		Partition: p.Partition(), Item: dataset.ListingName,
	}
}

func providerDownload(name, title string, all []dataset.Provider, version int) Row {
	r := Row{
		Name: "download-provider-" + name, Title: "provider download, " + title, Function: Download, Status: 200,
		Correct: downloadsProvider(all, version), Partition: all[0].Partition(), Item: dataset.VersionName(version),
	}
	for _, p := range all {
		r.Paths = append(r.Paths, downloadPath(p, version))
	}
	return r
}

func downloadPath(p dataset.Provider, version int) string {
	platform := dataset.Platform(0)
	return "/v1/providers/" + p.Address.String() + "/" + dataset.Version(version).String() + "/download/" + platform.OS + "/" + platform.Arch
}

func moduleVersions(title string, m dataset.Module) Row {
	return Row{
		Name: "versions-module-" + title, Title: "module versions, " + title, Function: Versions, Status: 200,
		Paths: []string{"/v1/modules/" + m.Address.String() + "/versions"}, Correct: listsModule(m),
		Partition: m.Partition(), Item: dataset.ListingName,
	}
}

func moduleDownload(m dataset.Module, version int) Row {
	return Row{
		Name: "download-module", Title: "module download", Function: Download, Status: 204,
		Paths: []string{"/v1/modules/" + m.Address.String() + "/" + dataset.Version(version).String() + "/download"}, Correct: downloadsModule(m, version),
		Partition: m.Partition(), Item: dataset.VersionName(version),
	}
}

func moduleNewest(m dataset.Module) Row {
	return Row{
		Name: "newest-module", Title: "newest of a module, 100", Function: Versions, Status: 302,
		Paths: []string{"/v1/modules/" + m.Address.String() + "/download"}, Correct: leadsToNewest(m),
		Partition: m.Partition(), Item: dataset.ListingName, NotOfPeer: true,
	}
}

func moduleDetails(m dataset.Module, version int) Row {
	return Row{
		Name: "details-module", Title: "module details", Function: Catalog, Status: 200,
		Paths: []string{"/v1/modules/" + m.Address.String() + "/" + dataset.Version(version).String()}, Correct: says("version", dataset.Version(version).String()),
		Partition: m.Partition(), Item: dataset.VersionName(version), NotOfPeer: true,
		More: 1, // the listing
	}
}

func providerDetails(p dataset.Provider, version int) Row {
	return Row{
		Name: "details-provider", Title: "provider details", Function: Catalog, Status: 200,
		Paths: []string{"/v1/providers/" + p.Address.String() + "/" + dataset.Version(version).String()}, Correct: says("version", dataset.Version(version).String()),
		Partition: p.Partition(), Item: dataset.VersionName(version), NotOfPeer: true,
		More: 1, // the listing
	}
}

func mirrorVersions(p dataset.Provider) Row {
	return Row{
		Name: "mirror-versions", Title: "mirror versions, 400 × 12", Function: Versions, Status: 200,
		Paths: []string{"/v1/mirror/" + p.Address.String() + "/index.json"}, Correct: listsMirror(p),
		Partition: p.Partition(), Item: dataset.ListingName,
	}
}

func mirrorVersion(p dataset.Provider, version int) Row {
	return Row{
		Name: "mirror-version", Title: "mirror version document", Function: Download, Status: 200,
		Paths: []string{"/v1/mirror/" + p.Address.String() + "/" + dataset.Version(version).String() + ".json"}, Correct: offersArchives(p, version),
		Partition: p.Partition(), Item: dataset.VersionName(version),
	}
}
