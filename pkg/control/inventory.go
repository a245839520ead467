package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// list takes a part of all versions.
func (h *Handler) list(ctx context.Context, r List) (*Walked, error) {
	part := newPart(h.partTime)
	for held, err := range h.config.Walks.Inventory(ctx, r.Of, r.After) {
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		v := versionOf(held)
		part.Versions = append(part.Versions, v)
		if part.add(upkeep.Step{After: held.After, Leg: upkeep.RecordsLeg, Subject: v.Address + " " + v.Version}, nil) || part.fills(v) {
			return &part.Walked, nil
		}
	}
	part.Next = ""
	return &part.Walked, ctx.Err()
}

var kinds = map[registry.Folder]VersionKind{registry.Modules: Module, registry.Providers: Provider, registry.Mirror: Mirrored}

func versionOf(held upkeep.Held) Version {
	v := Version{
		Kind: kinds[held.Subject.Address.Folder()], Address: held.Subject.Address.String(),
		Version: held.Listed.Version.String(), Standing: cmp.Or(held.Listed.Standing.State, Listed),
		Message: held.Listed.Standing.Message, Source: held.Listed.Source,
	}
	for _, platform := range held.Listed.Platforms {
		v.Platforms = append(v.Platforms, platform.String())
	}
	if held.Listed.Revision == 0 {
		v.Standing = Unlisted
	}
	return v
}

// uploads takes a part of all outcomes.
func (h *Handler) uploads(ctx context.Context, r Uploads) (*Walked, error) {
	part := newPart(h.partTime)
	for entry, err := range h.config.Inbox.Outcomes(ctx, r.Prefix, r.After) {
		if entry.After == "" {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		full := false
		if err == nil && r.wants(entry.Status) {
			outcome := shortened(entry.Outcome)
			part.Uploads = append(part.Uploads, outcome)
			full = part.fills(outcome)
		}
		if part.add(upkeep.Step{After: entry.After, Leg: upkeep.InboxLeg, Subject: cmp.Or(entry.Key, entry.After)}, err) || full {
			return &part.Walked, nil
		}
	}
	part.Next = ""
	return &part.Walked, ctx.Err()
}

func (r Uploads) wants(status inbox.Status) bool {
	return r.Status == status || r.Status == AnyStatus || r.Status == "" && status != inbox.Published
}

// shortened returns an outcome with its first reasons, and how many more there are.
func shortened(o inbox.Outcome) inbox.Outcome {
	if more := len(o.Reasons) - MaxReasons; more > 0 {
		o.Reasons = append(o.Reasons[:MaxReasons:MaxReasons], fmt.Sprintf("and %d more, which its document under registry/outcomes/ has", more))
	}
	return o
}

// fills counts the size of a new entry, and says whether the part is full.
func (p *part) fills(more any) bool {
	data, _ := json.Marshal(more) // never fails: it is texts and times
	p.size += len(data)
	return p.size >= MaxAnswer
}
