package intent

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
)

// cards maps the names that a baseline accepts to PCI IDs of physical functions: a vendor name to
// a vendor ID, a model name to vendor and device IDs (Linux, mlx5/core/main.c, bnxt/bnxt.c,
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

// CardNames returns the card and vendor names that a baseline accepts besides PCI IDs.
func CardNames() []string { return slices.Sorted(maps.Keys(cards)) }

// CardVendors returns the PCI vendor ID of each vendor name.
func CardVendors() map[string]string {
	out := map[string]string{}
	for name, numbers := range cards {
		if !strings.Contains(numbers[0], ":") {
			out[name] = numbers[0]
		}
	}
	return out
}

// CardModels returns the card names of a vendor, keyed by PCI device ID. vendor is a PCI vendor
// ID.
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

// pciNumbers matches a PCI vendor and device ID: "15b3:1021".
var pciNumbers = lazyre.New(`^[0-9a-f]{4}:[0-9a-f]{4}$`)

// Baseline states the versions that a kind of NIC should run.
type Baseline struct {
	Card string // as written in the intent
	Pos  Pos
	// Firmware and Driver are nil if the intent does not state them.
	Firmware, Driver *Versions
}

// Versions is the set of accepted versions: exactly one, or all from a minimum on.
type Versions struct {
	Pos        Pos
	Min, Exact string // exactly one of the two is set
}

// rank returns how closely the baseline matches a card: 3 if it names the PCI IDs, 2 the model, 1
// the vendor, 0 if it does not match.
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

// Baseline returns the versions that a card with these PCI IDs ("15b3", "1021") should run.
// Firmware and driver each come from the most specific entry that states them; nil if none does.
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
