// Command trivy prints the blocks that Trivy finds in a folder of configuration and in the modules that it uses, each
// with the file that it stands in. It resolves and downloads modules by Trivy's own code, and does nothing else.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/aquasecurity/trivy/pkg/iac/scanners/terraform/parser"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	p := parser.New(os.DirFS(dir), "", parser.OptionWithDownloads(true), parser.OptionWithSkipCachedModules(true))
	if err := p.ParseFS(ctx, "."); err != nil {
		return err
	}
	modules, _, err := p.EvaluateAll(ctx)
	if err != nil {
		return err
	}
	for _, module := range modules {
		for _, block := range module.GetBlocks() {
			fmt.Println(block.FullName(), block.GetMetadata().Range().GetFilename())
		}
	}
	return nil
}
