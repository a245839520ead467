package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the command was built from.
type build struct {
	Version  string `json:"version"`            // of the release, or "(devel)"
	Commit   string `json:"commit,omitempty"`   // of the source, if it was built in its repository
	Date     string `json:"date,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // the source was not that of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild is what the Go toolchain has noted in the command.
func thisBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "_" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is one line.
func (b build) String() string {
	line := "larder " + b.Version
	if b.Commit != "" {
		line += fmt.Sprintf(" (commit %.12s", b.Commit)
		if b.Date != "" {
			line += " of " + b.Date
		}
		if b.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return line + " " + b.Go + " " + b.Platform
}

func newVersionCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Say which version of larder this is",
		Long:  `Say which version of larder this is, and from what it was built. "larder --version" says the same.`,
		Example: `  larder version
  larder version --json`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			return show(cmd, asJSON, b, func(out io.Writer) error {
				_, err := fmt.Fprintln(out, b)
				return err
			})
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write it as one JSON document")
	return command
}
