// Package sonic drives SONiC switches: it reads and writes CONFIG_DB over gNMI's native paths or
// over SSH, uses SSH for changes that the generic config updater rejects, and reads ASIC_DB to see
// what the daemons did.
//
// The switch's answers are not trusted. A Set that fails may have been carried out, and one that
// times out may still be running; only a fresh read shows the result (sonic-net/sonic-gnmi#238).
//
// Planning, encoding and decoding are pure functions in render/sonic.
package sonic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/internal/ssh"
	"github.com/roce-fabric/roce-fabric/internal/words"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/catalog"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
	"github.com/roce-fabric/roce-fabric/render/sonic/yang"
)

// origin is gNMI's name for the native paths.
const origin = "sonic-db"

var configDB = gnmi.Path{"CONFIG_DB", "localhost"}

// driver is one SONiC switch. Use Open.
type driver struct {
	t   drivers.Target
	cli *gnmi.Client
	sh  *ssh.Client
	// facts is nil until Probe.
	facts *drivers.Facts
	rel   native.Release
	chip  string
	maker string // of the ASIC
	// meta is the row of DEVICE_METADATA that Probe read.
	meta native.Row
	// staticPool is set by a read if thresholds of lossless groups are in bytes.
	staticPool bool
	// kept is the configuration that a read-only driver has read. Everything it shows then belongs
	// to one moment and takes only one read. nil for other drivers.
	kept native.Config
	// from is the transport for reading the databases; nil until the first read.
	from source
	// byNumber is set if the image has no sonic-db-dump.
	byNumber bool
	// sshDown is the reason that SSH is not used although it is configured, gnmiDown the same for
	// gNMI.
	sshDown, gnmiDown error
	// direct is set if rows are written over SSH, bypassing the config updater. yang holds the
	// models that validate them; nil if they cannot be read, for the reason in unjudged.
	direct   bool
	yang     *yang.Models
	unjudged string
	// sure is set once the daemons were seen running.
	sure bool
	// saveFailed is the error of a failed save by this driver; nil if there was none.
	saveFailed error
	// image holds the lines of 'show version' that identify the image.
	image string
	// headroom is the table that gives lossless groups their headroom, and its source.
	headroom struct {
		rows []qos.HeadroomRow
		of   string
	}
	// left holds the leftovers of earlier runs; nil if they are not known. Its Down is updated by
	// this driver's actions.
	left *drivers.Leftover
	// desired is the argument of the last call of Digest; nil before.
	desired *qos.Device
	// idle is the undo record of an apply that is known to have had no effect.
	idle string
	// bound limits what a revert may disturb at once; nil means the policy in its token.
	bound *drivers.Policy
	// marked is the text of this run's mark on the switch, "" if there is none; alive is the time
	// of its last renewal.
	marked string
	alive  time.Time
	// ended lists runs that are over; their marks are taken over.
	ended []string
	// say is called with each action of a revert; may be nil.
	say func(what string)
}

var (
	_ drivers.Driver   = (*driver)(nil)
	_ drivers.Keeper   = (*driver)(nil)
	_ drivers.Settler  = (*driver)(nil)
	_ drivers.Resumer  = (*driver)(nil)
	_ drivers.Bounded  = (*driver)(nil)
	_ drivers.Heir     = (*driver)(nil)
	_ drivers.Narrator = (*driver)(nil)
	_ drivers.Checker  = (*driver)(nil)
	_ drivers.Meter    = (*driver)(nil)
	_ drivers.Saver    = (*driver)(nil)
	_ drivers.Starter  = (*driver)(nil)
	_ drivers.Readier  = (*driver)(nil)
	_ drivers.Observer = (*driver)(nil)
	_ drivers.Notifier = (*driver)(nil)
)

// Open creates the driver; the first call connects to the switch.
func Open(t drivers.Target) (drivers.Driver, error) {
	switch {
	case t.Write == intent.WriteDirect && t.SSH == nil:
		return nil, fmt.Errorf("%w: write: direct needs ssh, which is not configured", drivers.ErrUnsupported)
	case t.GNMI.Address == "" && t.SSH == nil:
		return nil, fmt.Errorf("%w: neither a gNMI address nor ssh", drivers.ErrUnsupported)
	}
	if t.GNMI.SetTimeout == 0 {
		t.GNMI.SetTimeout = maxSet
	}
	return &driver{t: t}, nil
}

// Close ends all sessions.
func (d *driver) Close() error { return errors.Join(drivers.HangUp(&d.cli), drivers.HangUp(&d.sh)) }

func (d *driver) client(ctx context.Context) (*gnmi.Client, error) {
	if d.cli != nil {
		return d.cli, nil
	}
	c, err := gnmi.Dial(ctx, d.t.GNMI)
	if err != nil {
		return nil, drivers.TransportError(err)
	}
	if !c.Capabilities().HasModel(origin) {
		var has []string
		for _, m := range c.Capabilities().Models {
			has = append(has, m.Name)
		}
		err := fmt.Errorf("%w: the gNMI server at %s has no model %s, it has %s", drivers.ErrUnsupported, d.t.GNMI.Address, origin, words.Some(has, 20))
		if c.Capabilities().HasModel("openconfig-qos") {
			err = fmt.Errorf("%w; it looks like Enterprise SONiC, which is read over ssh (docs/sonic.md, Enterprise SONiC, says what works)", err)
		}
		return nil, errors.Join(err, c.Close())
	}
	d.cli = c
	return c, nil
}

func (d *driver) shell(ctx context.Context) (*ssh.Client, error) {
	if d.t.SSH == nil {
		return nil, fmt.Errorf("%w: ssh is not configured", drivers.ErrUnsupported)
	}
	if d.sh != nil {
		return d.sh, nil
	}
	c, err := ssh.Dial(ctx, *d.t.SSH)
	if err != nil {
		return nil, drivers.TransportError(err)
	}
	d.sh = c
	return c, nil
}

// Probe identifies the switch. The release comes from the intent if stated there, else from "show
// version" over SSH, else from the schema version in CONFIG_DB; if all fail, the strictest rules
// apply.
//
// If SSH is configured but does not answer, the switch is treated as one without SSH, and a plan
// says so. A rejected login or host key is always an error.
func (d *driver) Probe(ctx context.Context) (drivers.Facts, error) {
	if d.facts != nil {
		return *d.facts, nil
	}
	f := drivers.Facts{OS: "sonic", Caps: drivers.Caps{Undo: "by this tool, row by row (the switch has no commit timer)", AppliedState: true}}
	meta, err := d.row(ctx, "CONFIG_DB", native.TMetadata, "localhost")
	if err != nil {
		return f, err
	}
	if !d.overSSH() {
		f.Caps.Writes = []string{"gnmi"}
	}
	f.Model = cmp.Or(meta["hwsku"], d.t.Model)
	serial := ""
	d.sshDown = nil
	if d.t.SSH != nil {
		f.Version, serial, err = d.showVersion(ctx)
		switch {
		case err == nil:
			f.Caps.Writes = append(f.Caps.Writes, "ssh")
			if err := d.choose(ctx); err != nil {
				return f, err
			}
			if !d.direct {
				f.Caps.Undo += " and a checkpoint"
			}
		case !d.overSSH() && errors.Is(err, drivers.ErrUnreachable) && ctx.Err() == nil:
			d.sshDown = err
		default:
			return f, err
		}
	}
	f.Unit = drivers.UnitOf(serial, meta["mac"])
	if !slices.Contains(f.Caps.Writes, "ssh") {
		f.Caps.Undo += "; over gNMI alone a run of another machine on it is not seen"
	}
	version := cmp.Or(d.t.Release, f.Version)
	if version == "" {
		row, err := d.row(ctx, "CONFIG_DB", "VERSIONS", "DATABASE")
		if err != nil {
			return f, err
		}
		version = row["VERSION"]
		f.Version = version
	}
	rel, ok := native.ReleaseOf(version)
	if !ok {
		rel = native.Strictest()
	}
	f.Release = rel.Name
	m, ok := catalog.Lookup(f.Model)
	if ok {
		if asic := m.ASIC(); asic != nil {
			d.maker = asic.Vendor
		}
		// A config updater older than the model's entry does not know the model.
		if since, known := native.LookupRelease(m.GCUSince); !known || rel.Index >= since.Index {
			f.ASIC = m.GCU
		}
	}
	d.rel, d.chip, d.meta = rel, f.ASIC, meta
	if err := d.findHeadroom(ctx, m); err != nil {
		return f, err
	}
	d.facts = &f
	return f, nil
}

// choose decides whether rows bypass the config updater: if the intent says so, if there is no
// other transport, or if the models of the image are available to validate them.
func (d *driver) choose(ctx context.Context) (err error) {
	if d.t.Write == intent.WriteGNMI {
		return nil
	}
	d.direct = d.t.Write == intent.WriteDirect || d.overSSH()
	if d.t.Reads {
		return nil
	}
	if d.yang, err = d.models(ctx); err != nil {
		if ctx.Err() != nil || errors.Is(err, drivers.ErrUnreachable) && d.overSSH() {
			return err
		}
		d.unjudged = err.Error()
	}
	d.direct = d.direct || d.yang != nil
	return nil
}

// imageLines are the lines of 'show version' that distinguish images.
var imageLines = []string{versionLine, "Build commit", "Build date"}

const versionLine = "SONiC Software Version"

// showVersion returns the version and the serial number that the switch prints, "" if missing.
func (d *driver) showVersion(ctx context.Context) (version, serial string, _ error) {
	out, err := d.exec(ctx, "show version", nil)
	if err != nil {
		return "", "", err
	}
	shown := map[string]string{}
	d.image = ""
	for line := range strings.Lines(string(out.Stdout)) {
		name, value, _ := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		shown[name] = strings.TrimSpace(value)
		if slices.Contains(imageLines, name) {
			d.image += line
		}
	}
	if n, err := strconv.Atoi(shown["ASIC Count"]); err == nil && n > 1 {
		return "", "", fmt.Errorf("%w: the switch has %d ASICs, each with its own CONFIG_DB; this tool handles only switches with one ASIC", drivers.ErrUnsupported, n)
	}
	return shown[versionLine], shown["Serial Number"], nil
}

// isEnterprise reports whether a version is Broadcom's SONiC, which Dell, Edgecore and others sell:
// "SONiC-OS-4.2.1-Enterprise_Base".
func isEnterprise(version string) bool { return strings.Contains(version, "Enterprise") }

// readOnly explains why nothing is written to Enterprise SONiC.
const readOnly = "this is Enterprise SONiC, which this tool reads and checks and does not write: its buffers belong to 'roce enable', which reboots the switch; change it there (docs/sonic.md, Enterprise SONiC, says what works)"

// Read takes a snapshot of the tables that this tool knows.
func (d *driver) Read(ctx context.Context) (*drivers.Snapshot, error) {
	cfg, err := d.read(ctx)
	if err != nil {
		return nil, err
	}
	d.staticPool = cfg.Row(native.TPool, catalog.IngressPool)["mode"] == "static"
	if d.t.Reads {
		d.kept = cfg
	}
	return &drivers.Snapshot{Native: cfg}, nil
}

func (d *driver) read(ctx context.Context) (native.Config, error) {
	from, err := d.source(ctx)
	if err != nil {
		return nil, err
	}
	return from.config(ctx)
}

func config(s *drivers.Snapshot) native.Config {
	if b, ok := s.Native.(*booted); ok {
		return b.running
	}
	c, _ := s.Native.(native.Config)
	return c
}

// Hostname implements [drivers.Named].
func (d *driver) Hostname(s *drivers.Snapshot) string {
	return config(s).Row(native.TMetadata, "localhost")["hostname"]
}

// Decode turns a snapshot into a running model.
func (d *driver) Decode(s *drivers.Snapshot) (*qos.Device, []drivers.Unknown) {
	dev, unknown := native.Decode(config(s))
	return dev, leftAlone(unknown)
}

// Account says what each field of the configuration in a snapshot does.
func (d *driver) Account(s *drivers.Snapshot) []render.Line {
	if b, ok := s.Native.(*booted); ok {
		return native.AccountSaved(b.saved, b.running, d.headroom.rows, d.headroom.of)
	}
	return native.Account(config(s))
}

// leftAlone converts the entries that the decoder could not represent into the driver's form.
func leftAlone(unknown []native.Unknown) []drivers.Unknown {
	return drivers.LeftAlone(unknown, func(u native.Unknown) drivers.Unknown {
		return drivers.Unknown{Why: u.Why, Text: u.Value, Open: u.Open}
	})
}

// Digest identifies the part of the state that desired covers. If desired is not for a switch, it
// returns "", which matches no plan.
func (d *driver) Digest(s *drivers.Snapshot, want drivers.Desired) string {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return ""
	}
	d.desired = desired
	return native.Digest(config(s), desired)
}

// directReason explains why rows bypass the config updater, and what validated them.
func (d *driver) directReason() string {
	why := "because ssh is configured"
	switch {
	case d.t.Write == intent.WriteDirect:
		why = "because write: direct"
	case d.overSSH():
		why = "because the switch serves no gNMI"
	}
	if d.yang != nil {
		return why + ", after a check against the YANG models of the image"
	}
	return why + "; checked only against this tool's own rules, as the YANG models of the image were not read (" + d.unjudged + ")"
}

// takes returns the typical duration of a step: 10 to 13 s for a request to the config updater,
// under 1 s for a load, plus 3 s to read back and save it (measured on SONiC's own management
// plane, 202511 and master).
func takes(s native.Step) time.Duration {
	if s.Via == "gnmi" {
		return 12 * time.Second
	}
	return 3 * time.Second
}

// Plan works out the steps.
func (d *driver) Plan(f drivers.Facts, s *drivers.Snapshot, want drivers.Desired, policy drivers.Policy) (*drivers.Steps, error) {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return nil, err
	}
	rel, ok := native.LookupRelease(f.Release)
	if !ok {
		rel = native.Strictest()
	}
	site := native.Site{
		Release: rel, Chip: f.ASIC, Maker: d.maker, SSH: slices.Contains(f.Caps.Writes, "ssh"), Direct: d.direct, Why: d.directReason(), SSHDown: d.sshDown, GNMIDown: d.gnmiDown,
		Policy: native.Policy(policy), Left: d.leftDown(), Headroom: d.headroom.rows, HeadroomOf: d.headroom.of,
	}
	shared, err := plans.steps(inputOf(site, d.yang, config(s), desired), steps)
	if err != nil {
		return nil, err
	}
	st := *shared
	st.Device, st.Policy = d.t.Name, policy
	st.Changes, st.Items, st.Notes, st.Unknown = slices.Clone(st.Changes), slices.Clone(st.Items), slices.Clip(st.Notes), slices.Clip(st.Unknown)
	if isEnterprise(f.Version) {
		st.Items, st.Takes = nil, 0
		for i := range st.Changes {
			st.Changes[i].Blocked = cmp.Or(st.Changes[i].Blocked, readOnly)
		}
	}
	return &st, nil
}

// steps works out the steps for a switch.
func steps(in planInput) (*drivers.Steps, error) {
	if in.models != nil {
		in.site.Check = against(in.models)
	}
	p := in.site.Plan(in.running, in.desired)
	st := &drivers.Steps{Running: p.Running, Base: p.Base, Changes: p.Changes, Notes: p.Notes, Unknown: leftAlone(p.Unknown)}
	for _, s := range p.Steps {
		st.Takes += takes(s)
		raw, err := json.Marshal(batch{s.Ops})
		if err != nil {
			return nil, fmt.Errorf("encode the plan: %w", err)
		}
		item := drivers.Step{Via: s.Via, What: s.What, Impact: s.Impact, Down: s.Down, Up: s.Up, Native: raw}
		for _, op := range s.Ops {
			item.Lines = append(item.Lines, op.String())
		}
		st.Items = append(st.Items, item)
	}
	return st, nil
}
