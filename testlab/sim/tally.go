package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// NumQueues is the number of unicast queues, of priorities and of priority groups of a port.
const NumQueues = 8

// The counters of a queue, of a priority (PFC) or of a priority group of a port. Only SONiC and
// Cumulus Linux show those from GroupDrops to LinkPauseTx, and only SONiC the FEC counters.
const (
	PFCRx      = "pfc-rx" // frames
	PFCTx      = "pfc-tx"
	TxPkts     = "tx-pkts" // packets
	TxOctets   = "tx-octets"
	DropPkts   = "drop-pkts"
	DropOctets = "drop-octets"
	ECNMarked  = "ecn-marked" // packets
	WDStuck    = "wd-stuck"   // times
	WDRecovery = "wd-recovery"

	GroupDrops   = "group-drops"   // packets
	HeadroomPeak = "headroom-peak" // bytes
	PauseRxTime  = "pause-rx-us"   // microseconds
	LinkPauseRx  = "link-pause-rx" // frames; per port, kept under queue 0
	LinkPauseTx  = "link-pause-tx" // frames; per port, kept under queue 0

	FECCorrected   = "fec-corrected"   // code words; per port, kept under queue 0
	FECUncorrected = "fec-uncorrected" // code words; per port, kept under queue 0
	SymbolErrors   = "symbol-errors"   // symbols; per port, kept under queue 0
	RxErrors       = "rx-errors"       // frames; per port, kept under queue 0
	TxErrors       = "tx-errors"       // frames; per port, kept under queue 0
)

var tallyNames = map[string]bool{PFCRx: true, PFCTx: true, TxPkts: true, TxOctets: true, DropPkts: true, DropOctets: true, ECNMarked: true,
	WDStuck: true, WDRecovery: true, GroupDrops: true, HeadroomPeak: true, PauseRxTime: true, LinkPauseRx: true, LinkPauseTx: true,
	FECCorrected: true, FECUncorrected: true, SymbolErrors: true, RxErrors: true, TxErrors: true}

// Tally holds a box's counters. Traffic is simulated without a clock: a counter with a flow
// changes by a fixed step each time it is read. The zero value is ready to use. It is safe for
// concurrent use.
type Tally struct {
	mu    sync.Mutex
	now   map[tallied]uint64
	flows map[tallied]int64
	held  map[tallied]uint64 // values shown while polling is stopped; otherwise nil
	most  map[tallied]uint64 // highest values since the last Reset
}

// tallied names one counter of a queue, priority or group of a port.
type tallied struct {
	port  string
	queue int
	name  string
}

// CounterNames returns the names that [CheckCounter] accepts, sorted.
func CounterNames() []string { return slices.Sorted(maps.Keys(tallyNames)) }

// CheckCounter returns an error unless [Tally] has the counter: name must be one of the constants
// above, and queue must be 0 to 7.
func CheckCounter(queue int, name string) error {
	if queue < 0 || queue >= NumQueues {
		return fmt.Errorf("queue %d is not between 0 and %d", queue, NumQueues-1)
	}
	if !tallyNames[name] {
		return fmt.Errorf("unknown counter %q: use one of %s", name, strings.Join(CounterNames(), ", "))
	}
	return nil
}

// keyOf panics unless [CheckCounter] accepts the counter, because callers use constants or have
// checked it.
func keyOf(port string, queue int, name string) tallied {
	if err := CheckCounter(queue, name); err != nil {
		panic("simulator: " + err.Error())
	}
	return tallied{port, queue, name}
}

// Set sets a counter. It panics if [CheckCounter] returns an error.
func (t *Tally) Set(port string, queue int, name string, value uint64) {
	k := keyOf(port, queue, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[tallied]uint64{}
	}
	t.now[k] = value
	t.noteMost(k, value)
}

// noteMost records a value of a counter. The mutex is held.
func (t *Tally) noteMost(k tallied, v uint64) {
	if t.held != nil {
		return // what is not polled is not kept
	}
	if t.most == nil {
		t.most = map[tallied]uint64{}
	}
	t.most[k] = max(t.most[k], v)
}

// Most returns the highest value that the counter had since the last Reset.
func (t *Tally) Most(port string, queue int, name string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most[tallied{port, queue, name}]
}

// Flow makes a counter grow by step each time it is read. A negative step makes it fall, but not
// below 0, like a counter that was cleared. Step 0 ends the flow.
func (t *Tally) Flow(port string, queue int, name string, step int64) {
	k := keyOf(port, queue, name)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flows == nil {
		t.flows = map[tallied]int64{}
	}
	t.flows[k] = step
}

// Read returns the value that the box shows, then applies the counter's flow.
func (t *Tally) Read(port string, queue int, name string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := tallied{port, queue, name}
	v := t.now[k]
	if step := t.flows[k]; step != 0 {
		if t.now == nil {
			t.now = map[tallied]uint64{}
		}
		t.now[k] = uint64(max(0, int64(v)+step))
		t.noteMost(k, t.now[k])
	}
	if t.held != nil {
		return t.held[k]
	}
	return v
}

// Still ends all flows.
func (t *Tally) Still() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flows = nil
}

// Reset sets all counters to 0, like a restart.
func (t *Tally) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.most = nil, nil
}

// Hold(true) stops the polling: the shown values stay the same whatever is counted. Hold(false)
// shows the current values again.
func (t *Tally) Hold(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = nil
	if on {
		if t.held = maps.Clone(t.now); t.held == nil {
			t.held = map[tallied]uint64{}
		}
	}
}
