package headroom

import (
	"fmt"
	"math"

	"github.com/roce-fabric/roce-fabric/render/catalog"
)

const (
	srcCheck = "sonic-swss cfgmgr/buffer_check_headroom_mellanox.lua"
	srcPool  = "sonic-swss cfgmgr/buffer_pool_mellanox.lua"
)

// Groups are priority groups of one port that have the same profile.
type Groups struct {
	Count int `json:"count"`
	// Size, XON and XOFF are the profile of a lossless group, in bytes; a lossy one has no XOFF.
	Size int64 `json:"size"`
	XON  int64 `json:"xon"`
	XOFF int64 `json:"xoff"`
}

// shared returns the part of a group's headroom that is in the shared headroom pool.
func (g Groups) shared() int64 {
	if g.XOFF <= 0 {
		return 0
	}
	return max(0, g.XON+g.XOFF-g.Size)
}

// AdmissionInput describes a port for SONiC's admission test.
type AdmissionInput struct {
	ASIC   *catalog.ASIC
	Lanes  int // 8 doubles the pipeline
	Groups []Groups
	// SharedHeadroom is set if the ingress pool has an xoff.
	SharedHeadroom bool
	// MaxTotal is the limit of the switch for all groups of the port, in bytes (STATE_DB
	// BUFFER_MAX_PARAM_TABLE max_headroom_size). If it is 0, that is, unknown, only the share of
	// the shared headroom pool is tested.
	MaxTotal int64
}

// Admission is the result of the test, in bytes. The terms sum to Total.
type Admission struct {
	Terms []Term `json:"terms"`
	Total int64  `json:"total"`
	// Shared is the share of the groups in the shared headroom pool, and MaxShared the limit for
	// one port; both are 0 without that pool.
	Shared    int64 `json:"shared,omitempty"`
	MaxShared int64 `json:"max_shared,omitempty"`
	// MaxTotal is the switch's limit for Total; 0 if it is unknown.
	MaxTotal int64 `json:"max_total,omitempty"`
	Admitted bool  `json:"admitted"`
}

// Admit repeats the test that SONiC applies to the lossless groups of a port on NVIDIA switches
// (buffer_check_headroom_mellanox.lua). The test for Barefoot chips accepts everything. Admit fails
// for other chips.
func Admit(in AdmissionInput) (Admission, error) {
	a := in.ASIC
	if a == nil || a.PipelineKiB == 0 {
		return Admission{}, fmt.Errorf("admission of a port: %w", ErrNoModel)
	}
	if a.Vendor == "barefoot" {
		return Admission{Admitted: true}, nil
	}
	pipeline, mirror := a.PipelineKiB, 20
	if in.Lanes == 8 {
		pipeline, mirror = pipeline*2-1, 40
	}
	lossy := int64(pipeline * 1024)
	var t terms
	t.add("deviation", 4096, srcCheck, "4 KiB")
	t.add("pipeline", float64(lossy), srcCheck, "%g KiB", pipeline)
	t.add("egress mirror", float64(mirror*1024), srcCheck, "%d KiB", mirror)
	var r Admission
	for _, g := range in.Groups {
		size, name := g.Size, "lossless groups"
		if g.XOFF <= 0 {
			name = "lossy groups"
		}
		if size == 0 {
			size = lossy
		}
		n := int64(clampCount(g.Count, 0))
		t.add(name, float64(n*size), srcCheck, "%d * %d", n, size)
		if in.SharedHeadroom {
			g.Size = size
			r.Shared += n * g.shared()
		}
	}
	r.Terms, r.Total, r.MaxTotal = t, int64(t.sum()), in.MaxTotal
	r.Admitted = in.MaxTotal <= 0 || r.Total < in.MaxTotal
	if in.SharedHeadroom {
		if most, ok := maxSharedHeadroom(a, in.Lanes); ok {
			r.MaxShared = most
			r.Admitted = r.Admitted && r.Shared <= most
		}
	}
	return r, nil
}

// maxSharedHeadroom returns the limit of one port in the shared headroom pool, in bytes; ok is
// false if the ASIC states none. Source: sonic-swss cfgmgr/buffer_check_headroom_mellanox.lua.
func maxSharedHeadroom(a *catalog.ASIC, lanes int) (n int64, ok bool) {
	if a == nil || a.PortMaxSHPCells == 0 {
		return 0, false
	}
	reserved := a.PortReservedCells
	if lanes == 8 {
		reserved *= 2
	}
	return (a.PortMaxSHPCells + reserved) * a.CellBytes, true
}

// The reserves in buffer_pool_mellanox.lua, in bytes.
const (
	managementPool  = 256 << 10
	mirrorPerPort   = 10 << 10
	privatePerPort  = 10 << 10 // headroom of a lossless port outside of the shared pool
	leastSharedPool = 655_360
)

// PortBuffers describes ports with equal reservations.
type PortBuffers struct {
	Count  int
	Lanes  int // 8 doubles the pipeline
	Up     bool
	Groups []Groups
	// Queues is the reservation of the queues and profile lists of one port, in bytes.
	Queues int64
}

// PoolInput describes a switch for the calculation of its pool sizes.
type PoolInput struct {
	ASIC  *catalog.ASIC
	Ports []PortBuffers
	// SharedHeadroom is a stated size of the shared headroom pool, in bytes; 0 computes the size
	// from Ratio. If both are 0, there is no such pool unless groups need it.
	SharedHeadroom int64
	Ratio          float64
	// IngressPools is the number of ingress pools that share the remaining memory, 1 or 2.
	IngressPools int
}

// Pools holds the resulting sizes, in bytes. The terms sum to Occupied.
type Pools struct {
	Terms          []Term `json:"terms"`
	Occupied       int64  `json:"occupied"`
	SharedHeadroom int64  `json:"shared_headroom"`
	// Size is the size of each ingress pool; negative if the reservations do not fit.
	Size int64 `json:"size"`
}

// SizePools computes pool sizes like SONiC's dynamic buffer model on NVIDIA switches
// (buffer_pool_mellanox.lua). It fails for other chips, and if the memory size is unknown.
func SizePools(in PoolInput) (Pools, error) {
	a := in.ASIC
	if a == nil || a.PipelineKiB == 0 || a.Vendor == "barefoot" {
		return Pools{}, fmt.Errorf("sizes of the pools: %w", ErrNoModel)
	}
	mmu := a.BufferBytes
	if mmu <= 0 || in.Ratio < 0 || in.SharedHeadroom < 0 {
		return Pools{}, fmt.Errorf("memory of %d bytes, ratio %g, shared headroom %d: %w", mmu, in.Ratio, in.SharedHeadroom, errInput)
	}
	use := in.reserves()
	r := Pools{SharedHeadroom: in.SharedHeadroom}
	on := in.SharedHeadroom > 0 || in.Ratio > 0
	if !on && use.xoff > 0 {
		on, r.SharedHeadroom = true, leastSharedPool
	}
	var t terms
	t.add("lossless groups", float64(use.lossless), srcPool, "the sizes of all")
	t.add("lossy groups", float64(use.lossy), srcPool, "the sizes of all and %g KiB of pipeline each, doubled less one with 8 lanes", a.PipelineKiB)
	t.add("queues", float64(use.queues), srcPool, "the sizes of all")
	if on {
		private := use.ports * privatePerPort
		t.add("private headroom", float64(private), srcPool, "%d lossless ports * 10 KiB", use.ports)
		if r.SharedHeadroom == 0 {
			r.SharedHeadroom = sharedHeadroomPool(use.xoff, int(use.ports), in.Ratio)
		}
		t.add("shared headroom pool", float64(r.SharedHeadroom), srcPool, "(%d - %d) / %g, %d where that is 0", use.xoff, private, in.Ratio, leastSharedPool)
	}
	t.add("management groups", float64(use.management), srcPool, "a pipeline for each port that is up")
	t.add("egress mirror", float64(use.mirror), srcPool, "10 KiB for each port that is up")
	t.add("management pool", managementPool, srcPool, "256 KiB")
	if a.ModificationPool > 0 {
		t.add("modification descriptors", float64(a.ModificationPool), srcPool, "%d MiB on this ASIC", a.ModificationPool>>20)
	}
	r.Terms, r.Occupied = t, int64(t.sum())
	left := float64(mmu - r.Occupied)
	if in.IngressPools > 1 {
		left /= 2
	}
	if a.CellBytes > 0 {
		left = min(left, float64(mmu/a.CellBytes*a.CellBytes))
	}
	r.Size = int64(math.Ceil(left))
	return r, nil
}

// reserved sums up the reservations of all ports of a switch, in bytes. ports counts the ports with
// a lossless group, and xoff is the part of the headroom of these groups that exceeds their sizes.
type reserved struct{ lossless, lossy, queues, management, mirror, xoff, ports int64 }

func (in PoolInput) reserves() (use reserved) {
	a := in.ASIC
	for _, p := range in.Ports {
		n := int64(clampCount(p.Count, 0))
		reserve := int64(a.PipelineKiB * 1024)
		if p.Lanes == 8 {
			reserve = int64((2*a.PipelineKiB - 1) * 1024)
		}
		has := false
		for _, g := range p.Groups {
			groups := n * int64(clampCount(g.Count, 0))
			if g.XOFF > 0 {
				has = has || groups > 0
				use.lossless += groups * g.Size
				use.xoff += groups * g.shared()
			} else {
				use.lossy += groups * (g.Size + reserve)
			}
		}
		if has {
			use.ports += n
		}
		use.queues += n * p.Queues
		if p.Up {
			use.management += n * reserve
			// Chips with a pool for modification descriptors use that pool for mirroring.
			if a.ModificationPool == 0 {
				use.mirror += n * mirrorPerPort
			}
		}
	}
	return use
}

// sharedHeadroomPool returns the size that SONiC gives the shared headroom pool: the headroom of
// all groups that exceeds their own sizes, less 10 KiB for each lossless port, divided by the
// over-subscription ratio. Source: sonic-swss cfgmgr/buffer_pool_mellanox.lua.
func sharedHeadroomPool(headroom int64, losslessPorts int, ratio float64) int64 {
	n := max(0, headroom-int64(clampCount(losslessPorts, 0))*privatePerPort)
	if n == 0 || !(ratio > 0) {
		return leastSharedPool
	}
	return int64(math.Ceil(float64(n) / ratio))
}

// OverSubscription returns the ratio of the headroom of all groups to the size of their pool; ok is
// false without a pool. Above 1, not all groups can pause at the same time; published profiles
// reach 6.3.
func OverSubscription(headroom, pool int64) (ratio float64, ok bool) {
	if headroom < 0 || pool <= 0 {
		return 0, false
	}
	return float64(headroom) / float64(pool), true
}
