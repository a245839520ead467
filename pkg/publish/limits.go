package publish

import "github.com/larder-registry/larder/pkg/registry"

// Limits of versions and listings. Package archive has the limits of archives, and package
// inbox those of uploads.
const (
	// MaxPackages is how many packages a version has at most, each for a
	// platform of its own. Go builds for fewer than 50, and providers for some
	// 15. Of the longest names, 3,000 would fill SHA256SUMS (1 MiB) and the
	// version's item in DynamoDB (400 KiB), and 2,000 with a URL each the answer
	// of a function (6 MB).
	MaxPackages = registry.MaxPackages

	// maxAnswered is the longest listing that is sent to a client, in bytes of
	// JSON. A function's answer has 6 MB, and its encoding adds a third. Some
	// 7,500 versions for 15 platforms reach it.
	maxAnswered = 4 << 20

	// maxStored is the longest listing that is stored, in bytes of JSON. The
	// catalog on DynamoDB has room for 900 KiB, compressed. This leaves room for
	// a listing that does not compress, and for later standings. Some 12,000
	// versions reach it, or 3,500 with the longest names.
	maxStored = 640 << 10
)
