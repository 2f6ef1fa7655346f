package headroom

import (
	"encoding/json"
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Pool sizes as shipped, for the tables below.
const (
	poolTH5, xoffTH5 = 162539680, 33374584
	poolTH4, xoffTH4 = 113620296, 50653696
	poolSPC4         = 67737959
	poolTD3          = 32732160
	poolTH2          = 33329088
	poolSPC1         = 4580864
)

func kb(n int64) int64 { return (n + 500) / 1000 }

func TestThreshold(t *testing.T) {
	one, sixteenth := Alpha{1, 1}, Alpha{1, 16}
	for _, c := range []struct {
		name  string
		pool  int64
		alpha Alpha
		want  [5]int64 // KB at 1, 8, 32, 64, 128 active groups
	}{
		{"TH5", poolTH5, one, [5]int64{81270, 18060, 4925, 2501, 1260}},
		{"TH5", poolTH5, sixteenth, [5]int64{9561, 6772, 3386, 2032, 1129}},
		{"TH4", poolTH4, one, [5]int64{56810, 12624, 3443, 1748, 881}},
		{"Spectrum-4", poolSPC4, one, [5]int64{33869, 7526, 2053, 1042, 525}},
		{"TD3", poolTD3, one, [5]int64{16366, 3637, 992, 504, 254}},
		{"TH2", poolTH2, sixteenth, [5]int64{1961, 1389, 694, 417, 231}},
		{"Spectrum-1", poolSPC1, one, [5]int64{2290, 509, 139, 70, 36}},
	} {
		for i, active := range []int{1, 8, 32, 64, 128} {
			if got := kb(threshold(c.alpha, c.pool, active)); got != c.want[i] {
				t.Errorf("%s alpha %s A=%d: %d KB, want %d", c.name, c.alpha, active, got, c.want[i])
			}
		}
	}
	// For many groups, alpha hardly matters.
	if a, b := threshold(one, poolTH5, 100_000), threshold(sixteenth, poolTH5, 100_000); a-b > 1 {
		t.Errorf("100000 groups: %d and %d", a, b)
	}
}

func TestAlpha(t *testing.T) {
	for n, want := range map[int64]string{-8: "1/256", -6: "1/64", -4: "1/16", 0: "1", 1: "2", 7: "128"} {
		a, err := alphaOf(n, nil)
		if err != nil || a.String() != want {
			t.Errorf("dynamic_th %d: %s, %v; want %s", n, a, err, want)
		}
	}
	if a, err := alphaOf(-8, asic(t, "spc3")); err != nil || a.String() != "0" || threshold(a, poolSPC4, 1) != 0 {
		t.Errorf("-8 on Spectrum: %s, %v", a, err)
	}
	if a, err := alphaOf(-8, asic(t, "th5")); err != nil || a.String() != "1/256" {
		t.Errorf("-8 on Tomahawk: %s, %v", a, err)
	}
	for _, n := range []int64{-9, 8} {
		if _, err := alphaOf(n, nil); !errors.Is(err, errInput) {
			t.Errorf("dynamic_th %d: %v", n, err)
		}
	}
	if b, err := json.Marshal(Alpha{1, 16}); err != nil || string(b) != `"1/16"` {
		t.Errorf("%s, %v", b, err)
	}
}

// The threshold is the exact fraction, rounded down to whole bytes.
func TestThresholdIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, _ := alphaOf(rapid.Int64Range(-8, 7).Draw(t, "exponent"), nil)
		shared := rapid.Int64Range(0, 1<<50).Draw(t, "shared")
		active := rapid.IntRange(1, 4096).Draw(t, "active")
		got := threshold(a, shared, active)
		exact := new(big.Rat).SetFrac64(a.Num, a.Den)
		below := new(big.Rat).Add(big.NewRat(1, 1), new(big.Rat).Mul(exact, new(big.Rat).SetInt64(int64(active))))
		exact.Mul(exact, new(big.Rat).SetInt64(shared)).Quo(exact, below)
		if want := new(big.Int).Quo(exact.Num(), exact.Denom()); want.Int64() != got {
			t.Fatalf("%d, want %s", got, want)
		}
		if more := threshold(a, shared, active+1); more > got {
			t.Fatalf("%d with one more group, %d before", more, got)
		}
	})
}

func TestHysteresis(t *testing.T) {
	offset := int64(3000)
	for _, c := range []struct {
		pause, xon int64
		offset     *int64
		want       Levels
	}{
		{100_000, 2540, &offset, Levels{100_000, 97_000}},
		{100_000, 2540, nil, Levels{100_000, 2540}},
		{4000, 2540, &offset, Levels{4000, 2540}},
		{1000, 2540, nil, Levels{1000, 1000}},
		{0, 0, &offset, Levels{}},
	} {
		if got := Hysteresis(c.pause, c.xon, c.offset); got != c.want {
			t.Errorf("%d, %d: %+v, want %+v", c.pause, c.xon, got, c.want)
		}
	}
}

func threshold(a Alpha, shared int64, active int) int64 {
	return Pool{Alpha: a, Bytes: shared}.Threshold(active)
}
