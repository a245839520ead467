package scale

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// counted is what docs/aws-requests.md says.
func counted(t *testing.T) Counted {
	t.Helper()
	page, err := os.ReadFile("../../../docs/aws-requests.md")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadCounted(string(page))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadCounted(t *testing.T) {
	got, err := ReadCounted(`# A page
| no | table |
<!-- answers -->
| request | status | requests |
|---|---|---|
| discovery | 200 | none |
| versions | 200 | 1 dynamodb Query, 2 s3 GetObject |
| versions | 401 | none |
<!-- /answers -->
| not | in it |
`)
	want := Counted{"answers": {"discovery": {}, "versions": {"dynamodb Query": 1, "s3 GetObject": 2}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %v, %v, want %v", got, err, want)
	}
	for _, wrong := range []string{"many", "1 dynamodb", "x dynamodb Query", "1 dynamodb Query,2 s3 GetObject"} {
		if _, err := ReadCounted("<!-- a -->\n| x | y |\n|---|---|\n| row | " + wrong + " |\n"); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
}

// asks is the stages of an init, as a text.
func asks(i Init) string {
	var stages []string
	for _, stage := range i.Stages() {
		var chains []string
		for _, chain := range stage {
			var one []string
			for _, ask := range chain {
				one = append(one, fmt.Sprint(ask.Kind, " ", ask.Of))
			}
			chains = append(chains, strings.Join(one, ", "))
		}
		stages = append(stages, strings.Join(chains, " + "))
	}
	return strings.Join(stages, "; ")
}

func TestStages(t *testing.T) {
	const (
		module   = "versions of a module %d, download of a module %[1]d, a HEAD before it %[1]d, a module's archive %[1]d"
		provider = "download of a provider %d, SHA256SUMS %[1]d, its signature %[1]d, a package %[1]d"
		head     = "download of a provider %d, SHA256SUMS %[1]d, its signature %[1]d, a HEAD before it %[1]d, a package %[1]d"
	)
	of := func(n int, text string) string { return fmt.Sprintf(text, n) }
	for _, tt := range []struct {
		init Init
		want string
	}{
		{Init{Client: Terraform}, ""},
		{Init{Client: Terraform, Modules: 2}, "discovery 0; " + of(0, module) + ", " + of(1, module)},
		{Init{Client: Terraform, Providers: 2}, "discovery 0; versions of a provider 0, versions of a provider 1; " + of(0, head) + ", " + of(1, head)},
		{Init{Client: OpenTofu, Providers: 2}, "discovery 0; versions of a provider 0 + versions of a provider 1; " + of(0, provider) + " + " + of(1, provider)},
		{Init{Client: OpenTofu, Providers: 1, Modules: 1}, "discovery 0; " + of(0, module) + "; versions of a provider 0; " + of(0, provider)},
		{Init{Client: Terraform, Providers: 1, Modules: 1, Warm: true}, "discovery 0; " + of(0, module) + "; versions of a provider 0"},
		{Init{Client: OpenTofu, Providers: 1, Modules: 1, Warm: true}, "discovery 0; " + of(0, module)},
		{Init{Client: OpenTofu, Providers: 1, Warm: true}, ""},
	} {
		if got := asks(tt.init); got != tt.want {
			t.Errorf("%+v asks\n%s\nwant\n%s", tt.init, got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	cpu := Times{Discovery: 72 * time.Microsecond, ModuleVersions: 289 * time.Microsecond, ModuleDownload: 290 * time.Microsecond}
	for kind, want := range map[Kind]time.Duration{
		Discovery:      time.Millisecond,     // 0.995 ms on 128 of 1769 MB
		ModuleVersions: 6 * time.Millisecond, // 0.9985 ms on 512 of 1769 MB, and 5 ms for the table
		ModuleDownload: 7 * time.Millisecond, // 1.002 ms
	} {
		if got := Duration(kind, cpu); got != want {
			t.Errorf("%s takes %v, want %v", kind, got, want)
		}
	}
}

func TestMeasurement(t *testing.T) {
	times := Times{}
	for n, kind := range Answers {
		times[kind] = time.Duration(n+1) * time.Microsecond
	}
	m := Measurement{"a machine", "a commit", times, times}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var got Measurement
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, m) || m.Check() != nil {
		t.Errorf("%s is read as %v, %v, %v", text, got, err, m.Check())
	}
	for _, missing := range []Measurement{{Functions: times}, {Node: times}, {Functions: times, Node: Times{Discovery: 1}}} {
		if missing.Check() == nil {
			t.Errorf("nothing is missing in %v", missing)
		}
	}
}

func TestInitBill(t *testing.T) {
	cpu := Times{}
	init := Init{Client: Terraform, Providers: 1, Modules: 1}
	for _, tt := range []struct {
		remembered bool
		want       Bill
	}{
		{true, Bill{{GatewayRequest, 5}, {LambdaRequest, 5}, {LambdaTime, 0.01}, {TableRead, 2}, {TableWrite, 0}, {BucketRead, 6}}},
		{false, Bill{{GatewayRequest, 5}, {LambdaRequest, 5}, {LambdaTime, 0.01}, {TableRead, 8}, {TableWrite, 1}, {BucketRead, 6}}},
	} {
		got, err := InitBill(init, counted(t), cpu, tt.remembered)
		for n := range got {
			got[n].Number = math.Round(got[n].Number*1e9) / 1e9
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("remembered %v: the bill is %v, %v, want %v", tt.remembered, got, err, tt.want)
		}
	}
	if _, err := InitBill(init, Counted{}, cpu, true); err == nil {
		t.Error("there is a bill without counted requests")
	}
}

// The same init has the same bill, to the last digit.
func TestBillsAreTheSame(t *testing.T) {
	cpu := Times{Discovery: 139 * time.Microsecond, ModuleVersions: 741 * time.Microsecond, ProviderDownload: 419 * time.Microsecond}
	init := Init{Client: Terraform, Providers: 3, Modules: 5}
	first, err := InitBill(init, counted(t), cpu, true)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if again, err := InitBill(init, counted(t), cpu, true); err != nil || !reflect.DeepEqual(again, first) {
			t.Fatalf("the bill is %v, %v, and was %v", again, err, first)
		}
	}
}

func TestPublishBill(t *testing.T) {
	counts := Counted{"uploads": {"a module": {"s3 PutObject": 2, "s3 GetObject": 3, "kms Sign": 1, "dynamodb PutItem": 2, "dynamodb Query": 1, "dynamodb BatchGetItem": 1, "dynamodb TransactWriteItems": 1, "sns Publish": 1}}}
	got, err := PublishBill([]Upload{{"a module", 2, time.Second, 2.5}}, counts)
	want := Bill{
		{BucketWrite, 6}, {BucketRead, 6}, {QueueRequest, 6}, {Signature, 2}, {TableRead, 4}, {TableWrite, 36}, {Announcement, 2},
		{LambdaRequest, 2}, {LambdaTime, 2 * 1769. / 1024}, {LambdaDisk, 2 * 5632. / 1024},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the bill is %v, %v, want %v", got, err, want)
	}
	if _, err := PublishBill([]Upload{{Row: "a provider"}}, counts); err == nil {
		t.Error("there is a bill for what was not counted")
	}
}

func TestTable(t *testing.T) {
	got := Table(Named{"cold", Bill{{GatewayRequest, 1234}, {LambdaTime, 0.5}}}, Named{"warm", Bill{{GatewayRequest, 12}}})
	const want = `| what | price | cold | × 1,000 | warm | × 1,000 |
|---|---|---|---|---|---|
| HTTP API: requests | 1.00 $ per million | 1,234 | 1.2340 $ | 12 | 0.0120 $ |
| Lambda: time | 0.0000133334 $ per GB-second | 0.5 | 0.0067 $ | 0 | 0.0000 $ |
| together | | | **1.2407 $** | | **0.0120 $** |
`
	if got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestLimits(t *testing.T) {
	limits := []Limit{
		{"few", 100, "requests/s", func(l Load) float64 { return 50 * l.Inits }, "more"},
		{"many", 1000, "units", func(l Load) float64 { return l.Inits + l.Packages }, "nothing"},
	}
	load := Load{Inits: 0.02, Packages: 0.1}
	const want = `| limit | by default | × 1 | × 10 | × 100 | × 1,000 | before it is reached |
|---|---|---|---|---|---|---|
| few | 100 requests/s | 1 % | 10 % | 100 % | **1,000 %** | more |
| many | 1,000 units | < 0.1 % | 0.12 % | 1.2 % | 12 % | nothing |
`
	if got := LimitsTable(load, limits); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}

func TestRenew(t *testing.T) {
	got, err := Renew("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", "x", "new\n")
	if want := "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"; err != nil || got != want {
		t.Errorf("the page is %q, %v, want %q", got, err, want)
	}
	for _, page := range []string{"", "<!-- x -->\n", "<!-- /x -->\n", "<!-- /x -->\n<!-- x -->\n"} {
		if got, err := Renew(page, "x", "new\n"); err == nil {
			t.Errorf("%q becomes %q", page, got)
		}
	}
}

// What was not counted has no cost.
func TestPagesNeedEveryRow(t *testing.T) {
	for _, missing := range [][2]string{
		{"answers", "versions of a module"}, {"reading with a token", "download of a provider"},
		{"uploads", "a module"}, {"uploads", "a provider package"}, {"uploads", "one more of its version"},
	} {
		c := counted(t)
		delete(c[missing[0]], missing[1])
		if pages, err := Pages(c, Times{}); err == nil || pages != nil || !strings.Contains(err.Error(), strconv.Quote(missing[1])) {
			t.Errorf("without %s: %v, %v", missing, pages, err)
		}
	}
}

func TestPercent(t *testing.T) {
	for part, want := range map[float64]string{0: "< 0.1 %", 0.0009: "< 0.1 %", 0.001: "0.1 %", 0.5: "50 %", 1: "100 %", 1.01: "**101 %**", 12.345: "**1,234 %**"} {
		if got := percent(part); got != want {
			t.Errorf("%g is %q, want %q", part, got, want)
		}
	}
}

// The pages have the tables that are computed.
func TestTablesAreDocumented(t *testing.T) {
	m, err := Measured()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := Pages(counted(t), m.Functions)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(pages["docs/costs.md"]) + len(pages["docs/performance.md"]); got != 4 || len(pages) != 2 {
		t.Errorf("there are %d tables on %d pages", got, len(pages))
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		page, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		renewed, err := RenewAll(string(page), pages[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if renewed != string(page) {
			t.Errorf("%s has other tables than are computed: go run ./bench -scale -write renews them", name)
		}
	}
}
