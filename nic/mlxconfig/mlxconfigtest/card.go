// Package mlxconfigtest simulates a ConnectX card behind the tools that read and set its firmware
// settings: it implements runner.Runner with mlxconfig or mstconfig.
//
// It keeps the three values of each setting, rejects what the tools reject with the same messages
// and exit status, and prints tables in the formats of three tool generations (Mellanox/mstflint
// mlxconfig/mlxcfg_ui.cpp at 4.21, 4.31 and 4.36). Only tests and simulators use it.
package mlxconfigtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Param is one setting of a card.
type Param struct {
	Name string
	// Group is the group of settings (TLV) that the card stores together.
	Group string
	// Names holds the names of the values 0, 1, ...; nil for plain numbers of Bits bits.
	Names []string
	Bits  int
	// Array is the length of an array, whose values a query does not show.
	Array                  int
	Default, Current, Next uint32
	ReadOnly               bool
	// Hidden settings are known to the tool but not shown by the card.
	Hidden bool
	// Advanced settings are hidden until ADVANCED_PCI_SETTINGS is in force.
	Advanced bool
	// Unreadable lists the values that the tool fails to read: "default", "current", "next".
	Unreadable []string
}

// Version is a generation of the tools.
type Version int

// The tool generations.
const (
	V421 Version = iota // 16 characters per value, no read-only mark, no JSON
	V431                // 20 characters, JSON
	V436                // 33 characters, JSON
)

// Faults selects what goes wrong.
type Faults struct {
	// Closed: the card cannot be opened.
	Closed bool
	// Says is printed between the rows of a table.
	Says []string
	// NoColumns: the firmware shows only the values for the next boot.
	NoColumns bool
	// Ignore: a set reports success and changes nothing.
	Ignore bool
	// FailGroup: the card refuses to store this group; groups are stored in order of their names.
	FailGroup string
	// FailLate: a set stores everything and then fails.
	FailLate bool
	// CloseAfterSet: the card cannot be opened after a set.
	CloseAfterSet bool
	// BadJSON is written by -j instead of JSON.
	BadJSON string
	// FailReset: mlxfwreset fails, and the card keeps running unchanged.
	FailReset bool
}

// Card is the simulated card. Set its fields before using it; its methods may be called at any
// time.
type Card struct {
	Tool, Device, Type, Board string
	Version                   Version
	Params                    []*Param
	// Levels are the levels that mlxfwreset supports; ResetType is its default type. New sets them
	// to 3 and 4, and to 0.
	Levels    []int
	ResetType int
	// OnReset is called with the level after the card was reset, or before it is reset by the
	// reboot that the tool has begun; it may be nil.
	OnReset func(level int)

	mu     sync.Mutex
	faults Faults
	calls  []string
	before func(call string)
	armed  bool // the next reboot resets the card
}

var _ runner.Runner = (*Card)(nil)

// New returns a ConnectX-7 with two ports and factory settings, except that the LLDP agent of its
// firmware is on.
func New(tool, device string) *Card {
	c := &Card{Tool: tool, Device: device, Type: "ConnectX7", Board: "MCX755106AS-HEA_Ax", Version: V431, Levels: []int{3, 4}}
	boolean := []string{"False", "True"}
	add := func(p Param) {
		p.Current, p.Next = p.Default, p.Default
		c.Params = append(c.Params, &p)
	}
	add(Param{Name: "ADVANCED_PCI_SETTINGS", Group: "nv_global_pci_conf", Names: boolean})
	add(Param{Name: "ESWITCH_HAIRPIN_DESCRIPTORS", Group: "nv_eswitch_hairpin_conf", Array: 8})
	add(Param{Name: "FW_VERSION_STAMP", Group: "nv_stamp", Bits: 32, Default: 7, ReadOnly: true})
	add(Param{Name: "MAX_ACC_OUT_READ", Group: "nv_global_pci_conf", Bits: 8, Hidden: true, Advanced: true})
	add(Param{Name: "PCI_WR_ORDERING", Group: "nv_pci_conf", Names: []string{"per_mkey", "force_relax"}, Hidden: true, Advanced: true})
	add(Param{Name: "SRIOV_EN", Group: "nv_global_pci_conf", Names: boolean, Default: 1})
	for _, port := range []string{"_P1", "_P2"} {
		add(Param{Name: "ROCE_CC_PRIO_MASK" + port, Group: "nv_roce_cc" + port, Bits: 8, Default: 255})
		add(Param{Name: "CNP_DSCP" + port, Group: "nv_roce_cc_ecn" + port, Bits: 6, Default: 48})
		add(Param{Name: "CNP_802P_PRIO" + port, Group: "nv_roce_cc_ecn" + port, Bits: 3, Default: 6})
		add(Param{Name: "LLDP_NB_DCBX" + port, Group: "nv_lldp_nb_conf" + port, Names: boolean, Default: 1})
		add(Param{Name: "LLDP_NB_RX_MODE" + port, Group: "nv_lldp_nb_conf" + port, Names: []string{"OFF", "MANDATORY", "ALL"}, Default: 2})
		add(Param{Name: "LLDP_NB_TX_MODE" + port, Group: "nv_lldp_nb_conf" + port, Names: []string{"OFF", "MANDATORY", "ALL"}, Default: 2})
		add(Param{Name: "LINK_TYPE" + port, Group: "nv_vpi_conf" + port, Names: []string{"", "IB", "ETH"}, Default: 2})
	}
	return c
}

// SetFaults replaces the faults.
func (c *Card) SetFaults(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// Before makes f be called with each command line before it is carried out.
func (c *Card) Before(f func(call string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = f
}

// Get returns a setting by name; it panics if there is none.
func (c *Card) Get(name string) Param {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.find(name)
}

// Change changes a setting without the tool.
func (c *Card) Change(name string, f func(*Param)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.find(name))
}

// Reset makes the values for the next boot current, as a power cycle does.
func (c *Card) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
}

// Calls returns the command lines so far that made the card do something.
func (c *Card) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *Card) find(name string) *Param {
	for _, p := range c.Params {
		if p.Name == name {
			return p
		}
	}
	panic("mlxconfigtest: no setting " + name)
}

// Run implements runner.Runner.
func (c *Card) Run(ctx context.Context, name string, args ...string) (runner.Result, error) {
	if err := ctx.Err(); err != nil {
		return runner.Result{}, fmt.Errorf("%s: %w", name, err)
	}
	if name != c.Tool && name != c.resetter() {
		return runner.Result{}, fmt.Errorf("%s: %w", name, runner.ErrNotFound)
	}
	call := strings.Join(append([]string{name}, args...), " ")
	c.mu.Lock()
	before := c.before
	c.mu.Unlock()
	if before != nil {
		before(call)
	}
	c.mu.Lock()
	var after func()
	defer func() {
		c.mu.Unlock()
		if after != nil {
			after()
		}
	}()
	if len(args) == 1 && args[0] == "-v" {
		return runner.Result{Stdout: []byte(name + ", mstflint " + []string{"4.21.0", "4.31.0", "4.36.0"}[c.Version] + ", Git SHA Hash: N/A\n")}, nil
	}
	c.calls = append(c.calls, call)
	if name == c.resetter() {
		var res runner.Result
		res, after = c.resetTool(args)
		return res, nil
	}
	return c.configTool(args), nil
}

// fails returns the tool's result for an error.
func fails(format string, a ...any) runner.Result {
	return runner.Result{Stdout: fmt.Appendf(nil, "-E- "+format+"\n", a...), Code: 3}
}

func (c *Card) configTool(args []string) runner.Result {
	var dev, file string
	var verbose, yes bool
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch flag := args[0]; {
		case flag == "-d" && len(args) > 1:
			dev, args = args[1], args[1:]
		case flag == "-j" && len(args) > 1 && c.Version >= V431:
			file, args = args[1], args[1:]
		case flag == "-e":
			verbose = true
		case flag == "-y":
			yes = true
		default:
			return fails("invalid argument: %s", flag)
		}
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return fails("No command found")
	case dev == "":
		return fails("Failed to get devices.")
	case dev != c.Device || c.faults.Closed:
		return fails("Failed to open the device")
	}
	switch args[0] {
	case "query", "q":
		return c.query(args[1:], verbose && !c.faults.NoColumns, verbose, file)
	case "set", "s":
		return c.set(args[1:], yes)
	}
	return fails("invalid command: %s", args[0])
}
