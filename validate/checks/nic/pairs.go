package nic

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/validate/checks"
)

// pairs finds programs whose queue pairs send RDMA otherwise than the intent says: a library sets
// its own traffic class and chooses an address by itself.
func (p *portCheck) pairs(at string) {
	w := p.want
	if why := p.have.Missing[nic.FieldPairs]; why != "" {
		p.pairsUnread(at, "how programs send RDMA", "the queue pairs could not be listed: "+term.CleanLine(why))
	}
	for _, use := range p.have.Pairs.V {
		who := term.CleanLine(use.Program)
		seen := fmt.Sprintf("seen on %d of its %s", use.Read, words.Count(use.Of, "queue pair"))
		source, err := netip.ParseAddr(use.Source)
		switch {
		case use.Read == 0:
			p.notRead(at, use)
			continue
		case use.V1:
			p.add("NIC-21", checks.Warning, p.name, at, p.otherGID(who), "%s sends RoCE v1, %s: its packets have no DSCP, and routers do not forward them", who, seen)
			continue
		case err == nil && source.IsLinkLocalUnicast() && p.have.GIDs.V.Routed(): // else NIC-14 reports it
			p.add("NIC-21", checks.Info, p.name, at, p.otherGID(who), "%s sends RDMA from the link-local address %s, %s: its packets do not leave the subnet", who, source, seen)
		}
		if w.DSCP.Set && w.PFC.Or(0)|w.ECN.Or(0) != 0 {
			p.pairClass(at, use, seen)
		}
	}
	for _, s := range p.have.SharedPorts {
		p.onePath(at, s)
	}
}

// pairClass compares the class of queue pairs with that of RDMA: by their DSCP, and by the priority
// of their VLAN tag where that decides the class.
func (p *portCheck) pairClass(at string, use nic.PairUse, seen string) {
	w, who := p.want, term.CleanLine(use.Program)
	rdma := w.PFC.Or(0) | w.ECN.Or(0)
	prio := int8(qos.Unmapped)
	if use.DSCP >= 0 && use.DSCP < qos.NumDSCP {
		prio = w.DSCP.V[use.DSCP]
	}
	if prio < 0 || !rdma.Has(int(prio)) {
		in := "no class"
		if prio >= 0 {
			in = fmt.Sprintf("priority %d", prio)
		}
		p.add("NIC-16", checks.Warning, p.name, at, fmt.Sprintf("set NCCL_IB_TC=%d, UCX_IB_TRAFFIC_CLASS=%d or the like in %s: 'roce-fabric advise' has the line for each library", w.ToS.V, w.ToS.V, who),
			"%s sends RDMA with DSCP %d (%s), %s; the intent says DSCP %d", who, use.DSCP, in, seen, w.ToS.V>>2)
	}
	n, over := p.host.NIC(p.name), p.running.Uppers[use.Over]
	if severity, _ := p.tagCounts(); n == nil || over == nil || over.Kind != nic.UpperVLAN || severity != checks.Error {
		return
	}
	if pcps := nic.RDMATag(p.fabric, n); len(pcps) > 0 && !slices.Contains(pcps, use.PCP) {
		p.add("NIC-16", checks.Warning, p.name, at, fmt.Sprintf("set the service level in %s: NCCL_IB_SL=%d, UCX_IB_SL=%d or the like", who, pcps[0], pcps[0]),
			"%s sends RDMA over VLAN %s with PCP %d, %s; the intent says %s", who, term.CleanLine(over.Name), use.PCP, seen, qos.FoldInts(pcps))
	}
}

// otherGID returns the fix for a program that sends from the wrong address.
func (p *portCheck) otherGID(who string) string {
	if slot := p.have.GIDs.V.Slot; slot.Set {
		return fmt.Sprintf("choose the GID in %s: NCCL_IB_GID_INDEX=%d, UCX_IB_GID_INDEX=%d or the like, or leave the choice to the library", who, slot.V, slot.V)
	}
	return "give the interface an IP address"
}

// notRead reports queue pairs that the driver does not show.
func (p *portCheck) notRead(at string, use nic.PairUse) {
	why := term.CleanLine(use.Unread)
	if use.Unread == nic.NotInDriver {
		why = fmt.Sprintf("driver %s does not show how they are marked", term.CleanLine(p.have.Driver))
	}
	p.pairsUnread(at, "class, address and UDP port of queue pairs", fmt.Sprintf("not checked: how %s sends RDMA on its %s: %s", term.CleanLine(use.Program), words.Count(use.Of, "queue pair"), why))
}

func (p *portCheck) pairsUnread(at, unchecked, what string) {
	fix := "look at the counters by priority under load (--window), or accept this in the intent"
	if p.have.Driver == nic.DriverMLX5 {
		fix = "read the host as root (--sudo), with rdma of iproute2 installed, or accept this in the intent"
	}
	p.c.Add(checks.Finding{ID: "NIC-16", Severity: checks.Info, Device: p.host.Name, Where: at, What: what, Unchecked: unchecked, Because: "the host does not show it", Fix: fix}, p.name)
}

// onePath reports queue pairs to one peer that have one UDP source port. It is a warning if the
// switch has several links to other switches, over which it would spread them.
func (p *portCheck) onePath(at string, s nic.SharedPort) {
	severity, paths := checks.Info, 0
	if sw := p.fabric.Switch(p.end.Device); sw != nil {
		if b := sw.LoadBalancing; b != nil && (b.QueuePair.V || b.Mode.V == intent.BalancePacket) {
			return
		}
		for _, port := range sw.Ports {
			if port.Uplink() {
				paths++
			}
		}
	}
	if paths > 1 {
		severity = checks.Warning
	}
	who := term.CleanLine(s.Program)
	p.add("NIC-22", severity, p.name, at, fmt.Sprintf("give the queue pairs of %s different flow labels, or none: a driver that derives the port from both queue pair numbers then spreads them; or have the switches hash the queue pair", who),
		"%s sends to %s from UDP port %d on all %d queue pairs that were read: a switch that hashes addresses and ports takes one path for all", who, term.CleanLine(s.Peer), s.UDPPort, s.Read)
}
