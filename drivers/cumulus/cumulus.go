// Package cumulus controls NVIDIA Cumulus Linux over NVUE's REST API: it creates a revision from
// the active configuration, changes it, checks the switch's own diff, and applies the revision
// with a timer that reverts it unless it is confirmed.
//
// A warning of the switch is reported and answered with no, unless the user accepts warnings; a
// failure is never ignored. An apply is undone by patching the changed paths: applying an old
// revision would restore the whole tree and undo the changes of others.
//
// Encoding and decoding are in render/cumulus; this package does not compose settings.
package cumulus

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/drivers/lines"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/gnmi"
	"github.com/roce-fabric/roce-fabric/render"
	native "github.com/roce-fabric/roce-fabric/render/cumulus"
)

// via is the transport of steps.
const via = "rest"

// Driver controls one switch. Use Open to create it.
type Driver struct {
	t     drivers.Target
	http  *gnmi.HTTP // nil until needed
	facts *drivers.Facts
	pace  lines.Pace
	// ended lists the IDs of runs that are known to have ended.
	ended []string
	// desired is the argument of the last call of Digest; nil before the first.
	desired *qos.Device
	// saveFailed is the error of a failed save; nil if none failed.
	saveFailed error
	// idle is the undo record of an apply that is known to have had no effect.
	idle string
	// applied maps the undo records of this driver's applies to their revisions.
	applied map[string]string
}

var (
	_ drivers.Driver   = (*Driver)(nil)
	_ drivers.Decoder  = (*Driver)(nil)
	_ drivers.Observer = (*Driver)(nil)
	_ drivers.Meter    = (*Driver)(nil)
	_ drivers.Saver    = (*Driver)(nil)
	_ drivers.Keeper   = (*Driver)(nil)
	_ drivers.Heir     = (*Driver)(nil)
	_ drivers.Checker  = (*Driver)(nil)
	_ drivers.Differ   = (*Driver)(nil)
	_ drivers.Settler  = (*Driver)(nil)
)

// An apply takes seconds, or minutes if switchd reloads.
var realPace = lines.Pace{Poll: 500 * time.Millisecond, Settled: 10 * time.Second, Work: 5 * time.Minute, Read: time.Minute, Timer: lines.CommitTimer}

// Open creates the driver without I/O; the first call connects to the switch.
func Open(t drivers.Target) (drivers.Driver, error) {
	if t.GNMI.Address == "" {
		return nil, fmt.Errorf("%w: no address of NVUE's REST API is configured", drivers.ErrUnsupported)
	}
	return newDriver(t), nil
}

func newDriver(t drivers.Target) *Driver {
	return &Driver{t: t, pace: realPace, applied: map[string]string{}}
}

// Close closes the connections.
func (d *Driver) Close() error { return drivers.HangUp(&d.http) }

// system describes the software. The release is in one of three places, depending on the release
// (NVUE API; NVIDIA's configuration manager reads the other two).
type system struct {
	Build   string `json:"build"`
	Name    string `json:"product-name"`
	Release string `json:"product-release"`
	Version struct {
		Name    string `json:"product-name"`
		Release string `json:"product-release"`
		Image   string `json:"image"`
	} `json:"version"`
}

// platform describes the hardware. Its keys are not documented.
type platform struct {
	Name  string `json:"product-name"`
	Model string `json:"model"`
	ASIC  string `json:"asic-model"`
	// The keys of these two are not verified on a switch.
	Serial string `json:"serial-number"`
	MAC    string `json:"system-mac"`
}

// Probe identifies the switch; a release stated in the intent takes precedence.
func (d *Driver) Probe(ctx context.Context) (drivers.Facts, error) {
	if d.facts != nil {
		return *d.facts, nil
	}
	var s system
	if err := d.do(ctx, http.MethodGet, query(at("system"), "rev", "operational"), nil, &s); err != nil {
		if refusedWith(err, http.StatusNotFound) {
			err = fmt.Errorf("%w: the device at %s has no NVUE: %w", drivers.ErrUnsupported, d.t.GNMI.Address, err)
		}
		return drivers.Facts{}, err
	}
	const product = "Cumulus Linux"
	version := cmp.Or(s.Version.Release, s.Release, strings.TrimSpace(strings.TrimPrefix(s.Build, product)))
	if name := cmp.Or(s.Version.Name, s.Name, s.Build); name != "" && !strings.HasPrefix(name, product) {
		return drivers.Facts{}, fmt.Errorf("%w: the device at %s says that it is %q, not %s", drivers.ErrUnsupported, d.t.GNMI.Address, name, product)
	}
	if version == "" {
		return drivers.Facts{}, fmt.Errorf("%w: the device at %s does not say which release of %s it runs", drivers.ErrUnsupported, d.t.GNMI.Address, product)
	}
	var p platform
	if err := d.do(ctx, http.MethodGet, query(at("platform"), "rev", "operational"), nil, &p); err != nil && !refusedWith(err, http.StatusNotFound) {
		return drivers.Facts{}, err
	}
	f := drivers.Facts{
		OS: intent.Cumulus.Name, Version: version, Release: cmp.Or(d.t.Release, version), Model: cmp.Or(p.Name, p.Model, d.t.Model), ASIC: p.ASIC, Unit: drivers.UnitOf(p.Serial, p.MAC),
		Caps: drivers.Caps{Undo: "the switch reverts an apply that is not confirmed within " + drivers.Spell(d.pace.Timer) + ", else a patch of what was changed",
			Writes: []string{via}, AppliedState: true},
	}
	d.facts = &f
	return f, nil
}

// Read reads the applied configuration.
func (d *Driver) Read(ctx context.Context) (*drivers.Snapshot, error) {
	cfg, err := d.config(ctx, "applied")
	if err != nil {
		return nil, err
	}
	if cfg.Ports, err = d.ports(ctx); err != nil {
		return nil, err
	}
	return &drivers.Snapshot{Native: cfg}, nil
}

// held returns the configuration in a snapshot.
func held(s *drivers.Snapshot) *native.Config {
	if c, ok := s.Native.(*native.Config); ok {
		return c
	}
	return &native.Config{Tree: &native.Node{}}
}

// Hostname implements [drivers.Named].
func (d *Driver) Hostname(s *drivers.Snapshot) string {
	c := held(s)
	return cmp.Or(c.Hostname, c.Tree.At("system", "hostname").Word())
}

// Decode converts a snapshot to a running model.
func (d *Driver) Decode(s *drivers.Snapshot) (*qos.Device, []drivers.Unknown) {
	dev, unknown := native.Decode(held(s))
	return dev, leftAlone(unknown)
}

// Account says for each line of the configuration in a snapshot how the tool treats it.
func (d *Driver) Account(s *drivers.Snapshot) []render.Line { return native.Account(held(s)) }

func leftAlone(unknown []native.Unknown) []drivers.Unknown {
	return drivers.LeftAlone(unknown, func(u native.Unknown) drivers.Unknown {
		return drivers.Unknown{Why: u.Why, Text: u.Text, Open: u.Open}
	})
}

// Digest identifies the state that desired manages; it returns "", which matches no plan, if
// desired is not for a switch.
func (d *Driver) Digest(s *drivers.Snapshot, want drivers.Desired) string {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return ""
	}
	d.desired = desired
	return native.Digest(held(s), desired)
}

// Inherit sets the IDs of runs that have ended.
func (d *Driver) Inherit(runs []string) { d.ended = runs }

// fingerprint returns a hash of a whole configuration.
func fingerprint(c *native.Config) string {
	sum := sha256.Sum256(c.Tree.JSON())
	return hex.EncodeToString(sum[:])
}
