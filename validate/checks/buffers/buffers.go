package buffers

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

var Checks = []checks.Check{
	{
		ID: "BUF-04", Title: "a port needs more headroom than the switch allows",
		Rules: []checks.Rule{{Severity: checks.Error, When: "by the switch's own test, or where pools are larger than the packet memory"}, {Severity: checks.Warning, When: "where either the switch or the catalogue does not tell the memory, or the share of a pool is less than its headroom"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "the switch refuses the profile, or shrinks the pool",
		Fix:     "use fewer lossless classes, a shorter cable or a lower speed",
		Sources: []string{"sonic-swss cfgmgr/buffer_check_headroom_mellanox.lua"},
		Needs:   checks.BuffersKnown, Switch: admission, Plans: true,
	},
	{
		ID: "BUF-05", Title: "lossless groups share more headroom than declared",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:   "many ports that pause at the same time overflow the pool",
		Fix:   "declare the ratio that you accept, use fewer lossless ports or shorter cables",
		Needs: checks.PoolsKnown, Switch: headroomPool, Plans: true,
	},
	{
		ID: "BUF-07", Title: "a lossless class is bound to a profile that is not the platform's lossless one",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "its packets are dropped like lossy ones",
		Fix:    "apply the intent",
		Switch: checks.OnlyObserved(checks.EachLossless(boundProfiles)),
	},
	{
		ID: "BUF-08", Title: "a lossless queue may hold less than its ingress pool accepts",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where it is less than the platform ships"}, {Severity: checks.Warning, When: "where it is not known what the platform ships"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "lossless packets are dropped at egress",
		Fix:    "give the queue's profile a static threshold as large as the pool",
		Switch: checks.OnlyObserved(checks.EachLossless(egressLimit)), Plans: true,
		Alone: checks.InEachPausingPort(egressAlone),
	},
	{
		ID: "BUF-09", Title: "alpha or pool of lossless priority groups is not the role's, the intent's or the platform's",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where a pause comes before the first mark for it, or a plan changes it"}, {Severity: checks.Warning, When: "else"}}, Scope: checks.ScopeFabric, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "the switch pauses long before others, or before it marks",
		Fix:     "give the role one buffers.alpha",
		Sources: []string{"RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 6.2"},
		Switch:  alphas, Outliers: otherAlpha, Plans: true,
	},
	{
		ID: "BUF-10", Title: "a lossless priority group pauses after a few packets",
		FoldedIn: []string{"BUF-09"},
		Rules:    checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:   "with as many senders as the intent's fan-in, the port pauses all the time",
		Fix:   "raise buffers.alpha, or lower the fan-in",
		Needs: checks.PoolsKnown, Switch: checks.EachLossless(CheckPressure), Plans: true,
	},
	{
		ID: "BUF-11", Title: "lossy traffic may use up the buffer pool of lossless priority groups, or has next to none",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "for values that are not the vendor's"}, {Severity: checks.Info, When: "for those that the vendor ships, or where pools of their own leave less than a fifth to lossy traffic"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "the threshold of a priority group shrinks with the free space of its pool",
		Fix:    "give lossy profiles a smaller alpha than lossless ones",
		Switch: checks.OnlyObserved(lossyPools), Plans: true,
	},
	{
		ID: "BUF-14", Title: "the lossless groups in one slice of the chip need more headroom than its part of the headroom pool",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where the pool as a whole has room for all groups"}, {Severity: checks.Info, When: "where it has not, as in many templates"}}, Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "slices do not share memory; groups that pause at the same time lose packets",
		Fix:     "declare the ratio that you accept as buffers.overSubscription, use fewer lossless ports or shorter cables",
		Sources: []string{"sonic-mgmt tests/qos/files/qos_params.*.yaml, hdrm_pool_size"},
		Needs:   checks.PoolsKnown, Switch: headroomSlices, Plans: true,
	},
	{
		ID: "BUF-15", Title: "a lossless priority group is configured but not in force",
		Rules: []checks.Rule{{Severity: checks.Error, When: "where the difference is visible"}, {Severity: checks.Info, When: "where the switch does not show what is in force"}}, Scope: checks.ScopeTime, Reads: checks.ReadsApplied,
		Why:   "the switch has no headroom for it, or has not assigned it yet",
		Fix:   "find the reason in the switch's log, then write the value again",
		Needs: checks.StateInForce, State: groupsInForce,
	},
	{
		ID: "BUF-19", Title: "a measured pause threshold differs from the computed one by more than a tenth",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent,
		Why:    "the switch is configured otherwise than its template says, or was when it was measured",
		Fix:    "measure again, or compare the pools and alpha of the switch with the template; the measurement counts meanwhile",
		Switch: checks.EachLossless(otherThanMeasured), Plans: true,
	},
	{
		ID: "BUF-18", Title: "two rows of a switch set one queue or priority group",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:     "the row that wins depends on what was written last, and after a start on the keys; orchagent takes a buffer off every group of a row that goes, also where another row names it",
		Fix:     "while the port is down, remove both rows and write the wider one again",
		Sources: []string{"sonic-swss orchagent/bufferorch.cpp"},
		State:   doubledRows,
	},
}

func admission(r *checks.Switch) {
	for _, p := range checks.LosslessPorts(r) {
		a, err := r.Memory.Admission(p)
		if err != nil || a.Admitted {
			continue
		}
		what := fmt.Sprintf("its lossless priority groups use %s of the shared headroom pool; one port may use %s", units.Bytes(a.Shared), units.Bytes(a.MaxShared))
		if a.MaxTotal > 0 && a.Total >= a.MaxTotal {
			what = fmt.Sprintf("its priority groups reserve %s; the switch shows a limit of %s for the port", units.Bytes(a.Total), units.Bytes(a.MaxTotal))
		}
		r.Found(checks.Finding{Severity: checks.Error, Where: p.Cable.From.String(), What: what}, p.Name)
	}
	largePools(r)
	largeShares(r)
}

// largePools finds pools that do not fit into the packet memory. The templates of vendors
// exceed public figures for a chip by a few percent. The finding is an error only if both the
// switch and the catalogue know the memory: either alone may count only part of it.
func largePools(r *checks.Switch) {
	shown, chip := r.Config.Hardware.Memory, int64(0)
	if r.Device.Model != nil {
		chip = r.Device.Model.ASIC().BufferBytes
	}
	memory, whose := max(shown, chip), "of the chip"
	if shown >= chip {
		whose = "that the switch shows"
	}
	if r.Source == checks.Intended || memory == 0 {
		return
	}
	f := checks.Finding{Severity: checks.Warning, Fix: "set the pool to the size of the platform's template"}
	if shown > 0 && chip > 0 {
		f.Severity = checks.Error
	}
	var ingress []string
	var sum, usually int64
	one := false
	for _, name := range natural.Keys(r.Config.Pools) {
		pool := r.Config.Pools[name]
		usual, _ := usualPool(r, name)
		what, size := roundSize(pool.Size), pool.Size
		if m := r.Device.Model; pool.XOFF > 0 && m != nil && !m.ContainsHeadroom(pool.Size, pool.XOFF) {
			what, size = fmt.Sprintf("%s and %s of headroom", what, roundSize(pool.XOFF)), min(size, 1<<62-pool.XOFF)+pool.XOFF
			usual.Size += usual.XOFF
		}
		if size > memory+memory/4 && size > usual.Size {
			one = true
			f.What = fmt.Sprintf("pool %s has %s, and the packet memory %s is %s", term.CleanLine(name), what, whose, roundSize(memory))
			r.Found(f, "")
		}
		if !pool.Egress && pool.Size > 0 { // egress pools count the same memory again
			ingress = append(ingress, term.CleanLine(name))
			sum = min(sum, 1<<62-pool.Size) + pool.Size
			usually += usual.Size
		}
	}
	if !one && len(ingress) > 1 && sum > memory+memory/4 && sum > usually {
		f.What, f.Fix = fmt.Sprintf("pools %s together have %s, and the packet memory %s is %s", strings.Join(ingress, ", "), roundSize(sum), whose, roundSize(memory)), "set the pools to the sizes of the platform's template"
		r.Found(f, "")
	}
}

// headroomPool compares the headroom of all lossless groups with the pool that they share.
// Vendor templates oversubscribe it up to six times, so only a ratio that the operator declares
// can be exceeded.
func headroomPool(r *checks.Switch) {
	ratio := r.Device.Switch.Settings.Buffers.OverSubscription
	if r.Source == checks.Saved || ratio.V <= 0 {
		return
	}
	use := r.Memory.HeadroomUse()
	have, ok := use.Ratio()
	if !ok || have <= ratio.V {
		return
	}
	what := fmt.Sprintf("the headroom of %d lossless groups is %d B, %.2f times the pool of %d B", use.Groups, use.Sum, have, use.Pool)
	if use.Slices > 1 {
		what = fullestSlice(use, have)
	}
	r.Found(checks.Finding{Severity: checks.Warning, Where: ratio.From.String(), What: fmt.Sprintf("%s; declared is %.2f", what, ratio.V)}, "")
}

// headroomSlices compares the headroom of the groups that are certainly in one slice with the part
// of the pool there. A declared ratio is judged by headroomPool.
func headroomSlices(r *checks.Switch) {
	use := r.Memory.HeadroomUse()
	have, ok := use.Ratio()
	if r.Source == checks.Saved || r.Device.Switch.Settings.Buffers.OverSubscription.V > 0 || use.Slices < 2 || !ok || have <= 1 {
		return
	}
	f := checks.Finding{Severity: checks.Warning, What: fullestSlice(use, have)}
	if use.Sum > use.Pool {
		f.Severity = checks.Info
	}
	r.Found(f, "")
}

// otherThanMeasured compares a measured pause threshold with the computed one.
func otherThanMeasured(r *checks.Switch, p *intent.Port, _ *qos.Port, k *intent.Class) {
	seen := p.Switch.Measurement(p.Speed.V, p.Cable.V)
	if r.Source != checks.Intended || seen == nil || seen.Pause == 0 {
		return
	}
	pool := sharingOf(r, p, k).Pool
	if pool == nil || pool.Computed == 0 || float64(max(seen.Pause, pool.Computed)) <= 1.1*float64(min(seen.Pause, pool.Computed)) {
		return
	}
	r.Found(checks.Finding{Severity: checks.Warning, Where: seen.Pos.String(),
		What: fmt.Sprintf("a group of class %s was measured to pause at %d B (%s); by the template it pauses at %d B", k.Name, seen.Pause, seen.Source, pool.Computed)}, p.Name)
}

// fullestSlice describes the headroom in the fullest slice of a chip.
func fullestSlice(use render.HeadroomUse, ratio float64) string {
	return fmt.Sprintf("of %d lossless groups with %d B of headroom, one of the chip's %d slices has at least %d B, %.2f times its part of the headroom pool, %d B", use.Groups, use.Sum, use.Slices, use.Fullest, ratio, use.Slice())
}

func boundProfiles(r *checks.Switch, p *intent.Port, _ *qos.Port, k *intent.Class) {
	for _, field := range []qos.Attr{qos.KindQueueBuffer.At(k.Queue.V), qos.KindGroupBuffer.At(k.Priority.V)} {
		if ch, ok := r.Differs(p.Name, field); ok {
			r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("lossless class %s: %s is %s, the intent says %s", k.Name, field, ch.Old, ch.New)}, p.Name, field)
		}
	}
}

// egressLimit compares the static threshold of a lossless queue with the bytes that the groups
// feeding it may accept before all of them pause: the queue must be able to hold them.
func egressLimit(r *checks.Switch, p *intent.Port, q *qos.Port, k *intent.Class) {
	_, pool, ok := r.Memory.PoolOf(p.Name, k.Priority.V)
	b := q.Queues[k.Queue.V].Buffer
	if !ok || pool.Size == 0 || !b.Set {
		return
	}
	admits, s := pool.Size, sharingOf(r, p, k)
	if l, known := s.Limit(headroom.CaseIncast); known && s.Pool.Fixed == 0 {
		skid := int64(l.Feeders) * q.Groups[k.Priority.V].Headroom.V.XOFF
		if pool.XOFF > 0 {
			skid = min(skid, pool.XOFF)
		}
		admits = min(admits, l.Upper+skid)
	}
	what, sure, short := egressOf(r, b.V, admits)
	if !short {
		return
	}
	f := checks.Finding{Severity: checks.Error, What: fmt.Sprintf("profile %s on the queue of lossless class %s %s, the ingress pool has %d B", term.CleanLine(b.V), k.Name, what, pool.Size)}
	if !sure {
		f.Severity = checks.Warning
	}
	r.Found(f, p.Name)
}

func lossyPools(r *checks.Switch) {
	checks.EachPort(lossyAlpha)(r)
	smallLossyShare(r)
}

// lossyAlpha compares the dynamic thresholds of lossy and lossless groups of the same pool.
func lossyAlpha(r *checks.Switch, p *intent.Port, q *qos.Port) {
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
		profile, ok := r.Config.Profiles[b.V]
		if q.Groups[g].Lossless.V || !b.Set || !ok || profile.Static || profile.Pool != catalog.IngressPool || profile.Threshold <= *least {
			continue
		}
		severity := checks.Warning
		if r.Config.Platform.RoCEMode || shippedLossy(r, b.V, profile.Threshold) && platformAlpha(r, p, *least) {
			severity = checks.Info
		}
		r.Found(checks.Finding{Severity: severity, What: fmt.Sprintf("lossy priority group %d (%s) has alpha 2^%d, lossless groups of the pool 2^%d", g, term.CleanLine(b.V), profile.Threshold, *least)}, p.Name)
	}
}

// shippedLossy reports whether the platform's template gives a profile that alpha or a larger
// one.
func shippedLossy(r *checks.Switch, profile string, alpha int64) bool {
	if r.Device.Model == nil {
		return false
	}
	p, ok := r.Device.Model.Profile(profile)
	return ok && p.DynamicTh != nil && *p.DynamicTh >= alpha
}

// platformAlpha reports whether an alpha of lossless groups is at least the platform's.
func platformAlpha(r *checks.Switch, p *intent.Port, alpha int64) bool {
	usual, _, ok := r.Memory.PlatformAlpha(p)
	return ok && alpha >= usual
}

// OfGroup reports whether a mismatch is about the buffer of a priority group.
func OfGroup(m drivers.Mismatch) bool { return m.Field.Kind.Of() == qos.OfGroup && !m.Unsure }

func groupsInForce(r *checks.Switch) {
	for _, m := range r.Seen.InForce {
		if !OfGroup(m) {
			continue
		}
		if f, ok := r.NotInForce(m); ok {
			r.Found(f, m.Port)
		}
	}
}

// doubledRows finds rows of the running configuration that name the same priority group.
func doubledRows(r *checks.Switch) {
	lines := r.Lines()
	for i := range lines {
		if l := &lines[i]; l.Check == r.Check.ID {
			_, port, _ := strings.Cut(l.Where, "|")
			port, _, _ = strings.Cut(port, "|")
			r.Found(checks.Finding{Severity: checks.Warning, What: term.CleanLine(l.Why)}, term.CleanLine(port))
		}
	}
}
