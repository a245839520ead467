package pages

import (
	"fmt"

	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// List is a part of what there is or what was found, from a number on: a line for each
// address, with its newest version and what it is about.
func List(found directory.Page, offset int) string {
	p := newPage()
	lines := make([]string, 0, len(found.Entries))
	for _, entry := range found.Entries {
		lines = append(lines, listed(entry))
	}
	p.list(lines)
	switch last := offset + len(lines); {
	case found.Total == 0:
		p.paragraph("There is none.")
	case len(lines) == 0:
		p.paragraph("There are %d, and none from number %d on.", found.Total, offset)
	default:
		p.paragraph("These are %d to %d of %d.", offset+1, last, found.Total)
	}
	return p.end("")
}

// listed is a line for an address.
func listed(entry directory.Entry) string {
	kind := "provider"
	if entry.Address.Folder() == registry.Modules {
		kind = "module"
	}
	line := fmt.Sprintf("%s %s %s", kind, code(entry.Address.String()), entry.Newest)
	if !entry.Published.IsZero() {
		line += entry.Published.UTC().Format(", published 2006-01-02")
	}
	if entry.Standing.State != "" {
		line += ", " + status(entry.Standing)
	}
	if entry.Description != "" {
		line += ": " + text(shortened(oneLine(entry.Description), longText))
	}
	return line
}

// Versions is a list of versions, the newest first, from a number on, at most so many.
func Versions(of registry.Address, listing registry.Listing, offset, limit int) string {
	var offered []registry.Listed
	for entry := range listing.Offered() {
		offered = append(offered, entry)
	}
	p := newPage()
	var lines []string
	for i := len(offered) - 1 - offset; i >= 0 && len(lines) < limit; i-- {
		line := offered[i].Version.String()
		if offered[i].Standing.State != "" {
			line += " " + status(offered[i].Standing)
		}
		lines = append(lines, line)
	}
	p.paragraph("Versions of %s, the newest first:", code(of.String()))
	p.list(lines)
	if len(lines) == 0 {
		p.paragraph("There are %d versions, and none from number %d on.", len(offered), offset)
	} else {
		p.paragraph("These are %d to %d of %d.", offset+1, offset+len(lines), len(offered))
	}
	return p.end("")
}

// Newest says which version of an address to take.
func Newest(of registry.Address, listed registry.Listed) string {
	p := newPage()
	p.paragraph("The newest version of %s is %s.", code(of.String()), code(listed.Version.String()))
	p.list([]string{"Status: " + status(listed.Standing)})
	return p.end("")
}
