package nicctl

import (
	"context"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// State is the state of a host's cards.
type State struct {
	Ports   []Port
	Devices []Device
}

// Parts of a Port, used as the keys of its Missing.
const (
	PartPause          = "pause"
	PartClassification = "classification"
	PartDSCP           = "dscp"
	PartPFC            = "pfc"
	PartScheduling     = "scheduling"
)

// Port is a port of a card.
type Port struct {
	ID   string // the tool's ID of the port: "04908132-5d88-4242-4242-000011010000"
	Card string // the tool's ID of the card
	PCI  string // PCI address of the card, which differs from that of its network device
	MAC  string // "04:90:81:32:5d:88"; "" if not known

	Pause qos.Opt[Pause]
	// Trust says how frames are classified.
	Trust qos.Opt[qos.Trust]
	// DSCP maps each DSCP to a priority; [qos.Unmapped] if none is shown.
	DSCP qos.Opt[[qos.NumDSCP]int8]
	// PFC is the set of no-drop priorities. They are paused only if Pause is of type [PausePFC] and
	// on.
	PFC        qos.Opt[qos.PrioritySet]
	Scheduling qos.Opt[Scheduling]
	// Missing says, by part, why it is not set.
	Missing map[string]string
}

// PausePFC is the pause type that PFC requires.
const PausePFC = "pfc"

// Pause describes how a port pauses its link.
type Pause struct {
	Type   string // in lower case: PausePFC or another type of the tool
	RX, TX bool
}

// PFC reports whether the port pauses by priority, in both directions.
func (p Pause) PFC() bool { return p.Type == PausePFC && p.RX && p.TX }

// Link reports whether the port pauses its whole link, in at least one direction.
func (p Pause) Link() bool { return p.Type != PausePFC && p.Type != "none" && (p.RX || p.TX) }

// Scheduling describes how the priorities share a link.
type Scheduling [qos.NumPriorities]Share

// Share is the share of one priority.
type Share struct {
	// Shown reports whether the tool shows a share for the priority.
	Shown  bool
	Strict bool
	// Percent is the share of the link, 0..100, unless Strict is set.
	Percent int
	// Gbps is the rate limit; 0 for none.
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
	// Params holds further parameters by the tool's names, in lower case with underscores:
	// "rate_increase_in_ai_phase".
	Params map[string]uint64
}

// Read reads all cards of the host. It returns an error if the tool cannot be run, reaches no card
// or prints something that cannot be parsed as a whole. If only a part of a port cannot be parsed,
// the part is in the port's Missing.
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

// Find returns the port and the RDMA device of a network device, given the name of its RDMA device
// and, for cards with several ports, its Ethernet address.
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
	return nil, nil, fmt.Errorf("%w: card %s has %d ports; the Ethernet address of %s does not identify one of them", ErrNoPort, dev.Card, len(all), word(rdma))
}
