package headroom

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// errNoPool is wrapped if the shared pool of a switch, or the alpha of its lossless groups, is not
// known.
var errNoPool = errors.New("the shared pool is not known")

// Pool is the memory that lossless groups share, and the share of the free part that one group may
// take. A chip may consist of several memories (slices), which do not share: a group takes from the
// slice that its port uses, so Bytes is the pool of one slice.
type Pool struct {
	// Bytes is the shared part of the pool in one slice, without headroom and reservations.
	Bytes int64  `json:"bytes"`
	How   string `json:"how"`
	// Slices is the number of memories that the chip divides the pool into; 0 if it is not known.
	// Bytes is then the pool of the whole chip, and groups may pause earlier than at Threshold.
	Slices int `json:"slices,omitempty"`
	// Basis says how the division and the formula of Threshold are known.
	Basis catalog.Basis `json:"basis,omitempty"`
	// Min is what a group holds in reserve, in bytes: it takes from the pool only above that.
	Min      int64  `json:"min,omitempty"`
	Alpha    Alpha  `json:"alpha"`
	AlphaHow string `json:"alpha_how"`
	// PortAlpha is the share of the free pool that all groups of one port may take together; nil if
	// the chip has no such limit. A group then takes Alpha of what the port leaves free.
	PortAlpha *Alpha `json:"port_alpha,omitempty"`
	// Fixed is a threshold in bytes that replaces Alpha; 0 if there is none.
	Fixed int64 `json:"fixed,omitempty"`
	// Computed is the threshold of one group by the formula, in bytes, if Bytes follows from a
	// measured one instead; else 0.
	Computed int64 `json:"computed,omitempty"`
	// Bits is how many significant bits the chip stores of a threshold in cells of Cell bytes; 0 if
	// it stores all.
	Bits int   `json:"bits,omitempty"`
	Cell int64 `json:"cell,omitempty"`
}

// Facts holds what a switch or an intent states about a pool and its groups. It overrides the
// published values of the model.
type Facts struct {
	// Sizes describes the pool of lossless groups; nil if it is not stated.
	Sizes    *Sizes
	SizesHow string
	// Exponent is the dynamic_th of lossless groups; nil if it is not stated.
	Exponent    *int64
	ExponentHow string
	// Cable is the length of the cables of lossless ports, by which templates give groups a size; 0
	// if it is not known.
	Cable units.Length
	// Min is what a lossless group holds in reserve, in bytes; nil if it is not stated.
	Min *int64
	// Pause is the threshold of one group that was measured on a switch of the model, in bytes, and
	// PauseHow who measured it and when; 0 if nobody did.
	Pause    int64
	PauseHow string
	// XOFF is the headroom of a lossless group, in bytes; 0 if it is not stated.
	XOFF int64
	// PortExponent is the dynamic_th of the port's own limit in the pool; nil if it is not stated.
	PortExponent *int64
	// Fixed is a threshold in bytes that does not depend on the pool; 0 if there is none.
	Fixed int64
}

// Sizes are the sizes of an ingress pool of lossless groups as a configuration states them, in
// bytes.
type Sizes struct {
	Size int64
	XOFF int64 // the shared headroom pool; 0 if each group has its headroom in its own reservation
	// Whole is the largest size or limit that the same configuration states: what it takes for the
	// memory of the chip; 0 if it is not known.
	Whole int64
	// Reserved is what groups and queues hold in reserve.
	Reserved int64
	// Contains is set if Size contains XOFF and Reserved.
	Contains bool
}

// Shared returns the part of the pool that groups share, and in words what was taken from its size.
func (s Sizes) Shared() (n int64, less string) {
	whole := s.Whole
	if s.Contains {
		whole = s.Size
	}
	free := whole - s.XOFF
	switch n = free - s.Reserved; {
	case free <= 0 && !s.Contains: // the headroom of a pool that has no room for it is elsewhere
		return max(s.Size, 0), fmt.Sprintf(" (its xoff %d cannot be part of it)", s.XOFF)
	case free <= 0:
		return 0, fmt.Sprintf(" less its xoff %d", s.XOFF)
	case n >= s.Size:
		return s.Size, ""
	case n <= 0:
		return min(free, s.Size), fmt.Sprintf(" less its xoff %d (the %d that its ports reserve do not fit)", s.XOFF, s.Reserved)
	case whole > s.Size:
		return n, fmt.Sprintf(", of %d in all less xoff %d and %d in reserve", whole, s.XOFF, s.Reserved)
	case s.XOFF == 0:
		return n, fmt.Sprintf(" less %d in reserve", s.Reserved)
	}
	return n, fmt.Sprintf(" less its xoff %d and %d in reserve", s.XOFF, s.Reserved)
}

// PoolOf returns the pool of a model for ports of that speed. If no exponent is stated, it uses the
// smallest that the model publishes at the speed, or SONiC's default under its dynamic buffer
// model. It fails with errNoPool if neither facts nor catalogue have the values. m may be nil.
func PoolOf(m *catalog.Model, speed units.Rate, f Facts) (Pool, error) {
	var asic *catalog.ASIC
	if m != nil {
		asic = m.ASIC()
	}
	if f.Fixed > 0 {
		p := Pool{Fixed: f.Fixed, AlphaHow: fmt.Sprintf("static_th %d", f.Fixed)}
		p.limit(asic, f.XOFF)
		return p, nil
	}
	if m == nil && (f.Sizes == nil || f.Exponent == nil) {
		return Pool{}, fmt.Errorf("%w: the model is not in the catalogue", errNoPool)
	}
	sizes, how := f.Sizes, f.SizesHow
	if sizes == nil {
		s, from, ok := Published(m, f.Cable)
		if !ok {
			return Pool{}, fmt.Errorf("%w: %s", errNoPool, from)
		}
		sizes, how = &s, from
	}
	var p Pool
	p.Bytes, p.How = sizes.Shared()
	p.How = how + p.How
	if asic != nil && asic.Slices > 0 {
		p.Slices, p.Basis = asic.Slices, asic.Thresholds
		p.Bytes /= int64(p.Slices)
	}
	if p.Slices > 1 {
		p.How += fmt.Sprintf("; %s divides it into %d slices", asic.Name, p.Slices)
	}
	if f.Min != nil {
		p.Min = *f.Min
	} else if m != nil {
		p.Min = publishedMin(m, speed, f.Cable)
	}
	if err := p.setAlpha(m, speed, f); err != nil {
		return Pool{}, err
	}
	if asic != nil && asic.QueueDepth > 0 { // alpha counts from the whole pool, and no group competes
		p.Fixed = quotient(sizes.Size, p.Alpha.Num, p.Alpha.Den)
	}
	p.limit(asic, f.XOFF)
	if f.Pause > 0 {
		p.measured(f.Pause, f.PauseHow)
	}
	return p, nil
}

// measured replaces the size of the pool by the one that a measured threshold of a single group
// implies.
func (p *Pool) measured(pause int64, how string) {
	p.Computed, p.Basis = p.Threshold(1), catalog.OnSwitch
	p.How = fmt.Sprintf("a group that is alone was measured to pause at %d B (%s)", pause, how)
	if p.Fixed > 0 {
		p.Fixed = pause
		return
	}
	const unit = 1 << 40 // share is linear in Bytes
	one := *p
	one.Bytes = unit
	if part := one.share(1, 1, 1); part > 0 {
		p.Bytes = quotient(max(pause-p.Min, 0), unit, part)
	}
}

// limit adds what Cisco Silicon One does to thresholds: the chip rounds them down, and where packets
// wait in queues of limited depth, a fixed one is at most what the depth leaves for headroom.
// Source: sonic-mgmt tests/qos/files/cisco/qos_param_generator.py.
func (p *Pool) limit(a *catalog.ASIC, xoff int64) {
	if a == nil || a.QueueDepth == 0 && a.ThresholdBits == 0 {
		return
	}
	p.Bits, p.Cell = a.ThresholdBits, a.CellBytes
	const kept = 748_125 // of ten million: what the chip keeps of the depth of a queue
	if deep := a.QueueDepth - quotient(a.QueueDepth, kept, 10_000_000) - xoff; a.QueueDepth > 0 && p.Fixed > deep {
		p.Fixed = max(deep, 1)
		p.AlphaHow += fmt.Sprintf("; a queue holds at most %d B", a.QueueDepth)
	}
	if p.Fixed > 0 {
		p.Fixed = max(p.rounded(p.Fixed), 1)
	}
}

// rounded rounds a threshold down to one that the chip can store.
func (p Pool) rounded(n int64) int64 {
	if p.Bits == 0 || p.Cell == 0 {
		return n
	}
	n /= p.Cell
	if drop := bits.Len64(uint64(n)) - p.Bits; drop > 0 {
		n = n >> drop << drop
	}
	return n * p.Cell
}

// setAlpha sets the shares of a group and of a port.
func (p *Pool) setAlpha(m *catalog.Model, speed units.Rate, f Facts) (err error) {
	var asic *catalog.ASIC
	if m != nil {
		asic = m.ASIC()
	}
	n, how, ok := int64(0), f.ExponentHow, true
	if f.Exponent != nil {
		n = *f.Exponent
	} else if n, how, ok = PublishedAlpha(m, speed); !ok {
		return fmt.Errorf("%w: %s", errNoPool, how)
	}
	p.AlphaHow = fmt.Sprintf("dynamic_th %d, %s", n, how)
	if p.Alpha, err = alphaOf(n, asic); err != nil || asic == nil || !asic.PortAlpha {
		return err
	}
	at := f.PortExponent
	if at == nil {
		at = publishedPortExponent(m)
	}
	if at == nil {
		return nil
	}
	a := Alpha{64, 1} // 7 stands for no limit, and the chip's largest factor is 64
	if *at != 7 {
		a, err = alphaOf(*at, asic)
	}
	p.PortAlpha = &a
	return err
}

// PublishedAlpha returns the dynamic_th of the lossless groups of a model at a speed, for use if
// the operator states none. If ok is false, how says what is missing.
func PublishedAlpha(m *catalog.Model, speed units.Rate) (n int64, how string, ok bool) {
	if m.ASIC().DynamicBuffers {
		return 0, "SONiC's default_dynamic_th (sonic-buildimage files/build_templates/buffers_config.j2)", true
	}
	if p, ok := m.Pool(catalog.IngressPool); !ok || p.Mode != "dynamic" {
		return 0, "the ingress pool has no dynamic threshold", false
	}
	var l []int64
	for _, r := range m.Headroom {
		if r.Speed == speed {
			l = append(l, r.Threshold)
		}
	}
	if len(l) == 0 {
		return 0, fmt.Sprintf("no threshold is published at %s", speed), false
	}
	return slices.Min(l), fmt.Sprintf("the smallest of the rows at %s", speed), true
}

// templateGroups is how many lossless groups SONiC's template gives a port: 3 and 4.
const templateGroups = 2

// Published returns the sizes of the lossless ingress pool that a model's template states, with
// the reservations of its ports if all have cables of that length, or the largest reservations if
// it is 0. If ok is false, how says what is missing.
func Published(m *catalog.Model, cable units.Length) (s Sizes, how string, ok bool) {
	p, ok := m.Pool(catalog.IngressPool)
	if !ok || p.Size == 0 {
		return s, "no size of " + catalog.IngressPool + " is known", false
	}
	how = fmt.Sprintf("%s size %d of the %s template", catalog.IngressPool, p.Size, m.Template)
	if p.Computed {
		how += " (under the dynamic buffer model the device computes it)"
	}
	profile, _ := m.Profile(m.Bindings.LossyQueue)
	return SizesOf(m, p.Size, p.XOFF, m.Whole(), reserve(m, cable, profile.Size)), how, true
}

// SizesOf returns the sizes of a lossless ingress pool on a switch of a model: what it has, and what
// is known of the memory as a whole and of reservations there. m may be nil.
func SizesOf(m *catalog.Model, size, xoff, whole, reserved int64) Sizes {
	s := Sizes{Size: size, XOFF: xoff, Whole: whole, Reserved: reserved, Contains: m == nil || m.ContainsHeadroom(size, xoff)}
	switch {
	case m == nil:
	case m.ASIC().Vendor == catalog.NVIDIA:
		return Sizes{Size: size, Whole: size}
	case m.ASIC().Thresholds == catalog.Assumed:
		s.Reserved = 0 // nothing shows that such a chip takes reservations from the pool
	}
	return s
}

// reserve returns what the ports of a model's layout hold in reserve, in bytes, as SONiC's template
// gives each two lossless groups; lossyQueue is the size of the profile of a lossy queue.
func reserve(m *catalog.Model, cable units.Length, lossyQueue int64) (n int64) {
	a := m.ASIC()
	queues := int64(a.ReservedQueues) * cells(lossyQueue, a.CellBytes)
	for speed, ports := range m.Speeds() {
		// Management ports have no headroom rows, and no buffers of these pools.
		if rows := rowsFor(m, speed, cable); len(rows) > 0 {
			largest := slices.MaxFunc(rows, func(a, b catalog.HeadroomRow) int { return cmp.Compare(a.Size, b.Size) })
			n += int64(ports) * (templateGroups*cells(largest.Size, a.CellBytes) + queues)
		}
	}
	return n
}

// rowsFor returns the headroom row of a speed and cable length, or all rows of the speed if there
// is none.
func rowsFor(m *catalog.Model, speed units.Rate, cable units.Length) (out []catalog.HeadroomRow) {
	if row, ok := m.HeadroomRow(speed, cable); ok {
		return []catalog.HeadroomRow{row}
	}
	for _, r := range m.Headroom {
		if r.Speed == speed {
			out = append(out, r)
		}
	}
	return out
}

// publishedMin returns the least reserve that a model publishes for a lossless group at a speed and
// cable length, without headroom that is part of it.
func publishedMin(m *catalog.Model, speed units.Rate, cable units.Length) int64 {
	pool, _ := m.Pool(catalog.IngressPool)
	least := int64(-1)
	for _, r := range rowsFor(m, speed, cable) {
		if n := GroupReserve(r.Size, r.XOFF, pool.XOFF); least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// GroupReserve returns what a lossless group holds before it takes from the shared pool, in bytes:
// the size of its profile, less the headroom where no pool has that.
func GroupReserve(size, xoff, poolXOFF int64) int64 {
	if poolXOFF == 0 {
		size -= xoff
	}
	return max(size, 0)
}

// publishedPortExponent returns the dynamic_th of the profile that a model gives its ports in the
// lossless ingress pool; nil if there is none.
func publishedPortExponent(m *catalog.Model) *int64 {
	for _, name := range m.Bindings.IngressList {
		if p, ok := m.Profile(name); ok && p.Pool == catalog.IngressPool && p.DynamicTh != nil {
			return p.DynamicTh
		}
	}
	return nil
}

// cells rounds bytes up to whole cells; a cell of 0 is not known.
func cells(n, cell int64) int64 {
	if cell <= 0 {
		return n
	}
	return (n + cell - 1) / cell * cell
}

// Threshold returns the level at which a priority group pauses when active groups fill the pool of
// its slice equally, each from a port of its own: Min + alpha*B / (1 + alpha*A), in bytes, rounded
// down. With a share beta for the port it is Min + alpha*beta*B / (1 + alpha + alpha*beta*A). A
// negative active counts as 0. Sources: Choudhury and Hahne, dynamic queue length thresholds, as
// in SONiC's dynamic_th; sonic-mgmt tests/qos/files/mellanox/qos_param_generator.py for beta.
func (p Pool) Threshold(active int) int64 {
	if p.Fixed > 0 {
		return p.Fixed
	}
	return p.rounded(p.Min + p.share(1, 1, int64(clampCount(active, 0))))
}

// share returns m/k of the shared memory that one of active groups may take. A single integer
// division, so that nothing is rounded twice.
func (p Pool) share(m, k, active int64) int64 {
	num, den := p.Alpha.Num, max(p.Alpha.Den, 1)
	own := int64(0)
	if b := p.PortAlpha; b != nil {
		own = num * max(b.Den, 1)
		num, den = num*b.Num, den*max(b.Den, 1)
	}
	return quotient(max(p.Bytes, 0), num*m, k*(den+own+num*active))
}

// Formula returns the formula of Threshold: "min + alpha*B/(1 + alpha*A)".
func (p Pool) Formula() string {
	formula := "alpha*B/(1 + alpha*A)"
	if p.PortAlpha != nil {
		formula = "alpha*beta*B/(1 + alpha + alpha*beta*A)"
	}
	if p.Min > 0 {
		formula = "min + " + formula
	}
	return formula
}

// formula returns the formula of share with its factors.
func (p Pool) formula() string {
	without := p
	without.Min = 0
	text := fmt.Sprintf("%s with alpha %s", without.Formula(), p.Alpha)
	if p.PortAlpha != nil {
		text += fmt.Sprintf(", beta %s", p.PortAlpha)
	}
	return text
}

// LossyQueue returns the pool that a lossy queue of a model takes from, so that Threshold(1) is
// the length at which it drops if it is alone. It fails with errNoPool if the template states no
// dynamic threshold for lossy queues.
func LossyQueue(m *catalog.Model, ingress Sizes) (Pool, error) {
	profile, _ := m.Profile(m.Bindings.LossyQueue)
	pool, ok := m.Pool(profile.Pool)
	if !ok || pool.Size == 0 || profile.DynamicTh == nil {
		return Pool{}, fmt.Errorf("%w: the template of %s states no dynamic threshold for lossy queues", errNoPool, m.Name)
	}
	how := fmt.Sprintf("%s size %d of the %s template", pool.Name, pool.Size, m.Template)
	return lossyQueue(m, ingress, pool.Size, profile, how)
}

func lossyQueue(m *catalog.Model, ingress Sizes, egress int64, profile catalog.Profile, how string) (Pool, error) {
	if egress == ingress.Size { // the same memory once more, with the same in it
		var less string
		egress, less = ingress.Shared()
		how += less
	}
	size := cells(profile.Size, m.ASIC().CellBytes)
	return PoolOf(m, 0, Facts{Sizes: &Sizes{Size: egress}, SizesHow: how, Exponent: profile.DynamicTh, ExponentHow: "of " + profile.Name, Min: &size})
}
