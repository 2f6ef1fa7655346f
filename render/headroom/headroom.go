// Package headroom does the arithmetic of lossless buffers: how many bytes arrive after a pause is
// sent, when a shared pool makes a group pause, and where ECN should start to mark.
//
// Each result is itemized, so that a number can be shown with its derivation. Two models compute
// pause headroom: [IEEE] from the pause-response times of IEEE 802.3, and [SONiCDyn], which repeats
// what SONiC computes on the switch. They answer different questions ("is it enough", "what will
// the switch set"), so do not mix their terms, and name the model wherever a number is printed.
// Neither replaces the published row of a switch model (render/catalog); [Falls] finds implausible
// rows.
//
// [Pool] and [Case] decide whether a queue marks before an ingress group pauses, and [ECNAuto]
// proposes thresholds that do. This package reads neither intents nor devices; package render
// combines the values of a real port.
package headroom

import (
	"errors"
	"fmt"
	"math"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Names of the models, for Result.Model.
const (
	ModelIEEE     = "ieee-quanta"
	ModelSONiCDyn = "sonic-dyn"
)

// errNoQuanta is wrapped if no pause-response time is known for a speed.
var errNoQuanta = errors.New("no pause-response time is known")

// errInput is wrapped if an input is out of range.
var errInput = errors.New("out of range")

// maxPeerBytes is far above any real response: about a millisecond at 800G.
const maxPeerBytes = 100 << 20

const (
	frameOverhead = 38 // bytes on the wire around an IP packet: Ethernet 14, FCS 4, preamble and gap 20
	pauseFrame    = 84 // a PFC frame of 64 bytes with preamble and gap
	minFrame      = 64
	macPHYDefault = 819 // 0.8 KiB, SONiC's ASIC_TABLE mac_phy_delay
)

const (
	srcQuanta = "IEEE 802.3 clause 31B.3.7; sonic-swss cfgmgr/buffer_headroom_mellanox.lua"
	srcWire   = "IEEE 802.3 frame format"
	srcLua    = "sonic-swss cfgmgr/buffer_headroom_mellanox.lua"
	srcAsic   = "sonic-buildimage platform/mellanox/asic_table.j2"
)

// Input holds the inputs of a headroom calculation.
type Input struct {
	Speed units.Rate
	Cable units.Length // one way
	// PortMTU is the size of the largest packet of any class on the port,
	// bytes: SONiC's PORT.mtu. Range 64..65535.
	PortMTU int
	// LosslessMTU is the size of the largest lossless frame, bytes: SONiC's
	// LOSSLESS_TRAFFIC_PATTERN.mtu. Range 64..65535.
	LosslessMTU int
	// SmallPacketPercent is the percentage of 64-byte packets, 0..100: SONiC's
	// LOSSLESS_TRAFFIC_PATTERN.small_packet_percentage, 50 in its template. SONiCDyn only.
	SmallPacketPercent int
	// MinPacket is the size of the smallest packet that fills a lossless group at line rate, in
	// bytes; 0 ignores the loss to cell rounding. IEEE only, and only with an ASIC whose cell size
	// is known.
	MinPacket int
	// Lanes is the number of lanes of the port; 8 doubles the pipeline. SONiCDyn only.
	Lanes int
	// SharedHeadroom is set if the headroom of all groups is one pool: the ingress pool has an
	// xoff, or an over-subscription ratio is set.
	SharedHeadroom bool
	// PeerBytes is how much the device at the other end may still send before it obeys a pause; 0,
	// if that is not known, stands for what IEEE 802.3 allows at the speed. PeerHow is the source
	// of the value. IEEE only: SONiC's script has no such input.
	PeerBytes int64
	PeerHow   string
	// ASIC may be nil for IEEE.
	ASIC *catalog.ASIC
	// Release is the SONiC release ("202511"). SONiCDyn follows the script of that release; "" or a
	// name without a date means the newest.
	Release string
}

// Term is one contribution to XOFF.
type Term struct {
	Name    string  `json:"name"`
	Bytes   float64 `json:"bytes"`
	Formula string  `json:"formula"`
	Source  string  `json:"source"`
}

// Result is the headroom of a priority group, in bytes. The terms sum to XOFF.
type Result struct {
	Model string `json:"model"`
	Terms []Term `json:"terms"`
	// XOFF is the headroom: what may arrive after the pause is sent.
	XOFF int64 `json:"xoff"`
	// XON is the level at which the pause ends, and Size the group's reserved buffer; 0 from IEEE,
	// which does not define them.
	XON  int64 `json:"xon,omitempty"`
	Size int64 `json:"size,omitempty"`
	// Floor is the least possible headroom, see the function Floor.
	Floor int64    `json:"floor"`
	Notes []string `json:"notes,omitempty"`
}

func (in Input) check() error {
	bad := func(what string, v any) error { return fmt.Errorf("%s %v: %w", what, v, errInput) }
	switch {
	case in.Speed <= 0:
		return bad("speed", in.Speed)
	case !(in.Cable >= 0 && in.Cable <= 1e6):
		return bad("cable", in.Cable)
	case in.PortMTU < minFrame || in.PortMTU > math.MaxUint16:
		return bad("port MTU", in.PortMTU)
	case in.LosslessMTU < minFrame || in.LosslessMTU > math.MaxUint16:
		return bad("lossless MTU", in.LosslessMTU)
	case in.SmallPacketPercent < 0 || in.SmallPacketPercent > 100:
		return bad("small packet percentage", in.SmallPacketPercent)
	case in.MinPacket < 0 || in.MinPacket > math.MaxUint16:
		return bad("smallest packet", in.MinPacket)
	case in.PeerBytes < 0 || in.PeerBytes > maxPeerBytes:
		return bad("peer response", in.PeerBytes)
	case in.Lanes < 0 || in.Lanes > 16:
		return bad("lanes", in.Lanes)
	}
	return nil
}

type terms []Term

func (t *terms) add(name string, bytes float64, source, format string, args ...any) {
	if *t == nil {
		*t = make(terms, 0, 8) // most sums
	}
	formula := format
	if len(args) > 0 {
		formula = fmt.Sprintf(format, args...)
	}
	*t = append(*t, Term{Name: name, Bytes: bytes, Formula: formula, Source: source})
}

// rest adds a term for the difference to total, unless it is only a floating-point error.
func (t *terms) rest(name string, total float64, source, formula string) {
	if d := total - t.sum(); math.Abs(d) > 1e-6 {
		t.add(name, d, source, "%s", formula)
	}
}

func (t terms) sum() float64 {
	var s float64
	for _, x := range t {
		s += x.Bytes
	}
	return s
}
