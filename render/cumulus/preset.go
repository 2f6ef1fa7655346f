package cumulus

import "github.com/roce-fabric/roce-fabric/intent/qos"

// Values of "qos roce mode" (nvue-reference, QoS; Cumulus Linux 5.17, RDMA over Converged
// Ethernet). The last two were added in 5.12 and 5.15.
const (
	Lossless           = "lossless"
	Lossy              = "lossy"
	LosslessSinglePool = "lossless-single-ipool"
	LossyMultiTC       = "lossy-multi-tc"
)

// Preset describes the effect of "nv set qos roce" as NVIDIA documents it: trust, maps,
// scheduling, PFC and ECN of all ports without profiles that override it. It is only used for
// reading: the switch chooses its own numbers for each ASIC.
type Preset struct {
	Mode string
	// Known is false for an undocumented mode.
	Known bool

	dscp   [qos.NumDSCP]int8
	queues [qos.NumPriorities]int8
	shares [qos.NumPriorities]share
	pfc    qos.PrioritySet
	ecn    qos.PrioritySet // traffic classes with ECN marking
}

// share is the scheduler setting of a queue.
type share struct {
	strict  bool
	percent int
}

// PresetOf returns the preset of a configuration; nil if it is off.
func PresetOf(c *Config) *Preset {
	roce := c.Tree.At("qos", "roce")
	if !onAt(roce, true) {
		return nil
	}
	mode := roce.At("mode").Word()
	if mode == "" {
		mode = Lossless // NVUE's default
	}
	p := &Preset{Mode: mode, Known: true, dscp: blocks(), ecn: qos.Priorities(0, 3), queues: [qos.NumPriorities]int8{3: 3, 6: 6},
		shares: [qos.NumPriorities]share{0: {percent: 50}, 3: {percent: 50}, 6: {strict: true}}}
	switch mode {
	case Lossless, LosslessSinglePool:
		p.pfc = qos.Priorities(3)
	case Lossy:
	case LossyMultiTC: // marking as in the documented output of "nv show qos roce" for this mode
		p.dscp, p.queues = multiTC(), identity()
		p.shares = [qos.NumPriorities]share{{percent: 4}, {percent: 8}, {percent: 18}, {percent: 22}, {percent: 22}, {percent: 22}, {percent: 4}, {}}
	default:
		p.Known = false
	}
	return p
}

// lossless reports whether the preset creates a pool for lossless traffic.
func (p *Preset) lossless() bool { return p != nil && p.pfc != 0 }

// blocks returns NVUE's default DSCP map: eight DSCPs per priority.
func blocks() (m [qos.NumDSCP]int8) {
	for i := range m {
		m[i] = int8(i / 8)
	}
	return m
}

func identity() (m [qos.NumPriorities]int8) {
	for i := range m {
		m[i] = int8(i)
	}
	return m
}

// multiTC returns the DSCP map of mode lossy-multi-tc: DSCPs 1 to 6 carry RDMA, those of
// priority 4 are for trimmed packets.
func multiTC() (m [qos.NumDSCP]int8) {
	for _, r := range []struct {
		from, to int
		priority int8
	}{{1, 2, 1}, {3, 4, 2}, {5, 6, 3}, {11, 40, 4}, {41, 50, 5}} {
		for i := r.from; i <= r.to; i++ {
			m[i] = r.priority
		}
	}
	return m
}
