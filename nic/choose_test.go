package nic

import (
	"maps"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent"
)

// cards are the interfaces of a host with two rail cards of two ports each, a storage
// card, and a card of another vendor.
var cards = []Candidate{
	{Name: "ens10", PCI: "10000:01:00.0", Vendor: "14e4", Model: "1760", Serial: "B1"},
	{Name: "ens3f1", PCI: "0000:3b:00.1", Vendor: "15b3", Model: "1021", Part: "MCX75", Serial: "MT2"},
	{Name: "ens3f0", PCI: "0000:3b:00.0", Vendor: "15b3", Model: "1021", Part: "MCX75", Serial: "MT2"},
	{Name: "ens2f0", PCI: "0000:18:00.0", Vendor: "15b3", Model: "1021", Part: "MCX75", Serial: "MT1"},
	{Name: "ens2f1", PCI: "0000:18:00.1", Vendor: "15b3", Model: "1021", Part: "MCX75", Serial: "MT1"},
	{Name: "ens1", PCI: "0000:05:00.0", Vendor: "15b3", Model: "101d", Part: "MCX62", Serial: "MT3"},
}

func TestChoose(t *testing.T) {
	type sel = map[string]intent.Selector
	for name, c := range map[string]struct {
		selectors sel
		chosen    map[string]string
		why       map[string]string
	}{
		"each key": {sel{
			"a": {PCI: "0000:05:00.0"}, "b": {Serial: "mt2", Port: 2}, "c": {Vendor: "broadcom"}, "d": {Vendor: "15B3", Model: "connectx 7", Part: "MCX75", Port: 1, Serial: "MT1"},
		}, map[string]string{"a": "ens1", "b": "ens3f1", "c": "ens10", "d": "ens2f0"}, nil},
		"number of a model": {sel{"a": {Model: "0x101D"}}, map[string]string{"a": "ens1"}, nil},
		// Rails are numbered in slot order, not by name.
		"rails": {sel{
			"r1": {Model: "ConnectX-7", Rail: 1}, "r2": {Model: "ConnectX-7", Rail: 2}, "r3": {Model: "ConnectX-7", Rail: 3}, "r4": {Model: "ConnectX-7", Rail: 4},
		}, map[string]string{"r1": "ens2f0", "r2": "ens2f1", "r3": "ens3f0", "r4": "ens3f1"}, nil},
		"rails of first ports": {sel{"r1": {Model: "1021", Port: 1, Rail: 1}, "r2": {Model: "1021", Port: 1, Rail: 2}}, map[string]string{"r1": "ens2f0", "r2": "ens3f0"}, nil},
		"all rails":            {sel{"r6": {Rail: 6}}, map[string]string{"r6": "ens10"}, nil},
		"too few rails": {sel{"r1": {Vendor: "nvidia", Rail: 1}, "r4": {Vendor: "nvidia", Rail: 4}}, nil, map[string]string{
			"r1": "the intent has 4 rails (vendor nvidia), but the host has 5 matching NICs (ens1, ens2f0, ens2f1, ens3f0, ens3f1), so the NIC of each rail is not certain",
			"r4": "the intent has 4 rails",
		}},
		"none": {sel{"a": {Vendor: "amd"}}, nil, map[string]string{"a": "its selector (vendor amd) matches none of 6 NICs of the host"}},
		"two":  {sel{"a": {Serial: "MT1"}}, nil, map[string]string{"a": "its selector (serial MT1) matches ens2f0, ens2f1: state pci, serial, port or rail as well"}},
		"one for two": {sel{"a": {Vendor: "broadcom"}, "b": {Serial: "B1"}, "c": {Serial: "MT3"}}, map[string]string{"c": "ens1"}, map[string]string{
			"a": "ens10 is chosen for each of a,b", "b": "ens10 is chosen for each of a,b",
		}},
		"name of another": {sel{"ens1": {Vendor: "broadcom"}, "ens10": {Serial: "MT3"}}, nil, map[string]string{
			"ens1": "chooses ens10, and the host has another interface of the name ens1", "ens10": "chooses ens1, and",
		}},
		"name of its own": {sel{"ens1": {Serial: "MT3"}}, map[string]string{"ens1": "ens1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, why := Choose(cards, c.selectors)
			if !maps.Equal(chosen, c.chosen) {
				t.Errorf("chosen %v, want %v; %v", chosen, c.chosen, why)
			}
			if len(why) != len(c.why) {
				t.Errorf("why: %v", why)
			}
			for name, want := range c.why {
				if !strings.Contains(why[name], want) {
					t.Errorf("%s: %q, want %q", name, why[name], want)
				}
			}
		})
	}
}

// An unreadable serial number neither matches nor excludes a card.
func TestChooseUnread(t *testing.T) {
	hidden := []Candidate{{Name: "a", PCI: "0000:01:00.0", Vendor: "15b3", Hidden: "needs root"}, {Name: "b", PCI: "0000:02:00.0", Vendor: "14e4", Serial: "X"}}
	chosen, why := Choose(hidden, map[string]intent.Selector{"n": {Serial: "X"}, "m": {Serial: "X", Vendor: "broadcom"}})
	if want := "the part and serial number of a cannot be read: needs root"; why["n"] != want || chosen["m"] != "b" {
		t.Errorf("chosen %v, why %v", chosen, why)
	}
}
