// Package headroom does the arithmetic of lossless buffers: how many bytes
// arrive after a pause is sent, when a shared pool makes a group pause, and
// where ECN should begin to mark.
//
// Each result is itemised, so that a number can be shown with its reasons.
// Two models give a pause headroom: [IEEE] from the pause-response times of
// IEEE 802.3, and [SONiCDyn], which repeats what SONiC computes on the box.
// They answer different questions ("is it enough", "what will the switch
// set"); do not mix their terms, and name the model wherever a number is
// printed. Neither replaces the published row of a model (render/catalog).
package headroom

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// Names of the models, for Result.Model.
const (
	ModelIEEE     = "ieee-quanta"
	ModelSONiCDyn = "sonic-dyn"
)

// ErrNoQuanta is wrapped where no pause-response time is known for a speed.
var ErrNoQuanta = errors.New("no pause-response time is known")

// ErrInput is wrapped where an input is out of range.
var ErrInput = errors.New("out of range")

// SignalSpeed is the speed of light in a cable, metres per second, as SONiC
// takes it (sonic-swss cfgmgr/buffer_headroom_mellanox.lua): about 5.05 ns a
// metre.
const SignalSpeed = 198_000_000

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

// Input is what a headroom depends on.
type Input struct {
	Speed units.Rate
	Cable units.Length // one way
	// PortMTU is the size of the largest packet of any class on the port,
	// bytes: SONiC's PORT.mtu. Range 64..65535.
	PortMTU int
	// LosslessMTU is the size of the largest lossless frame, bytes: SONiC's
	// LOSSLESS_TRAFFIC_PATTERN.mtu. Range 64..65535.
	LosslessMTU int
	// SmallPacketPercent is the share of 64-byte packets, 0..100: SONiC's
	// LOSSLESS_TRAFFIC_PATTERN.small_packet_percentage, 50 in its template.
	// SONiCDyn only.
	SmallPacketPercent int
	// MinPacket is the size of the smallest packet that fills a lossless
	// group at line rate, bytes; 0 counts no loss to cell rounding. IEEE only,
	// and only with an ASIC whose cell size is known.
	MinPacket int
	// Lanes of the port; 8 doubles the pipeline. SONiCDyn only.
	Lanes int
	// GearboxNS is the one-way delay of an external gearbox, nanoseconds
	// (SONiC: PERIPHERAL_TABLE gearbox_delay).
	GearboxNS float64
	// SharedHeadroom says that the headroom of all groups is one pool: the
	// ingress pool has an xoff, or an over-subscription ratio is set.
	SharedHeadroom bool
	// ASIC may be nil for IEEE.
	ASIC *catalog.ASIC
	// Release is the SONiC release ("202511"). SONiCDyn follows the script of
	// that release; "" or a name without a date is the newest.
	Release string
}

// Term is one contribution to XOFF.
type Term struct {
	Name    string  `json:"name"`
	Bytes   float64 `json:"bytes"`
	Formula string  `json:"formula"`
	Source  string  `json:"source"`
}

// Result is an itemised headroom of one priority group, bytes. The terms sum
// to XOFF.
type Result struct {
	Model string `json:"model"`
	Terms []Term `json:"terms"`
	// XOFF is the headroom: what may arrive after the pause is sent.
	XOFF int64 `json:"xoff"`
	// XON is the level at which the pause ends, and Size the group's reserved
	// buffer; 0 from IEEE, which has no say in them.
	XON  int64 `json:"xon,omitempty"`
	Size int64 `json:"size,omitempty"`
	// Floor is what no headroom can be below: the round trip in the cable and
	// two lossless frames.
	Floor int64    `json:"floor"`
	Notes []string `json:"notes,omitempty"`
}

var quanta = map[int64]int64{
	100: 1, 1_000: 2, 10_000: 67, 25_000: 80, 40_000: 118, 50_000: 147,
	100_000: 394, 200_000: 453, 400_000: 905, 800_000: 905,
}

// Quanta returns the pause-response time of a link speed in quanta of 512 bit
// times. 800G has the value of 400G, as in SONiC. Source: IEEE 802.3 clause
// 31B.3.7 by way of sonic-swss cfgmgr/buffer_headroom_mellanox.lua.
func Quanta(speed units.Rate) (n int64, ok bool) {
	n, ok = quanta[speed.Mbps()]
	return n, ok && int64(speed)%1e6 == 0
}

// ResponseBytes returns what a peer may still send at that speed before it
// obeys a pause.
func ResponseBytes(speed units.Rate) (n int64, ok bool) {
	q, ok := Quanta(speed)
	return q * 64, ok
}

// ResponseTime returns the same as a time.
func ResponseTime(speed units.Rate) (d time.Duration, ok bool) {
	n, ok := ResponseBytes(speed)
	if !ok {
		return 0, false
	}
	return Drain(n, speed), true
}

// CableBytes returns the bytes in flight in a cable, there and back.
func CableBytes(speed units.Rate, cable units.Length) float64 {
	return 2 * float64(cable) * float64(speed) / (8 * SignalSpeed)
}

// Floor returns the headroom below which a full link loses frames whatever
// the peer does: the round trip in the cable and two lossless frames.
func Floor(speed units.Rate, cable units.Length, losslessMTU int) int64 {
	return int64(math.Ceil(CableBytes(speed, cable))) + 2*int64(losslessMTU)
}

// Drain returns the time that n bytes take at a rate; 0 for a rate of 0.
func Drain(n int64, rate units.Rate) time.Duration {
	if rate <= 0 {
		return 0
	}
	return time.Duration(math.Round(float64(n) * 8e9 / float64(rate)))
}

// Occupancy returns how many bytes of memory one byte of a packet takes when
// memory is given out in whole cells.
func Occupancy(cell int64, packet int) float64 {
	if cell <= 0 || packet <= 0 {
		return 1
	}
	cells := (int64(packet) + cell - 1) / cell
	return float64(cells*cell) / float64(packet)
}

// WorstOccupancy returns the largest Occupancy of any packet of at least
// minPacket bytes: that of the smallest one, or of the next that begins a
// new cell.
func WorstOccupancy(cell int64, minPacket int) float64 {
	if cell <= 0 || minPacket <= 0 {
		return 1
	}
	next := (int64(minPacket)+cell-2)/cell*cell + 1
	return max(Occupancy(cell, minPacket), Occupancy(cell, int(next)))
}

// MaxSharedHeadroom returns what one port may take of the shared headroom
// pool, bytes; ok is false where the ASIC states no limit. Source: sonic-swss
// cfgmgr/buffer_check_headroom_mellanox.lua.
func MaxSharedHeadroom(a *catalog.ASIC, lanes int) (n int64, ok bool) {
	if a == nil || a.PortMaxSHPCells == 0 {
		return 0, false
	}
	reserved := a.PortReservedCells
	if lanes == 8 {
		reserved *= 2
	}
	return (a.PortMaxSHPCells + reserved) * a.CellBytes, true
}

// IEEE returns the reference headroom: the largest frame that is on its way
// out, the pause frame, the cable, the peer's response and this end's MAC and
// PHY, all of it with cell rounding, and one lossless frame that starts last.
// It fails for speeds without a pause-response time.
func IEEE(in Input) (Result, error) {
	if err := in.check(); err != nil {
		return Result{}, err
	}
	q, ok := Quanta(in.Speed)
	if !ok {
		return Result{}, fmt.Errorf("%w at %s", ErrNoQuanta, in.Speed)
	}
	var t terms
	t.add("largest frame", float64(in.PortMTU+frameOverhead), srcWire, "port MTU %d + %d", in.PortMTU, frameOverhead)
	t.add("pause frame", pauseFrame, srcWire, "64 + 20")
	t.add("cable", CableBytes(in.Speed, in.Cable), "speed of light in the cable as in "+srcLua, "2 * %s * %s / (8 * 1.98e8 m/s)", in.Cable, in.Speed)
	t.add("peer response", float64(q*64), srcQuanta, "%d quanta * 64", q)
	t.add("MAC and PHY", macPHYDefault, srcAsic, "0.8 KiB")
	if in.GearboxNS > 0 {
		t.add("gearbox", 2*in.GearboxNS*in.Speed.Gbps()/8, "sonic-buildimage platform/mellanox/peripheral_table.j2", "2 * %g ns * %s / 8", in.GearboxNS, in.Speed)
	}
	wire := t.sum()
	var cell int64
	if in.ASIC != nil {
		cell = in.ASIC.CellBytes
	}
	if w := WorstOccupancy(cell, in.MinPacket); w > 1 {
		t.add("cell rounding", wire*(w-1), in.ASIC.Source, "(%.3f - 1) * %.0f, packets of %d bytes and more in cells of %d", w, wire, in.MinPacket, cell)
	}
	t.add("last lossless frame", float64(in.LosslessMTU), srcWire, "lossless MTU %d", in.LosslessMTU)
	total := int64(math.Ceil(t.sum()))
	t.rest("rounding", float64(total), "", "up to a whole byte")
	return Result{Model: ModelIEEE, Terms: t, XOFF: total, Floor: Floor(in.Speed, in.Cable, in.LosslessMTU)}, nil
}

func (in Input) check() error {
	bad := func(what string, v any) error { return fmt.Errorf("%s %v: %w", what, v, ErrInput) }
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
	case !(in.GearboxNS >= 0 && in.GearboxNS <= 1e6):
		return bad("gearbox delay", in.GearboxNS)
	case in.Lanes < 0 || in.Lanes > 16:
		return bad("lanes", in.Lanes)
	}
	return nil
}

type terms []Term

func (t *terms) add(name string, bytes float64, source, format string, args ...any) {
	*t = append(*t, Term{Name: name, Bytes: bytes, Formula: fmt.Sprintf(format, args...), Source: source})
}

// rest adds what is missing to total, if that is more than float noise.
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
