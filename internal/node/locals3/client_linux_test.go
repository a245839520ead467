package locals3

import (
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Users that no machine has, and nobody is.
const (
	another = 64_123
	asker   = 64_124
)

// A user who may not look into a data folder gets the name of its owner, not an error that it is not a data folder.
func TestReachTheFolderOfAnother(t *testing.T) {
	folder, owner := "/root", "root"
	if os.Geteuid() == 0 {
		folder, owner = folderOfAnother(t), "'#64123'"
	}
	asked := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread() // which ends with its goroutine, and with it who it is for files
			if err := syscall.Setfsuid(asker); err != nil {
				asked <- err
				return
			}
		}
		_, _, _, err := Reach(t.Context(), folder, slog.New(slog.DiscardHandler))
		asked <- err
	}()
	err := <-asked
	if err == nil || !strings.Contains(err.Error(), "run the command as that user, with  sudo -u "+owner) || strings.Contains(err.Error(), "is no data folder") {
		t.Errorf("got %v", err)
	}
}

// folderOfAnother is a folder that nobody but its owner may look into. It is where everybody
// may look for it, as in the folder of a test not everybody may.
func folderOfAnother(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/tmp", "larder-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chown(folder, another, another); err != nil {
		t.Fatal(err)
	}
	return folder
}
