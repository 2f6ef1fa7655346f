package sonic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Plans and undo records are files. Their contents become paths, rows and shell words, so they are
// checked first.
var (
	nameWord = lazyre.New(`^[\w.:@+/#~%=-]+$`)
	// checkpointWord matches names of checkpoints made by this tool, runWord IDs of runs.
	checkpointWord = lazyre.New(`^(roce-fabric-[\w-]{0,100})?$`)
	runWord        = lazyre.New(`^[\w-]{0,100}$`)
)

// isName reports whether s can be the name of a row, a field or a port. The length is checked
// separately because a length limit in the pattern would take a millisecond to compile.
func isName(s string) bool { return len(s) <= 512 && nameWord.MatchString(s) }

// portWrites are the fields of PORT that this tool writes.
var portWrites = []string{"admin_status", "mtu", "fec", "pfc_asym"}

// checkPort returns an error unless the port is managed; a nil managed accepts every port.
func checkPort(port string, managed func(port string) bool) error {
	switch {
	case !isName(port):
		return fmt.Errorf("invalid port name %q", port)
	case managed != nil && !managed(port):
		return fmt.Errorf("%s is not in the intent", port)
	}
	return nil
}

// Check returns an error unless the op is on a row and a field that this tool writes, and on a
// managed port; a nil managed accepts every port.
func (o Op) Check(managed func(port string) bool) error {
	err := errors.Join(o.checkPlace(managed), o.checkTexts())
	if err == nil {
		return nil
	}
	what := o.Table + "|" + o.Key
	if o.Field != "" {
		what += " " + o.Field
	}
	return fmt.Errorf("%q: %w", what, errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")))
}

func (o Op) checkPlace(managed func(port string) bool) (err error) {
	onPort := func(port string) error { return checkPort(port, managed) }
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
	switch o.Table {
	case TPort:
		err = errors.Join(onPort(o.Key), field(slices.Contains(portWrites, o.Field)))
		if o.Field == "admin_status" && !o.Del && o.Value != "up" && o.Value != "down" {
			err = fmt.Errorf("%q is not an admin state", o.Value)
		}
	case TCable:
		err = field(o.Key == cableName)
		if o.Field != "" {
			err = errors.Join(err, onPort(o.Field))
		}
		for _, port := range natural.Keys(o.Row) {
			err = errors.Join(err, onPort(port))
		}
	case TWatchdog:
		if o.Key == "GLOBAL" {
			// Other fields, such as BIG_RED_SWITCH, affect every port.
			for f := range o.Row {
				err = errors.Join(err, field(f == "POLL_INTERVAL"))
			}
			err = errors.Join(err, field(o.Field == "" || o.Field == "POLL_INTERVAL"))
			if o.Del {
				err = errors.Join(err, errors.New("removing this row crashes orchagent"))
			}
		} else {
			err = errors.Join(onPort(o.Key), whole())
		}
	case TPortQoS:
		if err = whole(); o.Key != "global" {
			err = errors.Join(err, onPort(o.Key))
		}
	case TIngressList, TEgressList:
		err = errors.Join(onPort(o.Key), whole())
	case TGroup, TBufferQueue, TQueue:
		port, index, _ := strings.Cut(o.Key, "|")
		if err = errors.Join(onPort(port), whole()); err == nil {
			if _, _, ok := Indexes(index); !ok {
				err = fmt.Errorf("%q is not an index", index)
			}
		}
	case TProfile:
		// This tool removes only profiles that the switch derived.
		err = field(o.Del && o.Field == "" && Derived(o.Key) && isName(o.Key))
	case TMetadata, TSwitch, TMember, TPool, TTunnel, TVXLAN:
		err = errors.New("this tool only reads that table")
	default:
		if err = whole(); !slices.Contains(Tables(), o.Table) {
			err = errors.New("this tool does not know that table")
		} else if !isName(o.Key) {
			err = errors.New("invalid name")
		}
	}
	return err
}

// checkTexts returns an error unless all field names are usable and all values are one line.
func (o Op) checkTexts() (err error) {
	texts := []string{o.Value}
	for _, f := range natural.Keys(o.Row) {
		if !isName(f) {
			err = errors.Join(err, fmt.Errorf("unusable field %q", f))
		}
		texts = append(texts, o.Row[f])
	}
	if slices.ContainsFunc(texts, unprintable) {
		err = errors.Join(err, errors.New("the value is not one line of text"))
	}
	return err
}

func unprintable(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Check returns an error, with the place, unless Apply could have written this record.
func (u Undo) Check(managed func(port string) bool) error {
	for _, tn := range slices.Sorted(maps.Keys(u.Rows)) {
		for _, key := range natural.Keys(u.Rows[tn]) {
			// A nil row stands for a removal, so the removal is checked.
			if err := (Op{Table: tn, Key: key, Row: u.Rows[tn][key]}).Check(managed); err != nil {
				return fmt.Errorf("undo record: row %w", err)
			}
			if tn == TPort || tn == TCable && u.Rows[tn][key] != nil {
				return fmt.Errorf("undo record: row %q: this tool writes single fields there", tn+"|"+key)
			}
		}
	}
	for i, o := range u.Fields {
		if err := o.Check(managed); err != nil {
			return fmt.Errorf("undo record: field %d: %w", i+1, err)
		}
		if o.Field == "" || !byField(o.Table, o.Key) {
			return fmt.Errorf("undo record: field %d: %q: this tool writes whole rows there", i+1, o.Table+"|"+o.Key)
		}
	}
	for _, key := range natural.Keys(u.Groups) {
		if err := (Op{Table: TGroup, Key: key, Row: u.Groups[key]}).Check(managed); err != nil {
			return fmt.Errorf("undo record: group %w", err)
		}
	}
	for _, port := range u.Ports {
		if err := checkPort(port, managed); err != nil {
			return fmt.Errorf("undo record: %w", err)
		}
	}
	for _, name := range u.Profiles {
		if !Derived(name) || !isName(name) {
			return fmt.Errorf("undo record: %q is not a profile that a switch derives", name)
		}
	}
	if !checkpointWord.MatchString(u.Checkpoint) {
		return fmt.Errorf("undo record: invalid checkpoint name %q", u.Checkpoint)
	}
	if !runWord.MatchString(u.Run) {
		return fmt.Errorf("undo record: invalid run name %q", u.Run)
	}
	return nil
}

// Check returns an error unless the step could be part of a plan.
func (s Step) Check(managed func(port string) bool) error {
	if s.Via != "gnmi" && s.Via != "ssh" {
		return fmt.Errorf("unknown transport %q", s.Via)
	}
	for _, o := range s.Ops {
		if err := o.Check(managed); err != nil {
			return err
		}
	}
	for _, port := range slices.Concat(s.Down, s.Up) {
		if !isName(port) || managed != nil && !managed(port) {
			return fmt.Errorf("port %q is not in the intent", port)
		}
	}
	return nil
}

// Flaps reports whether a port goes down or up in the step, whatever impact the plan states.
func (s Step) Flaps() bool {
	return len(s.Down)+len(s.Up) > 0 || slices.ContainsFunc(s.Ops, func(o Op) bool { return o.Table == TPort && o.Field == "admin_status" })
}
