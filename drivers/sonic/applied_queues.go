package sonic

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

// The tables of COUNTERS_DB that map the name of a queue or group to its object. They exist only if
// counters of that kind are on. On switches that create counters only for configured queues and
// groups, they list only those in CONFIG_DB.
const (
	queueNames = "COUNTERS_QUEUE_NAME_MAP"
	groupNames = "COUNTERS_PG_NAME_MAP"
)

// queues compares the settings of a port's queues.
func (c *comparer) queues(port string, p *qos.Port) {
	var unseen []int
	for q := range p.Queues {
		want := &p.Queues[q]
		if want.Scheduler.Set {
			c.scheduler(port, q, want.Scheduler.V)
		}
		if !want.ECN.Set && !want.Buffer.Set {
			continue
		}
		oid, known := c.names[queueNames][port+":"+strconv.Itoa(q)]
		if !known {
			if want.ECN.V.Enabled || want.Buffer.Set {
				unseen = append(unseen, q)
			}
			continue
		}
		queue := c.objects[oQueue][oid]
		if want.ECN.Set {
			c.ecn(port, q, queue, want.ECN.V)
		}
		if want.Buffer.Set {
			field := qos.KindQueueBuffer.At(q)
			profile, oid := c.buffers.ofQueue(port, q), queue["SAI_QUEUE_ATTR_BUFFER_PROFILE_ID"]
			c.profile(drivers.Mismatch{Port: port, Field: field}, drivers.Mismatch{Port: port, Field: field}, profile, oid)
			c.pool(qos.KindEgressProfiles, profile, oid)
		}
	}
	c.unseen(port, "queue", qos.KindQueueBinding, queueNames, "QUEUE", unseen)
}

// groups compares the settings of a port's lossless groups.
func (c *comparer) groups(port string, p *qos.Port) {
	if c.buffers.down[port] {
		return // their buffers may have been removed
	}
	var unseen []int
	for g := range p.Groups {
		if !p.Groups[g].Lossless.Or(false) {
			continue
		}
		oid, known := c.names[groupNames][port+":"+strconv.Itoa(g)]
		if !known {
			unseen = append(unseen, g)
			continue
		}
		other := drivers.Mismatch{Port: port, Field: qos.KindHeadroom.At(g)}
		short := drivers.Mismatch{Port: port, Field: qos.KindGroupBinding.At(g), Part: fmt.Sprintf("groups[%d].xoff", g)}
		profile := c.objects[oGroup][oid]["SAI_INGRESS_PRIORITY_GROUP_ATTR_BUFFER_PROFILE"]
		// A lossless group has an xoff, whatever its profile.
		if n, _ := strconv.ParseInt(c.objects[oProfile][profile][attrXOFF], 10, 64); n <= 0 {
			short.Want, short.Have, short.Needed = "more than 0 B", fmt.Sprintf("%d B", n), true
			c.out = append(c.out, short)
			continue
		}
		if !c.buffers.isComputed(port, g) {
			short.Want, short.Have, short.Slow, short.Needed = "a value computed by the switch", "nothing: the switch has not computed it", true, true
			c.out = append(c.out, short)
			continue
		}
		if instead, ok := c.buffers.matchesAPPLDB(port, g); !ok {
			short.Part, short.Want, short.Have, short.Slow = fmt.Sprintf("groups[%d].profile", g), c.buffers.groups[port+":"+strconv.Itoa(g)], instead+" in APPL_DB", true
			c.out = append(c.out, short)
			continue
		}
		c.profile(other, short, c.buffers.ofGroup(port, g), profile)
		c.pool(qos.KindIngressProfiles, c.buffers.ofGroup(port, g), profile)
	}
	c.unseen(port, "priority group", qos.KindGroupBinding, groupNames, "PG_WATERMARK", unseen)
}

// unseen notes the queues or groups whose objects cannot be found.
func (c *comparer) unseen(port, what string, kind qos.Kind, table, counters string, indexes []int) {
	if len(indexes) == 0 {
		return
	}
	them := "it"
	if len(indexes) > 1 {
		what, them = what+"s", "them"
	}
	c.out = append(c.out, drivers.Mismatch{Port: port, Field: kind.Span(indexes[0], indexes[len(indexes)-1]), Part: "the setting of " + what + " " + qos.FoldInts(indexes), Want: "configured", Unsure: true,
		Have: table + " does not name " + them, Fix: "enable " + flexTable + "|" + counters + ", which makes the names"})
}

// share holds the settings of a scheduler.
type share struct {
	strict bool
	weight int
	max    int64 // bytes per second, 0 for no limit
}

// sharesOf returns the settings of all schedulers that queues have. ASIC_DB does not tell which
// queue has which: orchagent binds a scheduler to the scheduler group above a queue, and asks SAI
// for that group (sonic-swss orchagent/qosorch.cpp).
func sharesOf(objects asic) map[share]bool {
	bound := map[string]bool{}
	for kind, attr := range map[string]string{oScheGroup: "SAI_SCHEDULER_GROUP_ATTR_SCHEDULER_PROFILE_ID", oQueue: "SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID"} {
		for _, row := range objects[kind] {
			if oid := row[attr]; oid != "" && oid != nullOID {
				bound[oid] = true
			}
		}
	}
	out := map[share]bool{}
	for oid, row := range objects[oScheduler] {
		if len(bound) > 0 && !bound[oid] {
			continue
		}
		limit, err := strconv.ParseInt(cmp.Or(row["SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE"], "0"), 10, 64)
		if err != nil {
			continue
		}
		switch strings.TrimPrefix(row["SAI_SCHEDULER_ATTR_SCHEDULING_TYPE"], "SAI_SCHEDULING_TYPE_") {
		case "STRICT":
			out[share{strict: true, max: limit}] = true
		case "DWRR", "WRR":
			// The default weight is 1 (opencomputeproject/SAI saischeduler.h).
			if n, err := strconv.Atoi(cmp.Or(row["SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT"], "1")); err == nil {
				out[share{weight: n, max: limit}] = true
			}
		}
	}
	return out
}

// scheduler checks that some queue of the switch has such a scheduler.
func (c *comparer) scheduler(port string, q int, want qos.Scheduler) {
	s := share{want.Strict, want.Weight, int64(want.MaxRate) / 8}
	if want.Strict {
		s.weight = 0
	}
	if !c.shares[s] {
		of := "strict"
		if !s.strict {
			of = fmt.Sprintf("weight %d", s.weight)
		}
		if s.max > 0 {
			of += " max " + want.MaxRate.String()
		}
		c.note(port, qos.KindScheduler.At(q), of, "a different one: no queue of the switch has such a scheduler")
	}
}

const (
	attrXOFF    = "SAI_BUFFER_PROFILE_ATTR_XOFF_TH"
	attrDynamic = "SAI_BUFFER_PROFILE_ATTR_SHARED_DYNAMIC_TH"
	attrStatic  = "SAI_BUFFER_PROFILE_ATTR_SHARED_STATIC_TH"
)

// profile compares a buffer profile with its configuration, for the values that both have. An xoff
// that is too small is noted as short, any other difference as other.
func (c *comparer) profile(other, short drivers.Mismatch, want native.Row, oid string) {
	have := c.objects[oProfile][oid]
	note := func(m drivers.Mismatch, want, have string) {
		m.Want, m.Have, m.Slow = want, have, true
		c.out = append(c.out, m)
	}
	if want == nil {
		return
	}
	if have == nil {
		note(other, "a buffer profile", "none")
		return
	}
	for _, v := range []struct{ name, attr string }{{"xoff", attrXOFF}, {"dynamic_th", attrDynamic}, {"static_th", attrStatic}} {
		a, err1 := strconv.ParseInt(want[v.name], 10, 64)
		b, err2 := strconv.ParseInt(have[v.attr], 10, 64)
		if err1 != nil || err2 != nil || v.name == "xoff" && a == 0 {
			continue
		}
		m := other
		if v.name == "xoff" && b < a {
			m = short
		}
		if v.name == "dynamic_th" && a != b || v.name != "dynamic_th" && !equalRoundedUp(a, b) {
			note(m, fmt.Sprintf("%s %d", v.name, a), fmt.Sprintf("%s %d", v.name, b))
		}
	}
	// The mode of a threshold is fixed when the profile is created (sonic-swss
	// orchagent/bufferorch.cpp).
	for _, v := range []struct{ name, attr, other, has string }{{"dynamic_th", attrDynamic, attrStatic, "static_th"}, {"static_th", attrStatic, attrDynamic, "dynamic_th"}} {
		if want[v.name] != "" && want[v.has] == "" && have[v.attr] == "" && have[v.other] != "" {
			note(other, v.name+" "+want[v.name], v.has+" "+have[v.other])
		}
	}
}

// configured holds the parts of the switch's configuration that the comparison needs in addition to
// the desired state.
type configured struct {
	buffers  *buffers
	unpolled bool            // the watchdog's counters are off
	classify map[string]bool // ports with a map of DSCPs of their own
}

// buffers holds the configured buffers of ports.
type buffers struct {
	down           map[string]bool // ports that are not up: their buffers may have been removed
	groups, queues map[string]string
	profiles       native.Table
	pools          native.Table
	appl           map[string]string // profiles of groups in APPL_DB, which orchagent reads
	// computedProfiles and computedPools are computed by the buffer manager (sonic-swss
	// cfgmgr/buffermgrdyn.cpp); nil if it does not compute them.
	computedProfiles, computedPools native.Table
}

// readConfigured reads CONFIG_DB, in one request and only if it was not kept, and the values
// computed from it.
func (d *driver) readConfigured(ctx context.Context) (*configured, error) {
	names := []string{flexTable, native.TGroup, native.TBufferQueue, native.TProfile, native.TPort, native.TPool, native.TPortQoS}
	if d.kept != nil {
		names = names[:1]
	}
	t, err := d.tables(ctx, "CONFIG_DB", names...)
	if err != nil {
		return nil, err
	}
	if k := d.kept; k != nil {
		t = append(t, k[native.TGroup], k[native.TBufferQueue], k[native.TProfile], k[native.TPort], k[native.TPool], k[native.TPortQoS])
	}
	b := &buffers{down: map[string]bool{}, groups: bindings(t[1], "|"), queues: bindings(t[2], "|"), profiles: t[3], pools: t[5]}
	c := &configured{buffers: b, unpolled: t[0][watchdogGroup]["FLEX_COUNTER_STATUS"] == "disable", classify: map[string]bool{}}
	for key, row := range t[6] {
		for port := range strings.SplitSeq(key, ",") {
			c.classify[port] = row["dscp_to_tc_map"] != ""
		}
	}
	for port, row := range t[4] {
		b.down[port] = row["admin_status"] != "up"
	}
	if len(b.groups) == 0 {
		return c, nil
	}
	appl, err := d.tables(ctx, "APPL_DB", applBuffers...)
	if err != nil {
		return nil, err
	}
	b.appl = bindings(appl[2], ":")
	if slices.Contains(slices.Collect(maps.Values(b.groups)), computed) {
		b.computedPools, b.computedProfiles = appl[0], appl[1]
	}
	return c, nil
}

// computed is the profile name of a group whose headroom the switch computes.
const computed = "NULL"

// bindings returns the profiles by "port:index"; "" if two rows disagree, because the row that was
// written last applies, and the table does not show which one that is.
func bindings(t native.Table, sep string) map[string]string {
	out := map[string]string{}
	for key, row := range t {
		i := strings.LastIndex(key, sep)
		if i < 0 {
			continue
		}
		from, to, ok := native.Indexes(key[i+1:])
		for n := from; ok && n <= to; n++ {
			at := key[:i] + ":" + strconv.Itoa(n)
			profile := row["profile"]
			if was, two := out[at]; two && was != profile {
				profile = ""
			}
			out[at] = profile
		}
	}
	return out
}

// isComputed reports whether the buffer manager gave a group its profile; true if it does not
// have to.
func (b *buffers) isComputed(port string, g int) bool {
	at := port + ":" + strconv.Itoa(g)
	return b.groups[at] != computed || len(b.appl) == 0 || b.appl[at] != ""
}

// ofQueue and ofGroup return the configured profile; nil if it is not certain.
func (b *buffers) ofQueue(port string, q int) native.Row {
	if b.down[port] {
		return nil
	}
	return b.profiles[b.queues[port+":"+strconv.Itoa(q)]]
}

func (b *buffers) ofGroup(port string, g int) native.Row {
	at := port + ":" + strconv.Itoa(g)
	if b.groups[at] == computed {
		return b.computedProfiles[b.appl[at]]
	}
	return b.profiles[b.groups[at]]
}
