package layout

import (
	"fmt"

	"github.com/larder-registry/larder/pkg/catalog"
)

// CheckShard refuses a shard of the directory that cannot be stored. The error is
// [catalog.ErrNoRoom] if it is too large.
func CheckShard(shard catalog.DirectoryShard) error {
	if err := CheckShardNumbers([]int{shard.Number}); err != nil {
		return err
	}
	if shard.Revision == 0 {
		return fmt.Errorf("%w: revision 0 is that of a shard which was never written", catalog.ErrChanged)
	}
	if len(shard.Data) > catalog.MaxDirectoryShard {
		return fmt.Errorf("%w: it has %d bytes, and a shard of the directory has room for %d", catalog.ErrNoRoom, len(shard.Data), catalog.MaxDirectoryShard)
	}
	return nil
}

// CheckShardNumbers refuses numbers that no shard has.
func CheckShardNumbers(numbers []int) error {
	for _, number := range numbers {
		if number < 0 || number >= catalog.DirectoryShards {
			return fmt.Errorf("the directory has no shard %d, but 0 to %d", number, catalog.DirectoryShards-1)
		}
	}
	return nil
}
