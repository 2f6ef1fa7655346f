package headroom

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Random packets into random groups never make a slice hold more than it has, a threshold never
// rises while others fill the memory, and a group that may pause loses nothing before its headroom
// or the pool is used up.
func TestSliceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared, pool := rapid.Int64Range(0, 5000).Draw(t, "shared"), rapid.Int64Range(0, 500).Draw(t, "pool")
		s := NewSlice(shared, pool)
		var groups []GroupSize
		for range rapid.IntRange(1, 6).Draw(t, "groups") {
			a, _ := alphaOf(rapid.Int64Range(-8, 7).Draw(t, "exponent"), nil)
			g := GroupSize{
				Min: rapid.Int64Range(0, 40).Draw(t, "min"), Alpha: a,
				Headroom: rapid.SampledFrom([]int64{0, 50, 200}).Draw(t, "headroom"), Resume: rapid.Int64Range(0, 20).Draw(t, "resume"),
			}
			if rapid.Bool().Draw(t, "limit of the port") {
				b, _ := alphaOf(rapid.Int64Range(-3, 6).Draw(t, "exponent of the port"), nil)
				g.Port, g.PortAlpha = rapid.IntRange(0, 1).Draw(t, "port"), &b
			}
			groups = append(groups, g)
			s.Add(g)
		}
		paused := make([]bool, len(groups))
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			i, n := rapid.IntRange(0, len(groups)-1).Draw(t, "group"), rapid.Int64Range(1, 64).Draw(t, "cells")
			g, before := groups[i], thresholds(s)
			held, inHeadroom := s.Held(i)
			if rapid.Bool().Draw(t, "send") {
				if s.Send(i, n); slices.ContainsFunc(pairs(thresholds(s), before), func(p [2]int64) bool { return p[0] < p[1] }) {
					t.Fatalf("a threshold fell as group %d sent: %v, %v", i, before, thresholds(s))
				}
			} else {
				outcome := s.Receive(i, n)
				_, poolUsed := s.Used()
				switch {
				case outcome == Dropped && g.Headroom > 0 && inHeadroom+n <= g.Headroom && (pool == 0 || poolUsed+n <= pool):
					t.Fatalf("group %d dropped %d cells with %d of %d cells of headroom in use, pool %d of %d", i, n, inHeadroom, g.Headroom, poolUsed, pool)
				case outcome == Paused && g.Headroom == 0:
					t.Fatalf("group %d without headroom pauses", i)
				case outcome == Paused && paused[i]:
					t.Fatalf("group %d pauses twice", i)
				}
				if after, _ := s.Held(i); outcome != Dropped && after != held+n || outcome == Dropped && after != held {
					t.Fatalf("group %d held %d, receives %d, holds %d", i, held, n, after)
				}
				if slices.ContainsFunc(pairs(thresholds(s), before), func(p [2]int64) bool { return p[0] > p[1] }) {
					t.Fatalf("a threshold rose as group %d received: %v, %v", i, before, thresholds(s))
				}
			}
			paused[i] = s.groups[i].paused
			sum, most := int64(0), shared+pool
			for j, g := range groups {
				all, _ := s.Held(j)
				sum += all
				most += g.Min
				if pool == 0 {
					most += g.Headroom
				}
			}
			if used, usedPool := s.Used(); sum > most || used > shared || usedPool > pool || used < 0 || usedPool < 0 {
				t.Fatalf("groups hold %d of %d; shared %d of %d, pool %d of %d", sum, most, used, shared, usedPool, pool)
			}
		}
	})
}

func thresholds(s *Slice) (out []int64) {
	for i := range s.groups {
		out = append(out, s.Threshold(i))
	}
	return out
}

func pairs(a, b []int64) (out [][2]int64) {
	for i := range a {
		out = append(out, [2]int64{a[i], b[i]})
	}
	return out
}

// The formula and the memory agree: as many groups as fill it equally pause at the threshold.
func TestSliceAgreesWithTheFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := alphaOf(rapid.Int64Range(-7, 5).Draw(t, "exponent"), nil)
		p := Pool{Bytes: rapid.Int64Range(100, 20_000).Draw(t, "shared"), Alpha: a, Min: rapid.Int64Range(0, 20).Draw(t, "min"), Slices: 1}
		s := NewSlice(p.Bytes, 0)
		n := rapid.IntRange(1, 16).Draw(t, "groups")
		for range n {
			s.Add(GroupSize{Min: p.Min, Alpha: a, Headroom: 1})
		}
		for {
			for i := range n {
				if s.Receive(i, 1) == Paused {
					held, _ := s.Held(i)
					if d := held - p.Threshold(n); d < -int64(1+a.Num/a.Den) || d > int64(1+a.Num/a.Den) {
						t.Fatalf("group %d of %d pauses at %d, the formula says %d", i, n, held, p.Threshold(n))
					}
					return
				}
			}
		}
	})
}

// Groups that are in one slice as a whole, and nobody knows which.
func TestFullest(t *testing.T) {
	equal := func(n int, of int64) []int64 { return slices.Repeat([]int64{of}, n) }
	for _, c := range []struct {
		loads  []int64
		slices int
		want   int64
	}{
		{equal(14, 1292), 4, 4 * 1292},
		{equal(16, 1292), 4, 4 * 1292},
		{equal(17, 1292), 4, 5 * 1292},
		{equal(3, 100), 1, 300},
		{[]int64{100, 1, 1, 1}, 2, 100},
		{[]int64{100, 90, 80}, 2, 160}, // two of the three are together
		{nil, 4, 0},
	} {
		if got := Fullest(c.loads, c.slices); got != c.want {
			t.Errorf("%v in %d slices: %d, want %d", c.loads, c.slices, got, c.want)
		}
	}
	// No placement has a fullest slice below the bound.
	rapid.Check(t, func(t *rapid.T) {
		loads := rapid.SliceOfN(rapid.Int64Range(0, 100), 0, 7).Draw(t, "loads")
		n := rapid.IntRange(1, 3).Draw(t, "slices")
		least := Fullest(loads, n)
		places := rapid.SliceOfN(rapid.IntRange(0, n-1), len(loads), len(loads)).Draw(t, "places")
		sums := make([]int64, n)
		for i, at := range places {
			sums[at] += loads[i]
		}
		if slices.Max(sums) < least {
			t.Fatalf("%v placed as %v: the fullest of %d slices has %d, the bound is %d", loads, places, n, slices.Max(sums), least)
		}
	})
}

// The pause threshold of NVIDIA's chips, by the formula of their vendor's test (sonic-mgmt
// tests/qos/files/mellanox/qos_param_generator.py and qos_sai_base.py): the group's reserve, and of
// the pool alpha/(1 + alpha), or with a limit beta of the port alpha*beta/(1 + alpha + alpha*beta).
func TestSpectrumThresholds(t *testing.T) {
	for _, c := range []struct {
		model    string
		beta     string
		num, den int64 // of the pool that one group may take
		second   [2]int64
	}{
		{"ACS-MSN4700", "", 1, 2, [2]int64{1, 3}},
		{"ACS-SN5600", "64", 64, 66, [2]int64{64, 130}},
	} {
		m := model(t, c.model)
		p, err := PoolOf(m, m.Ports[0].Speed, Facts{})
		if err != nil || p.Slices != 1 {
			t.Fatalf("%s: %+v, %v", c.model, p, err)
		}
		if beta := p.PortAlpha; (beta == nil) != (c.beta == "") || beta != nil && beta.String() != c.beta {
			t.Errorf("%s: beta %v, want %q", c.model, beta, c.beta)
		}
		if got, want := p.Threshold(1), p.Min+p.Bytes*c.num/c.den; got != want {
			t.Errorf("%s: one group pauses at %d, want %d", c.model, got, want)
		}
		if got, want := p.Threshold(2), p.Min+p.Bytes*c.second[0]/c.second[1]; got != want {
			t.Errorf("%s: two groups pause at %d, want %d", c.model, got, want)
		}
	}
}

// The limits of Cisco Silicon One, by the formula of its vendor's test (sonic-mgmt
// tests/qos/files/cisco/qos_param_generator.py).
func TestSiliconOne(t *testing.T) {
	zero, minus2 := int64(0), int64(-2)
	for _, c := range []struct {
		model string
		facts Facts
		want  int64
	}{
		// A queue of 6144000 B less 7.48125 % and xoff.
		{"Cisco-8102-C64", Facts{Sizes: &Sizes{Size: 6_000_000_000, XOFF: 100}, Exponent: &zero, XOFF: 443_904}, 5_684_352 - 443_904},
		{"Cisco-8102-C64", Facts{Fixed: 7_000_000, XOFF: 443_904}, 5_684_352 - 443_904},
		{"Cisco-8102-C64", Facts{Sizes: &Sizes{Size: 8_000_000}, Exponent: &minus2}, 2_000_000},
		// Five bits of 384-byte buffers: 10 MiB is 27306 of them, and 26 << 10 is the next below.
		{"Cisco-8111-O32", Facts{Fixed: 10 << 20}, 26 << 10 * 384},
		// (pool - xoff) / 2 in 512-byte buffers: 97656, of which five bits are 23 << 12.
		{"Cisco-8122-O64", Facts{Sizes: &Sizes{Size: 110_000_000, XOFF: 10_000_000, Contains: true}, Exponent: &zero}, 23 << 12 * 512},
	} {
		c.facts.Min = new(int64)
		p, err := PoolOf(model(t, c.model), 400*g, c.facts)
		if err != nil || p.Threshold(1) != c.want {
			t.Errorf("%s: a group pauses at %d, want %d (%+v, %v)", c.model, p.Threshold(1), c.want, p, err)
		}
	}
}

// A packet may lie partly in the reserve and partly in the shared part: a reserve that is not a
// multiple of the packets does not keep a group from reaching its threshold.
func TestSlicePacketsAcrossTheReserve(t *testing.T) {
	s := NewSlice(10_000, 0)
	g := s.Add(GroupSize{Min: 100, Alpha: Alpha{1, 1}, Headroom: 1000})
	for held := int64(64); ; held += 64 {
		if s.Receive(g, 64) == Paused {
			if held < 5100 || held > 5100+64 {
				t.Errorf("paused at %d of 10,000 cells, want half and the reserve", held)
			}
			return
		}
		if held > 10_000 {
			t.Fatal("never paused")
		}
	}
}
