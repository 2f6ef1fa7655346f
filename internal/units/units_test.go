package units

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Bytes{"150KB": 150_000, "1.5MiB": 1_572_864, "4096B": 4096, " 2 GB": 2_000_000_000, "0B": 0} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "150", "KB", "-1KB", "1e3KB", "0.5B", "1..2KB", "0x10B", "99999999999GB", "NaNB", "400G"} {
		if got, err := ParseBytes(in); !errors.Is(err, errUnit) {
			t.Errorf("ParseBytes(%q) = %d, %v; want ErrUnit", in, got, err)
		}
	}
	if r, err := ParseRate("2.5G"); err != nil || r.Mbps() != 2500 || r.String() != "2500M" {
		t.Errorf("2.5G: %v %v", r, err)
	}
	if l, err := ParseLength("0.5m"); err != nil || l != 0.5 || l.String() != "0.5m" {
		t.Errorf("0.5m: %v %v", l, err)
	}
	if _, err := ParsePercent("101%"); !errors.Is(err, errUnit) {
		t.Errorf("101%%: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Range(0, 1<<45).Draw(t, "bytes"))
		if got, err := ParseBytes(b.String()); err != nil || got != b {
			t.Fatalf("%d -> %s -> %d, %v", b, b, got, err)
		}
		r := Rate(rapid.Int64Range(1, 1_600_000).Draw(t, "mbps") * 1e6)
		if got, err := ParseRate(r.String()); err != nil || got != r {
			t.Fatalf("%d -> %s -> %d, %v", r, r, got, err)
		}
	})
}
