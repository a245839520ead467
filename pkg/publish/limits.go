package publish

// Limits of listings. Package archive has the limits of archives, package inbox those of
// uploads, and package registry that of packages.
const (
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
