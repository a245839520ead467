// Command mutants finds lines that no test misses. It breaks a package in many small ways, one at a
// time, and prints those that its tests did not notice.
//
// All mutants of a package are compiled at once. Each is behind a condition on an environment
// variable. So one test binary has all mutants, and is the clean code if the variable is not set.
// The source files do not change: the compiler gets the changed files as an overlay. First each
// test runs by itself on the clean code, which shows the mutants that it reaches. Only these tests
// run for a mutant. A mutant that no test reaches survives without a run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the options of the command line.
type options struct {
	sample     int
	seed       uint64
	file       string
	dependants bool
	timeout    time.Duration
	parallel   int
	memory     int
	verbose    bool
}

func main() {
	var o options
	flag.IntVar(&o.sample, "sample", 0, "run only so many of the mutants, chosen at random")
	flag.Uint64Var(&o.seed, "seed", 1, "chooses another sample")
	flag.StringVar(&o.file, "file", "", "only mutants of these files, such as rule.go, or of these lines, such as rule.go:158,token.go:96")
	flag.BoolVar(&o.dependants, "dependants", false, "show survivors to the tests of the packages that depend on theirs, too")
	flag.DurationVar(&o.timeout, "timeout", 0, "how long a mutant may take (four times as long as the clean code, and 10s)")
	flag.IntVar(&o.parallel, "parallel", 2, "run so many mutants at the same time")
	flag.IntVar(&o.memory, "memory", 8, "how many GiB of address space a mutant may have; 0 for any")
	flag.BoolVar(&o.verbose, "v", false, "name the killed mutants, too")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutants [flags] package-folder...    (from the root of the module)")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || o.parallel < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, ".", o, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run tests the rooms of a module and reports on each. When it is interrupted, it reports what
// it knows by then.
func run(ctx context.Context, out io.Writer, module string, o options, rooms []string) error {
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	b := bench{module: module, scratch: scratch, options: o}
	var totals []tally
	for _, name := range rooms {
		tally, err := b.testRoom(ctx, out, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		totals = append(totals, tally)
		if ctx.Err() != nil {
			break
		}
	}
	if len(totals) > 1 { // else its line stands there already
		fmt.Fprintln(out)
		for _, tally := range totals {
			fmt.Fprintln(out, tally)
		}
	}
	return context.Cause(ctx)
}
