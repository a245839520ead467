package mcpserver

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/registry"
)

// maxAddress is the longest address that is looked at, in bytes.
const maxAddress = 1024

// withoutHost is an address without the registry's own host, as sources have it.
func withoutHost(host, address string) string {
	address = strings.TrimSpace(address)
	if rest, ok := strings.CutPrefix(address, host+"/"); ok {
		return rest
	}
	return address
}

// parseModule reads the address of a module, perhaps with a submodule after "//".
func parseModule(host, address string) (a registry.ModuleAddress, part string, err error) {
	if len(address) > maxAddress {
		return a, "", ask("the address is longer than any address here")
	}
	whole, part, _ := strings.Cut(withoutHost(host, address), "//")
	parts := strings.Split(whole, "/")
	if len(parts) != 3 {
		return a, "", ask("%q is not the address namespace/name/system of a module", address)
	}
	if a, err = registry.ParseModuleAddress(parts[0], parts[1], parts[2]); err != nil {
		return a, "", ask("%v", err)
	}
	return a, part, nil
}

func parseProvider(host, address string) (registry.ProviderAddress, error) {
	if len(address) > maxAddress {
		return registry.ProviderAddress{}, ask("the address is longer than any address here")
	}
	parts := strings.Split(withoutHost(host, address), "/")
	if len(parts) != 2 {
		return registry.ProviderAddress{}, ask("%q is not the address namespace/type of a provider of this registry", address)
	}
	a, err := registry.ParseProviderAddress(parts[0], parts[1])
	if err != nil {
		return a, ask("%v", err)
	}
	return a, nil
}

// parseAddress reads the address of a module or of a provider.
func parseAddress(host, address string) (registry.Address, error) {
	if strings.Count(withoutHost(host, address), "/") == 1 {
		return parseProvider(host, address)
	}
	a, _, err := parseModule(host, address)
	return a, err
}

func kindOf(a registry.Address) string {
	if a.Folder() == registry.Modules {
		return "module"
	}
	return "provider"
}

// parseVersion reads a version; the zero one is the newest.
func parseVersion(s string) (registry.Version, error) {
	if s == "" || s == "latest" || s == "newest" {
		return registry.Version{}, nil
	}
	v, err := registry.LookupVersion(s)
	if err != nil {
		return v, ask("%.200q is not a version such as 1.2.3", s)
	}
	return v, nil
}

// cutPage reads category/slug.
func cutPage(page string) (category, slug string, ok bool) {
	category, slug, ok = strings.Cut(page, "/")
	return category, slug, ok && category != "" && slug != "" && len(page) <= maxAddress
}

// maxPiece is the longest piece of a page that one call returns, in bytes: about what an
// assistant takes in at a time.
const maxPiece = 48 << 10

// piece is one piece of a page, from 1; 0 is the first. It says how to get the others.
func piece(page string, number int) (string, error) {
	pieces := cut(page, maxPiece)
	if number == 0 {
		number = 1
	}
	if number < 0 || number > len(pieces) {
		return "", ask("piece is %d, and the page has %d", number, len(pieces))
	}
	if len(pieces) == 1 {
		return page, nil
	}
	text := fmt.Sprintf("(This is piece %d of %d.)\n\n%s", number, len(pieces), pieces[number-1])
	if number < len(pieces) {
		text += fmt.Sprintf("\n\n(This page goes on: call the tool again with piece = %d.)\n", number+1)
	}
	return text, nil
}

// cut cuts a text into pieces of at most so many bytes: between lines, or where a line is
// longer, between characters.
func cut(text string, most int) []string {
	var pieces []string
	for len(text) > most {
		at := strings.LastIndexByte(text[:most], '\n') + 1
		if at == 0 {
			for at = most; !utf8.RuneStart(text[at]); at-- {
			}
		}
		pieces, text = append(pieces, text[:at]), text[at:]
	}
	return append(pieces, text)
}
