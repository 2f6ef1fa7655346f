// Package nxos controls Cisco Nexus 9000 switches over SSH: with a dual-stage commit, which the
// switch reverts unless it is confirmed, or, if a release has no such commit or does not accept
// QoS lines in it, line by line with a checkpoint.
//
// All users of the switch share its checkpoints and the timer: this package removes only its own
// checkpoints, and rolls back to one only if nobody else changed anything since.
//
// Encoding and decoding are in render/nxos; this package does not compose configuration lines.
// gNMI, if the switch runs a server, is used only to read state.
package nxos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/drivers/nxos/show"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/nxos"
)

// Driver controls one NX-OS switch. Use Open to create it.
type Driver struct {
	lines.Machine
	*drivers.Shell
	t     drivers.Target
	facts *drivers.Facts     // nil until Probe
	model *native.ClassModel // nil if not asked for, or if the switch does not show it
	asked bool               // set once the switch was asked for the model
	// typed is the checkpoint of a run whose lines were typed one by one, without a timer.
	typed string
	// started is the checkpoint of the run whose timer this driver started and has not yet
	// confirmed.
	started string
	// plain is set if the switch has no dual-stage mode.
	plain bool
	// state is the gNMI connection that Observe uses; nil until then.
	state *gnmi.Client
	// dial limits the wait for the gNMI server, which many switches do not run.
	dial time.Duration
	// noState is the reason why gNMI is not used, or no longer used.
	noState error
}

var _ lines.Driver = (*Driver)(nil)

// A save can take more than a minute (ktbyers/netmiko cisco_nxos.py).
var realPace = lines.Pace{Poll: time.Second, Settled: 5 * time.Second, Work: 3 * time.Minute, Read: 2 * time.Minute, Timer: lines.CommitTimer}

// Open creates the driver without I/O; the first call connects to the switch. SSH is the only
// transport for writing QoS, so a target without it returns ErrUnsupported.
func Open(t drivers.Target) (drivers.Driver, error) {
	if t.SSH == nil {
		return nil, fmt.Errorf("%w: QoS of NX-OS is written over SSH, but the intent does not say how to reach this switch over SSH (ssh: {} or ssh.address)", drivers.ErrUnsupported)
	}
	d := newDriver(t)
	d.Shell = drivers.NewShell(*t.SSH, platform)
	return d, nil
}

func newDriver(t drivers.Target) *Driver {
	d := &Driver{t: t, dial: 10 * time.Second, Machine: lines.Machine{
		Name: t.Name, System: "NX-OS", Shares: "comes with the policies of the switch", Grammar: native.Lines, Vias: []string{"ssh"}, Pace: realPace, Checkpoints: true, Variants: 2, Parse: native.Parse,
		After:   []string{pfcCommand},
		Refused: drivers.RefusedLine, Disturbs: disturbs,
		Means: func(c *native.Config, m int) (*qos.Device, []native.Unknown) {
			return native.Decode(c, native.ClassModel(m))
		},
		Accounts: func(c *native.Config, m int) []render.Line { return native.Account(c, native.ClassModel(m)) },
		Identify: func(c *native.Config, desired *qos.Device, m int) string {
			return native.Digest(c, desired, native.ClassModel(m))
		},
		Held: func(s *drivers.Snapshot) (*native.Config, int) { return nativeOf(s).cfg, int(nativeOf(s).m) },
		Hold: func(c *native.Config, variant int) *drivers.Snapshot {
			return &drivers.Snapshot{Native: &snapshot{cfg: c, m: native.ClassModel(variant)}}
		},
	}}
	d.Switch = d
	return d
}

// Close ends all sessions.
func (d *Driver) Close() error { return errors.Join(d.Shell.Close(), drivers.HangUp(&d.state)) }

// Probe identifies the switch. The intent's release takes precedence; its model is used only if
// the switch does not show one.
func (d *Driver) Probe(ctx context.Context) (drivers.Facts, error) {
	if d.facts != nil {
		return *d.facts, nil
	}
	raw, err := d.Show(ctx, "show version | json")
	if err != nil {
		return drivers.Facts{}, drivers.TransportError(err)
	}
	v, err := show.ParseVersion([]byte(raw))
	if err != nil {
		return drivers.Facts{}, fmt.Errorf("show version: %w", err)
	}
	if !v.NXOS {
		return drivers.Facts{}, fmt.Errorf("%w: the switch at %s says that it runs %q, not NX-OS", drivers.ErrUnsupported, d.Addr(), v.System)
	}
	if v.Model == "" || strings.Contains(v.Model, " ") {
		// "Nexus9000 C9332D-GX2B Chassis" is not a product ID.
		if raw, err = d.Show(ctx, "show inventory | json"); err != nil && !drivers.RefusedLine(err) {
			return drivers.Facts{}, drivers.TransportError(err)
		}
		if id, serial := show.ParseInventory([]byte(raw)); err == nil && id != "" {
			v.Model, v.Serial = id, cmp.Or(serial, v.Serial)
		}
	}
	f := drivers.Facts{
		OS: "nxos", Version: v.Release, Release: cmp.Or(d.t.Release, v.Release), Model: cmp.Or(v.Model, d.t.Model), Unit: drivers.UnitOf(v.Serial, ""),
	}
	d.plain = d.plain || !dualStage(f.Release)
	f.Caps = drivers.Caps{Undo: d.undo(), Writes: []string{"ssh"}, AppliedState: true}
	d.facts = &f
	return f, nil
}

// undo describes for users how an apply is reverted.
func (d *Driver) undo() string {
	const tool = "by this tool, from a checkpoint on the switch as long as no one else has changed anything, and line by line"
	if d.plain {
		return tool
	}
	return fmt.Sprintf("by the switch itself: it reverts a dual-stage commit after %s unless it is confirmed; after that, and if dual-stage does not accept QoS lines, %s", drivers.Spell(d.Pace.Timer), tool)
}

var releaseNumber = lazyre.New(`^(\d{1,3})\.(\d{1,3})`)

// dualStage reports whether a release has "configure dual-stage", which was added in 10.2. It
// returns true for a release that it cannot parse.
func dualStage(release string) bool {
	m := releaseNumber.FindStringSubmatch(release)
	if m == nil {
		return true
	}
	major, errMajor := strconv.Atoi(m[1])
	minor, errMinor := strconv.Atoi(m[2])
	return errMajor != nil || errMinor != nil || major > 10 || major == 10 && minor >= 2
}

// snapshot is the native part of a drivers.Snapshot.
type snapshot struct {
	cfg *native.Config
	m   native.ClassModel
	// guessed is set if the class model is not known.
	guessed bool
	// left lists the checkpoints that this tool left on the switch.
	left []string
	// theirs lists the checkpoints of runs that may be in progress elsewhere, with their age.
	theirs map[string]time.Duration
	// checkpoints is the number of checkpoints on the switch.
	checkpoints int
}

func nativeOf(s *drivers.Snapshot) *snapshot {
	if n, ok := s.Native.(*snapshot); ok {
		return n
	}
	return &snapshot{cfg: native.Lines.New()}
}

// Hostname implements [drivers.Named].
func (d *Driver) Hostname(s *drivers.Snapshot) string { return nativeOf(s).cfg.Hostname() }

// Read reads the running configuration.
func (d *Driver) Read(ctx context.Context) (*drivers.Snapshot, error) {
	cfg, err := d.Config(ctx, lines.Running)
	if err != nil {
		return nil, err
	}
	s := &snapshot{cfg: cfg, theirs: map[string]time.Duration{}}
	if s.m, s.guessed, err = d.classModel(ctx, cfg); err != nil {
		return nil, err
	}
	names, _, err := d.checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	s.checkpoints = len(names)
	for _, n := range natural.Keys(names) {
		if age, ok := d.unknownRun(n); ok {
			s.theirs[n] = age
		} else if drivers.Ours(n) {
			s.left = append(s.left, n)
		}
	}
	return &drivers.Snapshot{Native: s}, nil
}

// classModel finds the switch's class names: in its output for the active network-qos policy and
// the classes, or in the names that its configuration uses.
func (d *Driver) classModel(ctx context.Context, cfg *native.Config) (m native.ClassModel, guessed bool, err error) {
	for _, cmd := range []string{"show policy-map system type network-qos", "show class-map type network-qos"} {
		if d.asked {
			break
		}
		text, err := d.Show(ctx, cmd)
		if err != nil && !drivers.RefusedLine(err) {
			return m, false, drivers.TransportError(err)
		}
		if m, ok := native.ModelOf(text); ok && err == nil {
			d.model, d.asked = &m, true
		}
	}
	d.asked = true
	if d.model != nil {
		return *d.model, false, nil
	}
	m, ok := native.ModelOf(cfg.String())
	return m, !ok, nil
}

// Cut describes the missing end of a configuration. NX-OS does not mark the end, so a text is
// complete if it has its parts and the last ports.
func (d *Driver) Cut(cfg *native.Config, after []ssh.Shown) string {
	if !cfg.Complete() {
		return "its end is missing"
	}
	if ports := after[0]; ports.Err == nil {
		if port := missingPort(cfg, ports.Out); port != "" {
			return fmt.Sprintf("the switch has %s, and its text ends before it", port)
		}
	}
	return ""
}

// missingPort returns the first port of the switch that comes after all ports of the text; "" for
// none. A port that is missing in between does not mean that the text is cut.
func missingPort(cfg *native.Config, ports string) string {
	last := ""
	for _, l := range cfg.Lines {
		if name, ok := strings.CutPrefix(l.Text, "interface "); ok && isPort(name) && natural.Compare(name, last) > 0 {
			last = name
		}
	}
	// Compare only names of the same form: "Ethernet1/9", not "Ethernet1/9/1".
	for _, name := range natural.Keys(show.ParsePFCText(ports)) {
		if isPort(name) && strings.Count(name, "/") == strings.Count(last, "/") && natural.Compare(name, last) > 0 {
			return name
		}
	}
	return ""
}

func isPort(name string) bool { return strings.HasPrefix(name, "Ethernet") }

var checkpointLine = lazyre.New(`(?m)^\d{1,4}\) (\S{1,80}):\s*$`)

// checkpoints reads the names of user checkpoints; shown is false if the switch refuses the
// command (CiscoTestAutomation/genieparser nxos show_checkpoint.py).
func (d *Driver) checkpoints(ctx context.Context) (names map[string]bool, shown bool, err error) {
	text, err := d.Show(ctx, "show checkpoint summary")
	if drivers.RefusedLine(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, drivers.TransportError(err)
	}
	names = map[string]bool{}
	for _, m := range checkpointLine.FindAllStringSubmatch(strings.ReplaceAll(text, "\r", ""), -1) {
		names[m[1]] = true
	}
	return names, true, nil
}
