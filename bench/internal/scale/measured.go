package scale

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Times is the processor's time that answers take, by what is asked.
type Times map[Kind]time.Duration

// Measurement is what `make bench` measured, with one client and without a delay of the table.
type Measurement struct {
	Machine   string
	Commit    string
	Functions Times // the binaries, through the Lambda Runtime API
	Node      Times // one machine, through TLS
}

// MeasuredFile is the file that has the measurement from which the docs are computed.
const MeasuredFile = "bench/internal/scale/measured.json"

//go:embed measured.json
var measured []byte

// Measured is the measurement from which the docs are computed.
func Measured() (Measurement, error) {
	var m Measurement
	if err := json.Unmarshal(measured, &m); err != nil {
		return m, fmt.Errorf("%s: %w", MeasuredFile, err)
	}
	return m, m.Check()
}

// Answers are the kinds of requests that a registry answers.
var Answers = []Kind{Discovery, ModuleVersions, ModuleDownload, ProviderVersions, ProviderDownload}

// Check says which time is missing.
func (m Measurement) Check() error {
	for _, kind := range Answers {
		if m.Functions[kind] <= 0 || m.Node[kind] <= 0 {
			return fmt.Errorf("there is no time of %q, by the functions and by one machine", kind)
		}
	}
	return nil
}

// MarshalJSON implements json.Marshaler: the times are in microseconds.
func (t Times) MarshalJSON() ([]byte, error) {
	microseconds := map[Kind]int64{}
	for kind, took := range t {
		microseconds[kind] = took.Microseconds()
	}
	return json.Marshal(microseconds)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Times) UnmarshalJSON(text []byte) error {
	var microseconds map[Kind]int64
	if err := json.Unmarshal(text, &microseconds); err != nil {
		return err
	}
	*t = Times{}
	for kind, n := range microseconds {
		(*t)[kind] = time.Duration(n) * time.Microsecond
	}
	return nil
}

// What is assumed, since nothing of it was measured on AWS.
const (
	TableWait      = 5 * time.Millisecond // until an answer of DynamoDB, which says "single-digit milliseconds"
	PublishPackage = 10 * time.Second     // of the function publish, for a package of a provider
	PublishModule  = time.Second
)

// The memory of the functions, in MB, as template.yaml has it.
var Memory = map[string]float64{"discovery": 128, "versions": 512, "download": 512, "publish": 1769}

// publishDisk is the disk of publish beyond the 512 MB that cost nothing, in MB.
const publishDisk = 6144 - 512

// oneProcessor is the memory, in MB, with which a function has the time of one processor. With
// less it has less of it.
const oneProcessor = 1769

// Duration is how long a function works on a request: it waits for the table, and it computes
// with its part of a processor. Lambda counts whole milliseconds.
func Duration(k Kind, cpu Times) time.Duration {
	wait := TableWait
	if k == Discovery {
		wait = 0
	}
	computes := float64(cpu[k]) * oneProcessor / Memory[k.Function()]
	return time.Duration(math.Ceil((float64(wait)+computes)/float64(time.Millisecond))) * time.Millisecond
}

// GigabyteSeconds is what Lambda charges for a time of a function.
func GigabyteSeconds(function string, took time.Duration) float64 {
	return Memory[function] / 1024 * took.Seconds()
}
