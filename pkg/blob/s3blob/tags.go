package s3blob

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// maxTags is how many tags S3 keeps on an object version.
const maxTags = 10

// mergeTags sets tags among the current ones, and removes those with an empty value. The
// result is in the order of the keys.
func mergeTags(current []types.Tag, changes map[string]string) []types.Tag {
	all := map[string]string{}
	for _, tag := range current {
		all[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for key, value := range changes {
		all[key] = value
		if value == "" {
			delete(all, key)
		}
	}
	merged := make([]types.Tag, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		merged = append(merged, types.Tag{Key: aws.String(key), Value: aws.String(all[key])})
	}
	return merged
}
