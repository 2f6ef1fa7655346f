// Package cumulus drives NVIDIA Cumulus Linux over NVUE's REST API: a revision is made of
// what is in force, changed, compared by the switch itself, and applied with a timer that
// reverts it unless it is confirmed.
//
// A warning of the switch is shown and answered with no; a failure is never ignored. What
// undoes an apply is a patch of its own paths: an old revision would bring back the whole
// tree, with what others changed since.
//
// Encoding and decoding are in render/cumulus; no setting is made up here.
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

// via is how steps go to the switch.
const via = "rest"

// Driver is one switch. Use Open.
type Driver struct {
	t     drivers.Target
	http  *gnmi.HTTP // nil until it is needed
	facts *drivers.Facts
	pace  lines.Pace
	// ended are runs that are known to be at work no more.
	ended []string
	// desired is what the digest was last asked for; nil until then.
	desired *qos.Device
	// saveFailed is why a save failed; nil while none did.
	saveFailed error
	// idle is the undo record of an apply that is known to have had no effect.
	idle string
	// applied are the revisions of the applies of this driver, by their undo records.
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

// An apply takes seconds, and minutes where switchd reloads.
var realPace = lines.Pace{Poll: 500 * time.Millisecond, Settled: 10 * time.Second, Work: 5 * time.Minute, Read: time.Minute, Timer: lines.CommitTimer}

// Open makes the driver; the switch is dialled by the first call.
func Open(t drivers.Target) (drivers.Driver, error) {
	if t.GNMI.Address == "" {
		return nil, fmt.Errorf("%w: no address of NVUE's REST API is configured", drivers.ErrUnsupported)
	}
	return newDriver(t), nil
}

func newDriver(t drivers.Target) *Driver {
	return &Driver{t: t, pace: realPace, applied: map[string]string{}}
}

// Close ends the connections.
func (d *Driver) Close() error { return drivers.HangUp(&d.http) }

// system is what the switch says of itself; the release stands in one of three places, by
// the release (NVUE API; NVIDIA's configuration manager reads the other two).
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

// platform is the hardware. Its keys are not documented.
type platform struct {
	Name  string `json:"product-name"`
	Model string `json:"model"`
	ASIC  string `json:"asic-model"`
	// The names of these two are not verified on a switch.
	Serial string `json:"serial-number"`
	MAC    string `json:"system-mac"`
}

// Probe asks what the switch is; a release that the intent states counts more.
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

// Read takes a snapshot of the applied configuration.
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

// held is the configuration in a snapshot.
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

// Decode turns a snapshot into a running model.
func (d *Driver) Decode(s *drivers.Snapshot) (*qos.Device, []drivers.Unknown) {
	dev, unknown := native.Decode(held(s))
	return dev, leftAlone(unknown)
}

// Account is what becomes of each line of the configuration in a snapshot.
func (d *Driver) Account(s *drivers.Snapshot) []render.Line { return native.Account(held(s)) }

func leftAlone(unknown []native.Unknown) []drivers.Unknown {
	return drivers.LeftAlone(unknown, func(u native.Unknown) drivers.Unknown {
		return drivers.Unknown{Why: u.Why, Text: u.Text, Open: u.Open}
	})
}

// Digest identifies the state that desired speaks of; "", which no plan starts from, where
// that is not a switch's.
func (d *Driver) Digest(s *drivers.Snapshot, want drivers.Desired) string {
	desired, err := drivers.Want[*qos.Device](want)
	if err != nil {
		return ""
	}
	d.desired = desired
	return native.Digest(held(s), desired)
}

// Inherit tells which runs have ended.
func (d *Driver) Inherit(runs []string) { d.ended = runs }

// fingerprint identifies a whole configuration.
func fingerprint(c *native.Config) string {
	sum := sha256.Sum256(c.Tree.JSON())
	return hex.EncodeToString(sum[:])
}
