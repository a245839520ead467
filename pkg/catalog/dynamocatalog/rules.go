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
func (c *Catalog) Rules(ctx context.Context) ([]access.Rule, error) {
	rules, err := c.rules(ctx)
	if err != nil {
		return nil, c.failed(err, "list rules")
	}
	return rules, nil
}

func (c *Catalog) rules(ctx context.Context) ([]access.Rule, error) {
	items, err := c.queryAll(ctx, c.wholePartition(rulePartition))
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
func (c *Catalog) AddRule(ctx context.Context, r access.Rule) error {
	return c.failed(c.addRule(ctx, r), fmt.Sprintf("add rule %.100q", r.Name))
}

func (c *Catalog) addRule(ctx context.Context, r access.Rule) error {
	names := c.wholePartition(rulePartition)
	names.ProjectionExpression = aws.String(SortKey)
	items, err := c.queryAll(ctx, names)
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
	return c.create(ctx, i)
}

// RemoveRule implements [access.Rules].
func (c *Catalog) RemoveRule(ctx context.Context, name string) error {
	err := ctx.Err()
	switch {
	case err != nil:
	case name == "" || len(name) > maxKey: // DynamoDB refuses to look for it
		err = access.ErrNotFound
	default:
		err = c.deleteExisting(ctx, key(rulePartition, name))
	}
	return c.failed(err, fmt.Sprintf("remove rule %.100q", name))
}

// queryAll sends one request for each MiB.
func (c *Catalog) queryAll(ctx context.Context, input *dynamodb.QueryInput) ([]item, error) {
	var items []item
	for pages := dynamodb.NewQueryPaginator(c.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
	}
	return items, nil
}
