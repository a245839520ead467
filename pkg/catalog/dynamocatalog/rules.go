package dynamocatalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
)

// maxKey is how long an item's name can be, in bytes.
const maxKey = 1024

// Rules implements [access.Rules].
func (a *Access) Rules(ctx context.Context) ([]access.Rule, error) {
	rules, err := a.rules(ctx)
	if err != nil {
		return nil, a.failed(err, "list rules")
	}
	return rules, nil
}

func (a *Access) rules(ctx context.Context) ([]access.Rule, error) {
	items, err := a.queryAll(ctx, a.wholePartition(rulePartition))
	if err != nil {
		return nil, err
	}
	var rules []access.Rule
	for _, i := range items {
		rule, err := decodeJSON[access.Rule](i)
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", i.Text(SortKey), err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// AddRule implements [access.Rules]. Several calls at the same time may add some more
// than [access.MaxRules].
func (a *Access) AddRule(ctx context.Context, r access.Rule) error {
	return a.failed(a.addRule(ctx, r), fmt.Sprintf("add rule %.100q", r.Name))
}

func (a *Access) addRule(ctx context.Context, r access.Rule) error {
	names := a.wholePartition(rulePartition)
	names.Projection = SortKey
	items, err := a.queryAll(ctx, names)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(items, func(i wire.Item) bool { return i.Text(SortKey) == r.Name }) {
		return access.ErrExists
	}
	if err := layout.CheckRules(len(items)); err != nil {
		return err
	}
	i, err := withJSON(key(rulePartition, r.Name), r)
	if err != nil {
		return err
	}
	return a.create(ctx, i)
}

// RemoveRule implements [access.Rules].
func (a *Access) RemoveRule(ctx context.Context, name string) error {
	err := ctx.Err()
	switch {
	case err != nil:
	case name == "" || len(name) > maxKey: // DynamoDB refuses to look for it
		err = access.ErrNotFound
	default:
		err = a.deleteExisting(ctx, key(rulePartition, name))
	}
	return a.failed(err, fmt.Sprintf("remove rule %.100q", name))
}

// queryAll sends one request for each MiB.
func (a *Access) queryAll(ctx context.Context, query wire.Query) ([]wire.Item, error) {
	var items []wire.Item
	for i, err := range pages(nil, func(after wire.Item) (wire.Page, error) {
		query.After = after
		return a.client.Query(ctx, query)
	}) {
		if err != nil {
			return nil, err
		}
		items = append(items, i)
	}
	return items, nil
}
