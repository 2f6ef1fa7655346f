package gate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// SavedPort is what a port counted in a window, as it is kept for a later comparison.
type SavedPort struct {
	Device   string            `json:"device" doc:"name in the intent"`
	Port     string            `json:"port" doc:"native name"`
	Seconds  float64           `json:"seconds" doc:"the time that the counters are of"`
	Counters map[string]uint64 `json:"counters" doc:"how much each counter grew, and the highest value of peaks"`
}

// Save keeps the ports of a window.
func Save(ports []PortWindow) (out []SavedPort) {
	for _, p := range ports {
		s := SavedPort{Device: p.Device, Port: p.Port, Seconds: p.Span.Seconds(), Counters: map[string]uint64{}}
		for id, n := range p.Growth {
			s.Counters[id.String()] = n
		}
		out = append(out, s)
	}
	return out
}

// maxSavedSpan bounds the window that a file may tell of.
const maxSavedSpan = 366 * 24 * time.Hour

// maxSavedPorts bounds the ports that a file may tell of.
const maxSavedPorts = 1 << 20

// Restore makes a baseline of what [Save] kept. Counters that this version does not know
// are left out.
func Restore(saved []SavedPort) (*Result, error) {
	known := drivers.CounterNames()
	out := &Result{}
	if len(saved) > maxSavedPorts {
		return nil, fmt.Errorf("a window of %d ports, more than %d", len(saved), maxSavedPorts)
	}
	for _, s := range saved {
		if !(s.Seconds >= 0 && s.Seconds <= maxSavedSpan.Seconds()) {
			return nil, fmt.Errorf("%s %s: a window of %g s", term.CleanLine(s.Device), term.CleanLine(s.Port), s.Seconds)
		}
		p := PortWindow{Device: s.Device, Port: s.Port, Span: time.Duration(s.Seconds * float64(time.Second)), Growth: drivers.PortCounters{}}
		for name, n := range s.Counters {
			if id, ok := known[name]; ok {
				p.Growth[id] = n
			}
		}
		out.Ports = append(out.Ports, p)
	}
	return out, nil
}
