// Package contents is what a version of a module or a provider says of itself: its
// documentation, as package reader reads it from the archive without executing anything. It is
// derived: everything here can be read again from the archives.
package contents

// Reader is the version of the readers. It is part of the keys in the bucket, so a release that
// reads more, or in another way, has a higher one and finds nothing that is out of date.
// "larder reindex --contents" then reads all archives again.
const Reader = 1

// Limits of what is kept. What is beyond them is left out, and a problem says so.
const (
	// MaxReadme is the longest README, in bytes.
	MaxReadme = 256 << 10

	// MaxParts is how many submodules, and how many examples, a module has at most.
	MaxParts = 100

	// MaxItems is how many inputs, outputs, resources, calls or providers a part has at most.
	MaxItems = 2000

	// MaxText is the longest type, description, default or other text of one item, in bytes.
	MaxText = 64 << 10

	// MaxDocument is the largest document of a module or a provider, in bytes of JSON. If it
	// would be larger, texts are left out: READMEs of examples first, then those of
	// submodules, then descriptions, then more.
	MaxDocument = 4 << 20

	// MaxPages is how many pages a provider has at most, and MaxPage the longest of them, in
	// bytes. They are those of HashiCorp's registry.
	MaxPages = 2000
	MaxPage  = 500_000

	// MaxTexts is how long the texts of all pages of a provider are together, in bytes.
	MaxTexts = 64 << 20

	// MaxProblems is how many problems are kept of a document.
	MaxProblems = 50
)

// Module is what a module version says of itself.
type Module struct {
	Root       Part     `json:"root"`
	Submodules []Part   `json:"submodules,omitempty"` // below modules/, by path
	Examples   []Part   `json:"examples,omitempty"`   // below examples/, by path
	Problems   []string `json:"problems,omitempty"`   // what could not be read, in full sentences

	// Stopped says that the reader was stopped, by a limit of time or memory or by a failure of
	// its process. Another time it may come further: so two such documents need not be equal.
	Stopped bool `json:"stopped,omitempty"`
}

// Part is one folder of a module: its root, a submodule or an example. Lists are in the order
// of the names.
type Part struct {
	Path      string        `json:"path,omitempty"` // of the folder, with slashes; "" is the root
	Name      string        `json:"name,omitempty"` // the last element of Path
	Readme    string        `json:"readme,omitempty"`
	Empty     bool          `json:"empty,omitempty"` // it has no configuration
	Inputs    []Input       `json:"inputs,omitempty"`
	Outputs   []Output      `json:"outputs,omitempty"`
	Resources []Resource    `json:"resources,omitempty"`
	Calls     []Call        `json:"calls,omitempty"`
	Providers []Requirement `json:"providers,omitempty"`
	Versions  []string      `json:"versions,omitempty"` // constraints on the version of Terraform or OpenTofu
}

// Input is an input variable.
type Input struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"` // as written, "any" if none is
	Description string `json:"description,omitempty"`

	// Default is the default in JSON, as text; "" if the input is required. A default that
	// is no constant is as it is written.
	Default string `json:"default,omitempty"`

	Required    bool         `json:"required,omitempty"`
	Sensitive   bool         `json:"sensitive,omitempty"`
	Ephemeral   bool         `json:"ephemeral,omitempty"`
	NotNullable bool         `json:"not_nullable,omitempty"` // nullable = false
	Deprecated  string       `json:"deprecated,omitempty"`   // the message
	Validations []Validation `json:"validations,omitempty"`
}

// Validation is a rule for an input.
type Validation struct {
	Condition string `json:"condition"` // as written
	Message   string `json:"message"`   // a constant as its text, else as written
}

// Output is an output value.
type Output struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Sensitive   bool   `json:"sensitive,omitempty"`
	Ephemeral   bool   `json:"ephemeral,omitempty"`
	Deprecated  string `json:"deprecated,omitempty"` // the message
}

// ResourceMode is the kind of block that declares a resource.
type ResourceMode string

// The modes.
const (
	Managed   ResourceMode = "managed"   // resource
	Data      ResourceMode = "data"      // data
	Ephemeral ResourceMode = "ephemeral" // ephemeral
	Action    ResourceMode = "action"    // action
)

// Resource is a resource, a data source, an ephemeral resource or an action.
type Resource struct {
	Mode ResourceMode `json:"mode"`
	Type string       `json:"type"`
	Name string       `json:"name"`
}

// Call is a call of another module.
type Call struct {
	Name    string `json:"name"`
	Source  string `json:"source"` // as written, without quotes if it is a constant
	Version string `json:"version,omitempty"`
}

// Requirement is a provider that a part needs.
type Requirement struct {
	Name     string   `json:"name"`               // as the part calls it
	Source   string   `json:"source,omitempty"`   // its address, as written
	Versions []string `json:"versions,omitempty"` // constraints
	Aliases  []string `json:"aliases,omitempty"`  // configuration_aliases
}

// Provider is what a provider version says of itself: the index of its pages. Their texts lie
// one after the other in an object of their own, so that one page can be read alone.
type Provider struct {
	Pages    []Page   `json:"pages,omitempty"`    // by category and slug
	Problems []string `json:"problems,omitempty"` // what could not be read, in full sentences
	Stopped  bool     `json:"stopped,omitempty"`  // as in [Module]
}

// Category is the kind of what a page of a provider describes.
type Category string

// The categories, with the names of HashiCorp's registry.
const (
	Overview           Category = "overview" // the index
	Guides             Category = "guides"
	Resources          Category = "resources"
	DataSources        Category = "data-sources"
	Functions          Category = "functions"
	EphemeralResources Category = "ephemeral-resources"
	Actions            Category = "actions"
	ListResources      Category = "list-resources"
	StateStores        Category = "state-stores"
)

// Page is one page of a provider's documentation.
type Page struct {
	Category    Category `json:"category"`
	Slug        string   `json:"slug"`                  // the name of its file without extensions; "index" is the overview
	Title       string   `json:"title,omitempty"`       // page_title of its front matter, else its first heading, else its slug
	Subcategory string   `json:"subcategory,omitempty"` // of its front matter
	Description string   `json:"description,omitempty"` // of its front matter
	Path        string   `json:"path"`                  // in the archive

	// Where its Markdown, without front matter, lies among the texts, in bytes.
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}
