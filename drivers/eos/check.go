package eos

import (
	"fmt"
	"regexp"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	native "github.com/roce-fabric/roce-fabric/render/eos"
)

// sessionWord is a name that a session of this tool can have; "" stands for none.
var sessionWord = regexp.MustCompile(`^(rf-[\w-]{0,80})?$`)

// check returns an error, with the place, unless an undo record is one that Apply
// makes: a journal is a file, and its lines are typed.
func (b wayBack) check(managed func(port string) bool) error {
	if !sessionWord.MatchString(b.Session) {
		return fmt.Errorf("undo record: unusable name of a session %q", b.Session)
	}
	if err := native.Lines.Check(b.Edit, managed); err != nil {
		return fmt.Errorf("undo record: what was applied: %w", err)
	}
	if err := native.Lines.Check(b.Undo, managed); err != nil {
		return fmt.Errorf("undo record: what stood there before: %w", err)
	}
	if err := b.Edit.CheckUndo(b.Undo); err != nil {
		return fmt.Errorf("undo record: what stood there before: %w", err)
	}
	return nil
}

// CheckSteps returns an error, with the place, for what a plan of this driver
// never has.
func (d *Driver) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	if len(items) == 0 {
		return qos.ImpactNone, nil
	}
	edit, err := decodeStep(items, managed)
	if err != nil {
		return qos.ImpactNone, fmt.Errorf("%s: %w", d.t.Name, err)
	}
	if edit.Flaps() {
		return qos.ImpactPortFlap, nil
	}
	return qos.ImpactNone, nil
}

// CheckUndo does the same for an undo record.
func (d *Driver) CheckUndo(t *drivers.Token, managed func(port string) bool) error {
	_, err := d.backOf(t, managed)
	return err
}

// back reads a token, and takes none that Apply does not make.
func (d *Driver) back(t *drivers.Token) (wayBack, error) { return d.backOf(t, nil) }

func (d *Driver) backOf(t *drivers.Token, managed func(port string) bool) (b wayBack, err error) {
	if err = t.Read(d.t.Name, &b); err != nil {
		return b, err
	}
	if err = b.check(managed); err != nil {
		err = fmt.Errorf("%s: %w", d.t.Name, err)
	}
	return b, err
}
