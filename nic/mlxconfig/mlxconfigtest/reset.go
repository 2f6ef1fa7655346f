package mlxconfigtest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/roce-fabric/roce-fabric/nic/runner"
)

// Levels and types of mlxfwreset (Mellanox/mstflint small_utils/mlxfwresetlib/cmd_reg_mfrl.py).
var (
	resetLevels = map[int]string{
		0: `Driver, PCI link, network link will remain up ("live-Patch")`, 1: `Only ARM side will not remain up ("Immediate reset").`,
		3: "Driver restart and PCI reset", 4: "Warm Reboot",
	}
	resetTypes = []string{"Full chip reset", "Phy-less reset (keep network port active during reset)", "NIC only reset (for SoC devices)", "ARM only reset", "ARM OS shut down"}
)

func (c *Card) resetter() string { return strings.Replace(c.Tool, "config", "fwreset", 1) }

// SetResets sets Levels and ResetType of a card that is in use.
func (c *Card) SetResets(typ int, levels ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Levels, c.ResetType = levels, typ
}

// resetTool simulates mlxfwreset. after reports the reset to OnReset; it may be nil.
func (c *Card) resetTool(args []string) (res runner.Result, after func()) {
	flags := map[string]string{}
	var yes bool
	var commands []string
	for len(args) > 0 {
		switch flag := args[0]; {
		case slices.Contains([]string{"-d", "-l", "-t"}, flag) && len(args) > 1:
			flags[flag], args = args[1], args[1:]
		case flag == "-y":
			yes = true
		case strings.HasPrefix(flag, "-"):
			return runner.Result{Stderr: []byte("error: unrecognized arguments: " + flag + "\n"), Code: 2}, nil
		default:
			commands = append(commands, flag)
		}
		args = args[1:]
	}
	fails := func(format string, a ...any) (runner.Result, func()) {
		return runner.Result{Stdout: fmt.Appendf(nil, "-E- "+format+".\n", a...), Code: 1}, nil
	}
	switch {
	case len(commands) != 1:
		return runner.Result{Stderr: []byte("error: the following arguments are required: command\n"), Code: 2}, nil
	case strings.Contains(flags["-d"], "fwctl"):
		return fails("mlxfwreset is not supported for fwctl devices")
	case flags["-d"] != c.Device || c.faults.Closed:
		return fails("Failed to open the device")
	case commands[0] == "query" || commands[0] == "q":
		return runner.Result{Stdout: c.resetQuery()}, nil
	case commands[0] != "reset" && commands[0] != "r":
		return runner.Result{Stderr: []byte("error: argument command: invalid choice\n"), Code: 2}, nil
	}
	level, err := strconv.Atoi(flags["-l"])
	if err != nil {
		level = slices.Min(append([]int{4}, c.Levels...))
	}
	typ, err := strconv.Atoi(flags["-t"])
	if err != nil {
		typ = c.ResetType
	}
	switch {
	case typ != 0 && typ != c.ResetType:
		return fails("Reset-type '%d' is not supported in the current state of this device", typ)
	case !slices.Contains(c.Levels, level):
		return fails("Reset-level '%d' is not supported in the current state of this device", level)
	case !yes:
		return fails("Aborted by user")
	case c.faults.FailReset:
		return fails("Firmware reset failed, retry operation or reboot machine")
	}
	out := fmt.Sprintf("\nThe reset level for device, %s is:\n\n%d: %s\nContinue with reset?[y/N] y\nReset level: %[2]d, Reset type: %[4]d, Reset sync: 0, Reset method: 0\n", c.Device, level, resetLevels[level], typ)
	if level == 4 {
		c.armed = true
		out += "-I- Sending reboot command to machine       -Done\n"
	} else {
		c.load()
		out += "-I- Sending Reset Command To Fw             -Done\n-I- Stopping Driver                         -Done\n-I- Resetting PCI                           -Done\n-I- Starting Driver                         -Done\n"
	}
	out += "-I- FW was loaded successfully.\n"
	if c.OnReset != nil {
		after = func() { c.OnReset(level) }
	}
	return runner.Result{Stdout: []byte(out)}, after
}

// resetQuery returns the tables that the tool prints.
func (c *Card) resetQuery() []byte {
	var b bytes.Buffer
	row := func(n int, what string, supported, usual bool) {
		state, mark := "Not Supported", ""
		if supported {
			state = "Supported"
		}
		if usual {
			mark = "(default)"
		}
		fmt.Fprintf(&b, "%d: %-62s-%-14s%s\n", n, what, state, mark)
	}
	b.WriteString("\nReset-levels:\n")
	first := true
	for _, n := range []int{0, 1, 3, 4} {
		has := slices.Contains(c.Levels, n)
		row(n, resetLevels[n], has, has && first && n != 1)
		first = first && !(has && n != 1)
	}
	b.WriteString("\nReset-types (relevant only for reset-levels 1,3,4):\n")
	for n, what := range resetTypes {
		row(n, what, n == 0 || n == c.ResetType, n == c.ResetType)
	}
	b.WriteString("\nReset-sync (relevant only for reset-level 3):\n")
	row(0, "Tool is the owner", true, true)
	row(1, "Driver is the owner", false, false)
	b.WriteByte('\n')
	return b.Bytes()
}

// Rebooted simulates a reboot of the host. It resets the card if loads says that a reboot does so
// on such a card, or if mlxfwreset has prepared the card for it.
func (c *Card) Rebooted(loads bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if loads || c.armed {
		c.load()
	}
	c.armed = false
}

// load makes the values for the next boot current. The caller holds mu.
func (c *Card) load() {
	for _, p := range c.Params {
		p.Current = p.Next
	}
	for _, p := range c.Params {
		if p.Advanced {
			p.Hidden = c.find("ADVANCED_PCI_SETTINGS").Current == 0
		}
	}
}
