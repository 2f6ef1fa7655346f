package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/units"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/testlab/sim/host"
)

// cardsOf returns the NICs of a host. A NIC with a selector gets the properties stated there and
// an interface with another name, which names maps from the NIC's name. Rails are in the order of
// the PCI addresses.
func cardsOf(h *intent.Host, kind host.Kind) (nics []host.NIC, names map[string]string) {
	names = map[string]string{}
	byRail := ordered.Sorted(slices.Values(h.NICs), func(a, b *intent.NIC) int {
		return cmp.Compare(a.Select.V.Rail, b.Select.V.Rail)
	})
	slots := map[intent.Selector]int{}
	for i, n := range byRail {
		s := n.Select.V
		if s == (intent.Selector{}) {
			nics = append(nics, host.NIC{Name: n.Name, Speed: speedOf(n), RDMA: n.RDMA.V, Kind: kind, Restricted: !n.DPU.IsDefault(), Switchdev: n.VFs.Representors.V == "on"})
			continue
		}
		// Ports that differ only in their number belong to the same card.
		card := s
		card.Port = 0
		slot, known := slots[card]
		if s.Port == 0 || !known {
			slot = i
			slots[card] = i
		}
		port := max(s.Port, 1) - 1
		c := host.NIC{
			Name: fmt.Sprintf("ens%df%dnp%d", slot, port, port), Speed: speedOf(n), RDMA: cmp.Or(n.RDMA.V, fmt.Sprintf("roce%d", i)), Kind: kindOf(s, kind),
			PCI: cmp.Or(s.PCI, fmt.Sprintf("0001:%02x:00.%d", 0x10+slot, port)), Model: nic.ModelNumber(s.Model), Part: s.Part, Serial: s.Serial, Restricted: !n.DPU.IsDefault(), Switchdev: n.VFs.Representors.V == "on",
		}
		names[n.Name] = c.Name
		nics = append(nics, c)
	}
	return nics, names
}

// kindOf returns the kind of card for a selector: the lab's kind if it is from the selector's
// vendor, and otherwise that vendor's kind.
func kindOf(s intent.Selector, kind host.Kind) host.Kind {
	of := map[string]host.Kind{
		"nvidia": host.MLX5, "15b3": host.MLX5, "broadcom": host.BNXT, "14e4": host.BNXT, "intel": host.ICE, "8086": host.ICE,
	}[s.Vendor]
	if nic.ModelNumber(s.Model) != s.Model { // a model name instead of a number, which only NVIDIA cards have
		of = host.MLX5
	}
	if strings.HasPrefix(string(kind), string(of)) {
		return kind
	}
	return of
}

// speedOf returns the speed of the link of a NIC; 0 if the intent does not say it.
func speedOf(n *intent.NIC) units.Rate {
	if n.Link == nil {
		return 0
	}
	return n.Link.Speed.V
}
