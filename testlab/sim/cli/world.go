package cli

import (
	"fmt"
	"sync"
)

// NumQueues is the number of unicast queues, and of priorities, of a port.
const NumQueues = 8

// maxFiles bounds what is kept in flash.
const maxFiles = 32

// The counters of a queue, or of a priority (PFC), of a port.
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
)

var counterNames = map[string]bool{PFCRx: true, PFCTx: true, TxPkts: true, TxOctets: true, DropPkts: true,
	DropOctets: true, ECNMarked: true, WDStuck: true, WDRecovery: true}

// World is what lies around a box and what it counts: neighbours, counters and
// the files in flash. Ports go by their full name. Safe for concurrent use.
type World struct {
	mu        sync.Mutex
	neighbors map[string]Neighbor
	counters  map[counter]uint64
	files     map[string]string
}

// Neighbor is the other end of a link.
type Neighbor struct{ Device, Port string }

// counter names one counter of a queue or priority of a port.
type counter struct {
	port  string
	queue int
	name  string
}

// NewWorld is an empty one.
func NewWorld() *World {
	return &World{neighbors: map[string]Neighbor{}, counters: map[counter]uint64{}, files: map[string]string{}}
}

// SetNeighbor says which port of which device LLDP sees on a port. An empty
// device takes the neighbour away.
func (w *World) SetNeighbor(port, device, remotePort string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if device == "" {
		delete(w.neighbors, port)
		return
	}
	w.neighbors[port] = Neighbor{device, remotePort}
}

// SetCounter sets a counter. An unknown name or a queue outside 0 to 7 is a
// slip of the caller and panics.
func (w *World) SetCounter(port string, queue int, name string, value uint64) {
	if !counterNames[name] || queue < 0 || queue >= NumQueues {
		panic(fmt.Sprintf("simulator: no counter %q of queue %d", name, queue))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counters[counter{port, queue, name}] = value
}

// Count is the value of a counter.
func (w *World) Count(port string, queue int, name string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counters[counter{port, queue, name}]
}

// Sum adds a counter up over the queues of a port.
func (w *World) Sum(port, name string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var n uint64
	for q := range NumQueues {
		n += w.counters[counter{port, q, name}]
	}
	return n
}

// Neighbor is the one of a port, if there is one.
func (w *World) Neighbor(port string) (Neighbor, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.neighbors[port]
	return n, ok
}

// Keep stores a file in flash; false where flash is full.
func (w *World) Keep(name, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.files[name]; !there && len(w.files) >= maxFiles {
		return false
	}
	w.files[name] = text
	return true
}

// File is a file of flash, if it is there.
func (w *World) File(name string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.files[name]
	return t, ok
}
