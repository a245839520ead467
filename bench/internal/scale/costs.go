package scale

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Line is a part of a cost.
type Line struct {
	Price  Price
	Number float64
}

// Dollars is what the line costs.
func (l Line) Dollars() float64 { return l.Price.of(l.Number) }

// Bill is what something costs, line by line.
type Bill []Line

// Dollars is what all lines cost.
func (b Bill) Dollars() (sum float64) {
	for _, line := range b {
		sum += line.Dollars()
	}
	return sum
}

// number is how many of a price's units a bill has.
func (b Bill) number(p Price) float64 {
	for _, line := range b {
		if line.Price == p {
			return line.Number
		}
	}
	return 0
}

// answerTable is the table of the counted requests that an answer takes.
func answerTable(remembered bool) string {
	if remembered {
		return "answers"
	}
	return "reading with a token"
}

// InitBill is what an init costs. The functions remember its token, or the registry is open;
// or else every request looks the token up, and one writes down that it was used today.
func InitBill(i Init, counted Counted, cpu Times, remembered bool) (Bill, error) {
	asked, time, reads, writes, bucket := 0.0, 0.0, 0.0, 0.0, 0.0
	count := i.Count()
	for _, kind := range slices.Sorted(maps.Keys(count)) { // a sum depends on the order, in its last digit
		n := float64(count[kind])
		if kind.FromBucket() {
			bucket += n
			continue
		}
		asked += n
		time += n * GigabyteSeconds(kind.Function(), Duration(kind, cpu))
		if kind == Discovery {
			continue
		}
		requests, err := counted.row(answerTable(remembered), string(kind))
		if err != nil {
			return nil, err
		}
		reads += n * readUnits(requests)
	}
	if !remembered {
		writes = 1
	}
	return Bill{
		{GatewayRequest, asked}, {LambdaRequest, asked}, {LambdaTime, time},
		{TableRead, reads}, {TableWrite, writes}, {BucketRead, bucket},
	}, nil
}

// readUnits is what DynamoDB charges for the requests of an answer, if no item has more than
// 4 KB: half a unit for a read that may be a moment old, as a GetItem or a Query here. With a
// token, two items are read, and both as they are now.
func readUnits(r Requests) float64 {
	return 0.5*r.of("dynamodb GetItem", "dynamodb Query") + 2*r.of("dynamodb BatchGetItem")
}

// Upload is uploads of a kind that are published.
type Upload struct {
	Row     string // of the counted requests
	Number  float64
	Took    time.Duration
	ItemsKB float64 // of each item that is written to the table
}

// ModulePublish is a version of a module.
var ModulePublish = []Upload{{"a module", 1, PublishModule, 1}}

// ProviderPublish is a version of a provider for some platforms, whose packages are uploaded
// one after the other.
func ProviderPublish(platforms int) []Upload {
	return []Upload{
		{"a provider package", 1, PublishPackage, 3},
		{"one more of its version", float64(platforms - 1), PublishPackage, 3},
	}
}

// directoryWrite is how many units a change of the directory writes: a shard of 4 KB and the head
// of 2 KB, in a transaction, which counts twice. So large they are with 5,000 addresses. A shard
// is then one unit to read. docs/decisions/0038-directory.md has what more of them take.
const directoryWrite = 2 * (4 + 2)

// PublishBill is what uploads cost, until they are published, in a registry with 5,000 addresses.
func PublishBill(uploads []Upload, counted Counted) (Bill, error) {
	all := Requests{}
	var seconds, number, written float64
	for _, u := range uploads {
		requests, err := counted.row("uploads", u.Row)
		if err != nil {
			return nil, err
		}
		all.plus(requests, u.Number)
		number += u.Number
		seconds += u.Number * u.Took.Seconds()
		written += u.Number * requests.of("dynamodb PutItem") * math.Ceil(u.ItemsKB)
		written += u.Number * requests.of("dynamodb TransactWriteItems") * directoryWrite
	}
	const queue = 3 // S3 sends the event, Lambda receives and deletes it
	return Bill{
		{BucketWrite, all.of("s3 PutObject", "s3 CopyObject", "s3 PutObjectTagging", "s3 ListObjectsV2") + number}, // and the uploads themselves
		{BucketRead, all.of("s3 GetObject", "s3 HeadObject", "s3 GetObjectTagging")},
		{QueueRequest, queue * number},
		{Signature, all.of("kms Sign")},
		{TableRead, all.of("dynamodb GetItem", "dynamodb Query", "dynamodb BatchGetItem")}, // each as it is now
		{TableWrite, written},
		{Announcement, all.of("sns Publish")},
		{LambdaRequest, number},
		{LambdaTime, seconds * Memory["publish"] / 1024},
		{LambdaDisk, seconds * publishDisk / 1024},
	}, nil
}

// Named is a bill with what it is for.
type Named struct {
	Name string
	Bill Bill
}

// Table is bills side by side, as rows of Markdown: each with its number of units, and what
// that costs a thousand times.
func Table(bills ...Named) string {
	var b strings.Builder
	b.WriteString("| what | price |")
	for _, bill := range bills {
		fmt.Fprintf(&b, " %s | × 1,000 |", bill.Name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|---|", len(bills)) + "\n")
	for _, line := range bills[0].Bill {
		fmt.Fprintf(&b, "| %s | %s |", line.Price.What, line.Price)
		for _, bill := range bills {
			n := bill.Bill.number(line.Price)
			fmt.Fprintf(&b, " %s | %.4f $ |", short(n), 1000*line.Price.of(n))
		}
		b.WriteByte('\n')
	}
	b.WriteString("| together | |")
	for _, bill := range bills {
		fmt.Fprintf(&b, " | **%.4f $** |", 1000*bill.Bill.Dollars())
	}
	b.WriteByte('\n')
	return b.String()
}

// String is the price as a page of prices says it.
func (p Price) String() string {
	dollars := strconv.FormatFloat(p.Dollars, 'f', -1, 64)
	if p.Dollars*100 == math.Trunc(p.Dollars*100) {
		dollars = strconv.FormatFloat(p.Dollars, 'f', 2, 64)
	}
	return dollars + " $ per " + p.Unit
}

// short is a number with three digits that count, and whole from a hundred on.
func short(n float64) string {
	if n >= 100 {
		return Grouped(n)
	}
	return fmt.Sprintf("%.3g", n)
}

// Grouped is a whole number with commas between the thousands.
func Grouped(n float64) string {
	digits := fmt.Sprintf("%.0f", n)
	var b strings.Builder
	for at, digit := range digits {
		if at > 0 && (len(digits)-at)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// initsOf is the init whose cost is published: three providers and five modules, by the client
// that asks most.
func initsOf(warm bool) Init { return Init{Client: Terraform, Providers: 3, Modules: 5, Warm: warm} }

// Costs are the tables of docs/costs.md, by their names there.
func Costs(counted Counted, cpu Times) (map[string]string, error) {
	tables := map[string]string{}
	for name, remembered := range map[string]bool{"inits": true, "inits with a token": false} {
		cold, err := InitBill(initsOf(false), counted, cpu, remembered)
		if err != nil {
			return nil, err
		}
		warm, err := InitBill(initsOf(true), counted, cpu, remembered)
		if err != nil {
			return nil, err
		}
		tables[name] = Table(Named{"cold", cold}, Named{"warm", warm})
	}
	module, err := PublishBill(ModulePublish, counted)
	if err != nil {
		return nil, err
	}
	provider, err := PublishBill(ProviderPublish(14), counted)
	if err != nil {
		return nil, err
	}
	tables["publishes"] = Table(Named{"a module", module}, Named{"a provider for 14 platforms", provider})
	return tables, nil
}
