// Package eos controls Arista EOS switches: over SSH with configuration sessions and a commit
// timer, or over gNMI with updates of CLI origin.
//
// A session commit replaces the running configuration with the session's copy, and changes that
// others made meanwhile are lost (EOS User Manual, Configure Session). So nothing is written
// while another user has a session open.
//
// Encoding and decoding are in render/eos; this package does not compose configuration lines.
package eos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/eos/showjson"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// Driver controls one EOS switch. Use Open to create it.
type Driver struct {
	lines.Machine
	way
	t     drivers.Target
	facts *drivers.Facts // nil until Probe
	// asked is set once the switch was asked for the keyword of its queues; kw is the result, ""
	// if unknown.
	asked bool
	kw    native.Keyword
	// undo is the session in which this driver last reverted an apply.
	undo string
}

var _ lines.Driver = (*Driver)(nil)

var realPace = lines.Pace{Poll: 500 * time.Millisecond, Settled: 5 * time.Second, Work: time.Minute, Read: time.Minute, Timer: lines.CommitTimer}

// Open creates the driver without I/O; the first call connects to the switch. If SSH is
// configured, everything goes over SSH, because only there does the switch itself revert
// unconfirmed changes.
func Open(t drivers.Target) (drivers.Driver, error) {
	d := newDriver(t)
	switch {
	case t.SSH != nil:
		d.way = &shellWay{drivers.NewShell(*t.SSH, platform)}
	case t.GNMI.Address != "":
		d.way = &gnmiWay{cfg: t.GNMI}
	default:
		return nil, fmt.Errorf("%w: neither ssh nor a gNMI address is configured", drivers.ErrUnsupported)
	}
	return d, nil
}

func newDriver(t drivers.Target) *Driver {
	d := &Driver{t: t, Machine: lines.Machine{
		Name: t.Name, System: "EOS", Shares: "comes with the qos profile", Grammar: native.Lines, Vias: []string{"ssh", "gnmi"}, Pace: realPace, Parse: native.Parse,
		Refused:  refused,
		Means:    func(c *native.Config, _ int) (*qos.Device, []native.Unknown) { return native.Decode(c) },
		Accounts: func(c *native.Config, _ int) []render.Line { return native.Account(c) },
		Identify: func(c *native.Config, desired *qos.Device, _ int) string { return native.Digest(c, desired) },
		Held:     func(s *drivers.Snapshot) (*native.Config, int) { return nativeOf(s).cfg, 0 },
		Hold:     func(c *native.Config, _ int) *drivers.Snapshot { return &drivers.Snapshot{Native: &snapshot{cfg: c}} },
	}}
	d.Switch = d
	return d
}

// Probe identifies the switch with "show version"; a release stated in the intent takes
// precedence. ASIC is the platform family, "" for an unknown model.
func (d *Driver) Probe(ctx context.Context) (drivers.Facts, error) {
	if d.facts != nil {
		return *d.facts, nil
	}
	v, err := d.version(ctx)
	if err != nil {
		return drivers.Facts{}, err
	}
	f := drivers.Facts{
		OS: "eos", Version: v.Release, Release: cmp.Or(d.t.Release, v.Release), Model: cmp.Or(v.Model, d.t.Model), Unit: drivers.UnitOf(v.Serial, v.MAC),
		Caps: drivers.Caps{Undo: d.way.undo(d.Pace.Timer), Writes: []string{d.way.name()}, AppliedState: true},
	}
	f.ASIC, _ = native.FamilyOf(f.Model)
	d.facts = &f
	return f, nil
}

func (d *Driver) version(ctx context.Context) (showjson.Version, error) {
	raw, err := d.way.showJSON(ctx, "show version")
	if err != nil {
		return showjson.Version{}, drivers.TransportError(err)
	}
	v, err := showjson.ParseVersion(raw)
	if err != nil {
		return v, fmt.Errorf("show version: %w", err)
	}
	if maker, _, _ := strings.Cut(v.Manufacturer, " "); !strings.EqualFold(maker, "Arista") {
		return v, fmt.Errorf("%w: the switch at %s says that its maker is %q, not Arista", drivers.ErrUnsupported, d.Addr(), v.Manufacturer)
	}
	return v, nil
}

// snapshot is the native part of a drivers.Snapshot.
type snapshot struct {
	cfg *native.Config
	// kw is the switch's keyword for unicast queues, "" if unknown.
	kw native.Keyword
	// open holds the configuration sessions; nil if the switch does not show them.
	open *sessions
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
	s := &snapshot{cfg: cfg}
	if s.kw, err = d.keyword(ctx, cfg); err != nil {
		return nil, err
	}
	if s.open, err = d.sessions(ctx); err != nil && !errors.Is(err, errNotShown) {
		return nil, err
	}
	return &drivers.Snapshot{Native: s}, nil
}

// keyword finds the switch's keyword for unicast queues: in its configuration, in the defaults
// that it shows for one port, or by its model; "" if all of these fail. The model comes last,
// because switches of one model differ by release.
func (d *Driver) keyword(ctx context.Context, cfg *native.Config) (native.Keyword, error) {
	if kw, ok := native.KeywordOf(cfg); ok {
		return kw, nil
	}
	if !d.asked {
		kw, err := d.ask(ctx, cfg)
		if err != nil {
			return "", err
		}
		d.kw, d.asked = kw, true
	}
	return d.kw, nil
}

func (d *Driver) ask(ctx context.Context, cfg *native.Config) (native.Keyword, error) {
	var cmds []string
	for _, l := range cfg.Lines {
		if port, ok := strings.CutPrefix(l.Text, "interface "); ok && strings.HasPrefix(port, "Ethernet") {
			// It is not documented which word order a release accepts.
			cmds = []string{lines.Running + " all interfaces " + port, lines.Running + " interfaces " + port + " all"}
			break
		}
	}
	for _, cmd := range cmds {
		text, err := d.Show(ctx, cmd)
		if refused(err) {
			continue
		}
		if err != nil {
			return "", drivers.TransportError(err)
		}
		all, err := native.Parse([]byte(text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", cmd, err)
		}
		if kw, ok := native.KeywordOf(all); ok {
			return kw, nil
		}
	}
	f, err := d.Probe(ctx)
	if err != nil {
		return "", err
	}
	kw, known := native.KeywordForModel(f.Model)
	if !known {
		return "", nil
	}
	return kw, nil
}
