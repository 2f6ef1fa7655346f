package headroom

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// ErrNoModel is wrapped if an ASIC has no published dynamic model.
var ErrNoModel = errors.New("no dynamic headroom model is published")

// generation is a version of buffer_headroom_mellanox.lua that computes different results.
type generation int

const (
	gen202311 generation = iota // count-based cell occupancy, no tile
	gen202405                   // byte-based occupancy, tile of Spectrum-4 and -5
	gen202605                   // compensation without shared headroom, Spectrum-6
)

// generationOf parses a release name; a name without a date means the newest generation.
func generationOf(release string) generation {
	if len(release) < 6 {
		return gen202605
	}
	n, err := strconv.Atoi(release[:6])
	switch {
	case err != nil || n >= 202605:
		return gen202605
	case n >= 202405:
		return gen202405
	}
	return gen202311
}

// SONiCDyn returns what SONiC's dynamic buffer model computes on the switch, exact to the byte. It
// follows sonic-swss cfgmgr/buffer_headroom_mellanox.lua of the input's release, which the virtual
// switch runs as well, or buffer_headroom_barefoot.lua.
//
// The Mellanox script computes the share of small packets by byte with a numerator that lacks the
// count, so that with frames of 1024 bytes 50 percent gives 11.8 and 0 percent gives 6.3. SONiCDyn
// repeats that. As a consequence, a larger MTU lowers XOFF.
//
// Without shared headroom the script adds 2 KiB if its result is more than 2 KiB below the result
// for small packets only. Both results are rounded, so a longer cable can get up to a KiB less.
//
// For a speed without pause quanta SONiCDyn uses the ASIC's constant, like the script, and adds a
// note: the constant is far below the quanta of comparable speeds. It fails if there is no
// constant.
func SONiCDyn(in Input) (Result, error) {
	if err := in.check(); err != nil {
		return Result{}, err
	}
	a := in.ASIC
	switch {
	case a == nil:
		return Result{}, fmt.Errorf("an unknown ASIC: %w", ErrNoModel)
	case a.PipelineKiB == 0 || a.CellBytes == 0:
	case a.Vendor == "barefoot":
		return barefoot(in)
	case a.Vendor == catalog.NVIDIA || a.Vendor == "vs":
		return mellanox(in)
	}
	return Result{}, fmt.Errorf("%s: %w", a.Name, ErrNoModel)
}

// mellanox implements buffer_headroom_mellanox.lua.
func mellanox(in Input) (Result, error) {
	a := in.ASIC
	gen := generationOf(in.Release)
	var (
		speed    = float64(in.Speed) / 1e6 // Mb/s
		portMTU  = float64(in.PortMTU)
		lossless = float64(in.LosslessMTU)
		t        terms
	)

	// The conversions to float64 prevent the compiler from fusing a product into a sum, so that the
	// result equals the script's to the last bit.
	occupancy, worst, small, smallText := in.mellanoxOccupancy(gen)
	cableUnit, kilo := 1000.0, ""
	if gen == gen202311 {
		cableUnit, kilo = 1024, " * 1000/1024"
	}
	cable := 2 * float64(in.Cable) * speed * 1e9 / SignalSpeed / (8 * cableUnit)
	macPHY := a.MACPHYKiB * 1024
	var tile float64
	if gen > gen202311 {
		tile = speed / 1000 * a.TileNS / 8
	}

	t.add("largest frame", portMTU, srcLua, "port MTU %d", in.PortMTU)
	t.add("cable", cable, srcLua, "2 * %s * %s / (8 * 1.98e8 m/s)%s", in.Cable, in.Speed, kilo)
	t.add("MAC and PHY", macPHY, a.Source, "%g KiB", a.MACPHYKiB)
	peer, note, err := t.scriptPeer(in.Speed, a)
	if err != nil {
		return Result{}, err
	}
	if tile > 0 {
		t.add("tile", tile, srcLua, "%s * %g ns / 8", in.Speed, a.TileNS)
	}
	prop := portMTU + cable + macPHY + peer + tile
	t.add("cell occupancy", prop*(occupancy-1), srcLua, "(%.4f - 1) * %.0f; %s %.2f, worst case %.4g cells a byte", occupancy, prop, smallText, small, worst)
	t.add("lossless frame", lossless, srcLua, "lossless MTU %d", in.LosslessMTU)

	xoff := ceilKiB(lossless + float64(prop*occupancy))
	t.rest("rounding", xoff, srcLua, "up to 1024")
	if gen >= gen202605 && a.XOFFExtra > 0 {
		xoff += float64(a.XOFFExtra)
		t.add("packet buffer accounting", float64(a.XOFFExtra), srcLua, "%d KiB on this ASIC", a.XOFFExtra/1024)
	}
	if gen >= gen202605 && !in.SharedHeadroom && in.SmallPacketPercent != 100 {
		const compensation = 2 * 1024
		if full := ceilKiB(lossless + float64(prop*worst)); xoff+compensation < full {
			xoff += compensation
			t.add("compensation", compensation, srcLua, "2 KiB without shared headroom, still below %.0f for small packets only", full)
		}
	}

	xon, size := in.mellanoxGroup(gen, xoff)
	return Result{
		Model: ModelSONiCDyn, Terms: t, Notes: note,
		XOFF: int64(xoff), XON: int64(xon), Size: int64(size),
		Floor: Floor(in.Speed, in.Cable, in.LosslessMTU),
	}, nil
}

// mellanoxOccupancy returns the memory that packets take in cells, as a factor of their bytes;
// worst is the factor for small packets only. small is a percentage, and text names it.
func (in Input) mellanoxOccupancy(gen generation) (occupancy, worst, small float64, text string) {
	worst = worstCellFactor(float64(in.ASIC.CellBytes))
	spp := float64(in.SmallPacketPercent)
	small, text = spp, "small packet percentage"
	if gen > gen202311 {
		worst = math.Ceil(worst)
		small = 100 * minFrame / ((float64(spp*minFrame) + float64((100-spp)*float64(in.LosslessMTU))) / 100)
		text = "small packet percentage by byte"
	}
	return (100 - small + float64(small*worst)) / 100, worst, small, text
}

// mellanoxGroup returns the level at which the pause of a group ends, and the size that the group
// reserves.
func (in Input) mellanoxGroup(gen generation, xoff float64) (xon, size float64) {
	xon = in.ASIC.PipelineKiB * 1024
	var extra float64
	if in.Lanes == 8 {
		xon *= 2
		if gen == gen202311 {
			xon -= 1024
		}
		extra = float64(in.PortMTU)
	}
	xon = ceilKiB(xon)
	if in.SharedHeadroom {
		return xon, xon
	}
	return xon, ceilKiB(xoff + xon + extra)
}

// scriptPeer adds the peer's response like SONiC's scripts: from the quanta of the speed, or else
// the ASIC's constant, with a note.
func (t *terms) scriptPeer(speed units.Rate, a *catalog.ASIC) (bytes float64, notes []string, err error) {
	if q, ok := Quanta(speed); ok {
		bytes = float64(q * 64)
		t.add("peer response", bytes, srcQuanta, "%d quanta * 64", q)
		return bytes, nil, nil
	}
	if a.PeerKiB == 0 {
		return 0, nil, fmt.Errorf("%w at %s", errNoQuanta, speed)
	}
	bytes = a.PeerKiB * 1024
	t.add("peer response", bytes, a.Source, "%g KiB, the ASIC's constant", a.PeerKiB)
	return bytes, []string{fmt.Sprintf("%s has no pause quanta: the peer response is the ASIC's constant of %g KiB", speed, a.PeerKiB)}, nil
}

// worstCellFactor returns the scripts' count of cells for the worst packet.
func worstCellFactor(cell float64) float64 {
	if cell > 2*minFrame {
		return cell / minFrame
	}
	return 2 * cell / (1 + cell)
}

func ceilKiB(v float64) float64 { return math.Ceil(v/1024) * 1024 }

const srcBarefoot = "sonic-swss cfgmgr/buffer_headroom_barefoot.lua"

// barefoot implements buffer_headroom_barefoot.lua: small packets are counted without weighting by
// size, the peer has twice the time at 400G, and the headroom is always in the shared pool, so that
// a group's own size is xon.
func barefoot(in Input) (Result, error) {
	a := in.ASIC
	var (
		speed    = float64(in.Speed) / 1e6 // Mb/s
		portMTU  = float64(in.PortMTU)
		lossless = float64(in.LosslessMTU)
		spp      = float64(in.SmallPacketPercent)
		t        terms
	)
	worst := worstCellFactor(float64(a.CellBytes))
	occupancy := (100 - spp + float64(spp*worst)) / 100
	cable := 2 * float64(in.Cable) * speed * 1e9 / SignalSpeed / (8 * 1024)
	macPHY := a.MACPHYKiB * 1024

	t.add("largest frame", portMTU, srcBarefoot, "port MTU %d", in.PortMTU)
	t.add("cable", cable, srcBarefoot, "2 * %s * %s / (8 * 1.98e8 m/s) * 1000/1024", in.Cable, in.Speed)
	t.add("MAC and PHY", macPHY, a.Source, "%g KiB", a.MACPHYKiB)
	peer, notes, err := t.scriptPeer(in.Speed, a)
	if err != nil {
		return Result{}, err
	}
	if in.Speed == 400e9 {
		t.add("peer response again", peer, srcBarefoot, "doubled at %s", in.Speed)
		peer *= 2
	}
	prop := portMTU + cable + macPHY + peer
	t.add("cell occupancy", prop*(occupancy-1), srcBarefoot, "(%.4f - 1) * %.0f; small packet percentage %g, worst case %.4g cells a byte", occupancy, prop, spp, worst)
	t.add("lossless frame", lossless, srcBarefoot, "lossless MTU %d", in.LosslessMTU)
	xoff := ceilKiB(lossless + float64(prop*occupancy))
	t.rest("rounding", xoff, srcBarefoot, "up to 1024")
	xon := int64(ceilKiB(a.PipelineKiB * 1024))
	if !in.SharedHeadroom {
		notes = append(notes, fmt.Sprintf("%s has its headroom in the shared headroom pool only", a.Name))
	}
	return Result{
		Model: ModelSONiCDyn, Terms: t, Notes: notes,
		XOFF: int64(xoff), XON: xon, Size: xon,
		Floor: Floor(in.Speed, in.Cable, in.LosslessMTU),
	}, nil
}
