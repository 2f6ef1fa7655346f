package dcb

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// State is what a device's driver reports. A nil part means that the driver
// has no operation to read it. Device facts without another source are from
// include/uapi/linux/dcbnl.h.
type State struct {
	ETS    *ETS
	PFC    *PFC
	Buffer *Buffer
	// MaxRate is the rate limit of each traffic class in kbit/s, 0 for none.
	MaxRate *[qos.NumPriorities]uint64
	// Apps is the APP table, in the kernel's order.
	Apps []App
	DCBX *DCBX
}

// Trust says which field of a received frame selects its priority. The kernel does
// not say so; mlx5 trusts DSCP from the first DSCP entry in the APP table on, and PCP
// when the last is gone (mlx5/core/en_dcbnl.c), and so does ice.
func (s *State) Trust() qos.Trust {
	if slices.ContainsFunc(s.Apps, App.dscp) {
		return qos.TrustDSCP
	}
	return qos.TrustPCP
}

// DSCPMap returns the priority of each DSCP, [qos.Unmapped] where the APP
// table lists none: mlx5 then uses what its firmware holds, which is not to be
// seen. Twice are the code points listed with several priorities, of which m
// has the first; which one the device uses is not known.
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

// sameSettings compares two states but for counters and the order of the APP table.
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
	// Enabled are the lossless priorities; mlx5 reports the transmit side's.
	Enabled qos.PrioritySet
	// MACsecBypass is the MBC bit of IEEE 802.1Q.
	MACsecBypass bool
	_            uint8
	// Delay is the allowance for the round trip. mlx5 takes it for the cable
	// length in metres, 1..999, and reports 0 where it cannot set buffers.
	Delay uint16
	_     uint16
	// Requests counts pause frames sent, Indications those received, by priority.
	Requests, Indications [qos.NumPriorities]uint64
}

// TSA is a transmission selection algorithm.
type TSA uint8

// The transmission selection algorithms of IEEE 802.1Q.
const (
	TSAStrict TSA = 0
	TSACBS    TSA = 1   // credit-based shaper; mlx5 and bnxt refuse it
	TSAETS    TSA = 2   // a share of the bandwidth
	TSAVendor TSA = 255 // mlx5's state after the driver is loaded
)

var tsaNames = map[TSA]string{TSAStrict: "strict", TSACBS: "cbs", TSAETS: "ets", TSAVendor: "vendor"}

// String prints "strict", "cbs", "ets", "vendor" or the number.
func (t TSA) String() string { return cmp.Or(tsaNames[t], fmt.Sprintf("tsa %d", uint8(t))) }

// Scheduling is how traffic classes share a link.
type Scheduling struct {
	// TSA is the algorithm of each traffic class.
	TSA [qos.NumPriorities]TSA
	// Bandwidth is the share in percent of each traffic class whose TSA is
	// ETS. mlx5 wants the sum to be 100 where there is any.
	Bandwidth [qos.NumPriorities]uint8
	// PriorityTC is the traffic class, 0..7, of each priority.
	PriorityTC [qos.NumPriorities]uint8
}

// fault says why no device has such a scheduling, or returns "".
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

// diff says how have differs from s, or returns "". Bandwidth counts only for
// classes that should be ETS, and only the classes that the device has: the
// rest of what drivers report means nothing (mlx5 en_dcbnl.c).
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
	// Cap is the number of traffic classes that may be ETS; of the arrays by
	// traffic class only so many entries mean something.
	Cap uint8
	// CBS says that the credit-based shaper is supported.
	CBS bool
	Scheduling
	// RxBandwidth is the share of each traffic class on receipt in percent.
	RxBandwidth [qos.NumPriorities]uint8
	// Recommended is what DCBX tells the peer.
	Recommended Scheduling
}

// Headroom is the division of a port's receive buffer.
type Headroom struct {
	// PriorityBuffer is the buffer, 0..7, that each priority uses.
	PriorityBuffer [qos.NumPriorities]uint8
	// Size is the size of each buffer in bytes. A driver rounds it down to
	// whole cells, of 128 bytes on most mlx5 devices.
	Size [qos.NumPriorities]uint32
}

// maxCell is above the size of any cell, in bytes: sizes that differ by less are not
// told apart.
const maxCell = 512

// fault says why no device has such a division, or returns "".
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
	// Total is the size of the whole in bytes.
	Total uint32
}

// DCBX is who runs the DCBX protocol and how: a set of the bits below.
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

// Selector says what the protocol of an APP entry is.
type Selector uint8

// The selectors of IEEE 802.1Q, and the kernel's own for PCP.
const (
	SelectorEthertype Selector = 1
	SelectorStream    Selector = 2 // TCP or SCTP port
	SelectorDatagram  Selector = 3 // UDP or DCCP port; 4791 is RoCEv2
	SelectorPort      Selector = 4 // any of these
	SelectorDSCP      Selector = 5
	SelectorPCP       Selector = 255 // kernels since 6.2
)

var selectorNames = map[Selector]string{
	SelectorEthertype: "ethtype", SelectorStream: "stream-port", SelectorDatagram: "dgram-port", SelectorPort: "port",
	SelectorDSCP: "dscp", SelectorPCP: "pcp",
}

// String prints the selector's name as iproute2's dcb does, or its number.
func (s Selector) String() string {
	return cmp.Or(selectorNames[s], fmt.Sprintf("selector %d", uint8(s)))
}

// App is an entry of the APP table, struct dcb_app member by member: frames of a
// protocol have a priority, 0..7.
type App struct {
	Selector Selector
	Priority uint8
	Protocol uint16 // ethertype, port or DSCP
}

// DSCP returns the entry that gives a DSCP, 0..63, a priority, 0..7.
func DSCP(dscp, priority uint8) App {
	return App{Selector: SelectorDSCP, Priority: priority, Protocol: uint16(dscp)}
}

// String prints "dscp 26 priority 3"; an ethertype is in hexadecimal.
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

// fault says why the kernel has no such entry, or returns "".
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
