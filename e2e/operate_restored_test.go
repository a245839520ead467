package e2e

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
)

// By the lines of docs/operations.md, tokens and rules of a restored table are copied into the registry's table. What
// that table has already stays as it is.
func TestRestoredTokensAreCopied(t *testing.T) {
	t.Parallel()
	only(t, deployed)
	engine := dynamotest.Start(t)
	open := func() (string, *dynamocatalog.Access) {
		name := engine.CreateTable(t)
		catalog, err := dynamocatalog.New(dynamocatalog.Config{Table: name, Region: engine.Region, Credentials: engine.Credentials(), Endpoint: engine.Endpoint})
		if err != nil {
			t.Fatal(err)
		}
		return name, catalog.Access()
	}
	restored, before := open()
	table, now := open()

	lost, kept, newer := namedToken(t, `lost "$HOME" \n`), namedToken(t, "kept"), namedToken(t, "newer")
	keptBefore := kept
	keptBefore.Name = "kept, as it was before"
	gone, changed := lifetimeRule(t, "gone", time.Hour), lifetimeRule(t, "changed", 2*time.Hour)
	keep(t, before, []access.Token{lost, keptBefore}, gone, lifetimeRule(t, "changed", time.Hour))
	keep(t, now, []access.Token{kept, newer}, changed)

	script := strings.NewReplacer("example-registry-restored", restored, "example-registry", table).Replace(docBlock(t, "../docs/operations.md", "copy-tokens"))
	for range 2 { // it can be repeated
		command{dir: t.TempDir(), argv: []string{"sh", "-euc", script}, env: map[string]string{
			"AWS_ENDPOINT_URL_DYNAMODB": engine.Endpoint, "AWS_DEFAULT_REGION": engine.Region,
			"AWS_ACCESS_KEY_ID": engine.AccessKey, "AWS_SECRET_ACCESS_KEY": engine.SecretKey,
		}}.must(t)
		for _, want := range []access.Token{lost, kept, newer} {
			if got, err := now.Token(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("the token is %+v, %v; want %+v", got, err, want)
			}
		}
		if rules, err := now.Rules(t.Context()); err != nil || !reflect.DeepEqual(rules, []access.Rule{changed, gone}) {
			t.Errorf("the rules are %+v, %v; want %+v and %+v", rules, err, changed, gone)
		}
	}
}

func namedToken(t testing.TB, name string) access.Token {
	t.Helper()
	_, id := access.NewToken()
	created := time.Now().UTC().Truncate(time.Second)
	return access.Token{
		ID: id, Name: name, Owner: "Zoë O'Neil", Origin: access.ByOperator, Scopes: readAll(t),
		Created: created, Expires: created.Add(24 * time.Hour),
	}
}

func lifetimeRule(t testing.TB, name string, lifetime time.Duration) access.Rule {
	t.Helper()
	return access.Rule{
		Name: name, Use: access.ForPipelines, Issuer: "https://token.example.com", Audience: "larder",
		Claims: []access.Claim{{Name: "repository", Pattern: "acme/*"}}, Scopes: readAll(t), Lifetime: access.Duration(lifetime),
	}
}

func readAll(t testing.TB) access.Scopes {
	t.Helper()
	scopes, err := access.ParseScopes([]string{"read *"})
	if err != nil {
		t.Fatal(err)
	}
	return scopes
}

func keep(t testing.TB, store access.Store, tokens []access.Token, rules ...access.Rule) {
	t.Helper()
	for _, token := range tokens {
		if err := store.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	for _, rule := range rules {
		if err := store.AddRule(t.Context(), rule); err != nil {
			t.Fatal(err)
		}
	}
}
