package buffers

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// leastLossy is the share of packet memory, in percent, below which lossy traffic counts as
// starved: NVIDIA's guide gives it 40 and 50.
const leastLossy = 20

// largeShares finds pools that together have more than the packet memory, and lossless pools
// with less than the headroom of their groups.
func largeShares(r *checks.Switch) {
	lossless, all := r.Config.MemoryShares()
	if all > 100 {
		var each []string
		for _, name := range natural.Keys(r.Config.Shares) {
			each = append(each, fmt.Sprintf("%s %d %%", term.CleanLine(name), r.Config.Shares[name].Percent))
		}
		r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("pools together have %d %% of the packet memory: %s", all, strings.Join(each, ", ")), Fix: "give the pools 100 % at most"}, "")
		return
	}
	if lossless == 0 || r.Source == checks.Intended || r.Device.Model == nil || r.Device.Model.ASIC().BufferBytes == 0 {
		return
	}
	groups, need := 0, int64(0)
	for _, p := range checks.LosslessPorts(r) {
		h := r.Memory.Headroom(p).Reference
		if h == nil {
			return
		}
		n := r.Lossless(p.Settings).Len()
		groups, need = groups+n, need+int64(n)*h.XOFF
	}
	if memory := r.Device.Model.ASIC().BufferBytes; need > memory/100*int64(lossless) {
		r.Found(checks.Finding{Severity: checks.Warning, Fix: "give the lossless pool a larger share, or use shorter cables",
			What: fmt.Sprintf("%d lossless groups need %s of headroom by the model of the standard, and their pool has %d %% of %s: %s", groups, roundSize(need), lossless, roundSize(memory), roundSize(memory/100*int64(lossless)))}, "")
	}
}

// smallLossyShare finds lossless pools that leave very little to lossy traffic. The shares are
// the operator's choice, and fine where no lossy burst matters.
func smallLossyShare(r *checks.Switch) {
	lossless, _ := r.Config.MemoryShares()
	var lossy []string
	for _, c := range r.Device.Desired.Classes {
		if !c.Lossless {
			lossy = append(lossy, c.Name)
		}
	}
	if lossless <= 100-leastLossy || lossless > 100 || len(lossy) == 0 {
		return
	}
	r.Found(checks.Finding{Severity: checks.Info, Fix: "give lossy pools a larger share if bursts of these classes are dropped",
		What: fmt.Sprintf("lossless pools have %d %% of the packet memory: %d %% is left to lossy traffic (%s)", lossless, 100-lossless, strings.Join(lossy, ", "))}, "")
}
