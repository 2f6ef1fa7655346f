package buffers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// pressure holds the effect of the shared memory on a lossless class of a port: findings about
// alpha, pool and marking, one for each cause. Ports that are alike share it.
type pressure struct {
	faults []fault
	// pool is the finding about a pool that is too small, and name the pool's name.
	pool fault
	name string
}

// fault is a finding of a check, with the attributes that it is about.
type fault struct {
	id string
	checks.Finding
	attrs []qos.Attr
	// cause is the text about alpha or pool, without the effect on a port; level is the fill at
	// which a group pauses, in bytes.
	cause string
	level int64
}

// worse reports whether a fault should be reported instead of another one with the same cause.
func (f fault) worse(o fault) bool {
	return cmp.Or(cmp.Compare(f.Severity.Rank(), o.Severity.Rank()), cmp.Compare(f.level, o.level)) < 0
}

// of returns the fault of a check.
func (p pressure) of(id string) (fault, bool) {
	i := slices.IndexFunc(p.faults, func(f fault) bool { return f.id == id })
	if i < 0 {
		return fault{}, false
	}
	return p.faults[i], true
}

// CheckPressure reports the fault of the current check from the port's pressure, if there is one.
func CheckPressure(r *checks.Switch, p *intent.Port, _ *qos.Port, k *intent.Class) {
	if f, ok := pressureOf(r, p, k).of(r.Check.ID); ok {
		r.Found(f.Finding, p.Name, f.attrs...)
	}
}

// pressureKey holds everything about a port that its pressure depends on.
type pressureKey struct {
	sharingKey
	ecn     qos.ECN
	drifted bool
}

func pressureOf(r *checks.Switch, p *intent.Port, k *intent.Class) pressure {
	if p.Speed.V == 0 {
		return pressure{}
	}
	e := curveOf(r, p, k)
	_, drifted := r.Differs(p.Name, qos.KindECN.At(k.Queue.V))
	return checks.Cached(&checks.Kept[bufferMemo](&r.Memo).pressure, pressureKey{keyOf(r, p, k), e, drifted}, func() pressure { return computePressure(r, p, k, e, drifted) })
}

func computePressure(r *checks.Switch, p *intent.Port, k *intent.Class, e qos.ECN, drifted bool) (out pressure) {
	if !k.Lossless.V {
		if r.Source != checks.Saved || drifted {
			out.faults = markingFaults(r, p, k, e, drifted, render.Sharing{})
		}
		return out
	}
	s, plain := sharingOf(r, p, k), plainSharing(r, p, k)
	if r.Source == checks.Saved && !drifted && sameSharing(s, plain) {
		return out // the checks of the intent cover it
	}
	all := pressureFaults(r, p, k, e, drifted, s)
	alpha, off := strangeAlpha(r, p, k)
	pool, name := smallPool(r, p, k)
	alpha.cause, pool.cause = alpha.What, pool.What
	if !off && name == "" || s.Pool == nil || plain.Pool == nil {
		if off {
			all = append(all, alpha)
		}
		out.faults, out.name, out.pool = all, name, pool
		return out
	}
	// A fault that the platform's own alpha and pools would not cause is attributed to alpha or
	// pool.
	usual := pressureFaults(r, p, k, e, drifted, plain)
	cause := &alpha
	if name != "" {
		cause = &pool
	}
	if in, ok := s.Limit(headroom.CaseIncast); ok {
		was, _ := plain.Limit(headroom.CaseIncast)
		cause.level = in.Threshold
		cause.What += fmt.Sprintf(": a group of class %s pauses at %s with %s, not at %s", k.Name, roundSize(in.Threshold), words.Plural(in.Active, "sender", "senders"), roundSize(was.Threshold))
		if off && in.Threshold > was.Threshold { // later pauses cause none of the other faults
			out.faults, out.name, out.pool = append(all, alpha), name, pool
			return out
		}
	}
	for _, f := range all {
		switch {
		case slices.ContainsFunc(usual, func(u fault) bool { return u.id == f.id && u.Severity == f.Severity }):
			out.faults = append(out.faults, f)
			continue
		case f.Severity == checks.Error && cause.Severity != checks.Error:
			cause.Severity = checks.Error
			cause.What += "; " + f.What
			fallthrough
		default:
			cause.cover(f)
		}
	}
	if off {
		out.faults = append(out.faults, alpha)
	}
	out.pool, out.name = pool, name
	return out
}

// sameSharing reports whether two pools make groups pause at the same levels.
func sameSharing(a, b render.Sharing) bool {
	if a.Pool == nil || b.Pool == nil {
		return a.Pool == b.Pool
	}
	return a.Pool.Bytes == b.Pool.Bytes && a.Pool.Alpha == b.Pool.Alpha && a.Pool.Fixed == b.Pool.Fixed
}

// pressureFaults compares the levels at which a class pauses and marks with each other, with the
// frames that it carries and with the speed of the port. Faults of a curve that pauses precede and
// pauses that come too early have one cause.
func pressureFaults(r *checks.Switch, p *intent.Port, k *intent.Class, e qos.ECN, drifted bool, s render.Sharing) []fault {
	pausing, marking := pausingFaults(r, p, k, s), markingFaults(r, p, k, e, drifted, s)
	for i := range pausing {
		if len(marking) > 0 {
			pausing[i].attrs = marking[0].attrs
		}
	}
	return append(pausing, marking...)
}

// markingFaults compares the ECN thresholds of a class with its pauses and with the speed of the
// port: ECN-03, ECN-04 and ECN-06 are about the same curve. An error in the curve itself is left to
// ECN-02.
func markingFaults(r *checks.Switch, p *intent.Port, k *intent.Class, e qos.ECN, drifted bool, s render.Sharing) []fault {
	if !e.Enabled || e.Min > e.Max || k.ECN.Mode.V == intent.ECNOff && !drifted || e.Other != "" && e.Max == 0 {
		return nil // the last case is a curve of the switch's own with unknown thresholds
	}
	var out []fault
	add := func(id string, sev checks.Severity, what string, args ...any) {
		if drifted {
			sev = checks.Error // like any difference from the intent that traffic depends on
		}
		f := fault{id: id, Finding: checks.Finding{Severity: sev, What: fmt.Sprintf("class %s marks ", k.Name) + fmt.Sprintf(what, args...)}, attrs: []qos.Attr{qos.KindECN.At(k.Queue.V)}}
		if !drifted {
			f.Where = k.ECN.Mode.From.String()
		}
		out = append(out, f)
	}
	lo, hi := units.Bytes(e.Min), units.Bytes(e.Max)
	feeders := func(l headroom.Limit) string {
		return words.Plural(l.Feeders, "group that feeds", "groups that feed")
	}
	in, known := s.Limit(headroom.CaseIncast)
	// Without a declared fan-out, the number of queues that a port sends into is not known;
	// explain shows the cases.
	one, declared := s.Limit(headroom.CaseOneToMany)
	declared = declared && p.Settings.Buffers.FanOut.V > 0
	each := "each holds"
	if one.FanOut == 1 {
		each = "it holds"
	}
	at := fmt.Sprintf("one port that sends into %s pauses at the earliest when %s %s (T = %s for %s)", words.Plural(one.FanOut, "queue", "queues"), each, units.Bytes(one.Queue), units.Bytes(one.Threshold), activeGroups(s, one))
	order := one.Judge(e.Min, e.Max)
	switch {
	case declared && order == headroom.PausesFirst:
		sev := checks.Error
		if e.Min <= one.Upper {
			sev = checks.Warning // it depends on which groups share a slice
		}
		add("ECN-03", sev, "from %s; %s", lo, at)
	case known && e.Min > in.Queue:
		// The memory of all groups that feed a queue grows with their number: a level that all
		// ports together do not reach is never reached.
		sev := checks.Warning
		if e.Min > r.Memory.Most(s) || p.Settings.Buffers.FanIn.V > 0 && e.Min > in.Upper {
			sev = checks.Error
		}
		add("ECN-03", sev, "from %s, and %s one queue pause before it holds more than %s", lo, feeders(in), roundSize(in.Queue))
	case declared && order == headroom.MarksPartly:
		add("ECN-03", checks.Warning, "every packet from %s; %s", hi, at)
	}
	if known && e.Max > in.Upper {
		add("ECN-04", checks.Warning, "every packet from %s, and %s one queue may hold %s", hi, feeders(in), units.Bytes(in.Upper))
	}
	c, ok := headroom.CurveOf(e)
	if d := c.Drains(p.Speed.V); ok && !d.Usual && (drifted || k.ECN.Mode.V == intent.ECNFixed) {
		add("ECN-06", checks.Warning, "from %s to %s, a queue of %s to %s at %s; usual is %s to %s for the first and at most %s for the second", lo, hi, d.Min, d.Max, p.Speed.V, headroom.MinDrainLow, headroom.MinDrainHigh, headroom.MaxDrainHigh)
	}
	return out
}

// activeGroups describes the active groups of a case: "4 active groups in one slice".
func activeGroups(s render.Sharing, l headroom.Limit) string {
	what := words.Plural(l.Active, "active group", "active groups")
	if s.Pool != nil && s.Pool.Slices > 1 && l.Active > 1 {
		what += " in one slice"
	}
	if s.Pool != nil && s.Pool.Fixed == 0 && s.Pool.Min > 0 {
		what += ", with " + units.Bytes(s.Pool.Min).String() + " in reserve"
	}
	return what
}

// cover adds the check of another fault with the same cause.
func (f *fault) cover(o fault) {
	f.Covered = append(append(f.Covered, checks.Covered{ID: o.id, Severity: o.Severity}), o.Covered...)
}

// fewFrames is how many lossless frames a group should hold before it pauses.
const fewFrames = 4

// pausingFaults checks how much a group holds before it pauses.
func pausingFaults(r *checks.Switch, p *intent.Port, k *intent.Class, s render.Sharing) []fault {
	l, ok := s.Limit(headroom.CaseIncast)
	if !ok || p.Cable.V == 0 || l.Threshold >= int64(fewFrames*(p.Settings.MTU.RDMA.V+intent.RDMAOverhead)) {
		return nil
	}
	return []fault{{id: "BUF-10", Finding: checks.Finding{Severity: checks.Warning, Where: s.Fan.In.From.String(),
		What: fmt.Sprintf("with %s a group of class %s pauses at %s, less than %d frames", words.Plural(l.Active, "sender", "senders"), k.Name, units.Bytes(l.Threshold), fewFrames)}}}
}

// farBelow and farAbove are how many powers of two an alpha may differ from the platform's
// before it is reported: with half of the alpha a group holds nearly as much, and a larger
// alpha is common tuning.
const farBelow, farAbove = 2, 3

// strangeAlpha finds a lossless group whose alpha differs from the intent's, or by far from the
// platform's. Only SONiC's dynamic buffer model takes alpha from the intent; elsewhere no plan
// changes it.
func strangeAlpha(r *checks.Switch, p *intent.Port, k *intent.Class) (f fault, found bool) {
	n, ok := alphaInUse(r, p, k.Priority.V)
	if !ok {
		return f, false
	}
	f = fault{id: "BUF-09", attrs: []qos.Attr{qos.KindHeadroom.At(k.Priority.V)}}
	f.Severity, f.Where = checks.Warning, r.Device.Switch.Pos.String()
	const fix = "to the switch's value, or change it on the switch: a plan does not change it"
	model := qos.KindHeadroomModel.Attr()
	of, key := "lossless groups", "buffers.alpha"
	if p.Settings.OwnAlpha(k) {
		of, key = "the group of class "+k.Name, "alpha of the class"
	}
	if a := k.Alpha; a.V != nil {
		if int64(*a.V) == n {
			return f, false
		}
		f.Where, f.Fix = a.From.String(), "set "+key+" "+fix
		if _, planned := r.Differs("", model); planned {
			f.Severity, f.Fix, f.attrs = checks.Error, checks.ApplyIntent, append(f.attrs, model)
		}
		f.What = fmt.Sprintf("alpha of %s is 2^%d, the intent says 2^%d", of, n, *a.V)
		return f, true
	}
	usual, whose, known := r.Memory.PlatformAlpha(p)
	if !known || n > usual-farBelow && n < usual+farAbove {
		return f, false
	}
	f.Fix = "state buffers.alpha if it is meant, or change it on the switch: a plan does not change it"
	f.What = fmt.Sprintf("alpha of lossless groups is 2^%d, %s has 2^%d", n, whose, usual)
	return f, true
}

// alphaInUse returns the running alpha of a lossless group.
func alphaInUse(r *checks.Switch, p *intent.Port, g int) (n int64, ok bool) {
	q := r.Config.Ports[p.Name]
	if r.Source == checks.Intended || q == nil || !q.Groups[g].Lossless.V {
		return 0, false
	}
	h := q.Groups[g].Headroom
	if n, ok := r.Config.ShareAlpha(); ok {
		return n, true
	}
	if !h.Set && r.Config.Platform.DynamicBuffers && r.Config.HeadroomModel.Set {
		return int64(r.Config.HeadroomModel.V.Alpha), true
	}
	return h.V.Threshold, h.Set && !h.V.Static
}

// smallPool finds a pool of lossless groups with less than half of the platform's size: the
// templates of one model for leaves and for spines differ by less.
func smallPool(r *checks.Switch, p *intent.Port, k *intent.Class) (f fault, name string) {
	if r.Source == checks.Intended {
		return f, ""
	}
	name, pool, ok := r.Memory.PoolOf(p.Name, k.Priority.V)
	if !ok || pool.Size == 0 {
		return f, ""
	}
	f = fault{id: "BUF-09"}
	f.Severity, f.Fix = checks.Warning, intent.Fix("BUF-09", "load the platform's buffer configuration again{how}: a plan does not change pools")
	usual, how := usualPool(r, name)
	switch {
	case usual.Size > 0 && pool.Size < usual.Size/2:
		f.What = fmt.Sprintf("pool %s has %s, %s %s", term.CleanLine(name), roundSize(pool.Size), how, roundSize(usual.Size))
	case usual.XOFF > 0 && pool.XOFF < usual.XOFF/2:
		f.What = fmt.Sprintf("pool %s has %s for headroom, %s %s", term.CleanLine(name), roundSize(pool.XOFF), how, roundSize(usual.XOFF))
	case usual.Size == 0 && r.Config.Hardware.Memory > 0 && pool.Size < r.Config.Hardware.Memory/leastPart:
		f.What = fmt.Sprintf("pool %s has %s of the %s of packet memory that the switch shows", term.CleanLine(name), roundSize(pool.Size), roundSize(r.Config.Hardware.Memory))
	default:
		return f, ""
	}
	return f, name
}

// leastPart is the divisor of packet memory that gives the smallest plausible pool of lossless
// groups. SONiC's smallest is a tenth, on Barefoot's chips; this is half of that.
const leastPart = 20

// usualPool returns the platform's pool, in bytes; 0 if not known.
func usualPool(r *checks.Switch, name string) (pool qos.Pool, how string) {
	return checks.Cached(&checks.Kept[bufferMemo](&r.Memo).usual, name, func() qos.Pool {
		if r.Device.Model == nil {
			return qos.Pool{}
		}
		p, ok := r.Device.Model.Pool(name)
		if !ok {
			return qos.Pool{}
		}
		if !p.Computed || !r.Config.Platform.DynamicBuffers {
			return qos.Pool{Size: p.Size, XOFF: p.XOFF}
		}
		// The switch computes the size from what its ports reserve.
		if sizes, err := r.Device.PoolSizes(); err == nil && sizes.Size > 0 {
			return qos.Pool{Size: min(p.Size, sizes.Size)}
		}
		return qos.Pool{}
	}), "the platform's template has"
}

// alphas records the alpha of lossless groups: the intent's, or the running one. Each value is
// one finding, with the worst of its effects, and names the checks that fail at each port.
func alphas(r *checks.Switch) {
	group := fmt.Sprintf("%s of %s", r.Device.Desired.Platform.ASIC, checks.RoleOf(r.Device.Switch))
	type found struct {
		worst fault
		ports []string
		at    map[string][]checks.Covered // by port: the checks that fail there
	}
	causes := map[string]*found{}
	note := func(f fault, port string) {
		c := checks.Cached(&causes, f.cause, func() *found { return &found{worst: f, at: map[string][]checks.Covered{}} })
		if f.worse(c.worst) {
			c.worst = f
		}
		c.ports = append(c.ports, port)
		c.at[port] = append(c.at[port], f.Covered...)
	}
	for p, q := range r.Ports() {
		if r.Source == checks.Intended {
			if value, assumed, from := alphasOf(r, p); value != "" {
				r.Setting(group, value, assumed, p, qos.KindHeadroomModel.Attr(), from...)
			}
			continue
		}
		for _, k := range p.Settings.Classes {
			if !k.Lossless.V {
				continue
			}
			x := pressureOf(r, p, k)
			if x.name != "" {
				note(x.pool, "")
			}
			if f, ok := x.of("BUF-09"); ok {
				note(f, p.Name)
			} else if n, ok := alphaInUse(r, p, k.Priority.V); ok && q.Groups[k.Priority.V].Headroom.Set {
				of := group
				if p.Settings.OwnAlpha(k) {
					of += ", class " + k.Name
				}
				r.Trait(fmt.Sprintf("%s, %s over %s", of, p.Speed.V, p.Cable.V), fmt.Sprintf("2^%d", n), p.Name, p.Pos.String(), qos.KindHeadroom.At(k.Priority.V))
			}
		}
	}
	for _, c := range natural.Keys(causes) {
		f := causes[c].worst
		r.Outcome.MarkReported("", f.attrs...) // alpha of the whole switch
		for _, port := range slices.Compact(causes[c].ports) {
			f.Covered = causes[c].at[port]
			r.Found(f.Finding, port, f.attrs...)
		}
	}
}

// alphasOf returns the alphas that the intent leads to for the lossless classes of a port, the stated
// ones or the platform's own: one if they are equal, otherwise by class. value is "" if one of them is
// not known, or no class is lossless.
func alphasOf(r *checks.Switch, p *intent.Port) (value, assumed string, from []func(*intent.Settings) intent.Origin) {
	var values, named []string
	stated := false
	for _, k := range p.Settings.Classes {
		if !k.Lossless.V {
			continue
		}
		n, known := int64(0), false
		if a := k.Alpha.V; a != nil {
			n, known, stated = int64(*a), true, true
		} else if r.Device.Model != nil {
			n, _, known = headroom.PublishedAlpha(r.Device.Model, p.Speed.V)
		}
		if !known {
			return "", "", nil
		}
		values = append(values, fmt.Sprintf("2^%d", n))
		named = append(named, fmt.Sprintf("2^%d for %s", n, k.Name))
		from = append(from, func(s *intent.Settings) intent.Origin { return s.Class(k.Name).Alpha.From })
	}
	if !stated {
		assumed = " by default"
	}
	if len(slices.Compact(slices.Clone(values))) == 1 {
		return values[0], assumed, from
	}
	return strings.Join(named, " and "), assumed, from
}

func otherAlpha(o *checks.Outlier) {
	o.Found(checks.Finding{Severity: checks.Warning, What: fmt.Sprintf("alpha of lossless groups is %s, on %d of %d ports (%s) %s", o.Value, o.Share, o.Of, strings.TrimSpace(o.Group), o.Usual)})
}

// egressShort reports whether the static threshold of a lossless queue is below the bytes that
// the ingress pool admits and below the vendor's, and returns it. sure is set if the vendor's
// threshold is known.
func egressShort(cfg *qos.Device, m *catalog.Model, name string, admits int64) (limit int64, sure, short bool) {
	profile := cfg.Profiles[name]
	if !profile.Static || admits <= 0 || profile.Threshold >= admits {
		return 0, false, false
	}
	if m == nil {
		return profile.Threshold, false, true
	}
	shipped, ok := m.Profile(name)
	if ok && shipped.StaticTh != nil && profile.Threshold >= *shipped.StaticTh {
		return 0, true, false
	}
	return profile.Threshold, true, true
}

// egressOf says why a lossless queue holds less than its ingress pool admits: a static
// threshold, or an egress pool or alpha below the vendor's.
func egressOf(r *checks.Switch, name string, admits int64) (what string, sure, short bool) {
	if limit, sure, short := egressShort(r.Config, r.Device.Model, name, admits); short {
		return fmt.Sprintf("is limited to %d B", limit), sure, true
	}
	profile := r.Config.Profiles[name]
	pool := r.Config.Pools[profile.Pool]
	if r.Device.Model == nil || !pool.Egress || pool.Size <= 0 || admits <= 0 {
		return "", false, false
	}
	if usual, _ := usualPool(r, profile.Pool); pool.Size < min(admits, usual.Size) {
		return fmt.Sprintf("takes from pool %s, which has %d B", term.CleanLine(profile.Pool), pool.Size), true, true
	}
	shipped, ok := r.Device.Model.Profile(name)
	if !ok || profile.Static || shipped.DynamicTh == nil || profile.Threshold >= *shipped.DynamicTh {
		return "", false, false
	}
	p, err := headroom.PoolOf(r.Device.Model, 0, headroom.Facts{Sizes: &headroom.Sizes{Size: pool.Size}, Exponent: &profile.Threshold, Min: &profile.Size})
	limit := p.Threshold(1) * int64(max(p.Slices, 1)) // packets of one queue may be in all slices
	return fmt.Sprintf("has alpha 2^%d, which limits it to %d B", profile.Threshold, limit), true, err == nil && limit < admits
}

// roundSize formats a size with three digits.
func roundSize(n int64) string {
	switch f := float64(n); {
	case n >= 1e9:
		return fmt.Sprintf("%.3g GB", f/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g MB", f/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.3g KB", f/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
