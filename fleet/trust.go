package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// errSteps says that a plan holds other steps than this tool makes.
type errSteps struct{ device string }

func (e errSteps) Error() string {
	return e.device + ": the steps of the plan are not those that bring the device to the intent"
}

// Hint is what to do about it.
func (e errSteps) Hint() string {
	return "plan again: the plan was edited, or made under other conditions"
}

// CheckPlan returns an error for a plan that was made for nothing in the intent:
// steps that this tool never makes, ports that are not managed, other bounds than
// the intent has, or more impact than is allowed. It asks no device.
func CheckPlan(ctx context.Context, p *DevicePlan, j Job, policy drivers.Policy, most qos.Impact) (err error) {
	if len(p.Steps) == 0 {
		return nil
	}
	if p.Policy.PortGroup != policy.PortGroup || !slices.Equal(p.Policy.Uplinks, policy.Uplinks) {
		return fmt.Errorf("%s: the plan takes other ports down at a time than the intent allows", p.Name)
	}
	drv, err := j.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drv.Close()) }()
	c, ok := drv.(drivers.Checker)
	if !ok {
		return nil
	}
	least, err := c.CheckSteps(p.Steps, j.Desired.Manages)
	if err != nil {
		return err
	}
	// What a plan states is for its outcome; this is about what it hides.
	if least > most && least > p.Impact() && !p.Blocked() {
		return tooMuch(p.Name, least, most)
	}
	return nil
}

func tooMuch(device string, is, most qos.Impact) error {
	return fmt.Errorf("%s: the plan disturbs more than allowed: %s, allowed is %s", device, is, most)
}

// planned plans a device again and returns the steps, which must be those of the
// digest: a plan is a file, and its blocked changes and its impact are worked out
// anew. The device is in the state that the plan was made for.
func planned(drv drivers.Driver, f drivers.Facts, snap *drivers.Snapshot, j Job, steps string, o RunOptions) (*drivers.Steps, State, error) {
	fresh, err := drv.Plan(f, snap, j.Desired, j.Plan.Policy)
	switch {
	case err != nil:
		return nil, Failed, fmt.Errorf("plan again: %w", err)
	case len(fresh.Blocked()) > 0:
		return nil, Blocked, fmt.Errorf("%s: the plan has changes that cannot be made", j.Plan.Name)
	case fresh.Impact() > o.MaxImpact:
		return nil, Refused, tooMuch(j.Plan.Name, fresh.Impact(), o.MaxImpact)
	case StepsDigest(fresh.Items) != steps:
		return nil, Refused, errSteps{j.Plan.Name}
	}
	return fresh, "", nil
}

// StepsDigest identifies steps by what a device is sent, whatever the spelling of
// the JSON.
func StepsDigest(steps []drivers.Step) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, s := range steps {
		// What is no JSON has the digest of no step.
		var native any
		d := json.NewDecoder(bytes.NewReader(s.Native))
		d.UseNumber()
		err := d.Decode(&native)
		_ = enc.Encode([]any{s.Via, slices.Concat(s.Down), slices.Concat(s.Up), native, err != nil})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// CheckUndo returns an error, with the place in the journal, unless the undo
// record of each device is one that its driver makes, for ports of what is
// desired of it. It asks no device.
func CheckUndo(ctx context.Context, p *Past, devices []PastDevice, open func(ctx context.Context, device string) (drivers.Driver, error), desired func(device string) drivers.Desired) error {
	for _, d := range devices {
		token, err := p.Token(d)
		if err != nil {
			return err
		}
		drv, err := open(ctx, d.Name)
		if err != nil {
			return err
		}
		if err := errors.Join(checkUndo(drv, p, d, token, desired), drv.Close()); err != nil {
			return err
		}
	}
	return nil
}

func checkUndo(drv drivers.Driver, p *Past, d PastDevice, token *drivers.Token, desired func(device string) drivers.Desired) error {
	c, ok := drv.(drivers.Checker)
	if !ok || desired == nil {
		return nil
	}
	if err := c.CheckUndo(token, desired(d.Name).Manages); err != nil {
		return undoError{fmt.Errorf("%s: %w", p.Place(d), err)}
	}
	return nil
}

// undoError is about an undo record that is not carried out.
type undoError struct{ error }

func (e undoError) Unwrap() error { return e.error }

// Hint is what to do about it.
func (e undoError) Hint() string {
	return "an undo record restores ports of the intent alone: for a port that has left the intent since, roll back with the intent that the run applied (-f); where the journal was edited, restore the device by hand"
}

// Place says where a journal has the undo record of a device: its path and line.
func (p *Past) Place(d PastDevice) string {
	f, err := os.Open(p.path)
	if err != nil {
		return p.path
	}
	defer func() { _ = f.Close() }() // it was only read
	line, buf := 1, make([]byte, 64<<10)
	for r := io.LimitReader(f, d.at); ; {
		n, err := r.Read(buf)
		line += bytes.Count(buf[:n], []byte("\n"))
		if err == io.EOF {
			return fmt.Sprintf("%s:%d", p.path, line)
		}
		if err != nil {
			return p.path
		}
	}
}
