package intent

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// cards are the NICs that a baseline may name, each with the PCI numbers of its physical
// functions: vendors without a device first (Linux, mlx5/core/main.c, bnxt/bnxt.c,
// ice/ice_devids.h).
var cards = map[string][]string{
	"nvidia": {"15b3"}, "broadcom": {"14e4"}, "intel": {"8086"}, "amd": {"1dd8"},
	"ConnectX-4": {"15b3:1013"}, "ConnectX-4 Lx": {"15b3:1015"}, "ConnectX-5": {"15b3:1017"}, "ConnectX-5 Ex": {"15b3:1019"},
	"ConnectX-6": {"15b3:101b"}, "ConnectX-6 Dx": {"15b3:101d"}, "ConnectX-6 Lx": {"15b3:101f"},
	"ConnectX-7": {"15b3:1021"}, "ConnectX-8": {"15b3:1023"}, "ConnectX-9": {"15b3:1025"},
	"BlueField": {"15b3:a2d2"}, "BlueField-2": {"15b3:a2d6"}, "BlueField-3": {"15b3:a2dc"}, "BlueField-4": {"15b3:a2df"},
	"Thor": {"14e4:1750", "14e4:1751", "14e4:1752"}, "Thor2": {"14e4:1760", "14e4:1761", "14e4:1762", "14e4:1763"},
	"E810": {"8086:1591", "8086:1592", "8086:1593", "8086:1599", "8086:159a", "8086:159b"},
	"E830": {"8086:12d1", "8086:12d2", "8086:12d3", "8086:12d4", "8086:12d5", "8086:12d8", "8086:12da", "8086:12dc", "8086:12dd", "8086:12de"},
}

// CardNames returns the names of cards and vendors that a baseline takes besides PCI
// numbers.
func CardNames() []string { return slices.Sorted(maps.Keys(cards)) }

// CardVendors returns the PCI number of each vendor that has a name.
func CardVendors() map[string]string {
	out := map[string]string{}
	for name, numbers := range cards {
		if !strings.Contains(numbers[0], ":") {
			out[name] = numbers[0]
		}
	}
	return out
}

// CardModels returns the names of a vendor's cards by the number of the PCI device, for a
// vendor's number.
func CardModels(vendor string) map[string]string {
	out := map[string]string{}
	for name, numbers := range cards {
		for _, n := range numbers {
			if device, ok := strings.CutPrefix(n, vendor+":"); ok {
				out[device] = name
			}
		}
	}
	return out
}

// pciNumbers are those of a vendor and a device: "15b3:1021".
var pciNumbers = lazyre.New(`^[0-9a-f]{4}:[0-9a-f]{4}$`)

// Baseline says which versions a kind of NIC is to run.
type Baseline struct {
	Card string // as it is written
	Pos  Pos
	// Firmware and Driver are nil where they are left open.
	Firmware, Driver *Versions
}

// Versions are those that are as intended: one, or all from one on.
type Versions struct {
	Pos        Pos
	Min, Exact string // one of them
}

// rank is how closely a baseline fits a card by its PCI numbers: 0 for not at all, then
// the vendor, the model, and the numbers themselves.
func (b *Baseline) rank(vendor, device string) int {
	ids := vendor + ":" + device
	switch {
	case strings.EqualFold(b.Card, ids):
		return 3
	case slices.Contains(cards[b.Card], ids):
		return 2
	case slices.Contains(cards[b.Card], vendor):
		return 1
	}
	return 0
}

// Baseline returns the versions that a card of these PCI numbers ("15b3", "1021") is to run,
// each of the entry that names it most closely; nil for those that none states.
func (f *Fabric) Baseline(vendor, device string) (firmware, driver *Versions) {
	best := ordered.Sorted(slices.Values(f.Baselines), func(a, b *Baseline) int {
		return cmp.Compare(b.rank(vendor, device), a.rank(vendor, device))
	})
	for _, b := range best {
		if b.rank(vendor, device) > 0 {
			firmware, driver = cmp.Or(firmware, b.Firmware), cmp.Or(driver, b.Driver)
		}
	}
	return firmware, driver
}

func (r *resolver) baselines() {
	for _, e := range r.raw.Baseline.Entries {
		if _, known := cards[e.Key]; !known && !pciNumbers.MatchString(strings.ToLower(e.Key)) {
			names := CardNames()
			r.problems.addf(e.Pos, cmp.Or(didYouMean(e.Key, names), "write "+strings.Join(names, ", ")+", or PCI numbers such as \"15b3:1021\""), "%q is no card that this tool knows", e.Key)
			continue
		}
		b := &Baseline{Card: e.Key, Pos: e.Pos, Firmware: r.versions("firmware", e.V.Firmware), Driver: r.versions("driver", e.V.Driver)}
		if e.V.Firmware == nil && e.V.Driver == nil {
			r.problems.addf(e.Pos, "", "baseline %q states neither firmware nor driver", e.Key)
		}
		r.out.Baselines = append(r.out.Baselines, b)
	}
}

func (r *resolver) versions(key string, raw *rawVersions) *Versions {
	if raw == nil {
		return nil
	}
	if raw.Min.Set == raw.Exact.Set {
		r.problems.addf(raw.Pos, "", "%s needs either min or exact", key)
	}
	return &Versions{Pos: raw.Pos, Min: raw.Min.V, Exact: raw.Exact.V}
}
