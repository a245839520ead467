// Command renew writes schema.json: what the AWS provider's own schema says of the resources and data sources that
// infra/ uses. It takes that from the provider's TypeScript bindings, which are generated from the schema and are a
// hundredth of the provider's size:
//
//	npm pack @cdktf/provider-aws@21.22.1
//	go run -C tools/awsstub ./renew "$PWD/cdktf-provider-aws-21.22.1.tgz"
//
// The bindings do not say which attributes may be set and are computed otherwise; [computed] does.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/larder-registry/larder/tools/awsstub/schema"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: renew FILE.tgz, which `npm pack @cdktf/provider-aws@VERSION` made")
		os.Exit(2)
	}
	if err := renew(os.Args[1], "../../infra", "schema/schema.json"); err != nil {
		fmt.Fprintln(os.Stderr, "renew:", err)
		os.Exit(1)
	}
}

// renew writes the schema of the types that the module in a folder uses.
func renew(bindings, module, target string) error {
	used, err := usedIn(module)
	if err != nil {
		return err
	}
	sources, err := read(bindings, used)
	if err != nil {
		return err
	}
	file := schema.File{Format: "1.0", Providers: map[string]*schema.Provider{schema.Address: {
		Provider:  schema.Schema{Block: providerBlock},
		Resources: map[string]schema.Schema{}, Data: map[string]schema.Schema{},
	}}}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		kind, resource, _ := strings.Cut(name, " ")
		source, ok := sources[used[name]]
		if !ok {
			return fmt.Errorf("%s has no %s: is there such a %s?", bindings, used[name], name)
		}
		if version := generatedFrom.FindStringSubmatch(source); version != nil {
			file.Version = version[1]
		}
		block, err := bindingsOf(source, kind == "data").main()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if kind == "data" {
			file.Providers[schema.Address].Data[resource] = schema.Schema{Block: block}
		} else {
			file.Providers[schema.Address].Resources[resource] = schema.Schema{Block: block}
		}
	}
	text, err := json.MarshalIndent(file, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(target, append(text, '\n'), 0o644)
}

var (
	declaration   = regexp.MustCompile(`(?m)^(resource|data) "(aws_\w+)"`)
	generatedFrom = regexp.MustCompile(`providerVersion: '([^']+)'`)
)

// usedIn are the resources and data sources of a module and its examples, such as "data aws_region", and the file of
// each in the bindings.
func usedIn(module string) (map[string]string, error) {
	used := map[string]string{}
	err := filepath.WalkDir(module, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tf" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declaration.FindAllStringSubmatch(string(text), -1) {
			folder := strings.ReplaceAll(strings.TrimPrefix(found[2], "aws_"), "_", "-")
			if found[1] == "data" {
				folder = "data-aws-" + folder
			}
			used[found[1]+" "+found[2]] = "package/lib/" + folder + "/index.js"
		}
		return err
	})
	return used, err
}

// read is the text of those files of an archive.
func read(archive string, used map[string]string) (map[string]string, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	wanted := slices.Collect(maps.Values(used))
	texts := map[string]string{}
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return texts, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		if slices.Contains(wanted, entry.Name) {
			var text bytes.Buffer
			if _, err := io.Copy(&text, entries); err != nil {
				return nil, fmt.Errorf("%s: %w", archive, err)
			}
			texts[entry.Name] = text.String()
		}
	}
}

// providerBlock is what a provider block may have here: the least that the provider itself takes.
var providerBlock = schema.Block{
	Attributes: map[string]schema.Attribute{"region": {Type: "string", Optional: true}, "profile": {Type: "string", Optional: true}},
	Blocks: map[string]schema.Nested{"default_tags": {Nesting: "list", Max: 1, Block: schema.Block{
		Attributes: map[string]schema.Attribute{"tags": {Type: []any{"map", "string"}, Optional: true}},
	}}},
}
