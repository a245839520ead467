package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/scale"
	"github.com/larder-registry/larder/bench/internal/servers"
	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/signing"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// walked is how fast a walk over all versions was.
type walked struct {
	What      string
	Door      string
	Versions  int
	PerSecond measure.Spread // versions

	Bucket float64 `json:",omitzero"` // requests to the bucket for each version
	Table  float64 `json:",omitzero"` // requests to the table for each version
	Units  float64 `json:",omitzero"` // read units for each version
}

// walkTurns is how many turns each walk has.
const walkTurns = 3

// measureWalks walks over the versions of a node: by its commands, and as the functions do,
// with its bucket and a table of the stand-in.
func measureWalks(ctx context.Context, s settings, out io.Writer, r *report) (err error) {
	w, err := newWorld(s)
	defer func() { err = errors.Join(err, w.close()) }()
	if err == nil {
		err = w.startFilledNode(ctx, s.walked)
	}
	if err == nil {
		w.stand, err = w.serve(ctx, servers.Stand)
	}
	if err != nil {
		return err
	}
	byNode, err := w.walkNode(ctx, s.walked)
	if err != nil {
		return err
	}
	byFunctions, err := w.walkFunctions(ctx, s.walked)
	if err != nil {
		return err
	}
	r.Walks = append(byNode, byFunctions...)
	fmt.Fprintf(out, "\nwalks over %s versions (walks)\n  %-22s %-10s %-24s %s\n", scale.Grouped(float64(s.walked)), "", "", "versions a second", "for each: bucket, table, read units")
	for _, one := range r.Walks {
		requests := "not counted"
		if one.Bucket > 0 {
			requests = fmt.Sprintf("%.2f, %.2f, %.2f", one.Bucket, one.Table, one.Units)
		}
		fmt.Fprintf(out, "  %-22s %-10s %-24s %s\n", one.What, one.Door, formatSpread(one.PerSecond), requests)
	}
	return nil
}

// startFilledNode starts a node that has some versions.
func (w *world) startFilledNode(ctx context.Context, versions int) error {
	folder := filepath.Join(w.folder, "data")
	node, err := runNode(ctx, w.settings.larder, folder) // it makes keys
	if err != nil {
		return err
	}
	if err := errors.Join(node.stop(), fillNode(ctx, folder, versions)); err != nil {
		return err
	}
	return w.openNode(ctx, folder)
}

// walkNode runs the commands of a node by turns.
func (w *world) walkNode(ctx context.Context, versions int) (all []walked, err error) {
	commands := []string{"reindex", "verify"}
	rates := map[string][]float64{}
	for turn := range 1 + walkTurns {
		for _, command := range commands {
			begin := time.Now()
			if _, err := w.node.larder(ctx, w.settings.larder, command); err != nil {
				return nil, err
			}
			if turn > 0 { // in the first one the node may still look at its records
				rates[command] = append(rates[command], float64(versions)/time.Since(begin).Seconds())
			}
		}
	}
	for _, command := range commands {
		all = append(all, walked{What: command, Door: doorNode, Versions: versions, PerSecond: measure.SpreadOf(rates[command])})
	}
	return all, nil
}

// walkFunctions walks as the functions do: first with an empty table, and then by turns.
func (w *world) walkFunctions(ctx context.Context, versions int) ([]walked, error) {
	sent := &countingTransport{transport: w.node.transport()}
	walks, err := w.newWalks(sent)
	if err != nil {
		return nil, err
	}
	all := []walked{{What: "reindex, empty table"}, {What: "reindex"}, {What: "verify"}}
	rates := make([][]float64, len(all))
	for turn := range walkTurns {
		for n := range all {
			if n == 0 && turn > 0 {
				continue // the table is no longer empty
			}
			walk := walks.Reindex(ctx, "", false)
			if all[n].What == "verify" {
				walk = walks.Verify(ctx, "", false)
			}
			before, err := w.counts(ctx)
			if err != nil {
				return nil, err
			}
			sent.count.Store(0)
			begin := time.Now()
			if err := runWalk(walk); err != nil {
				return nil, fmt.Errorf("%s: %w", all[n].What, err)
			}
			rates[n] = append(rates[n], float64(versions)/time.Since(begin).Seconds())
			after, err := w.counts(ctx)
			if err != nil {
				return nil, err
			}
			each := func(requests float64) float64 { return requests / float64(versions) }
			all[n] = walked{
				What: all[n].What, Door: doorFunctions, Versions: versions, PerSecond: measure.SpreadOf(rates[n]),
				Bucket: each(float64(sent.count.Load())), Table: each(float64(after.All() - before.All())), Units: each(after.ReadUnits - before.ReadUnits),
			}
		}
	}
	return all, nil
}

// newWalks puts the walks together as the functions do.
func (w *world) newWalks(transport http.RoundTripper) (*upkeep.Walks, error) {
	env, err := w.node.readEnv()
	if err != nil {
		return nil, err
	}
	bucket, err := s3blob.New(s3blob.Config{
		Bucket: env["LARDER_BUCKET"], Region: env["AWS_REGION"], Endpoint: env["AWS_ENDPOINT_URL_S3"], PathStyle: true, Transport: transport,
		Credentials: credentials.NewStaticCredentialsProvider(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], ""),
	})
	if err != nil {
		return nil, err
	}
	index, err := servers.Open(w.standURL())
	if err != nil {
		return nil, err
	}
	return publishing.New(publishing.Config{
		Bucket: bucket, Index: index, Signer: noSigner{}, Scratch: w.folder, Logger: slog.New(slog.DiscardHandler),
	}).Walks, nil
}

// runWalk walks to the end, or to the first thing that is wrong.
func runWalk(walk upkeep.Walk) error {
	for step, err := range walk {
		if err == nil && len(step.Problems) > 0 {
			err = errors.New(step.Problems[0])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.Subject, err)
		}
	}
	return nil
}

// noSigner signs nothing: there are only modules.
type noSigner struct{}

func (noSigner) Sign(context.Context, []byte) ([]byte, error) {
	return nil, errors.New("there is nothing to sign")
}

func (noSigner) PublicKey() signing.PublicKey {
	return signing.PublicKey{KeyID: dataset.SigningKey.KeyID, ASCIIArmor: dataset.SigningKey.ASCIIArmor}
}

// countingTransport counts the requests that it sends.
type countingTransport struct {
	transport http.RoundTripper
	count     atomic.Int64
}

// RoundTrip implements [http.RoundTripper].
func (t *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.count.Add(1)
	return t.transport.RoundTrip(r)
}
