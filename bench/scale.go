package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
	"github.com/larder-registry/larder/bench/internal/scale/rush"
)

// countedFile has the requests to AWS.
const countedFile = "docs/aws-requests.md"

// printScale prints what requests cost on AWS and how far they go, computed from the last report
// in the folder of the bench, or else from the measurement of the docs. If it writes, it also
// makes the last report the measurement of the docs, and renews their tables. It works in the
// root of the repository.
func printScale(s settings, out io.Writer) error {
	text, err := os.ReadFile(countedFile)
	if err != nil {
		return err
	}
	counted, err := scale.ReadCounted(string(text))
	if err != nil {
		return err
	}
	r, err := readReport(filepath.Join(s.cache, reportFile))
	if err == nil && s.write {
		err = r.complete()
	}
	var m scale.Measurement
	if err == nil {
		m, err = measurementOf(r)
	}
	if err != nil && !s.write {
		fmt.Fprintf(out, "The times are those of the docs, because there is no complete report of this machine: %v\n", err)
		m, err = scale.Measured()
	}
	if err != nil {
		return err
	}
	pages, err := rush.Pages(counted, m)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Prices: %s. Times: %s, commit %s.\n", scale.PricesOf, m.Machine, m.Commit)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, name := range slices.Sorted(maps.Keys(pages[page])) {
			fmt.Fprintf(out, "\n%s, %s:\n\n%s", page, name, pages[page][name])
		}
	}
	if !s.write {
		return nil
	}
	if err := r.keep(pages); err != nil {
		return err
	}
	return writeScale(m, pages)
}

// writeScale writes the measurement of the docs, and their tables.
func writeScale(m scale.Measurement, pages map[string]map[string]string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	for page, tables := range pages {
		old, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		renewed, err := scale.RenewAll(string(old), tables)
		if err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := os.WriteFile(page, []byte(renewed), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(scale.MeasuredFile, append(text, '\n'), 0o644)
}

// rowsOfKinds are the rows whose times are those of a kind of request.
var rowsOfKinds = map[scale.Kind]string{
	scale.Discovery:        "discovery",
	scale.ModuleVersions:   "versions-module-100",
	scale.ModuleDownload:   "download-module",
	scale.ProviderVersions: "versions-provider-400x12",
	scale.ProviderDownload: "download-provider-12",
}

// measurementOf takes the processor's times from a report, of one client and without a delay.
func measurementOf(r report) (scale.Measurement, error) {
	m := scale.Measurement{
		Machine: fmt.Sprintf("%s, %d cores, %s, %s", r.Machine.CPU, r.Machine.Cores, r.Machine.System, r.Machine.Go), Commit: r.Commit,
		Functions: scale.Times{}, Node: scale.Times{},
	}
	for kind, name := range rowsOfKinds {
		for door, times := range map[string]scale.Times{doorLambda: m.Functions, doorNode: m.Node} {
			times[kind] = time.Duration(r.row(name).cell(door, 1, noDelay).CPU) * time.Microsecond // whole ones, as they are kept
		}
	}
	if err := m.Check(); err != nil {
		return m, fmt.Errorf("the last report: %w: run make bench without settings", err)
	}
	return m, nil
}
