package sonic

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
	native "github.com/roce-fabric/roce-fabric/render/sonic"
)

var _ drivers.Checker = (*Driver)(nil)

// Plans and undo records are files, and what they hold becomes paths, rows and
// words of a shell.
var (
	nameWord = regexp.MustCompile(`^[\w.:@+/#~%=-]+$`)
	// checkpointWord is a name that a checkpoint of this tool can have.
	checkpointWord = regexp.MustCompile(`^(roce-fabric-[\w-]{0,100})?$`)
)

// isName reports whether a text can name a row, a field or a port. The length
// is no part of the pattern, which would take a millisecond to compile.
func isName(s string) bool { return len(s) <= 512 && nameWord.MatchString(s) }

// portWrites are the fields of PORT that this tool writes.
var portWrites = []string{"admin_status", "mtu", "fec", "pfc_asym"}

// check returns an error unless the op is on a row, and a field, that this tool
// writes, and on a port that is managed; a nil managed takes every port.
func (o op) check(managed func(port string) bool) error {
	onPort := func(port string) error {
		switch {
		case !isName(port):
			return fmt.Errorf("unusable name of a port %q", port)
		case managed != nil && !managed(port):
			return fmt.Errorf("%s is not in the intent", port)
		}
		return nil
	}
	whole := func() error {
		if o.Field != "" {
			return errors.New("this tool writes whole rows there")
		}
		return nil
	}
	field := func(ok bool) error {
		if !ok {
			return errors.New("this tool never writes that")
		}
		return nil
	}
	var err error
	switch o.Table {
	case native.TPort:
		err = errors.Join(onPort(o.Key), field(slices.Contains(portWrites, o.Field)))
		if o.Field == "admin_status" && !o.Del && o.Value != "up" && o.Value != "down" {
			err = fmt.Errorf("%q is no admin state", o.Value)
		}
	case native.TCable:
		err = field(o.Key == native.CableName)
		if o.Field != "" {
			err = errors.Join(err, onPort(o.Field))
		}
		for _, port := range natural.Keys(o.Row) {
			err = errors.Join(err, onPort(port))
		}
	case native.TWatchdog:
		if o.Key == "GLOBAL" {
			// What else may stand there, as BIG_RED_SWITCH, concerns every port.
			for f := range o.Row {
				err = errors.Join(err, field(f == "POLL_INTERVAL"))
			}
			err = errors.Join(err, field(o.Field == "" || o.Field == "POLL_INTERVAL"))
		} else {
			err = errors.Join(onPort(o.Key), whole())
		}
	case native.TPortQoS:
		if err = whole(); o.Key != "global" {
			err = errors.Join(err, onPort(o.Key))
		}
	case native.TIngressList, native.TEgressList:
		err = errors.Join(onPort(o.Key), whole())
	case native.TGroup, native.TBufferQueue, native.TQueue:
		port, index, _ := strings.Cut(o.Key, "|")
		if err = errors.Join(onPort(port), whole()); err == nil {
			if _, _, ok := native.Indexes(index); !ok {
				err = fmt.Errorf("%q is no index", index)
			}
		}
	case native.TProfile:
		// What a switch has derived is all that is ever removed.
		err = field(o.Del && o.Field == "" && native.Derived(o.Key) && isName(o.Key))
	case native.TMetadata, native.TMember, native.TPool:
		err = errors.New("this tool only reads that table")
	default:
		if err = whole(); !slices.Contains(native.Tables(), o.Table) {
			err = errors.New("this tool does not know that table")
		} else if !isName(o.Key) {
			err = errors.New("unusable name")
		}
	}
	texts := []string{o.Value}
	for _, f := range natural.Keys(o.Row) {
		if !isName(f) {
			err = errors.Join(err, fmt.Errorf("unusable field %q", f))
		}
		texts = append(texts, o.Row[f])
	}
	if slices.ContainsFunc(texts, unprintable) {
		err = errors.Join(err, errors.New("a value that is no text of one line"))
	}
	if err != nil {
		what := o.Table + "|" + o.Key
		if o.Field != "" {
			what += " " + o.Field
		}
		return fmt.Errorf("%q: %w", what, errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	return nil
}

func unprintable(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// check returns an error, with the place, unless an undo record is one that
// Apply makes.
func (u undo) check(managed func(port string) bool) error {
	for _, tn := range slices.Sorted(maps.Keys(u.Rows)) {
		for _, key := range natural.Keys(u.Rows[tn]) {
			// Without the row it is the removal that has to be checked.
			if err := (op{Table: tn, Key: key, Row: u.Rows[tn][key]}).check(managed); err != nil {
				return fmt.Errorf("undo record: row %w", err)
			}
			if tn == native.TPort || tn == native.TCable && u.Rows[tn][key] != nil {
				return fmt.Errorf("undo record: row %q: this tool writes single fields there", tn+"|"+key)
			}
		}
	}
	for i, o := range u.Fields {
		if err := o.check(managed); err != nil {
			return fmt.Errorf("undo record: field %d: %w", i+1, err)
		}
		if o.Field == "" || !byField(o.Table, o.Key) {
			return fmt.Errorf("undo record: field %d: %q: this tool writes whole rows there", i+1, o.Table+"|"+o.Key)
		}
	}
	for _, key := range natural.Keys(u.Groups) {
		if err := (op{Table: native.TGroup, Key: key, Row: u.Groups[key]}).check(managed); err != nil {
			return fmt.Errorf("undo record: group %w", err)
		}
	}
	for _, port := range u.Ports {
		if !isName(port) {
			return fmt.Errorf("undo record: unusable name of a port %q", port)
		}
		if managed != nil && !managed(port) {
			return fmt.Errorf("undo record: %s is not in the intent", port)
		}
	}
	for _, name := range u.Profiles {
		if !native.Derived(name) || !isName(name) {
			return fmt.Errorf("undo record: %q is no profile that a switch derives", name)
		}
	}
	if !checkpointWord.MatchString(u.Checkpoint) {
		return fmt.Errorf("undo record: unusable name of a checkpoint %q", u.Checkpoint)
	}
	return nil
}

// CheckSteps returns an error, with the place, for what a plan of this driver
// never has.
func (d *Driver) CheckSteps(items []drivers.Step, managed func(port string) bool) (qos.Impact, error) {
	steps, err := checkedSteps(items, managed)
	if err != nil {
		return qos.ImpactNone, fmt.Errorf("%s: %w", d.t.Name, err)
	}
	least := qos.ImpactNone
	for i, ops := range steps {
		flaps := func(o op) bool { return o.Table == native.TPort && o.Field == "admin_status" }
		if len(items[i].Down)+len(items[i].Up) > 0 || slices.ContainsFunc(ops, flaps) {
			least = qos.ImpactPortFlap
		}
	}
	return least, nil
}

// CheckUndo does the same for an undo record.
func (d *Driver) CheckUndo(t *drivers.Token, managed func(port string) bool) error {
	_, err := d.undoOf(t, managed)
	return err
}

// undo reads a token, and takes none that Apply does not make; nil is empty.
func (d *Driver) undo(t *drivers.Token) (undo, error) { return d.undoOf(t, nil) }

func (d *Driver) undoOf(t *drivers.Token, managed func(port string) bool) (undo, error) {
	var u undo
	if t == nil {
		return u, nil
	}
	if err := t.Read(d.t.Name, &u); err != nil {
		return u, err
	}
	if err := u.check(managed); err != nil {
		return u, fmt.Errorf("%s: %w", d.t.Name, err)
	}
	return u, nil
}

// decodeSteps reads the steps of a plan, which may come from a file.
func decodeSteps(items []drivers.Step) ([][]op, error) { return checkedSteps(items, nil) }

func checkedSteps(items []drivers.Step, managed func(port string) bool) ([][]op, error) {
	out := make([][]op, len(items))
	for i, s := range items {
		var b batch
		if err := json.Unmarshal(s.Native, &b); err != nil {
			return nil, fmt.Errorf("step %d of the plan: %w", i+1, err)
		}
		if s.Via != "gnmi" && s.Via != "ssh" {
			return nil, fmt.Errorf("step %d of the plan: no way in is called %q", i+1, s.Via)
		}
		for _, o := range b.Ops {
			if err := o.check(managed); err != nil {
				return nil, fmt.Errorf("step %d of the plan: %w", i+1, err)
			}
		}
		for _, port := range slices.Concat(s.Down, s.Up) {
			if !isName(port) || managed != nil && !managed(port) {
				return nil, fmt.Errorf("step %d of the plan: port %q is not in the intent", i+1, port)
			}
		}
		out[i] = b.Ops
	}
	return out, nil
}
