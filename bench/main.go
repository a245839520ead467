// Command bench measures how fast a registry answers, publishes and starts, beside the
// machine's own limits and, if one is named, beside another registry. CONTRIBUTING.md says how
// to use it.
//
// It starts all that it measures, on the loopback interface, and ends it again. It needs Linux
// for the processor's time and the memory that others take.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/rows"
	"github.com/larder-registry/larder/bench/internal/servers"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/mattn/go-isatty"
)

// settings is what is measured, and how.
type settings struct {
	cells     string // patterns of the rows
	doors     []string
	clients   []int
	delays    []time.Duration
	plan      measure.Plan
	packages  int    // how many there are beside those that are measured one by one
	cache     string // the folder for everything that is written
	larder    string // the binary of the node
	functions string // the folder of the functions' binaries
	peer      peer
	scale     bool    // compute what it costs on AWS and how far it goes, instead of measuring
	write     bool    // and renew the docs
	fillPeer  bool    // write the data for the peer, instead of measuring
	versions  []int   // that nodes have whose start is measured
	sizes     []int64 // of the packages that are published, in MiB
	walked    int     // how many versions walks walk over
}

// The doors by which the registry is asked.
const (
	doorNode      = "node"
	doorBolt      = "bolt"
	doorFunctions = "functions"
	doorLambda    = "lambda"
)

var allDoors = []string{doorNode, doorBolt, doorFunctions, doorLambda}

// wants says whether a door is measured.
func (s settings) wants(door string) bool { return slices.Contains(s.doors, door) }

func main() {
	if servers.Run(os.Getenv) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := failure(ctx, run(ctx, os.Args[1:], os.Getenv, os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// failure is the error to print. The flag -help is no failure. After an interruption, the
// errors that follow from it say nothing.
func failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted")
	default:
		return err
	}
}

// others are what is measured beside requests.
var others = []struct {
	name    string
	measure func(context.Context, settings, io.Writer, *report) error
}{
	{"start-functions", measureFunctionStarts},
	{"start-node", measureNodeStarts},
	{"publish-small", measureSmall},
	{"publish-large", measureLarge},
	{"hashing", measureHashing},
	{"walks", measureWalks},
}

// run measures what the arguments say, prints it as it comes, and writes the report.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	s, err := parse(args, getenv)
	if err != nil {
		return err
	}
	if s.scale {
		return printScale(s, out)
	}
	if s.fillPeer {
		return fillPeer(ctx, peerObjects(s.packages), getenv, progress.NewLine(out, isTerminal(out)))
	}
	if err := os.MkdirAll(s.cache, 0o700); err != nil {
		return err
	}
	debug.SetGCPercent(400) // the clients' own garbage takes time from the servers
	r := newReport(s)
	printMachine(out, r)
	errs := []error{measureRequests(ctx, s, out, &r)}
	measured := len(r.Rows) > 0
	for _, other := range others {
		if !rows.Matches(s.cells, other.name) || ctx.Err() != nil {
			continue
		}
		measured = true
		if err := other.measure(ctx, s, out, &r); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", other.name, err))
		}
	}
	if err := errors.Join(append(errs, ctx.Err())...); !measured {
		return cmp.Or(err, fmt.Errorf("nothing is called %q", s.cells))
	}
	name := reportFile
	if s.cells != "" || ctx.Err() != nil || r.complete() != nil {
		name = partialFile // the last whole report stays
	}
	path := filepath.Join(s.cache, name)
	if err = r.write(path); err == nil {
		_, err = fmt.Fprintf(out, "\nAll figures: %s\n", path)
	}
	return errors.Join(append(errs, ctx.Err(), err)...)
}

// isTerminal says whether a line that is written can be drawn again.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// parse reads the flags, and the variables of the peer.
func parse(args []string, getenv func(string) string) (settings, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var s settings
	flags.StringVar(&s.cells, "cells", "", "`patterns` of the rows to measure, such as 'download* discovery'; all without it")
	doors := flags.String("doors", strings.Join(allDoors, " "), "`doors` to ask by")
	clients := flags.String("clients", "1 16", "`numbers` of clients")
	delays := flags.String("delays", "0s 5ms", "`delays` of a call to the store")
	flags.IntVar(&s.plan.Rounds, "rounds", 5, "`number` of turns that each has")
	flags.DurationVar(&s.plan.Turn, "turn", 150*time.Millisecond, "how `long` a turn takes, about")
	versions := flags.String("versions", "0 10000", "`numbers` of versions with which a node is started")
	sizes := flags.String("sizes", "20 200 1024", "`sizes` of the packages that are published, in MiB")
	flags.IntVar(&s.walked, "walked", 2000, "`number` of versions that reindex and verify walk over")
	flags.IntVar(&s.packages, "packages", dataset.Packages, "`number` of packages in the catalog beside the large ones")
	flags.StringVar(&s.cache, "cache", ".cache/bench", "`folder` for everything that is written")
	flags.StringVar(&s.larder, "larder", ".cache/bin/larder", "the larder `binary`")
	flags.StringVar(&s.functions, "functions", ".cache/functions", "`folder` of the functions, and of the echo beside them")
	flags.BoolVar(&s.fillPeer, "fill-peer", false, "measure nothing: write the data to the bucket in PEER_S3, as boring-registry keeps it")
	flags.BoolVar(&s.scale, "scale", false, "measure nothing: print what it costs on AWS and how far it goes, computed from the last report")
	flags.BoolVar(&s.write, "write", false, "with -scale: make the last report the one of the docs, and renew their tables")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	var errs []error
	s.doors = strings.Fields(*doors)
	for _, door := range s.doors {
		if !slices.Contains(allDoors, door) {
			errs = append(errs, fmt.Errorf("-doors: there is no door %q", door))
		}
	}
	for text := range strings.FieldsSeq(*clients) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			errs = append(errs, fmt.Errorf("-clients: %q is not a number of clients", text))
		}
		s.clients = append(s.clients, n)
	}
	for text := range strings.FieldsSeq(*delays) {
		delay, err := time.ParseDuration(text)
		if err != nil || delay < 0 {
			errs = append(errs, fmt.Errorf("-delays: %q is not a delay", text))
		}
		s.delays = append(s.delays, delay)
	}
	for text := range strings.FieldsSeq(*versions) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("-versions: %q is not a number of versions", text))
		}
		s.versions = append(s.versions, n)
	}
	for text := range strings.FieldsSeq(*sizes) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			errs = append(errs, fmt.Errorf("-sizes: %q is not a size in MiB", text))
		}
		s.sizes = append(s.sizes, n)
	}
	if s.plan.Rounds < 1 || s.plan.Turn <= 0 || s.packages < 2 || s.walked < 1 {
		errs = append(errs, errors.New("-rounds, -turn and -walked must be more than 0, and -packages more than 1"))
	}
	if err := rows.CheckPatterns(s.cells); err != nil {
		errs = append(errs, fmt.Errorf("-cells: %w", err))
	}
	for _, binary := range []*string{&s.larder, &s.functions} {
		var err error
		if *binary, err = filepath.Abs(*binary); err != nil {
			errs = append(errs, err)
		}
	}
	var err error
	if s.peer, err = parsePeer(getenv); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}
