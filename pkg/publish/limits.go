package publish

import "github.com/larder-registry/larder/pkg/registry"

// Limits of what is published. What an archive may hold is limited by package
// archive, and how large an upload may be by package inbox.
const (
	// MaxPackages is how many packages a version has at most, each for a
	// platform of its own. Go builds for fewer than 50, and providers for some
	// 15. Of the longest names, 3,000 would fill SHA256SUMS (1 MiB) and the
	// version's item in DynamoDB (400 KiB), and 2,000 with a URL each the answer
	// of a function (6 MB).
	MaxPackages = registry.MaxPackages

	// maxAnswered is how long a listing may become that is sent to a client, in
	// bytes of JSON: a function's answer has 6 MB, a third more than it encodes.
	// Some 7,500 versions for 15 platforms each take it.
	maxAnswered = 4 << 20

	// maxStored is how long a listing may become that is stored, in bytes of
	// JSON: the catalog on DynamoDB has room for 900 KiB, compressed. What does
	// not shrink at all, and what is said of versions later, fits, too. Some
	// 12,000 versions take it, or 3,500 with the longest names.
	maxStored = 640 << 10
)
