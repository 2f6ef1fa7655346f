package validate

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
)

const (
	srcHeadroomTables = "sonic-buildimage device/*/*/*/pg_profile_lookup.ini"
	srcPauseQuanta    = "IEEE 802.3 clause 31B.3.7"
)

var bufferChecks = []Check{
	{
		ID: "BUF-01", Title: "headroom is too small for the cable",
		Rules: []Rule{{Error, "below what is in flight in the cable"}, {Warning, "below the model of the standard"}, {Info, "where the headroom is not known"}},
		Scope: ScopeSwitch, Reads: ReadsIntent | ReadsRunning,
		Why:     "bytes that arrive after the pause was sent are dropped",
		Fix:     "use a shorter cable, or raise xoff",
		Sources: []string{srcPauseQuanta, srcHeadroomTables},
		device:  headroomOfPorts,
	},
	{
		ID: "BUF-02", Title: "the switch is configured for a shorter cable than the intent states",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why:    "its headroom is sized for the shorter cable",
		Fix:    "apply the intent",
		device: observed(eachPort(shorterCable)),
	},
	{
		ID: "BUF-03", Title: "the platform has no headroom row for the speed and cable, or no lossless pool",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsIntent,
		Why:     "SONiC logs an error and creates no lossless priority group",
		Fix:     "use a cable that the platform has a row for, or add the row",
		Sources: []string{"sonic-swss cfgmgr/buffermgr.cpp"},
		needs:   modelKnown, device: headroomRowMissing,
	},
	{
		ID: "BUF-04", Title: "a port needs more headroom than the switch allows",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsIntent,
		Why:     "the switch refuses the profile, or shrinks the pool",
		Fix:     "use fewer lossless classes, a shorter cable or a lower speed",
		Sources: []string{"sonic-swss cfgmgr/buffer_check_headroom_mellanox.lua"},
		needs:   modelKnown, device: admission,
	},
	{
		ID: "BUF-05", Title: "lossless groups share more headroom than declared",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsIntent,
		Why:   "many ports that pause at the same time overflow the pool",
		Fix:   "declare the ratio that you accept, use fewer lossless ports or shorter cables",
		needs: poolsKnown, device: headroomPool,
	},
	{
		ID: "BUF-06", Title: "the platform's headroom table is not plausible for a port",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsIntent | ReadsRunning,
		Why:     "a longer cable or a higher speed has less headroom than a shorter or lower one",
		Fix:     "ask the vendor, or correct the row in pg_profile_lookup.ini",
		Sources: []string{srcHeadroomTables},
		needs:   rowsKnown, device: plausibleRows,
	},
	{
		ID: "BUF-07", Title: "a lossless class is bound to a profile that is not the platform's lossless one",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why:    "its packets are dropped like lossy ones",
		Fix:    "apply the intent",
		device: observed(eachLossless(boundProfiles)),
	},
	{
		ID: "BUF-08", Title: "a lossless queue may hold less than its ingress pool accepts",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why:    "lossless packets are dropped at egress",
		Fix:    "give the queue's profile a static threshold as large as the pool",
		device: observed(eachLossless(egressLimit)),
	},
	{
		ID: "BUF-09", Title: "alpha differs within a role, or from the intent",
		Rules: always(Warning), Scope: ScopeFabric, Reads: ReadsIntent | ReadsRunning,
		Why:     "one switch pauses long before the others",
		Fix:     "give the role one buffers.alpha",
		Sources: []string{"RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 6.2"},
		device:  alphas, odd: otherAlpha,
	},
	{
		ID: "BUF-10", Title: "a lossless priority group pauses after a few packets",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsIntent,
		Why:   "with as many senders as the intent's fan-in, the port pauses all the time",
		Fix:   "raise buffers.alpha, or lower the fan-in",
		needs: poolsKnown, device: intended(eachLossless(thresholdAtFanIn)),
	},
	{
		ID: "BUF-11", Title: "lossy traffic may use up the buffer pool of lossless priority groups",
		Rules: []Rule{{Warning, "for values that are not the vendor's"}, {Info, "for those that the vendor ships"}}, Scope: ScopeSwitch, Reads: ReadsRunning,
		Why:    "the threshold of lossless priority groups shrinks with the free space",
		Fix:    "give lossy profiles a smaller alpha than lossless ones",
		device: observed(eachPort(lossyAlpha)),
	},
	{
		ID: "BUF-12", Title: "members of an aggregate or a breakout have different headroom",
		Rules: always(Error), Scope: ScopeSwitch, Reads: ReadsRunning,
		Why: "the weakest one loses packets", Fix: "apply the intent",
		Absent: "PRT-02 compares members in everything",
	},
	{
		ID: "BUF-14", Title: "the ports of one chip slice need more than the slice's memory",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsIntent,
		Why: "slices do not share memory", Fix: "spread the ports over the slices",
		Absent: "needs which ports belong to which slice, which no public source states",
	},
	{
		ID: "BUF-15", Title: "a lossless priority group is configured but not in force",
		Rules: always(Warning), Scope: ScopeTime, Reads: ReadsApplied,
		Why:   "the switch has no headroom for it, or has not assigned it yet",
		Fix:   "look for the reason in the switch's log, then write the value again",
		needs: stateInForce, state: groupsInForce,
	},
	{
		ID: "BUF-16", Title: "the peer of a port stops sending later than the standard allows",
		Rules: always(Warning), Scope: ScopeLink, Reads: ReadsIntent,
		Why:     "headroom tables and formulas assume the standard",
		Fix:     "raise xoff for this peer; BUF-01 says by how much",
		Sources: []string{srcPauseQuanta, "sonic-buildimage pull 11901"},
		device:  slowPeers,
	},
	{
		ID: "BUF-17", Title: "the traffic of the intent needs more headroom than the switch's template assumes",
		Rules: always(Warning), Scope: ScopeSwitch, Reads: ReadsIntent,
		Why:     "smaller packets fill more cells",
		Fix:     "set LOSSLESS_TRAFFIC_PATTERN to the real packet sizes",
		Sources: []string{"sonic-buildimage files/build_templates/buffers_config.j2"},
		needs:   modelKnown, device: trafficPattern,
	},
}

// losslessPorts returns the ports of an intent that have headroom to judge.
func losslessPorts(r *deviceRun) []*intent.Port {
	if r.source != Intended {
		return nil
	}
	var out []*intent.Port
	for p := range r.ports() {
		if r.lossless(p.Settings) != 0 && p.Cable.V != 0 && p.Speed.V != 0 {
			out = append(out, p)
		}
	}
	return out
}

func shorterCable(r *deviceRun, p *intent.Port, q *qos.Port) {
	want := r.d.Desired.Ports[p.Name].Cable
	if !q.Cable.Set || !want.Set || q.Cable.V >= want.V {
		return
	}
	fields := []qos.Attr{qos.KindCable.Attr()}
	for g := range q.Groups {
		fields = append(fields, qos.KindDerivedFrom.At(g))
	}
	r.found(Finding{Severity: Error, What: fmt.Sprintf("the switch assumes a cable of %s, the intent says %s", q.Cable.V, want.V)}, p.Name, fields...)
}

func admission(r *deviceRun) {
	for _, p := range losslessPorts(r) {
		a, err := r.d.Admission(p)
		if err != nil || a.Admitted {
			continue
		}
		what := fmt.Sprintf("its lossless priority groups use %s of the shared headroom pool; one port may use %s", units.Bytes(a.Shared), units.Bytes(a.MaxShared))
		r.found(Finding{Severity: Error, Where: p.Cable.From.String(), What: what}, p.Name)
	}
}

// headroomPool compares the headroom of all lossless groups with the pool that
// they share. Shipped templates share it up to sixfold, so only a ratio that
// the operator declares can be exceeded.
func headroomPool(r *deviceRun) {
	ratio := r.d.Switch.Settings.Buffers.OverSubscription
	if r.source != Intended || ratio.V <= 0 {
		return
	}
	use := r.d.HeadroomUse()
	if have, ok := use.Ratio(); ok && have > ratio.V {
		r.found(Finding{Severity: Warning, Where: ratio.From.String(),
			What: fmt.Sprintf("the headroom of %d lossless groups is %d B, %.2f times the pool of %d B; declared is %.2f", use.Groups, use.Sum, have, use.Pool, ratio.V)}, "")
	}
}

// plausibleRows looks for the rows that ports use in the table that they are
// from: the catalogue's, or what a switch has in use.
func plausibleRows(r *deviceRun) {
	uses := map[headroom.Row][]*intent.Port{}
	var rows []headroom.Row
	if r.source == Intended {
		if r.d.Desired.Platform.DynamicBuffers || r.d.Model == nil {
			return
		}
		rows = headroom.Rows(r.d.Model)
		for _, p := range losslessPorts(r) {
			if h, ok := r.d.Model.HeadroomRow(p.Speed.V, render.CableRow(r.d.Model, false, p.Speed.V, p.Cable.V)); ok {
				row := headroom.Row{Speed: h.Speed, Cable: h.Cable, XOFF: h.XOFF}
				uses[row] = append(uses[row], p)
			}
		}
	} else {
		for p, q := range r.ports() {
			for g := range q.Groups {
				if h := q.Groups[g].Headroom; q.Groups[g].DerivedFrom.Set && h.Set && q.Speed.Set && q.Cable.Set {
					row := headroom.Row{Speed: q.Speed.V, Cable: q.Cable.V, XOFF: h.V.XOFF}
					if uses[row] == nil {
						rows = append(rows, row)
					}
					uses[row] = append(uses[row], p)
				}
			}
		}
	}
	for _, f := range headroom.Falls(rows) {
		for _, p := range uses[f.Row] {
			r.found(Finding{Severity: Warning, Where: p.Cable.From.String(),
				What: fmt.Sprintf("xoff for %s and %s is %d B, less than the %d B for %s and %s", f.Row.Speed, f.Row.Cable, f.Row.XOFF, f.Above.XOFF, f.Above.Speed, f.Above.Cable)}, p.Name)
		}
	}
}

func boundProfiles(r *deviceRun, p *intent.Port, _ *qos.Port, k *intent.Class) {
	for _, field := range []qos.Attr{qos.KindQueueBuffer.At(k.Queue.V), qos.KindGroupBuffer.At(k.Priority.V)} {
		if ch, ok := r.differs(p.Name, field); ok {
			r.found(Finding{Severity: Error, What: fmt.Sprintf("lossless class %s: %s is %s, the intent says %s", k.Name, field, ch.Old, ch.New)}, p.Name, field)
		}
	}
}

// egressLimit compares the static threshold of a lossless queue with the pool
// that lossless packets come from: what is let in must be let out.
func egressLimit(r *deviceRun, p *intent.Port, q *qos.Port, k *intent.Class) {
	pool := r.cfg.Pools[catalog.IngressPool].Size
	b := q.Queues[k.Queue.V].Buffer
	profile := r.cfg.Profiles[b.V]
	if pool != 0 && b.Set && profile.Static && profile.Threshold < pool {
		r.found(Finding{Severity: Error, What: fmt.Sprintf("profile %s on the queue of lossless class %s is limited to %d B, the ingress pool has %d B", printable(b.V), k.Name, profile.Threshold, pool)}, p.Name)
	}
}

// alphas tells the threshold of lossless groups: that of the intent, or what a
// switch derived. Nothing but SONiC's dynamic buffer model takes one from the
// intent, so that a switch can have another than the checks of the intent reckon
// with, and no change that a plan would make.
func alphas(r *deviceRun) {
	group := fmt.Sprintf("%s of %s", r.d.Desired.Platform.ASIC, roleOf(r.d.Switch))
	for p, q := range r.ports() {
		if r.source == Intended {
			if n, assumed, ok := r.alphaOf(p); ok && r.lossless(p.Settings) != 0 {
				r.setting(group, fmt.Sprintf("2^%d", n), assumed, p, func(s *intent.Settings) intent.Origin { return s.Buffers.Alpha.From })
			}
			continue
		}
		stated := p.Settings.Buffers.Alpha
		for g := range q.Groups {
			h := q.Groups[g].Headroom
			if !q.Groups[g].Lossless.V || !h.Set || h.V.Static {
				continue
			}
			if a := stated.V; a != nil && int64(*a) != h.V.Threshold && !r.d.Desired.Platform.DynamicBuffers {
				r.found(Finding{Severity: Warning, Where: stated.From.String(),
					What: fmt.Sprintf("alpha of lossless groups is 2^%d, the intent says 2^%d", h.V.Threshold, *a),
					Fix:  "set buffers.alpha to the switch's value, or change it on the switch: a plan does not change it"}, p.Name)
			} else {
				r.trait(fmt.Sprintf("%s, %s over %s", group, p.Speed.V, p.Cable.V), fmt.Sprintf("2^%d", h.V.Threshold), p.Name, p.Pos.String())
			}
		}
	}
}

// alphaOf returns the exponent of the alpha that the intent leads to: the stated
// one, else the platform's own where that is known.
func (r *deviceRun) alphaOf(p *intent.Port) (n int64, assumed string, ok bool) {
	if a := p.Settings.Buffers.Alpha.V; a != nil {
		return int64(*a), "", true
	}
	if r.d.Model == nil {
		return 0, "", false
	}
	n, _, ok = headroom.PublishedAlpha(r.d.Model, p.Speed.V)
	return n, " by default", ok
}

func otherAlpha(o *oddRun) {
	o.found(Finding{Severity: Warning, What: fmt.Sprintf("alpha of lossless groups is %s, on %d of %d ports (%s) %s", o.value, o.share, o.of, strings.TrimSpace(o.group), o.usual)})
}

// fewFrames is how many lossless frames a group should hold before it pauses.
const fewFrames = 4

func thresholdAtFanIn(r *deviceRun, p *intent.Port, _ *qos.Port, k *intent.Class) {
	if p.Cable.V == 0 || p.Speed.V == 0 {
		return
	}
	s := r.sharingOf(p, k)
	l, ok := s.Limit(headroom.CaseIncast)
	if ok && l.Threshold < int64(fewFrames*(p.Settings.MTU.RDMA.V+intent.RDMAOverhead)) {
		r.found(Finding{Severity: Warning, Where: s.Fan.In.From.String(),
			What: fmt.Sprintf("with %d senders a group of class %s pauses at %s, less than %d frames", l.Active, k.Name, units.Bytes(l.Threshold), fewFrames)}, p.Name)
	}
}

// lossyAlpha compares dynamic thresholds of lossy and lossless groups of one
// pool.
func lossyAlpha(r *deviceRun, p *intent.Port, q *qos.Port) {
	var least *int64
	for g := range q.Groups {
		if h := q.Groups[g].Headroom; q.Groups[g].Lossless.V && h.Set && !h.V.Static && (least == nil || h.V.Threshold < *least) {
			n := h.V.Threshold
			least = &n
		}
	}
	if least == nil {
		return
	}
	for g := range q.Groups {
		b := q.Groups[g].Buffer
		profile, ok := r.cfg.Profiles[b.V]
		if q.Groups[g].Lossless.V || !b.Set || !ok || profile.Static || profile.Pool != catalog.IngressPool || profile.Threshold <= *least {
			continue
		}
		severity := Warning
		if r.shipsAlphas(p, b.V, profile, *least) {
			severity = Info
		}
		r.found(Finding{Severity: severity, What: fmt.Sprintf("lossy priority group %d (%s) has alpha 2^%d, lossless groups of the pool 2^%d", g, printable(b.V), profile.Threshold, *least)}, p.Name)
	}
}

// shipsAlphas reports whether the vendor's own template and table have the thresholds
// of a lossy profile and of the lossless groups of a port.
func (r *deviceRun) shipsAlphas(p *intent.Port, name string, profile qos.BufferProfile, lossless int64) bool {
	if r.d.Model == nil {
		return false
	}
	own, ok := r.d.Model.Profile(name)
	alpha, _, published := headroom.PublishedAlpha(r.d.Model, p.Speed.V)
	return ok && published && own.DynamicTh != nil && *own.DynamicTh == profile.Threshold && alpha == lossless
}

// bufferOfGroup reports whether a mismatch is of the buffer that a priority group
// has.
func bufferOfGroup(m drivers.Mismatch) bool { return m.Field.Kind.Of() == qos.OfGroup && !m.Unsure }

func groupsInForce(r *deviceRun) {
	for _, m := range r.seen.InForce {
		if !bufferOfGroup(m) {
			continue
		}
		if f, ok := r.notInForce(m); ok {
			if f.Severity == Error {
				f.Severity = Warning
			}
			r.found(f, m.Port)
		}
	}
}
