package headroom

import (
	"fmt"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
	"github.com/roce-fabric/roce-fabric/validate/checks/pfc"
)

const (
	srcHeadroomTables = "sonic-buildimage device/*/*/*/pg_profile_lookup.ini"
	srcPauseQuanta    = "IEEE 802.3 clause 31B.3.7"
)

var Checks = []checks.Check{
	{
		ID: "BUF-01", Title: "headroom is too small for the cable",
		Rules: []checks.Rule{{Severity: checks.Error, When: "below what is in flight in the cable, or below what was measured"}, {Severity: checks.Warning, When: "below the model of the standard"}, {Severity: checks.Info, When: "where the platform ships no more, the headroom is not known, or the chip may lose packets before it is full"}},
		Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "bytes that arrive after the pause was sent are dropped",
		Fix:     "use a shorter cable, or raise xoff",
		Sources: []string{srcPauseQuanta, srcHeadroomTables, "sonic-mgmt tests/qos/files/mellanox/qos_param_generator.py"},
		Switch:  headroomOfPorts, Plans: true,
	},
	{
		ID: "BUF-02", Title: "the switch is configured for a shorter cable than the intent states",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why:    "its headroom is sized for the shorter cable",
		Fix:    "apply the intent",
		Switch: checks.OnlyObserved(checks.EachPort(shorterCable)),
	},
	{
		ID: "BUF-03", Title: "the platform has no headroom row for the speed and cable, or no lossless pool",
		Rules: checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "the switch logs an error and creates no lossless priority group",
		Fix:     "use a cable that the platform has a row for, or add the row",
		Sources: []string{"sonic-swss cfgmgr/buffermgr.cpp"},
		Needs:   checks.BuffersKnown, Switch: headroomRowMissing,
	},
	{
		ID: "BUF-06", Title: "the platform's headroom table is not plausible for a port",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "a longer cable or a higher speed has less headroom than a shorter or lower one",
		Fix:     "ask the vendor, or correct the row of its headroom table",
		Sources: []string{srcHeadroomTables},
		Needs:   checks.RowsKnown, Switch: plausibleRows,
	},
	{
		ID: "BUF-12", Title: "members of an aggregate or a breakout have different headroom",
		FoldedIn: []string{"PRT-02"},
		Rules:    checks.Always(checks.Error), Scope: checks.ScopeSwitch, Reads: checks.ReadsRunning,
		Why: "the weakest one loses packets", Fix: "apply the intent",
		Absent: "PRT-02 compares members in everything, headroom included",
	},
	{
		ID: "BUF-16", Title: "the peer of a port stops sending later than the standard allows",
		Rules: []checks.Rule{{Severity: checks.Warning, When: "where the intent states how late, or the peer's model is known for it"}, {Severity: checks.Info, When: "where nothing is known of peers"}}, Scope: checks.ScopeLink, Reads: checks.ReadsIntent,
		Why:     "headroom tables and formulas assume the standard",
		Fix:     "raise xoff for this peer; BUF-01 says by how much",
		Sources: []string{srcPauseQuanta, "sonic-buildimage pull 11901"},
		Switch:  slowPeers, Fabric: unknownPeers,
	},
	{
		ID: "BUF-17", Title: "the traffic of the intent needs more headroom than the switch's template assumes",
		Rules: checks.Always(checks.Warning), Scope: checks.ScopeSwitch, Reads: checks.ReadsIntent | checks.ReadsRunning,
		Why:     "smaller packets fill more cells",
		Fix:     "set the traffic pattern to the real packet sizes{how}",
		Sources: []string{"sonic-buildimage files/build_templates/buffers_config.j2"},
		Needs:   checks.BuffersKnown, Switch: trafficPattern, Plans: true,
	},
}

// headroomRowMissing finds lossless ports whose headroom the switch cannot look up. It skips
// ports that have all their groups nevertheless: the table of their switch differs from the
// catalogue's.
func headroomRowMissing(r *checks.Switch) {
	if m := r.Device.Model; r.Source == checks.Intended && m != nil && m.Template != "" && len(checks.LosslessPorts(r)) > 0 {
		if _, ok := m.Pool(catalog.IngressPool); !ok {
			r.Found(checks.Finding{Severity: checks.Error, Where: r.Device.Switch.Model.From.String(),
				What: fmt.Sprintf("the buffer template of %s has no %s, so the switch makes no lossless priority group", m.Name, catalog.IngressPool),
				Fix:  "make the classes lossy; or give the switch a buffer template with a lossless pool, and accept BUF-03"}, "")
			return
		}
	}
	if l := checks.RowsKnown(r); l != nil {
		r.AddLack(*l, true)
		return
	}
	m := r.Memory
	for _, p := range checks.LosslessPorts(r) {
		q := r.Config.Ports[p.Name]
		fields := []qos.Attr{qos.KindCable.Attr()}
		if r.Source != checks.Intended {
			if r.Config.Platform.DynamicBuffers || r.Lossless(p.Settings)&q.PFC.Or(0) == 0 || hasGroups(r, p, q) {
				continue
			}
			for _, prio := range r.Lossless(p.Settings).List() {
				fields = append(fields, pfc.GroupFields(prio)...)
			}
		} else if r.Device.Desired.Platform.DynamicBuffers {
			continue
		}
		_, own, ok := m.Row(p)
		switch {
		case r.Source != checks.Intended && (q.Cable.Set && q.Cable.V == 0 || !q.Cable.Set && looksUpHeadroom(r)):
			what := "the switch has no cable length for the port"
			if q.Cable.Set {
				what = "the switch has a cable length of 0m for the port"
			}
			r.Found(checks.Finding{Severity: checks.Error, What: what + ", and makes no lossless priority group without one", Fix: checks.ApplyIntent}, p.Name, fields...)
			continue
		case ok || !own && (r.Device.Model == nil || len(r.Device.Model.Headroom) == 0):
			continue
		}
		speed, cable, whose, rows := p.Speed.V, p.Cable.V, "the switch", headroom.Cables(r.Config.Hardware.Rows, p.Speed.V)
		if r.Source != checks.Intended {
			speed, cable = q.Speed.Or(speed), q.Cable.Or(cable)
			rows = headroom.Cables(r.Config.Hardware.Rows, speed)
		}
		if !own {
			whose, rows = r.Device.Model.Name, r.Device.Model.Cables(speed)
		}
		fix := fmt.Sprintf("%s has no rows for %s; state bufferModel: dynamic where the switch computes headroom, or add a row to its headroom table", whose, speed)
		if len(rows) > 0 {
			fix = fmt.Sprintf("%s has rows for %s of %v; the longest cable it can carry lossless is %s", whose, speed, rows, rows[len(rows)-1])
		}
		f := checks.Finding{Severity: checks.Error, Where: p.Cable.From.String(), Fix: fix, What: fmt.Sprintf("no headroom row of %s for %s and %s", whose, speed, cable)}
		if r.Source == checks.Intended {
			r.Found(f, p.Name)
			continue
		}
		if _, drifted := r.Differs(p.Name, qos.KindCable.Attr()); drifted {
			f.Fix = checks.ApplyIntent
		}
		r.Found(f, p.Name, fields...)
	}
}

// looksUpHeadroom reports whether the switch looks up headroom by cable length, as any of its ports
// does by the intent.
func looksUpHeadroom(r *checks.Switch) bool {
	for _, q := range r.Device.Desired.Ports {
		for g := range q.Groups {
			if q.Groups[g].DerivedFrom.Set {
				return true
			}
		}
	}
	return false
}

// hasGroups reports whether every lossless priority that a port pauses has its priority group.
func hasGroups(r *checks.Switch, p *intent.Port, q *qos.Port) bool {
	set := r.Lossless(p.Settings) & q.PFC.Or(0)
	return pfc.WithGroup(r.Config.ClassifiedBy(p.Name), q, set) == set
}

func headroomOfPorts(r *checks.Switch) {
	if r.Source != checks.Intended {
		headroomInUse(r)
		return
	}
	for _, p := range checks.LosslessPorts(r) {
		h := r.Memory.Headroom(p)
		xoff, ok := h.XOFF()
		if r.Device.Model == nil || h.Unpublished || r.Device.Desired.Platform.DynamicBuffers && !knowsHeadroomLimit(r, p) {
			tooLong(r, p, h.Floor)
		}
		if l := checks.RowsKnown(r); l != nil {
			r.AddLack(*l, true)
		}
		if !ok {
			continue // CAT-01 or BUF-03
		}
		what, fix := fmt.Sprintf("xoff %d B, which %s computes,", xoff, r.Device.Switch.OS), "use a shorter cable"
		more := "configure a profile with more xoff for the group"
		if h.Row != nil {
			what = fmt.Sprintf("xoff %d B of the %s row for %s", xoff, r.Device.Model.Name, h.Row.Cable)
			fix = "use a shorter cable, or raise the row of the headroom table"
			more = "raise the row"
		}
		switch {
		case h.Measured > xoff:
			r.Found(belowMeasured(p, h, what, fix), p.Name)
		case h.Measured > 0: // a measurement counts more than a model
		case xoff < h.Floor:
			r.Found(checks.Finding{Severity: checks.Error, Where: p.Cable.From.String(), Fix: fix,
				What: fmt.Sprintf("%s is below the floor of %d B: the round trip in %s of cable and two frames of %d B", what, h.Floor, p.Cable.V, p.Settings.MTU.RDMA.V+intent.RDMAOverhead)}, p.Name)
		case h.Reference != nil && xoff < h.Reference.XOFF && !onlySmallPackets(r, p, h):
			lessThanModel(r, p, xoff, what+" is ", "check the response time of the peer, or "+more)
		default:
			fillsTooLittle(r, p, xoff, what+" is ")
		}
	}
}

// belowMeasured describes headroom that is less than was measured to arrive.
func belowMeasured(p *intent.Port, h render.PortHeadroom, what, fix string) checks.Finding {
	where := p.Switch.Measurement(p.Speed.V, p.Cable.V).Pos.String()
	return checks.Finding{Severity: checks.Error, Where: where, Fix: fix, What: fmt.Sprintf("%s is less than the %d B that were measured to arrive after a pause (%s)", what, h.Measured, h.MeasuredHow)}
}

// knowsHeadroomLimit reports whether the switch's limit of headroom for a port is known. Without
// a limit it may compute more than it has.
func knowsHeadroomLimit(r *checks.Switch, p *intent.Port) bool {
	a, err := r.Memory.Admission(p)
	return err == nil && a.MaxShared > 0
}

// tooLong finds a cable whose floor is above the headroom that any group can have, for groups
// whose headroom is not known. It reports whether it found one.
func tooLong(r *checks.Switch, p *intent.Port, floor int64) bool {
	if floor <= headroom.MostOnChip {
		return false
	}
	r.Found(checks.Finding{Severity: checks.Error, Where: p.Cable.From.String(),
		What: fmt.Sprintf("the round trip in %s of cable at %s and two frames of %d B are %d B, and no switch without external packet memory is known to reserve more than %d B for a lossless priority group",
			p.Cable.V, p.Speed.V, p.Settings.MTU.RDMA.V+intent.RDMAOverhead, floor, headroom.MostOnChip),
		Fix: "make the classes of the link lossy, or use a shorter cable; where the switch has external packet memory, set its headroom for the cable and accept BUF-01 on the port"}, p.Name)
	return true
}

// lessThanModel reports headroom that is above the floor but below the model that the intent
// selects.
func lessThanModel(r *checks.Switch, p *intent.Port, xoff int64, what, fix string, attrs ...qos.Attr) {
	f := checks.Finding{Severity: checks.Warning, Where: p.Cable.From.String(), Fix: fix, What: what + belowModel(r, p, xoff, r.Memory.Headroom(p).Reference)}
	if shippedHeadroom(r, p, xoff) {
		f.Severity = checks.Info
		f.What += "; the platform ships no more for the cable"
	}
	r.Found(f, p.Name, attrs...)
}

// shippedHeadroom reports whether headroom is at least the vendor's for the speed and cable of
// a port, if the intent asks for no more than the standard. The vendor's value is from the
// catalogue, or from the switch's own table if the catalogue has none for the model.
func shippedHeadroom(r *checks.Switch, p *intent.Port, xoff int64) bool {
	b := p.Settings.Buffers
	if r.Memory.HeadroomInput(p).PeerBytes > 0 || !b.MinLosslessPacket.IsDefault() || !b.Headroom.IsDefault() {
		return false
	}
	m := r.Device.Memory(nil)
	if r.Device.Model == nil || len(r.Device.Model.Headroom) == 0 {
		m = r.Memory
	}
	row, _, ok := m.Row(p)
	return ok && row.Speed == p.Speed.V && row.Cable >= p.Cable.V && xoff >= row.XOFF
}

// belowModel describes how far an xoff is below a model, and when it would still be enough.
func belowModel(r *checks.Switch, p *intent.Port, xoff int64, model *headroom.Result) string {
	by := fmt.Sprintf("%d B below the %s model (%d B)", model.XOFF-xoff, model.Model, model.XOFF)
	if full, _, ok := smallPackets(r, p); ok && model.Model == headroom.ModelIEEE && full.XOFF <= xoff {
		return fmt.Sprintf("%s: packets of %s take more cells than it has", by, p.Settings.Buffers.MinLosslessPacket.V)
	}
	than := "the standard asks"
	if r.Memory.HeadroomInput(p).PeerBytes > 0 && model.Model == headroom.ModelIEEE {
		than = "its pauseResponse in the intent"
	}
	return fmt.Sprintf("%s: it is enough only if the peer stops sending faster than %s", by, than)
}

// largestCell is larger than the cell of packet memory, in bytes, of any switch whose cell size
// is public (sonic-buildimage: 96 to 384 B).
const largestCell = 512

// headroomBelowFloor finds a lossless port whose switch configures less headroom than the floor
// of the cable. No public source says whether the limit is per port or per group; a group cannot
// have more in either case.
func headroomBelowFloor(r *checks.Switch, p *intent.Port, q *qos.Port) {
	if r.Lossless(p.Settings)&q.PFC.Or(0) == 0 {
		return
	}
	frame := p.Settings.MTU.RDMA.V + intent.RDMAOverhead
	floor := headroom.Floor(p.Speed.V, p.Cable.V, frame)
	for _, l := range r.Config.HeadroomLimits {
		most, of := l.N, ""
		if l.Cells {
			most, of = l.N*largestCell, fmt.Sprintf(", if its cells have %d B", largestCell)
		}
		if most < floor {
			r.Found(checks.Finding{Severity: checks.Warning, Fix: "raise the headroom, or remove the line",
				What: fmt.Sprintf("%q leaves a lossless group at most %d B of headroom%s, below the floor of %d B: the round trip in %s of cable and two frames of %d B", term.CleanLine(l.What), most, of, floor, p.Cable.V, frame)},
				p.Name)
		}
	}
}

// headroomInUse compares the headroom of the switch with the need of the cable: the table of
// the switch may differ from the catalogue's.
func headroomInUse(r *checks.Switch) {
	var notMade []string
	if !anyHeadroom(r) {
		notMade = []string{r.Check.ID}
	}
	for p, q := range r.Ports() {
		if p.Speed.V == 0 || p.Cable.V == 0 {
			continue
		}
		if q.Speed.Set && q.Speed.V != p.Speed.V {
			at := *p // PRT-04 reports the speed, and the headroom is for that speed
			at.Speed.V = q.Speed.V
			p = &at
		}
		if r.Source == checks.Running && r.Lossless(p.Settings)&q.PFC.Or(0) != 0 && !showsHeadroom(q) {
			headroomNotShown(r, p, notMade)
		}
		headroomBelowFloor(r, p, q)
		for g := range q.Groups {
			h := q.Groups[g].Headroom
			if !q.Groups[g].Lossless.V || !h.Set {
				continue
			}
			frame := p.Settings.MTU.RDMA.V + intent.RDMAOverhead
			xoff, what := usableHeadroom(r, p, g, h.V)
			if floor := headroom.Floor(p.Speed.V, p.Cable.V, frame); xoff < floor {
				r.Found(checks.Finding{Severity: checks.Error,
					What: fmt.Sprintf("%s, below the floor of %d B: the round trip in %s of cable and two frames of %d B", what, floor, p.Cable.V, frame)},
					p.Name, qos.KindHeadroom.At(g))
				continue
			}
			want := r.Memory.Headroom(p)
			intended, ok := want.XOFF()
			if want.Measured > 0 {
				if want.Measured > xoff && (r.Source != checks.Saved || !ok || intended != xoff) {
					r.Found(belowMeasured(p, want, what, "raise xoff"), p.Name, qos.KindHeadroom.At(g))
				}
				continue
			}
			if r.Source == checks.Saved && ok && intended == xoff {
				continue // the checks of the intent cover a value as intended
			}
			if want.Reference != nil && xoff < want.Reference.XOFF {
				lessThanModel(r, p, xoff, what+", ", "check the response time of the peer, or raise xoff", qos.KindHeadroom.At(g))
			} else if !ok || intended != xoff { // else the checks of the intent say so
				fillsTooLittle(r, p, xoff, what+", ", qos.KindHeadroom.At(g))
			}
		}
	}
}

// headroomNotShown checks headroom that a switch does not show by the catalogue. If the
// catalogue does not know it either, the finding is inconclusive.
func headroomNotShown(r *checks.Switch, p *intent.Port, notMade []string) {
	h := r.Memory.Headroom(p)
	xoff, ok := h.XOFF()
	switch {
	case ok && xoff >= h.Floor:
		if h.Computed != nil && !knowsHeadroomLimit(r, p) {
			tooLong(r, p, h.Floor)
		}
	case ok:
		r.Found(checks.Finding{Severity: checks.Error, Where: p.Cable.From.String(),
			What: fmt.Sprintf("xoff %d B, which %s has by the catalogue, is below the floor of %d B: the round trip in %s of cable and two frames of %d B", xoff, r.Device.Model.Name, h.Floor, p.Cable.V, p.Settings.MTU.RDMA.V+intent.RDMAOverhead)}, p.Name)
	case tooLong(r, p, h.Floor):
	default:
		r.Found(checks.Finding{Severity: checks.Info, What: "the switch does not show the headroom of lossless priority groups", Unchecked: "headroom", Because: "the switch does not show it", NotMade: notMade,
			Fix: "compare it on the switch with what 'roce-fabric explain SWITCH PORT' says that the cable needs"}, p.Name)
	}
}

// anyHeadroom reports whether the headroom of any lossless port is known, from the switch or
// from the catalogue.
func anyHeadroom(r *checks.Switch) bool {
	for p, q := range r.Ports() {
		if p.Speed.V == 0 || p.Cable.V == 0 {
			continue
		}
		if _, ok := r.Memory.Headroom(p).XOFF(); ok || showsHeadroom(q) {
			return true
		}
	}
	return false
}

func showsHeadroom(q *qos.Port) bool {
	for g := range q.Groups {
		if q.Groups[g].Lossless.V && q.Groups[g].Headroom.Set {
			return true
		}
	}
	return false
}

// onlySmallPackets reports whether computed headroom falls short of the standard only because
// of the small packets that the intent states.
func onlySmallPackets(r *checks.Switch, p *intent.Port, h render.PortHeadroom) bool {
	full, small, ok := smallPackets(r, p)
	return ok && h.Computed != nil && full.XOFF <= h.Computed.XOFF && small.XOFF > h.Computed.XOFF
}

// smallPackets returns the headroom that the standard requires, without and with the unused
// parts of cells that packets of the stated size cause. ok is false if the intent states no
// size.
func smallPackets(r *checks.Switch, p *intent.Port) (full, small headroom.Result, ok bool) {
	if p.Settings.Buffers.MinLosslessPacket.IsDefault() {
		return full, small, false
	}
	in := r.Memory.HeadroomInput(p)
	small, err := headroom.IEEE(in)
	if err != nil {
		return full, small, false
	}
	in.MinPacket = 0
	full, err = headroom.IEEE(in)
	return full, small, err == nil
}

// lighterPattern finds ports whose headroom the switch computes for a smaller share of small
// packets than in SONiC's template.
func lighterPattern(r *checks.Switch, m qos.HeadroomModel) {
	for _, p := range checks.LosslessPorts(r) {
		have, want := r.Memory.Headroom(p).Computed, r.Device.Headroom(p).Computed
		if have == nil || want == nil || have.XOFF >= want.XOFF {
			continue
		}
		r.Found(checks.Finding{Severity: checks.Warning, Fix: fmt.Sprintf("set the share of small packets to %d %%, as the platform's template has it%s", render.DefaultSmallPackets, intent.Fix("BUF-17", "{how}")),
			What: fmt.Sprintf("the switch computes headroom for %d %% small packets: xoff %d B, not %d B for the template's %d %%", m.SmallPacketPercent, have.XOFF, want.XOFF, render.DefaultSmallPackets)}, p.Name)
	}
}

func trafficPattern(r *checks.Switch) {
	if !r.Device.Desired.Platform.DynamicBuffers {
		return
	}
	small := render.DefaultSmallPackets
	if m := r.Config.HeadroomModel; r.Source != checks.Intended && m.V.LosslessMTU > 0 {
		if small = m.V.SmallPacketPercent; small < render.DefaultSmallPackets {
			lighterPattern(r, m.V)
		}
	}
	for _, p := range checks.LosslessPorts(r) {
		h := r.Memory.Headroom(p)
		if !onlySmallPackets(r, p, h) {
			continue
		}
		_, need, _ := smallPackets(r, p)
		size := p.Settings.Buffers.MinLosslessPacket
		r.Found(checks.Finding{Severity: checks.Warning, Where: size.From.String(),
			What: fmt.Sprintf("packets of %s need xoff %d B by the %s model, the template's pattern of %d %% small ones gives %d B", size.V, need.XOFF, need.Model, small, h.Computed.XOFF)}, p.Name)
	}
}
