package publish

// MaxUpload is the largest object that is published, in bytes: 5 GiB, the most
// that S3 copies in one request.
const MaxUpload = 5 << 30
