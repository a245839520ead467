package rush

import (
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/larder-registry/larder/bench/internal/scale"
)

// deployment is the registry on AWS.
type deployment struct {
	*world
	stage, account *allowance // of the gateway: what the deployment allows, and what AWS allows
	invocations    *allowance // of Lambda, a second
	functions      map[string]*function
	busy           int
	table          []*allowance // of each partition, in read units
	whole          *allowance   // of the table
	bucket         *allowance
	usedToday      map[int]bool // the tokens whose use today is written down
}

// function is a Lambda function.
type function struct {
	name  string
	idle  []*environment // the last that became idle is used next
	fresh *allowance     // how many environments Lambda makes
}

// environment is a process of a function.
type environment struct {
	remembered map[int]time.Duration // tokens, until when
}

func newDeployment(w *world) *deployment {
	c := w.config.AWS
	d := &deployment{
		world:       w,
		stage:       newAllowance(c.RequestRate, c.RequestBurst),
		account:     newAllowance(scale.GatewayRate, scale.GatewayBurst),
		invocations: newAllowance(scale.RequestsOfOne*c.Concurrency, scale.RequestsOfOne*c.Concurrency),
		functions:   map[string]*function{},
		whole:       newAllowance(scale.NewTableReads, scale.NewTableReads),
		bucket:      newAllowance(scale.PrefixReads*c.Prefixes, scale.PrefixReads*c.Prefixes),
		usedToday:   map[int]bool{},
	}
	for range scale.NewTableReads / scale.PartitionReads {
		d.table = append(d.table, newAllowance(scale.PartitionReads, scale.PartitionReads))
	}
	for _, name := range []string{"discovery", "versions", "download"} {
		d.functions[name] = &function{name: name, fresh: newAllowance(scale.NewEnvironments/10., scale.NewEnvironments)}
	}
	return d
}

// ended implements registry.
func (d *deployment) ended(*pipeline) {}

// answer implements registry.
func (d *deployment) answer(r request, done func(status int)) {
	switch {
	case r.kind.FromBucket():
		d.fromBucket(r, done)
	case !d.stage.take(d.now, 1) || !d.account.take(d.now, 1):
		done(tooMany)
	default:
		d.invoke(r, done)
	}
}

func (d *deployment) fromBucket(r request, done func(status int)) {
	d.result.BucketRequests++
	if !d.bucket.take(d.now, 1) {
		done(unavailable)
		return
	}
	d.after(d.config.AWS.FirstByte+transfer(r.size, d.config.RunnerRate), func() { done(ok) })
}

// transfer is how long it takes to download a number of bytes, at a rate in bytes a second.
func transfer(size int, rate float64) time.Duration {
	return time.Duration(float64(size) / rate * float64(time.Second))
}

// invoke has a function answer.
func (d *deployment) invoke(r request, done func(status int)) {
	d.result.Requests++
	f := d.functions[r.kind.Function()]
	if !d.invocations.take(d.now, 1) {
		d.result.Throttled++
		done(unavailable)
		return
	}
	e, cold := d.environment(f)
	if e == nil {
		d.result.Throttled++
		done(unavailable)
		return
	}
	d.busy++
	d.result.Busiest = max(d.result.Busiest, d.busy)
	begun := d.now
	var starts time.Duration
	if cold {
		d.result.ColdStarts++
		starts = d.config.AWS.ColdStart
	}
	d.after(starts, func() {
		d.read(r, e, func(status int) {
			d.after(scale.Duration(r.kind, d.config.AWS.CPU), func() {
				d.busy--
				f.idle = append(f.idle, e)
				d.result.LambdaSeconds += scale.GigabyteSeconds(f.name, d.now-begun)
				done(status)
			})
		})
	})
}

// environment is an idle environment, or else a new one, if Lambda makes another.
func (d *deployment) environment(f *function) (e *environment, cold bool) {
	if d.busy >= int(d.config.AWS.Concurrency) {
		return nil, false
	}
	if last := len(f.idle) - 1; last >= 0 {
		e, f.idle = f.idle[last], f.idle[:last]
		return e, false
	}
	if !f.fresh.take(d.now, 1) {
		return nil, false
	}
	return &environment{remembered: map[int]time.Duration{}}, true
}

// maxReads is how often a function sends a request to the table.
const maxReads = 6

// read reads what an answer needs: an item and, if the process does not remember it, the token.
func (d *deployment) read(r request, e *environment, done func(status int)) {
	token := r.from.token
	known := e.remembered[token] > d.now
	var reads []read
	if r.kind != scale.Discovery {
		reads = append(reads, read{partition(r), itemUnits(known)})
	}
	if r.kind != scale.Discovery && !known {
		reads = append(reads, read{tokenPartition, 1})
	}
	for _, one := range reads {
		d.result.ReadUnits += one.units
	}
	d.readAll(reads, 1, func(status int) {
		if status == ok && len(reads) == 2 {
			d.result.TokenReads++
			e.remembered[token] = d.now + scale.RememberedSeconds*time.Second
			d.noteUse(token)
		}
		done(status)
	})
}

// read is an item that is read, and what that takes.
type read struct {
	partition string
	units     float64
}

// readAll reads items. Those that the table refuses are asked for again after a while.
func (d *deployment) readAll(reads []read, tried int, done func(status int)) {
	reads = slices.DeleteFunc(slices.Clone(reads), func(one read) bool { return d.take(one.partition, one.units) })
	if len(reads) == 0 {
		done(ok)
		return
	}
	d.result.TableThrottled++
	if tried == maxReads {
		done(unavailable)
		return
	}
	d.after(tablePause(d.random.Float64(), tried), func() { d.readAll(reads, tried+1, done) })
}

// itemUnits is what it takes to read an item of up to 4 KB: with a token it is read as it is now.
func itemUnits(tokenKnown bool) float64 {
	if tokenKnown {
		return 0.5
	}
	return 1
}

// tablePause is how long a function waits before it asks the table again: a random part, from
// 0 to 1, of a time that doubles.
func tablePause(part float64, tried int) time.Duration {
	const first, most = 50 * time.Millisecond, time.Second
	return time.Duration(part * float64(min(first<<(tried-1), most)))
}

// noteUse writes down that a token is used today, once a day. Until that is written, other
// processes write it, too. If the table refuses it, the note is lost.
func (d *deployment) noteUse(token int) {
	if d.usedToday[token] || !d.take(tokenPartition, scale.PartitionReads/scale.PartitionWrites) {
		return
	}
	d.result.WriteUnits++
	d.after(scale.TableWait, func() { d.usedToday[token] = true })
}

// take takes read units of a partition and of the table. A write unit takes as much as some
// read units: a partition has a thousand of the one, or three thousand of the other.
func (d *deployment) take(partition string, units float64) bool {
	return d.table[placeOf(partition, len(d.table))].take(d.now, units) && d.whole.take(d.now, units)
}

// tokenPartition is where all tokens are.
const tokenPartition = "A"

// partition is where the table has what a request reads.
func partition(r request) string {
	switch r.kind {
	case scale.ModuleVersions, scale.ModuleDownload:
		return "M#" + strconv.Itoa(r.what)
	}
	return "P#" + strconv.Itoa(r.what)
}

// placeOf is the place of a partition in a table that has so many: one of them has several.
func placeOf(partition string, places int) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(partition))
	return int(hash.Sum32() % uint32(places))
}
