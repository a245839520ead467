package publish

// Limits of what is published. What an archive may hold is limited by package
// archive.
const (
	// MaxUpload is the largest object that is published, in bytes: 5 GiB, the
	// most that S3 copies in one request.
	MaxUpload = 5 << 30

	// maxStateDocument is the largest record or outcome, in bytes.
	maxStateDocument = 16 << 20

	// maxAttempts is how often a record is tried under the next number.
	// Each failed try means that another writer of the same version went
	// on, and a version has few.
	maxAttempts = 1000
)
