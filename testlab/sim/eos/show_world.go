package eos

import (
	"fmt"
	"sync"
)

// world is what lies around a box and what it counts: neighbours, counters and
// the files in flash.
type world struct {
	mu        sync.Mutex
	neighbors map[string]neighbor // by full port name
	counters  map[counter]uint64
	files     map[string]string
}

type neighbor struct{ device, port string }

// counter names one counter of a queue or priority of a port.
type counter struct {
	port  string
	queue int
	name  string
}

// The names of the counters that SetCounter takes.
const (
	pfcRx      = "pfc-rx"
	pfcTx      = "pfc-tx"
	txPkts     = "tx-pkts"
	txOctets   = "tx-octets"
	dropPkts   = "drop-pkts"
	dropOctets = "drop-octets"
	ecnMarked  = "ecn-marked"
	wdStuck    = "wd-stuck"
	wdRecovery = "wd-recovery"
)

var counterNames = map[string]bool{pfcRx: true, pfcTx: true, txPkts: true, txOctets: true, dropPkts: true,
	dropOctets: true, ecnMarked: true, wdStuck: true, wdRecovery: true}

// numQueues is the number of unicast queues, and of priorities, of a port.
const numQueues = 8

// maxFiles bounds what is kept in flash.
const maxFiles = 32

func newWorld() *world {
	return &world{neighbors: map[string]neighbor{}, counters: map[counter]uint64{}, files: map[string]string{}}
}

// SetNeighbor says which port of which device LLDP sees on a port, by its full
// name ("Ethernet1/1"). An empty device takes the neighbour away.
func (e *EOS) SetNeighbor(port, device, remotePort string) {
	w := e.front.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if device == "" {
		delete(w.neighbors, port)
		return
	}
	w.neighbors[port] = neighbor{device, remotePort}
}

// SetCounter sets a counter of a port, by its full name. queue is the unicast
// queue, for pfc-rx and pfc-tx the priority, 0 to 7. name is pfc-rx, pfc-tx
// (frames), tx-pkts, tx-octets, drop-pkts, drop-octets, ecn-marked (packets),
// wd-stuck or wd-recovery (times). Another name or queue is a slip of the
// caller and panics.
func (e *EOS) SetCounter(port string, queue int, name string, value uint64) {
	if !counterNames[name] || queue < 0 || queue >= numQueues {
		panic(fmt.Sprintf("eos simulator: no counter %q of queue %d", name, queue))
	}
	w := e.front.world
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counters[counter{port, queue, name}] = value
}

func (w *world) count(port string, queue int, name string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counters[counter{port, queue, name}]
}

// sum adds a counter up over the queues of a port.
func (w *world) sum(port, name string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	var n uint64
	for q := range numQueues {
		n += w.counters[counter{port, q, name}]
	}
	return n
}

func (w *world) neighbor(port string) (neighbor, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.neighbors[port]
	return n, ok
}

// keep stores a file; false where flash is full.
func (w *world) keep(name, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.files[name]; !there && len(w.files) >= maxFiles {
		return false
	}
	w.files[name] = text
	return true
}

func (w *world) file(name string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.files[name]
	return t, ok
}
