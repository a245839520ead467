package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/servers"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"golang.org/x/sync/errgroup"
)

// fill writes the data and the tokens to the stand-in and to the files of a node.
func (w *world) fill(ctx context.Context) error {
	all, ctx := errgroup.WithContext(ctx)
	var made []access.Token
	for range tokens {
		secret, id := access.NewToken()
		w.tokens = append(w.tokens, secret)
		scopes, err := access.ParseScopes([]string{"read *"})
		if err != nil {
			return err
		}
		now := time.Now()
		made = append(made, access.Token{
			ID: id, Name: "bench", Owner: "bench", Origin: access.ByOperator, Scopes: scopes,
			Created: now, Expires: now.Add(24 * time.Hour), Used: access.DayOf(now),
		})
	}
	all.Go(func() error { return w.fillStand(ctx, made) })
	all.Go(func() error { return w.fillFiles(ctx, made) })
	return all.Wait()
}

func (w *world) fillStand(ctx context.Context, tokens []access.Token) error {
	index, err := servers.Open(w.standURL())
	if err != nil {
		return err
	}
	if err := dataset.Fill(ctx, w.settings.packages, index.Put); err != nil {
		return err
	}
	if err := w.growInStand(ctx); err != nil {
		return err
	}
	for _, token := range tokens {
		if err := index.Access().CreateToken(ctx, token); err != nil {
			return err
		}
	}
	return nil
}

// growInStand replaces the listings of those that have several versions.
func (w *world) growInStand(ctx context.Context) error {
	client := dynamodb.New(dynamodb.Options{Region: servers.Region, Credentials: servers.Credentials(), BaseEndpoint: aws.String(w.standURL())})
	for partition, n := range dataset.Grown() {
		found, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(servers.Table), Key: map[string]types.AttributeValue{
			"PK": &types.AttributeValueMemberS{Value: partition},
			"SK": &types.AttributeValueMemberS{Value: dataset.ListingName},
		}})
		if err != nil {
			return err
		}
		data, ok := found.Item["data"].(*types.AttributeValueMemberB)
		if !ok {
			return fmt.Errorf("the listing of %s in the table has no data: %v", partition, found.Item)
		}
		if data.Value, err = dataset.GrowCompressed(data.Value, n); err != nil {
			return err
		}
		if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(servers.Table), Item: found.Item}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) fillFiles(ctx context.Context, tokens []access.Token) error {
	file := filepath.Join(w.folder, servers.CatalogFile)
	err := boltcatalog.Build(file, func(index *boltcatalog.Catalog) error {
		return dataset.Fill(ctx, w.settings.packages, index.Put)
	})
	if err == nil {
		err = dataset.GrowFile(file)
	}
	if err != nil {
		return err
	}
	store, err := boltcatalog.OpenAccess(filepath.Join(w.folder, servers.AccessFile))
	if err != nil {
		return err
	}
	return errors.Join(store.CreateToken(ctx, tokens[0]), store.Close())
}
