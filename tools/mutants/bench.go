package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
)

// bench is where rooms are tested.
type bench struct {
	module  string // its root folder
	scratch string
	options
	count atomic.Int64
}

// next is a new number.
func (b *bench) next() int { return int(b.count.Add(1)) }

// tally counts what became of all mutants of a room.
type tally struct {
	room     string
	found    int
	broken   int
	verdicts map[verdict]int
}

// String is one line, with the score: how many of the mutants that were run, or that no test
// reaches, were noticed.
func (t tally) String() string {
	all, noticed := 0, t.verdicts[killed]+t.verdicts[timedOut]
	for _, n := range t.verdicts {
		all += n
	}
	score := 100.0
	if all > 0 {
		score = 100 * float64(noticed) / float64(all)
	}
	line := fmt.Sprintf("%s: %.1f %% of %d mutants: %d killed, %d timed out, %d survived, %d not reached",
		t.room, score, all, t.verdicts[killed], t.verdicts[timedOut], t.verdicts[survived], t.verdicts[notReached])
	if t.broken > 0 {
		line += fmt.Sprintf("; %d more do not compile", t.broken)
	}
	if left := t.found - t.broken - all; left > 0 {
		line += fmt.Sprintf("; %d more were not run", left)
	}
	return line
}

// testRoom tests one package.
func (b *bench) testRoom(ctx context.Context, out io.Writer, name string) (tally, error) {
	r, err := b.open(ctx, name)
	if err != nil {
		return tally{}, err
	}
	if err := b.compile(ctx, r); err != nil {
		return tally{}, err
	}
	chosen := b.choose(r)
	own, err := b.build(ctx, r, r.ImportPath)
	if err != nil {
		return tally{}, err
	}
	verdicts := b.judgeAll(ctx, own, chosen)
	if b.dependants {
		if err := b.askDependants(ctx, r, chosen, verdicts); err != nil && ctx.Err() == nil {
			return tally{}, err
		}
	}
	result := tally{name, len(r.mutants), len(r.broken), map[verdict]int{}}
	for i, m := range chosen {
		if verdicts[i] == "" {
			continue // interrupted
		}
		result.verdicts[verdicts[i]]++
		if b.verbose || verdicts[i] == survived || verdicts[i] == notReached {
			fmt.Fprintf(out, "%s/%v: %s\n", strings.TrimSuffix(name, "/"), m, verdicts[i])
		}
	}
	fmt.Fprintf(out, "%s\n", result)
	return result, nil
}

// choose is the mutants that the options ask for.
func (b *bench) choose(r *room) []mutant {
	chosen := slices.DeleteFunc(slices.Clone(r.mutants), func(m mutant) bool {
		return r.broken[m.id] || !b.asked(m)
	})
	if b.sample > 0 && b.sample < len(chosen) {
		random := rand.New(rand.NewPCG(b.seed, 0))
		random.Shuffle(len(chosen), func(i, k int) { chosen[i], chosen[k] = chosen[k], chosen[i] })
		chosen = chosen[:b.sample]
	}
	slices.SortFunc(chosen, func(a, b mutant) int {
		return cmp.Or(strings.Compare(a.file, b.file), a.line-b.line, a.col-b.col, a.id-b.id)
	})
	return chosen
}

// asked reports whether a mutant lies in one of the files or lines that are asked for.
func (b *bench) asked(m mutant) bool {
	places := strings.Split(b.file, ",")
	return b.file == "" || slices.Contains(places, m.file) || slices.Contains(places, fmt.Sprintf("%s:%d", m.file, m.line))
}

// judgeAll is a verdict for each mutant, except those that an interruption left out.
func (b *bench) judgeAll(ctx context.Context, s *suite, mutants []mutant) []verdict {
	verdicts := make([]verdict, len(mutants))
	b.each(len(mutants), func(i int) error {
		if v := b.judge(ctx, s, mutants[i].id); ctx.Err() == nil {
			verdicts[i] = v
		}
		return nil
	})
	return verdicts
}

// askDependants runs the tests of other packages on survivors, until one notices.
func (b *bench) askDependants(ctx context.Context, r *room, mutants []mutant, verdicts []verdict) error {
	dependants, err := b.dependantsOf(ctx, r)
	if err != nil {
		return err
	}
	for _, pkg := range dependants {
		s, err := b.build(ctx, r, pkg)
		if err != nil {
			return err
		}
		var left []mutant
		var places []int
		for i, m := range mutants {
			if verdicts[i] == survived || verdicts[i] == notReached {
				left, places = append(left, m), append(places, i)
			}
		}
		for i, v := range b.judgeAll(ctx, s, left) {
			if v == killed || v == timedOut || v == survived {
				verdicts[places[i]] = v
			}
		}
	}
	return nil
}

// dependantsOf is the packages of the module whose tests have the room in them.
func (b *bench) dependantsOf(ctx context.Context, r *room) ([]string, error) {
	out, err := b.goCommand(ctx, "list", "-test", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if pkg, ok := strings.CutSuffix(fields[0], ".test"); ok && pkg != r.ImportPath && slices.Contains(fields[1:], r.ImportPath) {
			found = append(found, pkg)
		}
	}
	return found, nil
}
