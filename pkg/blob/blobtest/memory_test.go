package blobtest_test

import (
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
)

func TestTheBucketInMemoryIsOne(t *testing.T) {
	for name, files := range map[string]bool{"streams": false, "files": true} {
		t.Run(name, func(t *testing.T) {
			blobtest.Test(t, func(*testing.T) (blob.Bucket, blobtest.User) {
				b := blobtest.NewMemory()
				b.Files = files
				return b, b
			})
		})
	}
}
