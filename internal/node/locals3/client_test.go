package locals3

import (
	"errors"
	"log/slog"
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
