package dynamocatalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/larder-registry/larder/pkg/access"
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
			return nil, fmt.Errorf("rule %q: %w", textOf(i, SortKey), err)
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
	names.ProjectionExpression = aws.String(SortKey)
	items, err := a.queryAll(ctx, names)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(items, func(i item) bool { return textOf(i, SortKey) == r.Name }) {
		return access.ErrExists
	}
	if err := layout.CheckRules(len(items)); err != nil {
		return err
	}
	i := key(rulePartition, r.Name)
	if err := setJSON(i, r); err != nil {
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
func (a *Access) queryAll(ctx context.Context, input *dynamodb.QueryInput) ([]item, error) {
	var items []item
	for pages := dynamodb.NewQueryPaginator(a.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
	}
	return items, nil
}
