package sonic

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

const (
	inStorm = "PFC_WD_TABLE_INSTORM" // of APPL_DB, a field for each queue that is stopped
	// Both are of STATE_DB. finalize-warmboot.sh clears the first when a restart has ended; the
	// second has the state of each daemon.
	warmEnable = "WARM_RESTART_ENABLE_TABLE"
	warmStates = "WARM_RESTART_TABLE"
)

// restarting lists the states of a daemon whose warm restart has begun and not ended
// (sonic-swss-common common/warm_restart.cpp; SONiC doc/warm-reboot).
var restarting = []string{"initialized", "restored", "replayed"}

// States reports queues that the PFC watchdog has stopped, a warm restart that has not ended, and
// rows that orchagent has not read yet.
//
// While a queue is stopped, orchagent clears its bit of PFC at the port, and with action drop on most
// ASICs binds profiles of zero bytes to the queue and the priority group (sonic-swss
// orchagent/pfcactionhandler.cpp, pfcwdorch.cpp).
func (d *driver) States(ctx context.Context) (out []drivers.State, err error) {
	appl, err := d.tables(ctx, "APPL_DB", append([]string{inStorm}, waiting...)...)
	if err != nil {
		return nil, err
	}
	for _, port := range natural.Keys(appl[0]) {
		for _, queue := range natural.Keys(appl[0][port]) {
			n, err := strconv.Atoi(queue)
			if err != nil || n < 0 || n >= qos.NumPriorities || appl[0][port][queue] != "storm" {
				continue
			}
			out = append(out, drivers.State{Port: port, Stopped: true,
				What:   fmt.Sprintf("the PFC watchdog has stopped queue %d: the port received pauses without end, and PFC of the priority is off there until they stop", n),
				Fix:    "look for the device at the other end that does not stop pausing; the switch restores the queue by itself",
				Fields: []qos.Attr{qos.KindPFC.Attr(), qos.KindQueueBuffer.At(n), qos.KindGroupBuffer.At(n), qos.KindHeadroom.At(n), qos.KindLossless.At(n)}})
		}
	}
	left := 0
	for _, t := range appl[1:] {
		left += len(t)
	}
	if left > 0 {
		out = append(out, drivers.State{Settling: true, Fix: "validate again when the switch has settled",
			What: fmt.Sprintf("orchagent has not read %s of APPL_DB yet", words.Count(left, "row"))})
	}
	warm, err := d.tables(ctx, "STATE_DB", warmEnable, warmStates)
	if err != nil {
		return nil, err
	}
	var busy []string
	for _, daemon := range natural.Keys(warm[1]) {
		if slices.Contains(restarting, warm[1][daemon]["state"]) {
			busy = append(busy, daemon+" ("+warm[1][daemon]["state"]+")")
		}
	}
	// Someone may have enabled it for a restart to come, which changes nothing until then.
	if warm[0]["system"]["enable"] == "true" && len(busy) > 0 {
		out = append(out, drivers.State{Settling: true, What: term.CleanLine("a warm restart has not ended: " + strings.Join(busy, ", ")), Fix: "wait until 'show warm_restart state' shows all of them reconciled, then validate again"})
	}
	return out, nil
}
