package headroom

import "fmt"

const srcBarefoot = "sonic-swss cfgmgr/buffer_headroom_barefoot.lua"

// barefoot is buffer_headroom_barefoot.lua: small packets are counted and not
// weighed, the peer has twice the time at 400G, and the headroom is always in
// the shared pool, so that a group's own size is xon.
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
	cable := 2 * float64(in.Cable) * speed * 1e9 / signalSpeed / (8 * 1024)
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
