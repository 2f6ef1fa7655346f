package nicctl

import (
	"context"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// State is what the cards of a host hold.
type State struct {
	Ports   []Port
	Devices []Device
}

// The parts of a Port, the keys of its Missing.
const (
	PartPause          = "pause"
	PartClassification = "classification"
	PartDSCP           = "dscp"
	PartPFC            = "pfc"
	PartScheduling     = "scheduling"
)

// Port is a port of a card.
type Port struct {
	ID   string // the tool's own: "04908132-5d88-4242-4242-000011010000"
	Card string // the card's
	PCI  string // of the card, which is not that of its network device
	MAC  string // "04:90:81:32:5d:88", "" for not known

	Pause qos.Opt[Pause]
	// Trust is what frames are classified by.
	Trust qos.Opt[qos.Trust]
	// DSCP is the priority of each DSCP, [qos.Unmapped] where none is shown.
	DSCP qos.Opt[[qos.NumDSCP]int8]
	// PFC are the priorities that are paused and not dropped. They pause
	// nothing unless Pause is of type [PausePFC] and on.
	PFC        qos.Opt[qos.PrioritySet]
	Scheduling qos.Opt[Scheduling]
	// Missing says by part why it is not set.
	Missing map[string]string
}

// PausePFC is the type of pause that PFC needs.
const PausePFC = "pfc"

// Pause is how a port pauses its link.
type Pause struct {
	Type   string // in lower case: PausePFC, or another word of the tool's
	RX, TX bool
}

// PFC reports whether a port pauses by priority, in both directions.
func (p Pause) PFC() bool { return p.Type == PausePFC && p.RX && p.TX }

// Link reports whether a port pauses its whole link, in any direction.
func (p Pause) Link() bool { return p.Type != PausePFC && p.Type != "none" && (p.RX || p.TX) }

// Scheduling is how the priorities share a link.
type Scheduling [qos.NumPriorities]Share

// Share is that of a priority.
type Share struct {
	// Shown is whether the priority has any: the zero Share is none.
	Shown  bool
	Strict bool
	// Percent of the link, 0..100, where it is not Strict.
	Percent int
	// Gbps is the rate limit, 0 for none.
	Gbps int
}

// Device is an RDMA device of a card.
type Device struct {
	Name     string // "ionic_0"
	Card     string
	PCI      string // of the card
	Profiles []Profile
}

// Profile is a DCQCN profile of a device.
type Profile struct {
	ID      int // from 1
	Enabled qos.Opt[bool]
	CNPDSCP qos.Opt[int]
	// Params are the further numbers by the tool's names, in lower case with
	// underscores: "rate_increase_in_ai_phase".
	Params map[string]uint64
}

// Read reads all cards of the host. The error is that the tool cannot be run,
// reaches no card or is not understood as a whole; a part of a port that is not
// understood is in its Missing.
func (t *Tool) Read(ctx context.Context) (*State, error) {
	var s State
	for _, part := range []struct {
		what  string
		parse func(*State, []string) error
	}{{"port", (*State).parsePorts}, {"qos", (*State).parseQoS}, {"dcqcn", (*State).parseDCQCN}} {
		lines, err := t.read(ctx, "show", part.what)
		if err == nil {
			err = part.parse(&s, lines)
		}
		if err != nil {
			return nil, err
		}
	}
	return &s, nil
}

// Find returns the port and the RDMA device that a network device is, by the
// name of its RDMA device and, where the card has several ports, by its
// Ethernet address.
func (s *State) Find(rdma, mac string) (*Port, *Device, error) {
	var dev *Device
	for i := range s.Devices {
		if s.Devices[i].Name == rdma {
			dev = &s.Devices[i]
		}
	}
	if dev == nil {
		return nil, nil, fmt.Errorf("%w: show dcqcn names no RDMA device %q", ErrNoPort, word(rdma))
	}
	var all, same []*Port
	for i := range s.Ports {
		if p := &s.Ports[i]; p.Card == dev.Card {
			all = append(all, p)
			if mac != "" && strings.EqualFold(p.MAC, mac) {
				same = append(same, p)
			}
		}
	}
	switch {
	case len(all) == 1:
		return all[0], dev, nil
	case len(same) == 1:
		return same[0], dev, nil
	}
	return nil, nil, fmt.Errorf("%w: card %s has %d ports, and none or several have the address of %s", ErrNoPort, dev.Card, len(all), word(rdma))
}
