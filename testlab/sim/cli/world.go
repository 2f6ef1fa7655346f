package cli

import (
	"cmp"
	"maps"
	"sync"

	"github.com/roce-fabric/roce-fabric/testlab/sim"
)

// NumQueues is the number of unicast queues, and of priorities, of a port.
const NumQueues = sim.NumQueues

// maxFiles is the maximum number of files in flash.
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

// World holds the surroundings of a box and its counters: neighbors, cables, and the files in
// flash. Ports are given by their full names. It is safe for concurrent use.
type World struct {
	// Tally holds the counters.
	Tally sim.Tally

	mu        sync.Mutex
	neighbors map[string]Neighbor
	unplugged map[string]bool
	fec       map[string]string
	pauses    map[pausing]Pause
	peers     map[string]func() Wire
	files     map[string]string
}

// Neighbor is the device and port at the other end of a link.
type Neighbor struct{ Device, Port string }

// newWorld returns an empty World.
func newWorld() *World {
	return &World{neighbors: map[string]Neighbor{}, unplugged: map[string]bool{}, fec: map[string]string{}, pauses: map[pausing]Pause{}, peers: map[string]func() Wire{}, files: map[string]string{}}
}

// Pause describes the pause buffer of a priority group, in bytes: its size, the fill level at
// which it sends PFC pause, and the level at which it resumes.
type Pause struct{ Size, Pause, Resume int64 }

type pausing struct {
	port  string
	group int
}

// SetPause sets the pause buffer of a priority group.
func (w *World) SetPause(port string, group int, p Pause) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pauses[pausing{port, group}] = p
}

// Pause returns the pause buffer of a priority group; zero if none is set.
func (w *World) Pause(port string, group int) Pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pauses[pausing{port, group}]
}

// SetNeighbor sets the device and port that LLDP shows on a port. An empty device removes the
// neighbor.
func (w *World) SetNeighbor(port, device, remotePort string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if device == "" {
		delete(w.neighbors, port)
		return
	}
	w.neighbors[port] = Neighbor{device, remotePort}
}

// Unplug unplugs or plugs in the cable of a port.
func (w *World) Unplug(port string, out bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unplugged[port] = out
}

// SetFEC sets the FEC that a port uses, whatever its settings: "rs", "fc" or "none".
func (w *World) SetFEC(port, fec string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fec[port] = fec
}

// FEC returns the FEC that a port with the settings own uses; the default is "rs".
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

// Remember returns a function that restores the current neighbors, cables and FEC.
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

// Count returns the shown value of a counter.
func (w *World) Count(port string, queue int, name string) uint64 {
	return w.Tally.Read(port, queue, name)
}

// Sum returns the sum of a counter over the queues of a port.
func (w *World) Sum(port, name string) uint64 {
	var n uint64
	for q := range NumQueues {
		n += w.Tally.Read(port, q, name)
	}
	return n
}

// Neighbor returns the neighbor of a port, and false if there is none.
func (w *World) Neighbor(port string) (Neighbor, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.neighbors[port]
	return n, ok
}

// Keep stores a file in flash. It returns false if the flash is full.
func (w *World) Keep(name, text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.files[name]; !there && len(w.files) >= maxFiles {
		return false
	}
	w.files[name] = text
	return true
}

// File returns a file from flash, and false if it does not exist.
func (w *World) File(name string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.files[name]
	return t, ok
}
