package simulate

// Series holds the lengths of queues over time: Queues[i][j] is the length in bytes of the queue of
// Ports[i] and Classes[i] at (j+1) * Every.
type Series struct {
	Every   Time
	Ports   []int
	Classes []int
	Queues  [][]int32
}

// series takes samples of the queues that a flow uses.
type series struct{ Series }

func (r *series) start(s *sim, opt Options) {
	if opt.Every <= 0 {
		return
	}
	r.Every = opt.Every
	used := map[[2]int]bool{}
	for i := range s.flows {
		for _, p := range s.flows[i].path {
			used[[2]int{int(p), s.flows[i].spec.Class}] = true
		}
	}
	n := int(opt.For / opt.Every)
	for p := range s.ports {
		for c := range MaxClasses {
			if used[[2]int{p, c}] && !s.nodes[s.ports[p].node].host {
				r.Ports, r.Classes = append(r.Ports, p), append(r.Classes, c)
				r.Queues = append(r.Queues, make([]int32, 0, n))
			}
		}
	}
	s.w.add(opt.Every, evSample, 0, 0)
}

func (s *sim) sample() {
	r := &s.series
	for i, p := range r.Ports {
		r.Queues[i] = append(r.Queues[i], int32(min(s.ports[p].queues[r.Classes[i]].bytes, 1<<31-1)))
	}
	s.w.add(s.now+r.Every, evSample, 0, 0)
}
