package locals3

import (
	"fmt"
	"os"

	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"

	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
)

// maxCopySize is the largest object, in bytes, that one request copies on AWS.
const maxCopySize = 5 << 30

// A layout says where the metadata of objects is kept. It is decided on the
// first start and recorded, for the other one would find objects without
// their metadata.
type layout string

const (
	// layoutXattr keeps metadata in extended attributes: an object and its
	// metadata appear in one step.
	layoutXattr layout = "xattr"
	// layoutSidecar keeps them in a folder of their own, for file systems
	// without extended attributes.
	layoutSidecar layout = "sidecar"
)

// openStorage returns the file-backed storage of the data folder. The working
// directory of the process is its folder from then on.
func openStorage(dir *datadir.Dir) (backend.Backend, error) {
	folders := map[string]string{}
	for _, name := range []string{datadir.S3, datadir.S3Versions, datadir.S3Metadata} {
		path, err := dir.Folder(name)
		if err != nil {
			return nil, err
		}
		folders[name] = path
	}
	chosen, err := chooseLayout(dir, folders[datadir.S3])
	if err != nil {
		return nil, err
	}
	opts := posix.PosixOpts{VersioningDir: folders[datadir.S3Versions], CopyObjectThreshold: maxCopySize}
	opts.SetNewDirPerm(0o700)
	opts.SetNewFilePerm(0o600)
	var metadata meta.MetadataStorer = meta.XattrMeta{}
	if chosen == layoutSidecar {
		opts.SideCarDir = folders[datadir.S3Metadata]
		if err := removeOrphans(opts.SideCarDir, folders[datadir.S3], opts.VersioningDir); err != nil {
			return nil, fmt.Errorf("clean the bucket's metadata: %w", err)
		}
		if metadata, err = meta.NewSideCar(opts.SideCarDir); err != nil {
			return nil, fmt.Errorf("open the bucket's metadata: %w", err)
		}
	}
	storage, err := newQuietly(folders[datadir.S3], metadata, opts)
	if err == nil {
		err = recoverUploads(metadata) // relative to the working directory that is now set
	}
	if err != nil {
		return nil, fmt.Errorf("open the bucket's folder: %w", err)
	}
	return storage, nil
}

// newQuietly is posix.New without what it prints on standard output.
func newQuietly(root string, metadata meta.MetadataStorer, opts posix.PosixOpts) (*posix.Posix, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	stdout := os.Stdout
	os.Stdout = null
	defer func() { os.Stdout = stdout }()
	return posix.New(root, metadata, opts)
}

// chooseLayout returns the recorded layout, or on the first start the one that
// the file system under folder allows.
func chooseLayout(dir *datadir.Dir, folder string) (layout, error) {
	data, err := dir.LoadOrCreate(datadir.S3Layout, func() ([]byte, error) {
		return []byte(probeLayout(folder)), nil
	})
	if err != nil {
		return "", fmt.Errorf("layout of the bucket: %w", err)
	}
	chosen := layout(data)
	if chosen != layoutXattr && chosen != layoutSidecar {
		return "", fmt.Errorf("layout of the bucket in %s is %q, not %q or %q",
			dir.Path(datadir.S3Layout), chosen, layoutXattr, layoutSidecar)
	}
	if chosen == layoutXattr && probeLayout(folder) != layoutXattr {
		return "", fmt.Errorf("%s was moved to a file system without extended attributes, or copied without them (cp -a and rsync -X keep them): the metadata of its objects is missing", folder)
	}
	return chosen, nil
}

func probeLayout(folder string) layout {
	const attribute = "larder-probe"
	if (meta.XattrMeta{}).StoreAttribute(nil, folder, "", attribute, []byte("1")) != nil {
		return layoutSidecar
	}
	return layoutXattr
}
