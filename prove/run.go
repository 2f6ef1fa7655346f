package prove

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/pool"
	"github.com/roce-fabric/roce-fabric/nic/local"
	"github.com/roce-fabric/roce-fabric/nic/perftest"
)

// RunOptions say how the rounds are run.
type RunOptions struct {
	// Run names the run; it marks the programs on the hosts.
	Run string
	// Read says how devices are read before and after the rounds.
	Read fleet.ReadOptions
	// Round is called before each round; may be nil.
	Round func(n, of int, s Stage)
	Tool  string
}

// grace is how long a program may take beyond its load until its host ends it, in seconds: the
// other end may be late.
const grace = 30

// hosts is what runs programs on hosts; [fleet.Loader] implements it.
type hosts interface {
	Load(ctx context.Context, host string, loads []local.Load) ([]local.Loaded, error)
	Address(host string) (string, error)
}

// Ready returns an error that names the hosts of the plan that cannot run perftest, with the reasons:
// those that cannot be reached, that take no program, or that lack it.
func (s *Saved) Ready(ctx context.Context, f *fleet.Fabric, at *fleet.Access, workers int) (err error) {
	l := fleet.NewLoader(f, at)
	defer func() { err = errors.Join(err, l.Close()) }()
	return ready(ctx, l, s.Hosts, workers)
}

func ready(ctx context.Context, on hosts, names []string, workers int) error {
	type answer struct {
		host, address string
		err           error
	}
	why := map[string][]string{}
	err := pool.Ordered(ctx, workers, names, func(ctx context.Context, host string) answer {
		address, err := on.Address(host)
		if err == nil {
			_, err = on.Load(ctx, host, nil)
		}
		return answer{host, address, err}
	}, func(a answer) error {
		if a.err != nil {
			what := a.err.Error()
			if a.address != "" { // without it the reason is the same for many hosts
				own := regexp.MustCompile(` ?` + regexp.QuoteMeta(a.address) + `(:\d+)?`)
				what = strings.TrimPrefix(own.ReplaceAllString(what, ""), ": ")
			}
			why[what] = append(why[what], a.host)
		}
		return nil
	})
	if err != nil || len(why) == 0 {
		return err
	}
	var parts []string
	n := 0
	for _, what := range natural.Keys(why) {
		n += len(why[what])
		parts = append(parts, natural.Fold(why[what])+": "+what)
	}
	return fmt.Errorf("%d of %d hosts cannot run the rounds: %s", n, len(names), strings.Join(parts, "; "))
}

// Run runs the rounds of a plan, which must be bound to the intent of f, and returns the
// certificate. The devices are read before; their counters cover all rounds.
func Run(ctx context.Context, f *fleet.Fabric, at *fleet.Access, s *Saved, o RunOptions) (c *Certificate, err error) {
	l := fleet.NewLoader(f, at)
	defer func() { err = errors.Join(err, l.Close()) }()
	c = newCertificate(s, o)
	v, err := fleet.Validate(ctx, f, at, fleet.ValidateOptions{ReadOptions: o.Read, During: func(ctx context.Context) error {
		c.Started = time.Now().UTC().Truncate(time.Second)
		err := s.run(ctx, l, o, c)
		c.Ended = time.Now().UTC().Truncate(time.Second)
		return err
	}})
	if err != nil {
		return nil, err
	}
	c.judge(s.net, v.Findings)
	return c, nil
}

// run runs all rounds, and adds what they measured to the certificate.
func (p *Plan) run(ctx context.Context, on hosts, o RunOptions, c *Certificate) error {
	n := 0
	for _, s := range p.Stages {
		var all []Measure
		for round := range s.Rounds {
			n++
			if o.Round != nil {
				o.Round(n, p.Total(), s)
			}
			m, err := p.round(ctx, on, o, s, round)
			if err != nil {
				return err
			}
			all = append(all, m...)
		}
		for _, class := range s.Classes {
			r := Result{Stage: s, Class: class}
			for _, m := range all {
				if m.Class == class {
					r.measured = append(r.measured, m)
				}
			}
			c.Results = append(c.Results, r)
		}
	}
	return nil
}

// round runs the programs of one round. An error of one host is in the measures of its flows.
func (p *Plan) round(ctx context.Context, on hosts, o RunOptions, s Stage, round int) ([]Measure, error) {
	flows := slices.Collect(p.Flows(s, round))
	out := make([]Measure, len(flows))
	shares := p.net.shares(s, flows)
	loads := map[string][]local.Load{}
	back := map[string][]int{} // the flow of each load
	servers := map[int]string{}
	var mu sync.Mutex
	for i, f := range flows {
		out[i] = Measure{Round: round, From: f.From.String(), To: f.To.String(), Class: f.Class.Name, Floor: shares[i] * floor, from: f.From, to: f.To}
		add := func(host, port string, t perftest.Options) {
			loads[host] = append(loads[host], local.Load{Port: port, Test: t, Limit: s.Measure + latencySeconds + grace, Run: o.Run})
			back[host] = append(back[host], i)
		}
		address, err := on.Address(f.To.Host)
		if err != nil {
			out[i].Error = err.Error()
			continue
		}
		add(f.To.Host, f.To.NIC, f.Options)
		f.Options.Server = address
		add(f.From.Host, f.From.NIC, f.Options)
	}
	names := natural.Keys(loads)
	err := pool.Ordered(ctx, len(names), names, func(ctx context.Context, host string) error {
		got, err := on.Load(ctx, host, loads[host])
		mu.Lock()
		defer mu.Unlock()
		for k, i := range back[host] {
			client := loads[host][k].Test.Server != ""
			switch {
			case err != nil:
				out[i].Error = err.Error()
			case client:
				out[i].take(s, got[k])
			case got[k].Error != "":
				servers[i] = got[k].Error
			}
		}
		return nil
	}, func(error) error { return ctx.Err() })
	for i, why := range servers {
		if out[i].Error != "" {
			out[i].Error = fmt.Sprintf("%s; %s: %s", out[i].Error, out[i].to.Host, why)
		}
	}
	return out, err
}

// take takes the result of a client.
func (m *Measure) take(s Stage, l local.Loaded) {
	if l.Error != "" {
		m.Error = l.Error
		return
	}
	m.Gbps, m.Latency = l.Result.Gbps, l.Result.Typical
	if s.Test == "latency" {
		m.Floor = 0
	}
}

// shares returns the rate in Gb/s that each flow can have at both of its ends: its class has a part
// of the link by its weight, which the flows of the class at that end divide. Uplinks that carry
// less than the links to hosts lower it between leaves. 0 stands for not known.
func (n *network) shares(s Stage, flows []Flow) []float64 {
	type port struct {
		end   *End
		out   bool
		class string
	}
	count := map[port]int{}
	for _, f := range flows {
		count[port{f.From, true, f.Class.Name}]++
		count[port{f.To, false, f.Class.Name}]++
	}
	total, strict := 0., false
	for _, name := range s.Classes {
		k := n.fabric.Settings.Class(name)
		total += float64(k.Bandwidth.V)
		strict = strict || k.Strict.V
	}
	out := make([]float64, len(flows))
	for i, f := range flows {
		part := 1.
		if len(s.Classes) > 1 {
			if strict || total <= 0 {
				continue
			}
			part = float64(f.Class.Bandwidth.V) / total
		}
		sent := f.From.Speed.Gbps() / float64(count[port{f.From, true, f.Class.Name}])
		got := f.To.Speed.Gbps() / float64(count[port{f.To, false, f.Class.Name}])
		if f.From.Leaf != f.To.Leaf {
			sent *= n.uplinks(f.From.Leaf)
			got *= n.uplinks(f.To.Leaf)
		}
		out[i] = part * min(sent, got)
	}
	return out
}

// uplinks returns the speed of all uplinks of a leaf as a part of that of its links to hosts, at
// most 1.
func (n *network) uplinks(leaf string) float64 {
	up, down := 0., 0.
	for _, p := range n.fabric.Switch(leaf).Ports {
		switch {
		case p.AdminUp.V != nil && !*p.AdminUp.V:
		case p.Uplink():
			up += p.Speed.V.Gbps()
		case p.Link != nil:
			down += p.Speed.V.Gbps()
		}
	}
	if up <= 0 || down <= 0 {
		return 1
	}
	return min(1, up/down)
}
