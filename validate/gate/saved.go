package gate

import (
	"fmt"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/internal/term"
)

// SavedPort holds the counts of a port in a window, saved for a later comparison.
type SavedPort struct {
	Device   string            `json:"device" doc:"name in the intent"`
	Port     string            `json:"port" doc:"native name"`
	Seconds  float64           `json:"seconds" doc:"the time that the counters are of"`
	Counters map[string]uint64 `json:"counters" doc:"how much each counter grew, and the highest value of peaks"`
}

// Save converts the ports of a window for saving.
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

// maxSavedSpan is the longest window that a file may hold.
const maxSavedSpan = 366 * 24 * time.Hour

// maxSavedPorts is the largest number of ports that a file may hold.
const maxSavedPorts = 1 << 20

// Restore makes a baseline from ports that [Save] returned. It ignores counters that this
// version does not know.
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
