package headroom

import (
	"fmt"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render/headroom"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// shorterCable finds ports whose cable length on the switch is shorter than in the intent.
// Other wrong lengths have no row in the headroom table, which is BUF-03.
func shorterCable(r *checks.Switch, p *intent.Port, q *qos.Port) {
	want := r.Device.Desired.Ports[p.Name].Cable
	if !q.Cable.Set || !want.Set {
		return
	}
	if q.Cable.V >= p.Cable.V {
		shorterRow(r, p, q)
		return
	}
	if q.Cable.V == 0 && !hasGroups(r, p, q) {
		return // BUF-03
	}
	fields := []qos.Attr{qos.KindCable.Attr()}
	for g := range q.Groups {
		fields = append(fields, qos.KindDerivedFrom.At(g))
	}
	row := ""
	if want.V != p.Cable.V {
		row = fmt.Sprintf(", for which the platform has the row of %s", want.V)
	}
	r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("the switch assumes a cable of %s, the intent says %s%s", q.Cable.V, p.Cable.V, row)}, p.Name, fields...)
}

// shorterRow finds priority groups with the headroom of a shorter cable on a port whose cable
// length is right.
func shorterRow(r *checks.Switch, p *intent.Port, q *qos.Port) {
	for g := range q.Groups {
		if speed, cable, ok := q.Groups[g].LookedUp(); ok && q.Groups[g].Lossless.V && speed == q.Speed.Or(speed) && cable < p.Cable.V {
			r.Found(checks.Finding{Severity: checks.Error, What: fmt.Sprintf("priority group %d has the headroom of a cable of %s, the intent says %s", g, cable, p.Cable.V)}, p.Name, qos.KindDerivedFrom.At(g))
		}
	}
}

// plausibleRows checks the rows that ports use for plausibility within their headroom table:
// the rows that a running switch shows or uses, or those of the catalogue for the intent.
func plausibleRows(r *checks.Switch) {
	uses := map[headroom.Row][]*intent.Port{}
	var rows []headroom.Row
	if r.Source == checks.Intended {
		if r.Device.Desired.Platform.DynamicBuffers || r.Device.Model == nil {
			return
		}
		rows = headroom.Rows(r.Device.Model)
		for _, p := range checks.LosslessPorts(r) {
			if h, _, ok := r.Memory.Row(p); ok {
				row := headroom.Row{Speed: h.Speed, Cable: h.Cable, XOFF: h.XOFF}
				uses[row] = append(uses[row], p)
			}
		}
	} else {
		for _, h := range r.Config.Hardware.Rows {
			rows = append(rows, headroom.Row{Speed: h.Speed, Cable: h.Cable, XOFF: h.XOFF})
		}
		shown := len(rows)
		for p, q := range r.Ports() {
			for g := range q.Groups {
				if speed, cable, ok := q.Groups[g].LookedUp(); ok && q.Groups[g].Headroom.Set {
					row := headroom.Row{Speed: speed, Cable: cable, XOFF: q.Groups[g].Headroom.V.XOFF}
					if uses[row] == nil && !slices.Contains(rows[:shown], row) {
						rows = append(rows, row)
					}
					uses[row] = append(uses[row], p)
				}
			}
		}
	}
	for _, f := range headroom.Falls(rows) {
		for _, p := range uses[f.Row] {
			attrs := losslessHeadroom(r, p)
			if len(attrs) > 0 && r.Outcome.IsReported(p.Name, attrs[0]) {
				continue // BUF-01
			}
			r.Found(checks.Finding{Severity: checks.Warning, Where: p.Cable.From.String(),
				What: fmt.Sprintf("xoff for %s and %s is %d B, less than the %d B for %s and %s", f.Row.Speed, f.Row.Cable, f.Row.XOFF, f.Above.XOFF, f.Above.Speed, f.Above.Cable)}, p.Name, attrs...)
		}
	}
}

// losslessHeadroom returns the headroom fields of a port's lossless priorities.
func losslessHeadroom(r *checks.Switch, p *intent.Port) (out []qos.Attr) {
	for _, prio := range r.Lossless(p.Settings).List() {
		out = append(out, qos.KindHeadroom.At(prio))
	}
	return out
}
