package nic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ordered"
	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Candidate is a network interface of a host, with the properties that a selector can match.
type Candidate struct {
	Name string // interface name
	PCI  string // "0000:3b:00.0"
	// DevPort is the port number on the PCI function, from 0.
	DevPort int
	// Vendor and Model are PCI IDs: "15b3", "1021".
	Vendor, Model string
	// Part and Serial are the card's part and serial number; Hidden says why they cannot be read.
	Part, Serial, Hidden string
}

// vendors maps the vendor names allowed in a selector to PCI IDs.
var vendors = intent.CardVendors()

// VendorNumber returns the PCI ID, in lower case, of a vendor given by name or number in a
// selector.
func VendorNumber(vendor string) string {
	if n := vendors[vendor]; n != "" {
		return n
	}
	return strings.TrimPrefix(strings.ToLower(vendor), "0x")
}

// models maps PCI device IDs of NVIDIA cards to model names.
var models = intent.CardModels(vendors["nvidia"])

// normalizedModel normalizes a model name for comparison: "ConnectX-7" becomes "connectx7".
func normalizedModel(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", " ", "", "_", "").Replace(s))
}

// matches reports whether a card has everything that a selector states except the rail. port is the
// port number on the card, from 1.
func (c Candidate) matches(s intent.Selector, port int) bool {
	switch {
	case s.Vendor != "" && c.Vendor != VendorNumber(s.Vendor),
		s.Model != "" && !c.isModel(s.Model),
		s.PCI != "" && c.PCI != s.PCI,
		s.Port != 0 && port != s.Port,
		s.Part != "" && c.Hidden == "" && !strings.EqualFold(c.Part, s.Part),
		s.Serial != "" && c.Hidden == "" && !strings.EqualFold(c.Serial, s.Serial):
		return false
	}
	return true
}

// ModelNumber returns the PCI device ID, in lower case, of a model given by name or number in a
// selector.
func ModelNumber(model string) string {
	for number, name := range models {
		if normalizedModel(name) == normalizedModel(model) {
			return number
		}
	}
	return strings.TrimPrefix(strings.ToLower(model), "0x")
}

// isModel reports whether the card is of the model, given by number or name.
func (c Candidate) isModel(model string) bool {
	number := ModelNumber(model)
	named := normalizedModel(models[number]) == normalizedModel(model) // only NVIDIA models have names
	return c.Model == number && (!named || c.Vendor == vendors["nvidia"])
}

// sortBySlot sorts the interfaces by PCI address and returns each one's port number on its card,
// from 1.
func sortBySlot(cards []Candidate) (sorted []Candidate, ports []int) {
	slot := func(c Candidate) string {
		at, _, _ := strings.Cut(c.PCI, ".")
		return at
	}
	sorted = ordered.Sorted(slices.Values(cards), func(a, b Candidate) int {
		// A PCI domain may have more than four digits.
		return cmp.Or(cmp.Compare(len(a.PCI), len(b.PCI)), strings.Compare(a.PCI, b.PCI), cmp.Compare(a.DevPort, b.DevPort), natural.Compare(a.Name, b.Name))
	})
	for i, c := range sorted {
		port := 1
		if i > 0 && slot(sorted[i-1]) == slot(c) {
			port = ports[i-1] + 1
		}
		ports = append(ports, port)
	}
	return sorted, ports
}

// Choose returns the interface chosen by each selector among the interfaces of a host, keyed by the
// name of the NIC in the intent. For the other NICs, why says why no interface was chosen.
func Choose(cards []Candidate, selectors map[string]intent.Selector) (chosen, why map[string]string) {
	chosen, why = map[string]string{}, map[string]string{}
	sorted, ports := sortBySlot(cards)
	// rails is the highest rail number for each set of selectors that are equal except for the
	// rail.
	rails := map[intent.Selector]int{}
	for _, s := range selectors {
		among := s
		among.Rail = 0
		rails[among] = max(rails[among], s.Rail)
	}
	taken := map[string][]string{}
	for _, name := range natural.Keys(selectors) {
		s := selectors[name]
		among := s
		among.Rail = 0
		var of []Candidate
		for i, c := range sorted {
			if c.matches(s, ports[i]) {
				of = append(of, c)
			}
		}
		at, reason := chooseAmong(of, s, rails[among], len(cards))
		if reason != "" {
			why[name] = reason
			continue
		}
		taken[at] = append(taken[at], name)
		chosen[name] = at
	}
	for at, names := range taken {
		for _, name := range names {
			if len(names) > 1 {
				delete(chosen, name)
				why[name] = fmt.Sprintf("%s is chosen for each of %s", at, natural.Fold(names))
			}
		}
	}
	for name, at := range chosen {
		if at != name && slices.ContainsFunc(cards, func(c Candidate) bool { return c.Name == name }) {
			delete(chosen, name)
			why[name] = fmt.Sprintf("its selector chooses %s, and the host has another interface of the name %s: give the NIC another name in the intent", at, name)
		}
	}
	return chosen, why
}

// maxShown is how many interfaces a reason lists.
const maxShown = 4

// chooseAmong chooses one of the interfaces that match a selector. rails is how many must match if
// the selector numbers them; all is how many the host has.
func chooseAmong(of []Candidate, s intent.Selector, rails, all int) (name, why string) {
	if s.Part != "" || s.Serial != "" {
		for _, c := range of {
			if c.Hidden != "" {
				return "", fmt.Sprintf("the part and serial number of %s cannot be read: %s", c.Name, c.Hidden)
			}
		}
	}
	var names []string
	for _, c := range of {
		names = append(names, c.Name)
	}
	shown := words.Some(names, maxShown)
	switch {
	case len(of) == 0:
		return "", fmt.Sprintf("its selector (%s) matches none of %s of the host", s, words.Count(all, "NIC"))
	case s.Rail == 0 && len(of) == 1:
		return names[0], ""
	case s.Rail == 0:
		return "", fmt.Sprintf("its selector (%s) matches %s: state pci, serial, port or rail as well", s, shown)
	case len(of) != rails:
		s.Rail = 0
		of := s.String()
		if of != "" {
			of = " (" + of + ")"
		}
		return "", fmt.Sprintf("the intent has %s%s, but the host has %s (%s), so the NIC of each rail is not certain", words.Count(rails, "rail"), of, words.Count(len(names), "matching NIC"), shown)
	}
	return names[s.Rail-1], ""
}
