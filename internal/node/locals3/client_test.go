package locals3

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/socket"
)

// A command works beside a server, and not beside another command, which would take the bucket's endpoint away with its
// end.
func TestReachBesideAnother(t *testing.T) {
	e := start(t, t.TempDir())
	data, quiet := e.dir.Path(""), slog.New(slog.DiscardHandler)
	want := "another larder command works on " + data + ", or a server that starts or stops there: try again when it is done ("
	if _, _, _, err := Reach(t.Context(), data, quiet); !errors.Is(err, datadir.ErrInUse) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("beside a command: %v", err)
	}
	listener, err := socket.Listen(e.dir.Path(datadir.Socket))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c, dir, closeAll, err := Reach(t.Context(), data, quiet)
	if err != nil || dir != nil {
		t.Fatalf("beside a server: %+v, %v, %v", c, dir, err)
	}
	if key, err := c.keys.Retrieve(t.Context()); err != nil || (Credentials{key.AccessKeyID, key.SecretAccessKey}) != e.Root {
		t.Errorf("as %+v, %v", key, err)
	}
	if err := closeAll(); err != nil {
		t.Error(err)
	}
}

// Whose data folder it is, that is told who may not look into it, and not that it is none.
func TestReachTheFolderOfAnother(t *testing.T) {
	const roots = "/root"
	if _, err := os.Stat(filepath.Join(roots, datadir.S3)); !errors.Is(err, fs.ErrPermission) {
		t.Skip("whoever tests may look into every folder")
	}
	_, _, _, err := Reach(t.Context(), roots, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "run the command as that user, with  sudo -u root") || strings.Contains(err.Error(), "is no data folder") {
		t.Errorf("got %v", err)
	}
}
