package headroom

import (
	"fmt"
	"math"
)

// IEEE returns the reference headroom: the largest frame that is being sent, the pause frame, the
// cable, the peer's response, and the MAC and PHY at this end, all with cell rounding, plus one
// lossless frame that starts at the last moment. The quanta of the standard are measured at the
// peer's connector and thus include the peer's PHY; the PHY at this end is added once. IEEE fails
// for speeds without a pause-response time, unless the input states a response.
func IEEE(in Input) (Result, error) {
	if err := in.check(); err != nil {
		return Result{}, err
	}
	q, ok := Quanta(in.Speed)
	if !ok && in.PeerBytes == 0 {
		return Result{}, fmt.Errorf("%w at %s", errNoQuanta, in.Speed)
	}
	var t terms
	t.add("largest frame", float64(in.PortMTU+frameOverhead), srcWire, "port MTU %d + %d", in.PortMTU, frameOverhead)
	t.add("pause frame", pauseFrame, srcWire, "64 + 20")
	t.add("cable", cableBytes(in.Speed, in.Cable), "speed of light in the cable as in "+srcLua, "2 * %s * %s / (8 * 1.98e8 m/s)", in.Cable, in.Speed)
	if in.PeerBytes > 0 {
		t.add("peer response", float64(in.PeerBytes), in.PeerHow, "%d bytes, as stated", in.PeerBytes)
	} else {
		t.add("peer response", float64(q*64), srcQuanta, "%d quanta * 64; the peer's own time is not known", q)
	}
	t.add("MAC and PHY", macPHYDefault, srcAsic, "0.8 KiB")
	wire := t.sum()
	var cell, descriptor int64
	if in.ASIC != nil {
		cell, descriptor = in.ASIC.CellBytes, in.ASIC.Descriptor
	}
	if w := worstOccupancy(cell, descriptor, in.MinPacket); w > 1 {
		with := ""
		if descriptor > 0 {
			with = fmt.Sprintf(", each with a descriptor of %d bytes,", descriptor)
		}
		t.add("cell rounding", wire*(w-1), in.ASIC.Source, "(%.3f - 1) * %.0f, packets of %d bytes and more%s in cells of %d", w, wire, in.MinPacket, with, cell)
	}
	var notes []string
	if cell == 0 && in.MinPacket > 0 {
		notes = append(notes, "the cell size of the chip is not known: what cells take beyond the packets is not counted")
	}
	t.add("last lossless frame", float64(in.LosslessMTU), srcWire, "lossless MTU %d", in.LosslessMTU)
	total := int64(math.Ceil(t.sum()))
	t.rest("rounding", float64(total), "", "up to a whole byte")
	return Result{Model: ModelIEEE, Terms: t, XOFF: total, Floor: Floor(in.Speed, in.Cable, in.LosslessMTU), Notes: notes}, nil
}

// Occupancy returns how many bytes of memory one byte of a packet takes if memory is allocated in
// whole cells and a packet takes descriptor bytes beside its own.
func Occupancy(cell, descriptor int64, packet int) float64 {
	if cell <= 0 || packet <= 0 {
		return 1
	}
	return float64(cells(int64(packet)+descriptor, cell)) / float64(packet)
}

// worstOccupancy returns the largest Occupancy of any packet of at least minPacket bytes: the value
// for minPacket itself or for the next size that starts a new cell.
func worstOccupancy(cell, descriptor int64, minPacket int) float64 {
	if cell <= 0 || minPacket <= 0 {
		return 1
	}
	next := cells(int64(minPacket)+descriptor-1, cell) + 1 - descriptor
	return max(Occupancy(cell, descriptor, minPacket), Occupancy(cell, descriptor, int(next)))
}
