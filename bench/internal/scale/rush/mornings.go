package rush

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

// bucketOfNode is the processor's time that the bucket of one machine takes for an answer. It was
// measured by hand, of `larder serve` on the machine of scale.Measured.
var bucketOfNode = scale.Times{
	scale.Sums:      460 * time.Microsecond,
	scale.Sig:       460 * time.Microsecond,
	scale.HeadFirst: 460 * time.Microsecond,
	scale.Archive:   580 * time.Microsecond,
	scale.Package:   580 * time.Microsecond,
}

// Nine is nine o'clock: 10,000 pipelines start within a minute. On AWS it is a deployment with
// the settings of the templates, in an account with AWS's quotas.
func Nine(m scale.Measurement) Config {
	onNode := scale.Times{}
	maps.Copy(onNode, m.Node)
	maps.Copy(onNode, bucketOfNode)
	return Config{
		Seed: 1, Pipelines: 10_000, Sources: 1, Within: time.Minute,
		Travel: 10 * time.Millisecond, RunnerRate: 100e6, ArchiveSize: 50_000, PackageSize: 20_000_000,
		AWS: AWS{
			RequestRate: scale.RequestRate, RequestBurst: scale.RequestBurst, Concurrency: scale.Concurrency, Prefixes: 1,
			ColdStart: 300 * time.Millisecond, FirstByte: 100 * time.Millisecond, CPU: m.Functions,
		},
		Node: Node{
			Cores: 2, CPU: onNode, Handshake: 480 * time.Microsecond, PerMegabyte: 1400 * time.Microsecond, LineRate: 1.25e9,
		},
	}
}

// Morning is a simulation that is published.
type Morning struct {
	Name   string
	Config Config
}

// Mornings are those that docs/performance.md has.
func Mornings(m scale.Measurement) []Morning {
	change := func(changes ...func(*Config)) Config {
		c := Nine(m)
		for _, change := range changes {
			change(&c)
		}
		return c
	}
	raised := func(c *Config) { c.AWS.RequestRate, c.AWS.RequestBurst = scale.GatewayRate, scale.GatewayBurst }
	warm := func(c *Config) { c.Warm = true }
	own := func(c *Config) { c.OwnTokens = true }
	divided := func(c *Config) { c.AWS.Prefixes = 4 }
	within := func(time time.Duration) func(*Config) { return func(c *Config) { c.Within = time } }
	minutes, hour := within(10*time.Minute), within(time.Hour)
	machine := func(c *Config) { c.OneNode, c.Warm = true, true }
	cold := func(c *Config) { c.Warm = false }
	addresses := func(c *Config) { c.Sources = 100 }
	cores := func(c *Config) { c.Node.Cores = 8 }
	return []Morning{
		{"AWS, as it is deployed", change()},
		{"the same, spread over an hour", change(hour)},
		{"AWS, `RequestRate` 10,000, `RequestBurst` 5,000", change(raised)},
		{"the same, spread over 10 minutes", change(raised, minutes)},
		{"the same within a minute, plugin caches", change(raised, warm)},
		{"the same, S3 has divided the bucket in 4", change(raised, warm, divided)},
		{"the same, a token for each pipeline", change(raised, warm, divided, own)},
		{"the same, spread over 10 minutes", change(raised, warm, divided, own, minutes)},
		{"one machine of 2 cores, plugin caches, 1 address", change(machine)},
		{"the same, 100 addresses", change(machine, addresses)},
		{"the same, spread over 10 minutes", change(machine, addresses, minutes)},
		{"the same within a minute, 8 cores", change(machine, addresses, cores)},
		{"the same, no plugin caches, spread over 10 minutes", change(machine, addresses, cores, cold, minutes)},
	}
}

// Table is the results of mornings, as rows of Markdown.
func Table(mornings []Morning) string {
	var b strings.Builder
	b.WriteString("| morning | fail | asked again | p50 | p99 | longest | 429 | 503 | no answer | at once | cold starts | cost |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range mornings {
		r := Run(m.Config)
		cost, starts := fmt.Sprintf("%.2f $", r.Dollars()), fmt.Sprint(r.ColdStarts)
		if m.Config.OneNode {
			cost, starts = "", ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d | %d | %d | %d | %s | %s |\n", m.Name,
			part(r.Failed, r.Pipelines), part(r.Retried, r.Pipelines), seconds(r.P50), seconds(r.P99), seconds(r.Longest),
			r.TooMany, r.Unavailable, r.NoAnswer, r.Busiest, starts, cost)
	}
	return b.String()
}

// Inputs are what the mornings are computed from, as rows of Markdown: each with where it is
// from.
func Inputs(m scale.Measurement) string {
	times := func(t scale.Times) string {
		var all []string
		for _, kind := range scale.Answers {
			all = append(all, fmt.Sprint(t[kind].Microseconds()))
		}
		return strings.Join(all, ", ") + " µs"
	}
	c := Nine(m)
	var b strings.Builder
	b.WriteString("| what | figure | from |\n|---|---|---|\n")
	for _, row := range [][3]string{
		{"processor time of a function: discovery, versions and download of a module, versions and download of a provider", times(c.AWS.CPU), "measured, `make bench`"},
		{"the same of one machine", times(c.Node.CPU), "measured, `make bench`"},
		{"the same of its bucket: SHA256SUMS, signature or HEAD; archive or package", fmt.Sprintf("%d; %d µs", c.Node.CPU[scale.Sums].Microseconds(), c.Node.CPU[scale.Package].Microseconds()), "measured by hand"},
		{"the same to send 1 MB", fmt.Sprintf("%d µs", c.Node.PerMegabyte.Microseconds()), "measured by hand"},
		{"the same for the handshake of a connection", fmt.Sprintf("%d µs", c.Node.Handshake.Microseconds()), "measured by hand"},
		{"a process of a function starts", fmt.Sprint(c.AWS.ColdStart), "assumed; AWS says [from below 100 ms to over 1 s](https://docs.aws.amazon.com/lambda/latest/operatorguide/execution-environments.html)"},
		{"DynamoDB answers", fmt.Sprint(scale.TableWait), "assumed; AWS says [single-digit milliseconds](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html)"},
		{"S3 sends the first byte", fmt.Sprint(c.AWS.FirstByte), "assumed; AWS says [100 to 200 ms](https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html)"},
		{"the limits of AWS", "[above](#a-thousand-times-the-load)", "AWS"},
		{"from a runner to the registry", fmt.Sprint(c.Travel) + " each way", "assumed"},
		{"a runner downloads", fmt.Sprintf("%.0f MB/s", c.RunnerRate/1e6), "assumed"},
		{"the line of one machine", fmt.Sprintf("%.2f GB/s", c.Node.LineRate/1e9), "assumed: 10 Gbit/s"},
		{"a module's archive; a package", fmt.Sprintf("%d kB; %d MB", c.ArchiveSize/1000, c.PackageSize/1_000_000), "assumed"},
	} {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row[0], row[1], row[2])
	}
	return b.String()
}

// part is a part of all, in percent.
func part(some, all int) string { return fmt.Sprintf("%.3g %%", 100*float64(some)/float64(all)) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Pages are all computed tables of the docs, by page and by name.
func Pages(counted scale.Counted, m scale.Measurement) (map[string]map[string]string, error) {
	pages, err := scale.Pages(counted, m.Functions)
	if err != nil {
		return nil, err
	}
	page := pages["docs/performance.md"]
	page["mornings"], page["inputs"] = Table(Mornings(m)), Inputs(m)
	return pages, nil
}
