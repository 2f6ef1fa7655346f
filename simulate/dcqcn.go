package simulate

// DCQCN holds the parameters of the reaction point and the notification point. Sources: Zhu and
// others, Congestion Control for Large-Scale RDMA Deployments (SIGCOMM 2015), sections 3 and 5, for
// the algorithm and [SIGCOMM]; mlx5 as documented by NVIDIA for [Mlx5].
type DCQCN struct {
	CNPInterval Time  // least time between two notifications of a flow
	AlphaTimer  Time  // time without a notification after which alpha falls
	RateTimer   Time  // time between two increases
	ByteCounter int64 // bytes sent between two increases; 0 for none
	G           float64
	// FastSteps is F: so many increases halve the distance to the target rate before that rises.
	FastSteps int
	// Additive and Hyper are by how much the target rises, MinRate what no cut goes below, in bits
	// per second.
	Additive, Hyper, MinRate float64
	// Alpha is the first value of alpha.
	Alpha float64
	// Monitor is how often the sender looks for notifications, and cuts at most once; 0 cuts as they
	// arrive.
	Monitor Time
	// KeepTarget leaves the target rate as it is if a second cut follows without an increase.
	KeepTarget bool
	// TimerAlone enters hyper increase by the timer, whatever the byte counter says, as one public
	// simulator does. It is for comparison only.
	TimerAlone bool
}

// SIGCOMM returns the parameters of the paper for 40G.
func SIGCOMM() DCQCN {
	return DCQCN{
		CNPInterval: 50 * Microsecond, AlphaTimer: 55 * Microsecond, RateTimer: 55 * Microsecond, ByteCounter: 10_000_000,
		G: 1.0 / 256, FastSteps: 5, Additive: 40e6, Hyper: 200e6, MinRate: 10e6, Alpha: 1,
	}
}

// Mlx5 returns the defaults of mlx5 cards: rpg_time_reset 300, rpg_byte_reset 32767 of 64 B,
// rpg_threshold 1, rpg_ai_rate 5, rpg_hai_rate 50, dce_tcp_g 1019 of 1024, dce_tcp_rtt 1,
// rate_reduce_monitor_period 4, min_time_between_cnps 4. They differ between firmware releases.
func Mlx5() DCQCN {
	return DCQCN{
		CNPInterval: 4 * Microsecond, AlphaTimer: 1 * Microsecond, RateTimer: 300 * Microsecond, ByteCounter: 32767 * 64,
		G: 1 - 1019.0/1024, FastSteps: 1, Additive: 5e6, Hyper: 50e6, MinRate: 1e6, Alpha: 1, Monitor: 4 * Microsecond, KeepTarget: true,
	}
}

// control is the state of a reaction point.
type control struct {
	rate, target, line float64
	alpha              float64
	fell               Time // when alpha changed last
	bytes              int64
	timers, counters   int
	gen                int32 // of the rate timer
	flagged            bool  // a notification came since the last look
	polling            bool
	phase              Time // of the first notification: the sender looks at whole periods after it
	raised             bool // since the last cut
	cuts               int64
}

func (c *control) start(d *DCQCN, perKiB int64) {
	c.line = 8192 * 1e12 / float64(perKiB)
	c.rate, c.target, c.alpha = c.line, c.line, d.Alpha
}

// notified handles a congestion notification at the sender.
func (s *sim) notified(f *flow) {
	d, c := f.spec.Control, &f.control
	if d.Monitor == 0 {
		s.cut(f)
		return
	}
	c.flagged = true
	if c.polling {
		return
	}
	c.polling = true
	if c.cuts == 0 {
		c.phase = s.now
	}
	ticks := (s.now - c.phase) / d.Monitor
	s.w.add(c.phase+(ticks+1)*d.Monitor, evPoll, f.self, 0)
}

// poll cuts the rate if a notification came since the last look.
func (s *sim) poll(f *flow) {
	c := &f.control
	if !c.flagged {
		c.polling = false
		return
	}
	c.flagged = false
	s.cut(f)
	s.w.add(s.now+f.spec.Control.Monitor, evPoll, f.self, 0)
}

// cut lowers the rate of a flow.
func (s *sim) cut(f *flow) {
	d, c := f.spec.Control, &f.control
	if c.cuts++; c.cuts > 1 { // alpha falls only once the flow has been cut
		c.decay(d, s.now)
	}
	if c.raised || !d.KeepTarget || c.cuts == 1 {
		c.target = c.rate
	}
	c.rate = max(c.rate*(1-c.alpha/2), d.MinRate)
	c.alpha = (1-d.G)*c.alpha + d.G
	c.fell = s.now
	c.bytes, c.timers, c.counters, c.raised = 0, 0, 0, false
	c.gen++
	s.w.add(s.now+d.RateTimer, evRate, f.self, c.gen)
	s.rerate(f)
}

// decay lowers alpha by the time that passed without a notification.
func (c *control) decay(d *DCQCN, now Time) {
	keep := 1 - d.G
	for n := int64((now - c.fell) / d.AlphaTimer); n > 0; n >>= 1 {
		if n&1 == 1 {
			c.alpha *= keep
		}
		keep *= keep
	}
}

// tick handles the timer of rate increases.
func (s *sim) tick(f *flow, gen int32) {
	d, c := f.spec.Control, &f.control
	if gen != c.gen {
		return
	}
	c.timers++
	s.raise(f)
	if f.rated {
		s.w.add(s.now+d.RateTimer, evRate, f.self, c.gen)
	}
}

// counted handles the byte counter of rate increases.
func (s *sim) counted(f *flow, bytes int64) {
	d, c := f.spec.Control, &f.control
	if d.ByteCounter == 0 {
		return
	}
	if c.bytes += bytes; c.bytes >= d.ByteCounter {
		c.bytes -= d.ByteCounter
		c.counters++
		s.raise(f)
	}
}

// raise lets the rate of a flow rise by one step.
func (s *sim) raise(f *flow) {
	d, c := f.spec.Control, &f.control
	low, high := min(c.timers, c.counters), max(c.timers, c.counters)
	if d.TimerAlone {
		low, high = c.timers, c.timers
	}
	switch {
	case high <= d.FastSteps:
	case low > d.FastSteps && d.TimerAlone:
		c.target += d.Hyper
	case low > d.FastSteps:
		c.target += float64(low-d.FastSteps) * d.Hyper
	default:
		c.target += d.Additive
	}
	c.target = min(c.target, c.line)
	c.rate = (c.rate + c.target) / 2
	c.raised = true
	if c.rate > 0.9999*c.line {
		c.rate = c.line
	}
	s.rerate(f)
}

// rerate makes the pace of a flow follow its rate.
func (s *sim) rerate(f *flow) {
	f.rated = f.control.rate < f.control.line
	f.wait = Time(8192 * 1e12 / f.control.rate)
	s.reschedule(f)
}
