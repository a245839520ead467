package main

import (
	"context"
	"net/http"
	"os"

	"github.com/larder-registry/larder/internal/mcprelay"
	"github.com/spf13/cobra"
)

func newMCPCommand() *cobra.Command {
	var host string
	command := &cobra.Command{
		Use:   "mcp",
		Short: "Give an assistant the registry as tools",
		Long: `Give an editor or an assistant the registry as tools of the Model Context Protocol:
to search it, and to read what modules and providers take and give. The program
starts this command, writes to its standard input and reads its standard output. The
tools are the registry's own, those of https://HOST/mcp. They only read, and read what
your token may read. The command ends with its input.
` + whichReader,
		Example: `  larder mcp --registry registry.example.com
  LARDER_HOST=registry.example.com larder mcp`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			reader, err := newReader(cmd, host)
			if err != nil {
				return err
			}
			return mcprelay.Run(cmd.Context(), explaining{reader}, os.Stdin, cmd.OutOrStdout())
		},
	}
	addReaderFlag(command, &host)
	return command
}

// explaining adds to refusals why there may be no token.
type explaining struct{ reader *reader }

// Post implements [mcprelay.Registry].
func (e explaining) Post(ctx context.Context, path string, body []byte, header http.Header) ([]byte, error) {
	answer, err := e.reader.Post(ctx, path, body, header)
	return answer, e.reader.explain(err)
}
