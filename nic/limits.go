package nic

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// This file holds the limits of drivers and cards, derived from the state that they report. A
// change that would be rejected is Blocked, with the rule as the reason.

// ETSFor returns the wanted ETS in the form that the running port's driver accepts.
//
// bnxt_en creates traffic classes up to the highest one in use, each with its own rings, and
// kernels before 6.17 reject an ETS class without a share
// (drivers/net/ethernet/broadcom/bnxt/bnxt_dcb.c, bnxt_ets_validate). For bnxt_en, the priorities
// in use therefore get the first traffic classes in order, the other priorities join the first
// lossy class that has a share, and the remaining classes are strict and empty. For ionic, nicctl
// accepts shares only for priorities in use.
func (p *Port) ETSFor(running *Port) qos.Opt[ETS] {
	switch {
	case !p.ETS.Set || running == nil:
		return p.ETS
	case running.Driver == DriverIonic:
		e := p.ETS.V
		for prio := range e.TSA {
			if !p.priorities().Has(prio) {
				e.TSA[prio], e.Bandwidth[prio] = TSAETS, 0
			}
		}
		return qos.Of(e)
	case running.Driver != DriverBNXT:
		return p.ETS
	}
	var e ETS
	for i := range e.TSA {
		e.TSA[i] = TSAStrict
	}
	used := p.priorities().List()
	rest := -1
	for tc, prio := range used {
		e.TSA[tc], e.Bandwidth[tc] = p.ETS.V.TSA[prio], p.ETS.V.Bandwidth[prio]
		if rest < 0 && e.TSA[tc] == TSAETS && !p.PFC.V.Has(prio) {
			rest = tc
		}
	}
	for prio := range e.PriorityToTC {
		e.PriorityToTC[prio] = int8(max(rest, 0))
		if tc := slices.Index(used, prio); tc >= 0 {
			e.PriorityToTC[prio] = int8(tc)
		}
	}
	return qos.Of(e)
}

// priorities returns the priorities that a desired port uses: lossless ones, those with a share,
// and strict ones with a DSCP. Without a DSCP map all strict priorities count.
func (p *Port) priorities() qos.PrioritySet {
	s := p.PFC.V
	for prio := range qos.NumPriorities {
		strict := p.ETS.V.TSA[prio] == TSAStrict && (!p.DSCP.Set || slices.Contains(p.DSCP.V[:], int8(prio)))
		if strict || p.ETS.V.TSA[prio] == TSAETS && p.ETS.V.Bandwidth[prio] > 0 {
			s |= qos.Priorities(prio)
		}
	}
	return s
}

// classesOf returns how many traffic classes a running port has; 0 if not known.
func classesOf(have *Port) int {
	if !have.ETS.Set || have.ETS.V.Classes < 0 || have.ETS.V.Classes > qos.NumPriorities {
		return 0
	}
	return have.ETS.V.Classes
}

// etsLimit explains why bnxt_en would reject the wanted ETS; "" if no reason is known.
func etsLimit(have, want *Port) string {
	n := classesOf(have)
	if have.Driver != DriverBNXT || !want.ETS.Set || n == 0 {
		return ""
	}
	if used := want.priorities().List(); len(used) > n {
		return fmt.Sprintf("the intent has classes on %d priorities and the card has %d traffic classes: give classes a priority in common", len(used), n)
	}
	return ""
}

// pfcLimit explains why bnxt_en would reject PFC: it limits the number of traffic classes with
// lossless priorities (bnxt_hwrm_queue_pfc_cfg; pfc_cap is the firmware's limit, max_lltc).
func pfcLimit(have, want *Port) string {
	if why := etsLimit(have, want); why != "" {
		return "the driver wants ETS first: " + why
	}
	if have.Driver != DriverBNXT || !have.PFCClasses.Set || !want.PFC.Set {
		return ""
	}
	classes := map[int8]bool{}
	ets := want.ETSFor(have)
	for _, prio := range want.PFC.V.List() {
		tc := int8(prio)
		if ets.Set {
			tc = ets.V.PriorityToTC[prio]
		}
		classes[tc] = true
	}
	most := have.PFCClasses.V
	if len(classes) <= most {
		return ""
	}
	if most == 0 {
		return "the card has no lossless traffic class: turn RDMA on in its NVM with niccli, and reboot"
	}
	return fmt.Sprintf("priorities %s are lossless in %d traffic classes, but the card supports only %d lossless ones (max_lltc)", want.PFC.V, len(classes), most)
}

// dscpLimit explains why ice would reject a DSCP map: ice maps a DSCP to a traffic class, which
// must be below the number of classes (ice_dcb_nl.c, ice_dcbnl_setapp).
func dscpLimit(have, want *Port) string {
	n := classesOf(have)
	if have.Driver != DriverICE || n == 0 || want.Trust.Set && want.Trust.V != qos.TrustDSCP {
		return ""
	}
	for d, prio := range want.DSCP.V {
		if int(prio) >= n {
			return fmt.Sprintf("DSCP %d has priority %d and the card has traffic classes 0 to %d", d, prio, n-1)
		}
	}
	return ""
}

// ecnLimit explains why nicctl cannot turn congestion control on; "" if it can.
func ecnLimit(have, want *Port) string {
	if have.Driver == DriverIonic && !want.CNPDSCP.Set {
		return "nicctl needs the DSCP of congestion notifications to turn DCQCN on, and the intent has no class for them"
	}
	return ""
}

// agentChange returns the change of the DCBX owner, with what blocks it.
func agentChange(have *Port) Change {
	c := Change{Kind: KindConflict}
	switch {
	case have.Agent == AgentICE:
		c.How = "ethtool --set-priv-flags " + clean(have.Name) + " " + AgentICE + " off"
	case have.Agent == AgentManaged && have.Driver == DriverBNXT:
		// bnxt_dcbnl_setdcbx: "All firmware DCBX settings are set in NVRAM".
		c.Blocked = "the firmware's DCBX agent keeps the settings: turn its LLDP and DCBX agents off in the card's NVM with niccli, and reboot"
	}
	return c
}

func appText(prio int) string {
	if prio < 0 {
		return qos.Absent
	}
	return "priority " + strconv.Itoa(prio)
}

// rings compares the ring lengths that the intent states.
func (d *differ) rings() {
	have, want := d.have, d.want
	switch {
	case !want.Rings.Set:
		return
	case !have.Rings.Set:
		d.unknown(FieldRings, want.Rings.V.String())
		return
	}
	w := want.Rings.V.For(have)
	h := Rings{RX: have.Rings.V.RX, TX: have.Rings.V.TX}
	if w.RX == 0 {
		h.RX = 0
	}
	if w.TX == 0 {
		h.TX = 0
	}
	if h != w {
		d.add(Change{Field: FieldRings, Kind: KindDrift, Impact: qos.ImpactPortFlap, Old: h.String(), New: w.String(), Blocked: ringLimit(have, want.Rings.V)})
	}
}

// stall compares the stall prevention that the intent states.
func (d *differ) stall() {
	c := drift
	if d.have.Missing[FieldStallPrevention] == NotInDriver && d.want.StallPrevention.Set {
		c.Field, c.Old, c.New = FieldStallPrevention, qos.Absent, d.want.StallPrevention.V
		c.Blocked = "only NVIDIA's own driver (MLNX_OFED, DOCA) has this setting: install it, or remove the key from the intent"
		d.add(c)
		return
	}
	diffField(d, FieldStallPrevention, d.have.StallPrevention, d.want.StallPrevention, equal, clean, c)
}

// For returns the ring lengths that the running port's driver sets when asked for r: mlx5 rounds up
// to a power of two (en_ethtool.c, mlx5e_ethtool_set_ringparam), ice to a multiple of 32
// (ice_ethtool.c, ice_set_ringparam).
func (r Rings) For(running *Port) Rings {
	round := func(n int) int { return n }
	switch running.Driver {
	case DriverMLX5:
		round = func(n int) int { return 1 << bits.Len(uint(n-1)) }
	case DriverICE:
		round = func(n int) int { return (n + 31) &^ 31 }
	}
	out := Rings{}
	if r.RX > 0 {
		out.RX = round(r.RX)
	}
	if r.TX > 0 {
		out.TX = round(r.TX)
	}
	return out
}

// ringLimit explains why the device would reject the ring lengths; "" if no reason is known. The
// kernel checks them against the maximum (net/ethtool/ioctl.c), and ionic accepts only powers of
// two (ionic_ethtool.c, ionic_set_ringparam).
func ringLimit(have *Port, want Rings) string {
	for _, r := range []struct {
		what      string
		want, max int
	}{{"receive", want.RX, have.Rings.V.MaxRX}, {"transmit", want.TX, have.Rings.V.MaxTX}} {
		switch {
		case r.want == 0:
		case r.want > r.max:
			return fmt.Sprintf("the device takes %s rings of at most %d", r.what, r.max)
		case have.Driver == DriverIonic && bits.OnesCount(uint(r.want)) != 1:
			return fmt.Sprintf("ionic accepts only powers of two; the intent sets the %s rings to %d", r.what, r.want)
		}
	}
	return ""
}

// String prints "rx 8192 tx 8192", omitting a ring that is left alone.
func (r Rings) String() string {
	s := ""
	for _, part := range []struct {
		name string
		n    int
	}{{"rx", r.RX}, {"tx", r.TX}} {
		if part.n != 0 {
			s += " " + part.name + " " + strconv.Itoa(part.n)
		}
	}
	if s == "" {
		return qos.Absent
	}
	return s[1:]
}
