package main

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/scale"
	"github.com/larder-registry/larder/bench/internal/servers"
	"github.com/larder-registry/larder/internal/lambdaenv"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/versity/versitygw/backend/meta"
)

// start is how long something took to start.
type start struct {
	What    string
	Took    measure.Spread // milliseconds
	CPU     measure.Spread // milliseconds of the processor; zero where it is not measured
	ToEmpty measure.Spread // of a function: its time of the processor by that of one that does nothing
}

func printStarts(out io.Writer, title string, all []start) {
	fmt.Fprintf(out, "\n%s\n  %-26s %-24s %-24s %s\n", title, "", "ms", "CPU ms", "× empty (CPU)")
	for _, s := range all {
		fmt.Fprintf(out, "  %-26s %-24s %-24s %s\n", s.What, formatSpread(s.Took), formatSpread(s.CPU), formatSpread(s.ToEmpty))
	}
}

const (
	// empty is the function that does nothing.
	empty = "empty"

	// functionStarts is how often each function is started, and nodeStarts a node.
	functionStarts = 11
	nodeStarts     = 3
)

// startedFunctions are all functions, and first the one that does nothing.
var startedFunctions = []string{empty, "discovery", "versions", "download", "catalog", "fetch", "publish", "login"}

// functionEnvironment is enough for every function to start.
var functionEnvironment = []string{
	"LARDER_TABLE=larder", "LARDER_BUCKET=larder", "LARDER_HOST=registry.example.com",
	"LARDER_QUEUE_URL=https://sqs.us-east-1.amazonaws.com/111122223333/larder-uploads",
	"LARDER_FETCH_QUEUE_URL=https://sqs.us-east-1.amazonaws.com/111122223333/larder-fetch.fifo",
	"LARDER_TOPIC_ARN=arn:aws:sns:us-east-1:111122223333:larder-outcomes",
	"LARDER_MIRROR_UPSTREAMS=registry.example.com/*/*", "LARDER_MIRROR_PLATFORMS=all",
	"LARDER_KMS_KEY=arn:aws:kms:us-east-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab",
	"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + servers.AccessKey, "AWS_SECRET_ACCESS_KEY=" + servers.SecretKey, "AWS_SESSION_TOKEN=" + servers.SessionToken,
}

// measureFunctionStarts starts every function by turns, until it asks for an invocation.
func measureFunctionStarts(ctx context.Context, s settings, out io.Writer, r *report) error {
	took, cpu, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for range functionStarts {
		for _, name := range startedFunctions {
			wall, processor, err := startFunction(ctx, filepath.Join(s.functions, name, "bootstrap"))
			if err != nil {
				return err
			}
			took[name], cpu[name] = append(took[name], milliseconds(wall)), append(cpu[name], milliseconds(processor))
			ratios[name] = append(ratios[name], milliseconds(processor)/cpu[empty][len(cpu[empty])-1])
		}
	}
	for _, name := range startedFunctions {
		r.FunctionStarts = append(r.FunctionStarts, start{name, measure.SpreadOf(took[name]), measure.SpreadOf(cpu[name]), measure.SpreadOf(ratios[name])})
	}
	printStarts(out, "functions, from the start of the process to the first request for an invocation (start-functions)", r.FunctionStarts)
	return nil
}

func startFunction(ctx context.Context, binary string) (took, cpu time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	e, err := lambdaenv.Start(binary, functionEnvironment, io.Discard)
	if err != nil {
		return 0, 0, err
	}
	took, err = e.Asked(ctx)
	e.Stop()
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", binary, err)
	}
	return took, e.CPU(), nil
}

// measureNodeStarts starts nodes with several numbers of versions, until they serve.
func measureNodeStarts(ctx context.Context, s settings, out io.Writer, r *report) error {
	for _, versions := range s.versions {
		took, err := measureNodeStart(ctx, s, versions)
		if err != nil {
			return err
		}
		r.NodeStarts = append(r.NodeStarts, start{What: scale.Grouped(float64(versions)) + " versions", Took: measure.SpreadOf(took)})
	}
	printStarts(out, "larder serve, from the start of the process until it serves (start-node)", r.NodeStarts)
	return nil
}

func measureNodeStart(ctx context.Context, s settings, versions int) (took []float64, err error) {
	w, err := newWorld(s)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(w.folder, "data")
	for n := range 2 + nodeStarts { // the first one makes keys, and the second one may look at all versions
		before := time.Now()
		node, err := runNode(ctx, s.larder, folder)
		if err != nil {
			return nil, err
		}
		if n >= 2 {
			took = append(took, milliseconds(time.Since(before)))
		}
		if err := node.stop(); err != nil {
			return nil, err
		}
		if n == 0 {
			if err := fillNode(ctx, folder, versions); err != nil {
				return nil, err
			}
		}
	}
	return took, nil
}

// perModule is how many versions each module of a filled node has.
const perModule = 10

// fillNode writes versions of modules to the folder of a node that is stopped: the records
// and archives in its bucket, and their states in its catalog. The archives are no archives,
// but they have the checksums of their versions.
func fillNode(ctx context.Context, folder string, versions int) error {
	return boltcatalog.Build(filepath.Join(folder, servers.CatalogFile), func(index *boltcatalog.Catalog) error {
		for n := range versions {
			if err := fillVersion(ctx, folder, index, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillVersion writes one version of a module.
func fillVersion(ctx context.Context, folder string, index *boltcatalog.Catalog, n int) error {
	m := dataset.Module{Address: registry.ModuleAddress{Namespace: "acme", Name: fmt.Sprintf("filled-%06d", n/perModule), System: "aws"}}
	state := m.State(n % perModule)
	archive := []byte(state.Subject().String())
	sum := sha256.Sum256(archive)
	state.Archive.SHA256, state.Archive.Size = hex.EncodeToString(sum[:]), int64(len(archive))
	state.Archive.UploadSHA256 = state.Archive.SHA256
	record, err := json.Marshal(registry.Record{Kind: registry.KindModule, Version: state.Version, Time: registry.Now(), Module: &state.Archive})
	if err != nil {
		return err
	}
	return errors.Join(
		ctx.Err(),
		index.Put(ctx, state),
		writeObject(folder, registry.RecordKey(state.Subject().LogPrefix(), 1), record),
		writeObject(folder, state.Address.ArchiveKey(state.Version, state.Archive), archive),
	)
}

// writeObject writes an object as the bucket of a node keeps it.
func writeObject(folder, key string, content []byte) error {
	path := filepath.Join(folder, "s3", "objects", "larder", filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	sum := md5.Sum(content)
	return meta.XattrMeta{}.StoreAttribute(nil, path, "", "etag", []byte(hex.EncodeToString(sum[:])))
}
