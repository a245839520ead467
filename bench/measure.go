package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/larder-registry/larder/bench/internal/load"
	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/rows"
)

// measureRequests measures the requests that are chosen, if any are.
func measureRequests(ctx context.Context, s settings, out io.Writer, r *report) (err error) {
	var chosen []rows.Row
	for _, row := range rows.All(s.packages) {
		if rows.Matches(s.cells, row.Name) {
			chosen = append(chosen, row)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	w, err := open(ctx, s)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return err
	}
	var errs []error
	for _, one := range chosen {
		row, err := w.measureRow(ctx, one)
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return errors.Join(append(errs, err)...)
		}
		r.Rows = append(r.Rows, row)
		printRow(out, row)
		errs = append(errs, row.check())
	}
	return errors.Join(errs...)
}

func (w *world) measureRow(ctx context.Context, r rows.Row) (row reportRow, err error) {
	row = reportRow{Name: r.Name, Title: r.Title, MayCall: r.Calls()}
	if w.functions != nil {
		if row.Calls, err = w.countCalls(ctx, r); err != nil {
			return row, err
		}
	}
	for _, delay := range w.settings.delays {
		if err := w.setDelay(ctx, delay); err != nil {
			return row, err
		}
		for _, clients := range w.settings.clients {
			row.Cells = append(row.Cells, w.measureCell(ctx, r, clients, delay)...)
		}
	}
	return row, w.setDelay(ctx, 0)
}

// measureCell measures all who answer a row, by turns.
func (w *world) measureCell(ctx context.Context, r rows.Row, clients int, delay time.Duration) (cells []cell) {
	all := w.entrants(r, clients, delay)
	var subjects []measure.Subject
	for _, e := range all {
		subjects = append(subjects, e.subject)
		defer e.close()
	}
	plan := w.settings.plan
	plan.Least = 2 * clients
	results := measure.Compare(ctx, plan, subjects)
	result := func(name string) (measure.Result, bool) {
		n := slices.IndexFunc(all, func(e entrant) bool { return e.name == name })
		if n < 0 {
			return measure.Result{}, false
		}
		return results[n], true
	}
	for n, e := range all {
		c := newCell(e, clients, delay, results[n])
		if floor, ok := result(e.floor); ok {
			c.Floor, c.ToFloor, c.CPUToFloor = e.floor, results[n].Ratio(floor), ratio(results[n].CPU(), floor.CPU())
		}
		if other, ok := result(namePeer); ok && e.floor != "" {
			c.ToPeer, c.CPUToPeer = results[n].Ratio(other), ratio(other.CPU(), results[n].CPU())
		}
		cells = append(cells, c)
	}
	return cells
}

func ratio(a, b time.Duration) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// counted is how many requests are asked to count their calls of the store.
const counted = 9

// countCalls counts the requests to the store that an answer takes, for a token that is not
// remembered and once it is. The median counts: the store's client may repeat a request.
func (w *world) countCalls(ctx context.Context, r rows.Row) (c calls, err error) {
	server := load.Server{Addr: w.functions.Addr, Token: w.tokens[len(w.tokens)-1]}
	w.tokens = w.tokens[:len(w.tokens)-1]
	if c.First, c.FirstUnits, err = w.countOne(ctx, r, server, 0); err != nil {
		return c, err
	}
	var all, units []float64
	for n := range counted {
		one, read, err := w.countOne(ctx, r, server, n)
		if err != nil {
			return c, err
		}
		all, units = append(all, one), append(units, read)
	}
	c.Later, c.LaterUnits = measure.SpreadOf(all).Median, measure.SpreadOf(units).Median
	return c, nil
}

// countOne counts the calls and the read units of one answer.
func (w *world) countOne(ctx context.Context, r rows.Row, server load.Server, n int) (requests, units float64, err error) {
	before, err := w.counts(ctx)
	if err != nil {
		return 0, 0, err
	}
	answer, err := server.Get(ctx, r.Paths[n%len(r.Paths)])
	if err == nil && answer.Status != r.Status {
		err = fmt.Errorf("%s: status %d: %.100q", r.Name, answer.Status, answer.Body)
	}
	if err != nil {
		return 0, 0, err
	}
	after, err := w.counts(ctx)
	return float64(after.All() - before.All()), after.ReadUnits - before.ReadUnits, err
}
