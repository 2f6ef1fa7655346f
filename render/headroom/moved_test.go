package headroom

import (
	"slices"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/render/catalog"
)

// poolAsOne returns a pool as it was computed until the silicon's rows were compared (commit
// 6b2d526b): one memory, no reservations, and the xoff taken from the size by a list of chips.
func poolAsOne(m *catalog.Model, size, xoff int64, a Alpha) Pool {
	if xoff > 0 && xoff < size && !slices.Contains([]string{"th", "th2"}, m.ASICID) {
		size -= xoff
	}
	return Pool{Bytes: size, Alpha: a}
}

// farMoved explains each model whose threshold moved by more than three times of what its slices
// explain.
var farMoved = map[string]string{
	// sonic-swss cfgmgr/buffer_pool_mellanox.lua takes the shared headroom from the memory before it
	// sizes the pool, and size and xoff of the template are less than the memory, 158229504 B.
	"Mellanox-SN5600-V256": "its xoff, 60293120 B, was taken from a pool of 73684992 B that does not contain it (5.5 times), and the port's factor of 64 counts (1.94 times)",
}

// moves names what makes a threshold differ from that of poolAsOne.
func moves(m *catalog.Model, p Pool) (why []string) {
	pool, _ := m.Pool(catalog.IngressPool)
	old := poolAsOne(m, pool.Size, pool.XOFF, p.Alpha)
	shared := p.Bytes * int64(max(p.Slices, 1))
	add := func(is bool, what string) {
		if is {
			why = append(why, what)
		}
	}
	add(p.Slices > 1, "slices")
	add(p.Fixed > 0, "alpha of the whole pool")
	add(p.Bits > 0, "rounding")
	add(p.Fixed == 0 && p.Min > 0, "own reserve")
	add(p.PortAlpha != nil, "limit of the port")
	add(p.Fixed == 0 && shared+int64(max(p.Slices, 1)) < old.Bytes, "reservations in the pool")
	add(p.Fixed == 0 && shared > old.Bytes, "headroom outside of the pool")
	return why
}

// For each model: the level at which one group pauses, and the max of ecn: auto for one sender into
// four queues, as they were computed before and as they are. A number moves only for a reason.
func TestModelsMoved(t *testing.T) {
	all, paused, marked := 0, 0, 0
	for _, name := range catalog.Models() {
		m := model(t, name)
		all++
		speed := units.Rate(0)
		for _, r := range m.Headroom {
			speed = max(speed, r.Speed)
		}
		if m.ASIC().DynamicBuffers {
			for s := range m.Speeds() {
				speed = max(speed, s)
			}
		}
		p, err := PoolOf(m, speed, Facts{})
		if err != nil || speed == 0 {
			t.Logf("%-32s %-9s no threshold is known", name, m.ASICID)
			continue
		}
		pool, _ := m.Pool(catalog.IngressPool)
		old, c := poolAsOne(m, pool.Size, pool.XOFF, p.Alpha), OneToMany(4, 1)
		was, err1 := ECNAuto(ECNInput{Speed: speed, Pool: &old, Case: c})
		is, err2 := ECNAuto(ECNInput{Speed: speed, Pool: &p, Case: c})
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		why := moves(m, p)
		a, b := old.Threshold(1), p.Threshold(1)
		t.Logf("%-32s %-9s %5s pause %9d -> %9d (%.2f), ecn: auto max %8d -> %8d: %s", name, m.ASICID, speed, a, b, float64(b)/float64(a), was.Max, is.Max, strings.TrimSuffix(strings.Join(why, ", ")+"; "+farMoved[name], "; "))
		if (a != b || was.Max != is.Max) && len(why) == 0 {
			t.Errorf("%s: a number moved, and nothing says why", name)
		}
		far := float64(b) / float64(a) * float64(max(p.Slices, 1))
		if _, ok := farMoved[name]; ok != (far > 3 || far < 1./3) {
			t.Errorf("%s: the threshold is %.2f times the one before, slices apart; farMoved explains it: %t", name, far, ok)
		}
		if a != b {
			paused++
		}
		if was.Max != is.Max {
			marked++
		}
	}
	t.Logf("%d models: the pause moved on %d, ecn: auto on %d", all, paused, marked)
	if paused < 80 || marked < 60 {
		t.Errorf("of %d models, the pause moved on %d and ecn: auto on %d", all, paused, marked)
	}
}
