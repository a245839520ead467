package scale

// Kind is a kind of request that clients send.
type Kind string

// The requests of clients, by their names in docs/aws-requests.md, and what they read in the
// bucket.
const (
	Discovery        Kind = "discovery"
	ModuleVersions   Kind = "versions of a module"
	ModuleDownload   Kind = "download of a module"
	ProviderVersions Kind = "versions of a provider"
	ProviderDownload Kind = "download of a provider"

	Sums      Kind = "SHA256SUMS"
	Sig       Kind = "its signature"
	Package   Kind = "a package"
	Archive   Kind = "a module's archive"
	HeadFirst Kind = "a HEAD before it"
)

// FromBucket says whether a client asks the bucket, and not the registry.
func (k Kind) FromBucket() bool {
	switch k {
	case Sums, Sig, Package, Archive, HeadFirst:
		return true
	}
	return false
}

// Function is the Lambda function that answers.
func (k Kind) Function() string {
	switch k {
	case Discovery:
		return "discovery"
	case ModuleVersions, ProviderVersions:
		return "versions"
	case ModuleDownload, ProviderDownload:
		return "download"
	}
	return ""
}

// Client is a kind of client.
type Client string

// The clients. They differ in what they ask at the same time, and in what they leave out.
const (
	Terraform Client = "Terraform"
	OpenTofu  Client = "OpenTofu"
)

// Init is one run of init, in a fresh checkout.
type Init struct {
	Client    Client
	Providers int
	Modules   int
	// Warm: there is a lock file, and a plugin cache that has the providers. Modules are
	// fetched all the same: no client keeps them outside of the checkout.
	Warm bool
}

// Ask is one request, for one of the modules or of the providers, which are counted from 0.
type Ask struct {
	Kind Kind
	Of   int
}

// Stage is what a client asks before it goes on: chains at the same time, and the requests of
// a chain one after the other.
type Stage [][]Ask

// Stages is all that an init asks.
func (i Init) Stages() []Stage {
	var modules, versions, packages []([]Ask)
	for n := range i.Modules {
		modules = append(modules, []Ask{{ModuleVersions, n}, {ModuleDownload, n}, {HeadFirst, n}, {Archive, n}})
	}
	for n := range i.Providers {
		if !i.Warm || i.Client == Terraform {
			versions = append(versions, []Ask{{ProviderVersions, n}})
		}
		if !i.Warm {
			packages = append(packages, i.install(n))
		}
	}
	discovery := Stage{{{Kind: Discovery}}}
	stages := nonEmpty(inOrder(modules), inOrder(versions), inOrder(packages))
	if i.Client == OpenTofu {
		stages = nonEmpty(inOrder(modules), versions, packages)
	}
	if len(stages) == 0 {
		return nil
	}
	return append([]Stage{discovery}, stages...)
}

// install is what it takes to install a provider.
func (i Init) install(n int) []Ask {
	asks := []Ask{{ProviderDownload, n}, {Sums, n}, {Sig, n}}
	if i.Client == Terraform {
		asks = append(asks, Ask{HeadFirst, n})
	}
	return append(asks, Ask{Package, n})
}

// inOrder is chains one after the other.
func inOrder(chains [][]Ask) Stage {
	var one []Ask
	for _, chain := range chains {
		one = append(one, chain...)
	}
	if one == nil {
		return nil
	}
	return Stage{one}
}

func nonEmpty(stages ...Stage) (some []Stage) {
	for _, stage := range stages {
		if len(stage) > 0 {
			some = append(some, stage)
		}
	}
	return some
}

// Count is how many requests of each kind an init sends if none fails.
func (i Init) Count() map[Kind]int {
	count := map[Kind]int{}
	for _, stage := range i.Stages() {
		for _, chain := range stage {
			for _, ask := range chain {
				count[ask.Kind]++
			}
		}
	}
	return count
}
