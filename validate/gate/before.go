package gate

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Before reports the lossy priorities on which a switch has ever sent pause frames, from one
// reading of its counters. A window reports only pauses sent while it lasted.
func Before(d Device, s Sample) []Finding {
	var out []Finding
	for _, name := range natural.Keys(d.Ports) {
		p := d.Ports[name]
		for i := range qos.NumPriorities {
			if p.lossless(i) == nil && s.Ports[name][drivers.PFCTx.Of(i)] > 0 {
				out = append(out, pausedBefore(d.Name, name, i, ""))
			}
		}
	}
	return out
}

// pausedBefore returns the finding for pause frames sent on a lossy priority. since is appended
// to its text and says when they were sent.
func pausedBefore(device, port string, priority int, since string) Finding {
	return Finding{ID: PauseBefore, Means: Warn, Device: device, Port: port,
		What: fmt.Sprintf("the port has sent pause on priority %d, which the intent calls lossy%s", priority, since),
		Fix:  "clear the counters if this was before a change"}
}
