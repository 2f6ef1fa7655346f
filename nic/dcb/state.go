package dcb

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// State is what a device's driver reports. A nil member means that the driver has no operation to
// read it. Facts about devices without another source are from include/uapi/linux/dcbnl.h.
type State struct {
	ETS    *ETS
	PFC    *PFC
	Buffer *Buffer
	// MaxRate is the rate limit of each traffic class in kbit/s; 0 means none.
	MaxRate *[qos.NumPriorities]uint64
	// Apps is the APP table, in the kernel's order.
	Apps []App
	DCBX *DCBX
}

// Trust returns which field of a received frame selects its priority. The kernel does not report
// this. mlx5 trusts DSCP once the APP table has a DSCP entry, and PCP when the last one is gone
// (mlx5/core/en_dcbnl.c); ice does the same.
func (s *State) Trust() qos.Trust {
	if slices.ContainsFunc(s.Apps, App.dscp) {
		return qos.TrustDSCP
	}
	return qos.TrustPCP
}

// DSCPMap returns the priority of each DSCP, or [qos.Unmapped] if the APP table does not list it:
// mlx5 then uses the map in its firmware, which cannot be read. twice lists the code points with
// several priorities; m holds the first of them, but which one the device uses is not known.
func (s *State) DSCPMap() (m [qos.NumDSCP]int8, twice []int) {
	for d := range m {
		m[d] = qos.Unmapped
		l := s.priorities(d)
		if len(l) > 0 {
			m[d] = int8(l[0])
		}
		if len(l) > 1 {
			twice = append(twice, d)
		}
	}
	return m, twice
}

// priorities returns the priorities that a DSCP is listed with.
func (s *State) priorities(dscp int) []uint8 {
	var l []uint8
	for _, a := range s.Apps {
		if a.dscp() && int(a.Protocol) == dscp {
			l = append(l, a.Priority)
		}
	}
	return l
}

// sameSettings compares two states, ignoring counters and the order of the APP table.
func (s *State) sameSettings(o *State) bool {
	a, b := *s, *o
	for _, c := range []*State{&a, &b} {
		c.Apps = ordered.Sorted(slices.Values(c.Apps), App.compare)
		if c.PFC != nil {
			c.PFC = new(*c.PFC)
			c.PFC.Requests, c.PFC.Indications = [qos.NumPriorities]uint64{}, [qos.NumPriorities]uint64{}
		}
	}
	return reflect.DeepEqual(a, b)
}

// PFC is priority-based flow control: struct ieee_pfc, member by member.
type PFC struct {
	// Cap is how many priorities may be lossless at once, 0..8.
	Cap uint8
	// Enabled is the set of lossless priorities; mlx5 reports the transmit side's.
	Enabled qos.PrioritySet
	// MACsecBypass is the MBC bit of IEEE 802.1Q.
	MACsecBypass bool
	_            uint8
	// Delay is the allowance for the round trip. mlx5 interprets it as the cable length in metres,
	// 1..999, and reports 0 if it cannot set buffers.
	Delay uint16
	_     uint16
	// Requests counts the pause frames sent, Indications those received, per priority.
	Requests, Indications [qos.NumPriorities]uint64
}

// TSA is a transmission selection algorithm.
type TSA uint8

// The transmission selection algorithms of IEEE 802.1Q.
const (
	TSAStrict TSA = 0
	TSACBS    TSA = 1   // credit-based shaper; rejected by mlx5 and bnxt
	TSAETS    TSA = 2   // a share of the bandwidth
	TSAVendor TSA = 255 // mlx5's state after the driver is loaded
)

var tsaNames = map[TSA]string{TSAStrict: "strict", TSACBS: "cbs", TSAETS: "ets", TSAVendor: "vendor"}

// String prints "strict", "cbs", "ets", "vendor" or the number.
func (t TSA) String() string { return cmp.Or(tsaNames[t], fmt.Sprintf("tsa %d", uint8(t))) }

// Scheduling describes how traffic classes share a link.
type Scheduling struct {
	// TSA is the algorithm of each traffic class.
	TSA [qos.NumPriorities]TSA
	// Bandwidth is the share in percent of each ETS traffic class. mlx5 requires a sum of 100 if
	// there are any.
	Bandwidth [qos.NumPriorities]uint8
	// PriorityTC maps each priority to a traffic class, 0..7.
	PriorityTC [qos.NumPriorities]uint8
}

// fault says why no device can have this scheduling; "" if one can.
func (s Scheduling) fault() string {
	for i := range qos.NumPriorities {
		if tc := s.PriorityTC[i]; tc >= qos.NumPriorities {
			return fmt.Sprintf("priority %d in traffic class %d", i, tc)
		}
		if bw := s.Bandwidth[i]; bw > 100 {
			return fmt.Sprintf("traffic class %d with %d%%", i, bw)
		}
	}
	return ""
}

// diff says how have differs from s; "" if it does not. It compares only the traffic classes that
// the device has, and bandwidth only for wanted ETS classes: the rest of what drivers report is
// meaningless (mlx5 en_dcbnl.c).
func (s Scheduling) diff(have Scheduling, classes uint8) string {
	if classes == 0 || classes > qos.NumPriorities {
		classes = qos.NumPriorities
	}
	for tc := range int(classes) {
		if s.TSA[tc] != have.TSA[tc] {
			return fmt.Sprintf("traffic class %d is %s, not %s", tc, have.TSA[tc], s.TSA[tc])
		}
		if s.TSA[tc] == TSAETS && s.Bandwidth[tc] != have.Bandwidth[tc] {
			return fmt.Sprintf("traffic class %d has %d%%, not %d%%", tc, have.Bandwidth[tc], s.Bandwidth[tc])
		}
	}
	for p, tc := range s.PriorityTC {
		if have.PriorityTC[p] != tc {
			return fmt.Sprintf("priority %d is in traffic class %d, not %d", p, have.PriorityTC[p], tc)
		}
	}
	return ""
}

// ETS is enhanced transmission selection (struct ieee_ets).
type ETS struct {
	// Willing lets a DCBX peer overwrite the settings.
	Willing bool
	// Cap is the number of traffic classes that may be ETS; array entries of higher classes are
	// meaningless.
	Cap uint8
	// CBS reports whether the credit-based shaper is supported.
	CBS bool
	Scheduling
	// RxBandwidth is the receive share of each traffic class in percent.
	RxBandwidth [qos.NumPriorities]uint8
	// Recommended is the scheduling that DCBX recommends to the peer.
	Recommended Scheduling
}

// Headroom describes how a port's receive buffer is divided.
type Headroom struct {
	// PriorityBuffer maps each priority to a buffer, 0..7.
	PriorityBuffer [qos.NumPriorities]uint8
	// Size is the size of each buffer in bytes. Drivers round it down to whole cells, 128 bytes on
	// most mlx5 devices.
	Size [qos.NumPriorities]uint32
}

// maxCell is an upper limit for the cell size of any device, in bytes: sizes that differ by less
// count as equal.
const maxCell = 512

// fault says why no device can have this division; "" if one can.
func (h Headroom) fault() string {
	for prio, b := range h.PriorityBuffer {
		if b >= qos.NumPriorities {
			return fmt.Sprintf("priority %d in buffer %d", prio, b)
		}
	}
	return ""
}

func (h Headroom) diff(have Headroom) string {
	for p, b := range h.PriorityBuffer {
		if have.PriorityBuffer[p] != b {
			return fmt.Sprintf("priority %d uses buffer %d, not %d", p, have.PriorityBuffer[p], b)
		}
	}
	for i, size := range h.Size {
		got := have.Size[i]
		rounded := got > 0 && got < size && size-got < maxCell
		if got != size && !rounded {
			return fmt.Sprintf("buffer %d has %d bytes, not %d", i, got, size)
		}
	}
	return ""
}

// Buffer is a port's receive buffer: struct dcbnl_buffer, member by member.
type Buffer struct {
	Headroom
	// Total is the size of the whole receive buffer in bytes.
	Total uint32
}

// DCBX says who runs the DCBX protocol and how: a set of the bits below.
type DCBX uint8

// The bits of DCBX (DCB_CAP_DCBX_*).
const (
	DCBXHost    DCBX = 0x01 // the host owns the settings, not the firmware
	DCBXManaged DCBX = 0x02 // an agent in the firmware or driver owns them
	DCBXCEE     DCBX = 0x04
	DCBXIEEE    DCBX = 0x08
	DCBXStatic  DCBX = 0x10 // the settings apply without negotiation
)

// String prints "host,ieee" or "none".
func (d DCBX) String() string {
	s := ""
	for i, name := range []string{"host", "lld-managed", "cee", "ieee", "static"} {
		if d&(1<<i) != 0 {
			s += "," + name
		}
	}
	if rest := d &^ 0x1f; rest != 0 {
		s += fmt.Sprintf(",0x%02x", uint8(rest))
	}
	if s == "" {
		return "none"
	}
	return s[1:]
}

// Selector says what the protocol number of an APP entry means.
type Selector uint8

// The selectors of IEEE 802.1Q, and the kernel's own for PCP.
const (
	SelectorEthertype Selector = 1
	SelectorStream    Selector = 2 // TCP or SCTP port
	SelectorDatagram  Selector = 3 // UDP or DCCP port; 4791 is RoCEv2
	SelectorPort      Selector = 4 // any of these ports
	SelectorDSCP      Selector = 5
	SelectorPCP       Selector = 255 // since Linux 6.2
)

var selectorNames = map[Selector]string{
	SelectorEthertype: "ethtype", SelectorStream: "stream-port", SelectorDatagram: "dgram-port", SelectorPort: "port",
	SelectorDSCP: "dscp", SelectorPCP: "pcp",
}

// String prints the selector's name as iproute2's dcb does, or the number.
func (s Selector) String() string {
	return cmp.Or(selectorNames[s], fmt.Sprintf("selector %d", uint8(s)))
}

// App is an entry of the APP table (struct dcb_app, member by member): it assigns a priority, 0..7,
// to the frames of a protocol.
type App struct {
	Selector Selector
	Priority uint8
	Protocol uint16 // ethertype, port or DSCP
}

// DSCP returns the entry that assigns a priority, 0..7, to a DSCP, 0..63.
func DSCP(dscp, priority uint8) App {
	return App{Selector: SelectorDSCP, Priority: priority, Protocol: uint16(dscp)}
}

// String prints "dscp 26 priority 3"; an ethertype is printed in hexadecimal.
func (a App) String() string {
	proto := fmt.Sprint(a.Protocol)
	if a.Selector == SelectorEthertype {
		proto = fmt.Sprintf("0x%04x", a.Protocol)
	}
	return fmt.Sprintf("%s %s priority %d", a.Selector, proto, a.Priority)
}

func (a App) compare(b App) int {
	return cmp.Or(cmp.Compare(a.Selector, b.Selector), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Priority, b.Priority))
}

func (a App) dscp() bool { return a.Selector == SelectorDSCP }

// fault says why the kernel cannot have such an entry; "" if it can.
func (a App) fault() string {
	switch {
	case (a.Selector < SelectorEthertype || a.Selector > SelectorDSCP) && a.Selector != SelectorPCP:
		return fmt.Sprintf("%s is not known", a.Selector)
	case a.Priority >= qos.NumPriorities:
		return fmt.Sprintf("priority %d is above %d", a.Priority, qos.NumPriorities-1)
	case a.dscp() && a.Protocol >= qos.NumDSCP:
		return fmt.Sprintf("dscp %d is above %d", a.Protocol, qos.NumDSCP-1)
	}
	return ""
}
