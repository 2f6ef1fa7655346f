package intent

import "time"

type rawSimulation struct {
	NoPause opt[string]        `key:"noPause" rule:"load" doc:"Traffic during which no port may pause: always, for all that is simulated, or a pattern such as incast:8:1, which is then simulated as well."`
	NoLoss  opt[string]        `key:"noLoss" rule:"load" doc:"Traffic during which no packet of the class may be lost: always, or a pattern."`
	P99     opt[time.Duration] `key:"p99" doc:"Time in which 99 of 100 flows of limited size must finish, such as those of allreduce:64MB, at most 10s."`
}

// Simulation is what the operator expects of a simulation. It configures nothing.
type Simulation struct {
	// NoPause and NoLoss hold a traffic pattern, [Always], or "" if nothing is expected.
	NoPause, NoLoss Value[string]
	P99             Value[time.Duration] // 0 if not stated
}

// Always stands for all traffic that is simulated.
const Always = "always"

// maxCompletion is far longer than any simulation.
const maxCompletion = 10 * time.Second

func (r *resolver) simulation() {
	raw := r.raw.Simulation
	if raw == nil {
		raw = &rawSimulation{}
	}
	s := &r.out.Simulation
	s.NoPause, s.NoLoss, s.P99 = from(raw.NoPause, ""), from(raw.NoLoss, ""), from(raw.P99, 0)
	if raw.P99.Set && (s.P99.V <= 0 || s.P99.V > maxCompletion) {
		r.problems.addf(raw.P99.Pos, "write a time such as 2ms", "p99 %s is not above 0 and at most %s", s.P99.V, maxCompletion)
	}
}
