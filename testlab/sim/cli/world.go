package cli

import (
	"cmp"
	"maps"
	"sync"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// NumQueues is the number of unicast queues, and of priorities, of a port.
const NumQueues = sim.NumQueues

// maxFiles bounds what is kept in flash.
const maxFiles = 32

// The counters of a queue, or of a priority (PFC), of a port.
const (
	PFCRx      = sim.PFCRx // frames
	PFCTx      = sim.PFCTx
	TxPkts     = sim.TxPkts // packets
	TxOctets   = sim.TxOctets
	DropPkts   = sim.DropPkts
	DropOctets = sim.DropOctets
	ECNMarked  = sim.ECNMarked // packets
	WDStuck    = sim.WDStuck   // times
	WDRecovery = sim.WDRecovery
)

// World is what lies around a box and what it counts: neighbours, counters and
// the files in flash. Ports go by their full name. Safe for concurrent use.
type World struct {
	// Tally counts.
	Tally sim.Tally

	mu        sync.Mutex
	neighbors map[string]Neighbor
	unplugged map[string]bool
	fec       map[string]string
	pauses    map[pausing]Pause
	peers     map[string]func() Wire
	files     map[string]string
}

// Neighbor is the other end of a link.
type Neighbor struct{ Device, Port string }

// newWorld is an empty one.
func newWorld() *World {
	return &World{neighbors: map[string]Neighbor{}, unplugged: map[string]bool{}, fec: map[string]string{}, pauses: map[pausing]Pause{}, peers: map[string]func() Wire{}, files: map[string]string{}}
}

// Pause is the buffer of a group that pauses its senders, in bytes: all of it, the fill at
// which it pauses and the one at which it lets them go on.
type Pause struct{ Size, Pause, Resume int64 }

type pausing struct {
	port  string
	group int
}

// SetPause gives a group of a port a pause buffer.
func (w *World) SetPause(port string, group int, p Pause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses[pausing{port, group}] = p
}

// Pause is that of a group; zero for none.
func (w *World) Pause(port string, group int) Pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pauses[pausing{port, group}]
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

// Unplug takes the cable out of a port, or puts it in again.
func (w *World) Unplug(port string, out bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unplugged[port] = out
}

// SetFEC says which forward error correction a port runs with: "rs", which all have at
// first, "fc" or "none".
func (w *World) SetFEC(port, fec string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fec[port] = fec
}

// FEC is what a port runs with that is set so.
func (w *World) FEC(port string, own Wire) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.fec[port], own.FEC, "rs")
}

// Unplugged reports whether a port has no cable.
func (w *World) Unplugged(port string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unplugged[port]
}

// Remember returns what brings neighbours, cables and FEC back to where they are now.
func (w *World) Remember() (back func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	neighbors, unplugged, fec := maps.Clone(w.neighbors), maps.Clone(w.unplugged), maps.Clone(w.fec)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.neighbors, w.unplugged, w.fec = maps.Clone(neighbors), maps.Clone(unplugged), maps.Clone(fec)
	}
}

// Count is what is shown of a counter.
func (w *World) Count(port string, queue int, name string) uint64 {
	return w.Tally.Read(port, queue, name)
}

// Sum adds a counter up over the queues of a port.
func (w *World) Sum(port, name string) uint64 {
	var n uint64
	for q := range NumQueues {
		n += w.Tally.Read(port, q, name)
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
