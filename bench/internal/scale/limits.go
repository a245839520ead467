package scale

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What AWS allows by default. docs/performance.md has the links.
const (
	GatewayRate       = 10_000 // requests a second, of an account in a region
	GatewayBurst      = 5_000
	Concurrency       = 1_000 // requests that functions work on at the same time, of an account in a region
	RequestsOfOne     = 10    // a second, for each that functions may work on at the same time
	NewEnvironments   = 1_000 // of a function, in 10 seconds
	PartitionReads    = 3_000 // read units a second, of a partition and so of an item
	PartitionWrites   = 1_000 // write units a second
	NewTableReads     = 12_000
	TableReads        = 40_000
	PrefixReads       = 5_500 // GET and HEAD a second
	Signatures        = 500   // a second, by keys of RSA
	QueueInvocations  = 1_000 // of a function by a queue, at the same time
	RememberedSeconds = 60    // catalog.MaxRemember
)

// What a deployment allows by default, in template.yaml.
const (
	RequestRate        = 100 // a second
	RequestBurst       = 200
	TokenRate          = 20 // a second at /v1/token, where pipelines get tokens
	PublishConcurrency = 4
)

// Load is what comes in the busiest time.
type Load struct {
	Inits    float64 // a second
	Packages float64 // that are uploaded, a second
}

// CompanyLoad is a company with 1,000 inits and 50 packages in its busiest hour.
var CompanyLoad = Load{Inits: 1000. / 3600, Packages: 50. / 3600}

func (l Load) times(factor float64) Load { return Load{l.Inits * factor, l.Packages * factor} }

// Limit is what a load may not exceed.
type Limit struct {
	Name string
	Most float64
	Unit string
	Used func(Load) float64
	Do   string // what to do before the load comes there
}

// Limits are all limits that a load can come to, of inits that ask so.
func Limits(i Init, cpu Times) []Limit {
	asked, bucket, busy, read := 0.0, 0.0, 0.0, 0.0
	count := i.Count()
	for _, kind := range slices.Sorted(maps.Keys(count)) { // a sum depends on the order, in its last digit
		n := count[kind]
		if kind.FromBucket() {
			bucket += float64(n)
			continue
		}
		asked += float64(n)
		busy += float64(n) * Duration(kind, cpu).Seconds()
		if kind != Discovery {
			read += float64(n)
		}
	}
	perInit := func(n float64) func(Load) float64 { return func(l Load) float64 { return l.Inits * n } }
	return []Limit{
		{"the deployment's `RequestRate`", RequestRate, "requests/s", perInit(asked), "raise `RequestRate` and `RequestBurst`"},
		{"the deployment's rate of `/v1/token`, if each pipeline gets a token there", TokenRate, "requests/s", perInit(1), "see [below](#pipelines-that-get-tokens)"},
		{"`PublishConcurrency`", PublishConcurrency, "uploads at once", func(l Load) float64 { return l.Packages * PublishPackage.Seconds() }, "raise it; uploads only wait"},
		{"HTTP API, of the account", GatewayRate, "requests/s", perInit(asked), "ask AWS"},
		{"Lambda, at the same time, of the account", Concurrency, "requests", func(l Load) float64 { return l.Inits*busy + l.Packages*PublishPackage.Seconds() }, "ask AWS"},
		{"Lambda, of the account: 10 requests/s for each that it may work on at once", RequestsOfOne * Concurrency, "requests/s", perInit(asked), "ask AWS for more concurrency"},
		{"DynamoDB: the partition of all tokens, if all pipelines have the same token", PartitionReads, "units/s", func(l Load) float64 { return max(l.Inits*busy, 1) / RememberedSeconds }, "nothing"},
		{"DynamoDB: the same, if each pipeline has a token of its own", PartitionReads, "units/s", perInit(read), "share tokens between pipelines"},
		{"DynamoDB: one listing that every init reads", PartitionReads, "units/s", perInit(1), "nothing"},
		{"DynamoDB: a new table", NewTableReads, "units/s", perInit(2 * read), "warm the table"},
		{"DynamoDB: a table, of the account", TableReads, "units/s", perInit(2 * read), "ask AWS"},
		{"S3: the bucket, before AWS has divided it", PrefixReads, "requests/s", perInit(bucket), "plugin caches in the runners"},
		{"KMS: signatures by RSA keys", Signatures, "signatures/s", func(l Load) float64 { return l.Packages }, "ask AWS"},
		{"SQS and Lambda: uploads at the same time", QueueInvocations, "uploads", func(l Load) float64 { return l.Packages * PublishPackage.Seconds() }, "nothing: uploads wait"},
	}
}

var factors = []float64{1, 10, 100, 1000}

// LimitsTable says, as rows of Markdown, how much of each limit a load uses, and some times of
// that load.
func LimitsTable(l Load, limits []Limit) string {
	var b strings.Builder
	b.WriteString("| limit | by default |")
	for _, factor := range factors {
		fmt.Fprintf(&b, " × %s |", Grouped(factor))
	}
	b.WriteString(" before it is reached |\n|---|---|" + strings.Repeat("---|", len(factors)) + "---|\n")
	for _, limit := range limits {
		fmt.Fprintf(&b, "| %s | %s %s |", limit.Name, Grouped(limit.Most), limit.Unit)
		for _, factor := range factors {
			b.WriteString(" " + percent(limit.Used(l.times(factor))/limit.Most) + " |")
		}
		b.WriteString(" " + limit.Do + " |\n")
	}
	return b.String()
}

// percent is a part of a limit; more than all of it is bold.
func percent(part float64) string {
	switch {
	case part > 1:
		return fmt.Sprintf("**%s %%**", Grouped(100*part))
	case part < 0.001:
		return "< 0.1 %"
	}
	return short(100*part) + " %"
}
