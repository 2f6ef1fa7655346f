package mlxconfig

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/words"
)

// Answer is what is known of a question about a card.
type Answer string

// The answers. Unknown is no "no": nobody has published it for the card.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// Mode is how a BlueField shares its NIC between its own CPU and the host.
type Mode string

// The modes; ModeNone is a card without a CPU of its own, or one that does not
// say.
const (
	ModeNone Mode = ""
	// ModeDPU: the card's own CPU owns the NIC. QoS and ECN are set there, and
	// what the host sets fails.
	ModeDPU Mode = "dpu"
	// ModeNIC: the card is a plain NIC to the host.
	ModeNIC Mode = "nic"
)

const offloadEngine = "INTERNAL_CPU_OFFLOAD_ENGINE"

// Mode returns the mode in force: INTERNAL_CPU_OFFLOAD_ENGINE is ENABLED(0) on a
// DPU and DISABLED(1) on a plain NIC. It is ModeNone where the card does not
// show it; a BlueField that does not is to be taken for one of unknown mode.
func (c *Config) Mode() Mode {
	p, ok := c.Params[offloadEngine]
	if !ok || !c.bluefield() {
		return ModeNone
	}
	v := p.Current
	if !v.Known() {
		v = p.Next
	}
	switch {
	case v.Same(Value{Name: "ENABLED", Numbered: true}):
		return ModeDPU
	case v.Same(Value{Name: "DISABLED", Number: 1, Numbered: true}):
		return ModeNIC
	}
	return ModeNone
}

func (c *Config) bluefield() bool { return strings.HasPrefix(c.Type, "BlueField") }

// resetTools are the tools that reset a card, by the tool of the settings.
var resetTools = map[string]string{"mlxconfig": "mlxfwreset", "mstconfig": "mstfwreset"}

// Reset is what makes the next boot's settings current. The package never does
// it.
type Reset struct {
	// WarmReboot says whether a reboot of the host is enough, Level3 whether
	// a driver restart with a PCI reset (level 3 of mlxfwreset) is. A full
	// power cycle (level 5) always is.
	WarmReboot Answer `json:"warm_reboot"`
	Level3     Answer `json:"level_3"`
	// Command is the one for level 3, for people to copy; "" where the tool
	// cannot do it.
	Command string `json:"command,omitempty"`
	// WholeCard says that level 3 takes all ports of the card down, not the
	// one whose settings changed. Ports is how many those are, 0 for unknown.
	WholeCard bool `json:"whole_card"`
	Ports     int  `json:"ports,omitempty"`
	// Words say all this in one sentence.
	Words string `json:"words"`
}

// warmReboot says for a device type whether a warm reboot loads the next boot's
// settings (Azure/AzureLocal-Supportability,
// Troubleshoot-TOR-LLDP-DCBX-PFC-RoCEv2.md, for ConnectX-4 Lx, 5 Ex, 6 Lx, 6 Dx
// and 7). The others are not in it.
var warmReboot = map[string]Answer{
	"ConnectX4LX": No,
	"ConnectX5":   Yes,
	"ConnectX6LX": Yes,
	"ConnectX6DX": Yes,
	"ConnectX7":   Yes,
}

// Reset returns what the card needs for its staged settings, from its type, its
// mode and the way it was reached.
func (c *Config) Reset() Reset {
	r := Reset{WarmReboot: Unknown, Level3: Unknown, WholeCard: true, Ports: c.Ports()}
	if a, ok := warmReboot[c.Type]; ok {
		r.WarmReboot, r.Level3 = a, Yes
	}
	if tool, ok := resetTools[c.Tool]; ok && !isFwctl(c.Device) && c.Device != "" {
		r.Command = tool + " -d " + c.Device + " -y reset -l 3"
	}
	if c.bluefield() && c.Mode() != ModeNIC {
		// sriov-network-operator pkg/vendors/mellanox/mellanox.go: a reboot of
		// the host leaves the firmware of a DPU running; mlxfwreset may fail
		// there (Mellanox/mstflint issue 830).
		if c.Mode() == ModeDPU {
			r.WarmReboot = No
		}
		r.Words = "a power cycle of the server loads them; "
		if c.Mode() == ModeDPU {
			r.Words += "a BlueField in DPU mode keeps its firmware running over a reboot of the host, and mlxfwreset may fail"
		} else {
			r.Words += "whether this BlueField is in DPU mode, where a reboot of the host does not, is not shown"
		}
		return r
	}
	switch r.WarmReboot {
	case Yes:
		r.Words = "a warm reboot of the host loads them"
	case No:
		r.Words = "a power cycle of the server loads them, a warm reboot does not"
	default:
		r.Words = fmt.Sprintf("a power cycle of the server loads them; whether a warm reboot does is not published for %s", orType(c.Type))
	}
	if r.Command != "" {
		r.Words += "; " + r.Command + " may do it without one, and takes " + r.ports() + " down"
		if r.Level3 == Yes {
			r.Words = strings.Replace(r.Words, " may do it ", " does it ", 1)
		}
	}
	return r
}

func (r Reset) ports() string {
	if r.Ports > 1 {
		return "all " + words.Count(r.Ports, "port") + " of the card"
	}
	return "the whole card"
}

func orType(t string) string {
	if t == "" {
		return "this card"
	}
	return t
}
