package scale

import (
	"math"
	"time"
)

// Times is the processor's time that answers take, by what is asked.
type Times map[Kind]time.Duration

// Measured is what `make bench` measured of the functions' binaries through the Lambda Runtime
// API, without a delay of the table: on two shared cores of an AMD EPYC, on 22 November 2026.
var Measured = Times{
	Discovery:        128 * time.Microsecond,
	ModuleVersions:   264 * time.Microsecond, // 100 versions
	ModuleDownload:   228 * time.Microsecond,
	ProviderVersions: 268 * time.Microsecond, // 400 versions, 12 platforms
	ProviderDownload: 286 * time.Microsecond, // 12 platforms
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

// gigabyteSeconds is what Lambda charges for a time of a function.
func gigabyteSeconds(function string, took time.Duration) float64 {
	return Memory[function] / 1024 * took.Seconds()
}
