package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Past is an earlier run, as described by its journal.
type Past struct {
	ID     string    `json:"run"`
	Begun  time.Time `json:"begun"`
	By     string    `json:"by,omitempty"` // who started the run: user@machine
	Ended  bool      `json:"ended"`        // the run was not cut off, whatever its result
	AtWork bool      `json:"at_work,omitempty"`
	Of     string    `json:"of,omitempty"` // the run that this run rolled back; "" for an apply
	// Devices lists the devices in the order in which they were worked on.
	Devices []PastDevice `json:"devices"`
	Intent  string       `json:"-"` // hash of the intent that was applied
	waves   []rollout.Wave
	planned []string  // the devices that the run was to change
	last    time.Time // time of the last record
	// continues is the earlier run that this run continued; "" for none.
	continues string

	store store.Store
	id    store.ID
}

// Changed returns the classes that the waves of the run change, and their impact, as planned.
func (p *Past) Changed() (classes []string, impact qos.Impact) {
	for _, w := range p.waves {
		classes, impact = append(classes, w.Classes...), max(impact, w.Impact)
	}
	return slices.Compact(natural.Sorted(classes)), impact
}

// PastDevice is what a journal says about one device.
type PastDevice struct {
	Name string `json:"device"`
	// State is the outcome; "" if the run was cut off on the device, or is changing it now.
	State State `json:"state"`

	kind    string
	gate    rollout.GateMode
	cause   string       // why the device is not as intended
	base    string       // digest of the state that the run started from
	unit    drivers.Unit // unit of the device
	touched bool         // there is an undo record, so something may have been written
	began   time.Time
	took    time.Duration // from the "start" record to the outcome
	// down lists the ports that the run took down for a step and did not bring up again;
	// raised lists those that it brought up.
	down, raised []string
	at           int64 // position of the undo record
	line         int   // line of the undo record
	start        int64 // position of the "start" record

	of *Past
	// before is the same device in the runs that this run continued, newest first. included
	// is set if the undo record of a later one of these runs undoes this run too.
	before   []PastDevice
	included bool
}

// Runs reads the journals of a store, newest first. It yields a run together with an error if
// some of the run's records cannot be read.
func Runs(s store.Store) iter.Seq2[*Past, error] {
	return func(yield func(*Past, error) bool) {
		ids, err := newestFirst(s)
		atWork, _, lockErr := AtWork(s)
		if err := errors.Join(err, lockErr); err != nil {
			yield(nil, err)
			return
		}
		for _, id := range ids {
			p, err := readPast(s, id)
			if errors.Is(err, errForeign) {
				continue
			}
			p.AtWork = p.ID == atWork
			if !yield(p, err) {
				return
			}
		}
	}
}

// Unfinished returns the newest run and the devices it did not reach because it was cut off or
// stopped. It returns an error if there are none, if the run is a rollback, or if the run
// applied another version of the intent than the one with the given hash.
func Unfinished(s store.Store, intent string) (*Past, []string, error) {
	for p, err := range Runs(s) {
		if errors.Is(err, store.ErrCutOff) {
			continue // the journal does not even name the devices
		}
		if err != nil {
			return nil, nil, err
		}
		left := slices.DeleteFunc(slices.Clone(p.planned), func(name string) bool {
			d, _ := p.device(name)
			return d.State == Applied || d.State == Unchanged
		})
		switch {
		case p.Of != "":
			return nil, nil, NewError("", OpJudge, fmt.Errorf("the newest run, %s, rolls back run %s; 'roce-fabric rollback %[2]s' continues it", p.ID, p.Of))
		case len(left) == 0:
			return nil, nil, NewError("", OpJudge, fmt.Errorf("nothing to resume: run %s reached all its devices", p.ID))
		case p.Intent != intent:
			return nil, nil, ErrorOf("", OpJudge, KindStale, fmt.Errorf("run %s was of another version of the intent; nothing was written", p.ID))
		}
		return p, left, nil
	}
	return nil, nil, NewError("", OpJudge, fmt.Errorf("nothing to resume: no run in %s", s))
}

// newestFirst lists the journals of a store, newest first.
func newestFirst(s store.Store) ([]store.ID, error) {
	ids, err := s.Journals(context.Background())
	slices.Reverse(ids)
	return ids, err
}

// readPast reads a journal. An incomplete last record, left by a process that ended while it
// was writing, is not an error. If other records cannot be read, readPast returns the run as
// far as the readable records describe it, and the first error.
func readPast(s store.Store, id store.ID) (p *Past, bad error) {
	p = &Past{ID: id.Run, Devices: []PastDevice{}, store: s, id: id}
	line := 0
	for rec, err := range s.Records(context.Background(), id, 0) {
		line++
		var e entry
		if err == nil {
			if err = json.Unmarshal(rec.Data, &e); err != nil {
				err = fmt.Errorf("%s: line %d is not a journal record: %w", s.Place(id), line, err)
			}
		}
		if err == nil && line == 1 {
			if err = belongs(s, id, e); errors.Is(err, errForeign) {
				return p, err
			}
		}
		if err == nil {
			p.addEntry(e, line, rec.At)
		} else if bad == nil && !errors.Is(err, store.ErrCutOff) {
			bad = err
		}
	}
	if bad == nil && p.Begun.IsZero() {
		bad = fmt.Errorf("%s has no first record: it was %w, and what its run did is not known", s.Place(id), store.ErrCutOff)
	}
	return p, bad
}

// errForeign means that a journal belongs to another fabric.
var errForeign = errors.New("another fabric")

// belongs returns an error if the first record of a journal shows that the journal belongs to
// another fabric, or that it is a copy of another journal.
func belongs(s store.Store, id store.ID, first entry) error {
	switch of := s.Fabric(); {
	case first.Event != "begin":
		return nil // the beginning is missing
	case of != "" && first.Fabric != of:
		return fmt.Errorf("%s: run %s is of %w: %s, not %s", s.Place(id), id.Run, errForeign, first.Fabric, of)
	case first.Journal != "" && first.Journal != id.String():
		return fmt.Errorf("%s is a copy of the journal %s; remove the copy", s.Place(id), first.Journal)
	}
	return nil
}

// isForeign returns an error that wraps errForeign if a journal belongs to another fabric,
// and another error if it cannot tell.
func isForeign(s store.Store, id store.ID) error {
	if s.Fabric() == "" {
		return nil
	}
	for rec, err := range s.Records(context.Background(), id, 0) {
		var e entry
		if err == nil {
			err = json.Unmarshal(rec.Data, &e)
		}
		if err != nil {
			return err
		}
		return belongs(s, id, e)
	}
	return nil
}

// Planned returns the devices that the run was to change.
func (p *Past) Planned() []string { return slices.Clone(p.planned) }

// CutOff describes where the journal of a run breaks off that neither ended nor is in
// progress; "" for other runs. The process of the run ended there, or the end of the journal
// was removed.
func (p *Past) CutOff() string {
	if p.Ended || p.AtWork {
		return ""
	}
	text := "cut off after " + p.last.UTC().Format(time.RFC3339)
	var unknown []string
	for _, name := range p.planned {
		if _, ok := p.device(name); !ok {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		text += ", with no record of " + natural.Fold(unknown)
	}
	return text
}

func (p *Past) addEntry(rec entry, line int, at int64) {
	p.last = rec.Time
	switch rec.Event {
	case "begin":
		p.Begun, p.Intent, p.Of, p.By = rec.Time, rec.Intent, rec.Of, rec.By
		p.planned, p.continues = rec.Devices, rec.Continues
		return
	case "wave":
		if rec.Wave != nil {
			p.waves = append(p.waves, *rec.Wave)
		}
		return
	case "end":
		p.Ended = true
		return
	}
	i := slices.IndexFunc(p.Devices, func(d PastDevice) bool { return d.Name == rec.Device })
	if i < 0 {
		i = len(p.Devices)
		p.Devices = append(p.Devices, PastDevice{Name: rec.Device, of: p})
	}
	d := &p.Devices[i]
	switch rec.Event {
	case "start":
		d.base, d.unit, d.kind, d.began, d.start = rec.Base, rec.Unit, rec.Kind, rec.Time, at
	case "undo":
		d.touched, d.line, d.at = rec.Undo != nil, line, at
	case "down":
		d.down = slices.Concat(without(d.down, rec.Ports), rec.Ports)
	case "up":
		d.down, d.raised = without(d.down, rec.Ports), append(d.raised, rec.Ports...)
	default:
		d.State, d.gate, d.cause = State(rec.Event), rec.Gate, rec.Error
		if rec.Unit.Known() {
			d.unit = rec.Unit
		}
		if !d.began.IsZero() {
			d.took = rec.Time.Sub(d.began)
		}
	}
}

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

// Token reads the undo record of a device that has one.
func (p *Past) Token(d PastDevice) (*drivers.Token, error) {
	e, err := p.record(d.at, d.Name, "undo")
	if err == nil && e.Undo == nil {
		err = fmt.Errorf("%s: the undo record of %s has changed", p.store.Place(p.id), d.Name)
	}
	return e.Undo, err
}

// record reads a record of a device again.
func (p *Past) record(at int64, device, event string) (e entry, _ error) {
	for rec, err := range p.store.Records(context.Background(), p.id, at) {
		if err != nil {
			return e, err
		}
		if err := json.Unmarshal(rec.Data, &e); err == nil && e.Event == event && e.Device == device {
			return e, nil
		}
		break
	}
	return entry{}, fmt.Errorf("%s: the %s record of %s has changed", p.store.Place(p.id), event, device)
}

// standing reports whether what the run wrote to the device may still be in place.
func (d PastDevice) standing() bool {
	return d.touched && d.State != Reverted && d.State != Restored && !d.unwritten()
}

// unwritten reports whether the run gave up on the device before it wrote anything.
func (d PastDevice) unwritten() bool {
	return d.State == Failed || d.State == Refused || d.State == Blocked
}

// settled reports whether the run left the device as intended or as it was before, so that
// earlier runs no longer matter for it.
func (d PastDevice) settled() bool {
	switch d.State {
	case Applied, Unchanged, Unsaved, Reverted, Restored:
		return true
	}
	return false
}

// maxRuns is the maximum number of journals that a History reads.
const maxRuns = 100

// History tells what earlier runs left on devices. It reads journals only as far back as
// needed, and skips those that cannot be read; see [History.Unread]. It is safe for
// concurrent use.
type History struct {
	// busy is the run in progress; "" for none.
	busy string

	store store.Store
	mu    sync.Mutex
	ids   []store.ID // journals not read yet, newest first
	most  int        // maximum number of journals to read; 0 for all
	runs  []*Past    // newest first
	bad   []error
}

// Unread returns the errors of journals that were needed so far but could not be read. What
// their runs left on devices is unknown.
func (h *History) Unread() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bad)
}

// OpenHistory returns the history of a store. busy wraps store.ErrHeld and names the run in
// progress; nil if there is none.
func OpenHistory(s store.Store) (h *History, busy, err error) {
	id, busy, err := AtWork(s)
	if err != nil {
		return nil, nil, err
	}
	if h, err = history(s, store.ID{}); err != nil {
		return nil, nil, err
	}
	h.busy = id
	return h, busy, nil
}

// history returns the history of a store without the journal own, that of the calling run.
func history(s store.Store, own store.ID) (*History, error) {
	ids, err := newestFirst(s)
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id store.ID) bool { return id == own })
	return &History{store: s, ids: ids, most: maxRuns}, nil
}

// run returns the nth run, counted from the newest (0); nil if there are not as many.
func (h *History) run(n int) *Past {
	for n >= len(h.runs) && len(h.ids) > 0 && (h.most == 0 || len(h.runs)+len(h.bad) < h.most) {
		p, err := readPast(h.store, h.ids[0])
		h.ids = h.ids[1:]
		switch {
		case errors.Is(err, errForeign):
		case err != nil:
			h.bad = append(h.bad, err)
		default:
			h.runs = append(h.runs, p)
		}
	}
	if n >= len(h.runs) {
		return nil
	}
	return h.runs[n]
}

// device returns what the run did on a device; ok is false if it has no record of it.
func (p *Past) device(name string) (PastDevice, bool) {
	for _, d := range p.Devices {
		if d.Name == name {
			return d, true
		}
	}
	return PastDevice{}, false
}

// AtWork returns the ID of the run that holds the lock of a store, and as busy an error that
// wraps store.ErrHeld and names the holder; "" and nil if the lock is free.
func AtWork(s store.Store) (id string, busy, err error) {
	o, err := s.Holder(context.Background())
	if o == nil || err != nil {
		return "", nil, err
	}
	return o.Run, NewError("", OpJudge, &store.HeldError{Owner: *o}), nil
}
