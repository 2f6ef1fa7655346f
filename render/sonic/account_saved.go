package sonic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// AccountSaved is [Account] for a saved configuration. It also finds the ports whose PFC has no
// headroom. booted is the configuration of a switch that has started from it; rows are the rows of
// the table from which the switch derives headroom, of names that table.
func AccountSaved(saved, booted Config, rows []qos.HeadroomRow, of string) []render.Line {
	a := newAccountant(saved)
	if saved.Row(TMetadata, "localhost") != nil && !a.dev.Platform.RoCEMode {
		a.findLosses(booted, rows, of)
	}
	return a.lines()
}

// loss says why the lossless groups of a port have no headroom.
type loss struct {
	why string
	// byCable is set if the row of the cable length shows the cause.
	byCable bool
	// sure is set if the switch can have the headroom from nowhere else.
	sure bool
}

// findLosses finds the ports that are up and pause a priority whose group has no headroom and no
// row in the configuration.
func (a *accountant) findLosses(booted Config, rows []qos.HeadroomRow, of string) {
	shared := a.cfg.sharedRows(TPortQoS)
	for name, p := range a.dev.Ports {
		if !p.AdminUp.V || a.cfg.Row(TPort, name)["speed"] == "" || !slices.ContainsFunc(p.PFC.V.List(), func(prio int) bool { return a.unbuffered(booted, name, prio) }) {
			continue
		}
		cable := a.cfg.cable(name)
		_, why := a.cfg.derivable(name, cable, rows, of)
		l := loss{why: strings.SplitN(why, "; ", 2)[0], byCable: cable != "", sure: a.cfg.Row(TPool, catalog.IngressPool) != nil}
		if cable != "" && cable != "0m" && !slices.ContainsFunc(rows, func(r qos.HeadroomRow) bool {
			return strconv.FormatInt(r.Speed.Mbps(), 10) == a.cfg.Row(TPort, name)["speed"]
		}) {
			l.sure = false // the table may be that of another model
		}
		if why == "" && of != "" && len(rows) == 0 {
			l.why, l.sure = "SONiC publishes no table of headroom for "+a.dev.Platform.Model+": without one on the switch, lossless groups have no headroom", false
		}
		switch {
		case a.dev.Platform.DynamicBuffers:
			l.why, l.byCable = "BUFFER_PG has no row of the priority group, and the dynamic buffer model makes none by itself", false
			if p.Groups[a.groupOf(p, p.PFC.V.List()[0])].Lossless.V {
				l.why = "the switch computes the headroom of lossless groups from the cable length, and has none for this port"
			}
		case shared[name] != "":
			l.why, l.byCable = "the switch derives the headroom of lossless groups from rows of single ports, and takes this key for the name of one port", false
		}
		if l.why != "" {
			a.losses[name] = l
		}
	}
}

// unbuffered reports whether the group of a priority has neither headroom nor a row that binds it to
// a buffer.
func (a *accountant) unbuffered(booted Config, port string, prio int) bool {
	p := a.dev.Ports[port]
	g := p.Groups[a.groupOf(p, prio)]
	if a.dev.Platform.DynamicBuffers {
		return !g.Lossless.V && !g.Buffer.Set || g.Lossless.V && !g.Headroom.Set && a.cfg.cable(port) == ""
	}
	return !g.Lossless.V && !g.Buffer.Set && !g.DerivedFrom.Set && booted.Row(TGroup, port+"|"+strconv.Itoa(prio)) == nil
}

// groupOf returns the group that sends the pause frames of a priority. Without a map it has the
// number of the priority.
func (a *accountant) groupOf(p *qos.Port, prio int) int {
	if m := p.Maps.V; m != nil && m.PFCToGroup[prio] >= 0 {
		return int(m.PFCToGroup[prio])
	}
	return prio
}

// failingForLoss marks a line with the first port of the given ones that has PFC without headroom,
// where the line shows the cause.
func (a *accountant) failingForLoss(l render.Line, byCable bool, ports ...string) render.Line {
	for _, port := range ports {
		if loss, is := a.losses[port]; is && loss.byCable == byCable {
			l.Check, l.Why, l.Sure = "PFC-03", loss.why, loss.sure
			return l
		}
	}
	return l
}
