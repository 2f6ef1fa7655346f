package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// entry is one line of the journal.
type entry struct {
	Time   time.Time `json:"time"`
	Device string    `json:"device,omitempty"`
	Event  string    `json:"event"` // "begin", "wave", "start", "undo", "down", "up", a State, "end"
	Steps  int       `json:"steps,omitempty"`
	// Changes are what a "start" sets about, Ports there those that go down for it, and
	// Impact what its steps disturb; nil in journals of older versions.
	Changes []Group     `json:"changes,omitempty"`
	Impact  *qos.Impact `json:"impact,omitempty"`
	// Kind is that of the device of a "start", see [DevicePlan.kind], and Gate the one that
	// an applied device has passed.
	Kind string   `json:"kind,omitempty"`
	Gate GateMode `json:"gate,omitempty"`
	// Wave is what a "wave" begins, with a few of its faults in between.
	Wave   *Wave          `json:"wave,omitempty"`
	Undo   *drivers.Token `json:"undo,omitempty"`
	Ports  []string       `json:"ports,omitempty"` // that are about to go "down", or are "up" again
	Error  string         `json:"error,omitempty"`
	Fabric string         `json:"fabric,omitempty"`
	// Journal is the ID of the journal that a "begin" begins.
	Journal string `json:"journal,omitempty"`
	Intent  string `json:"intent,omitempty"`
	Base    string `json:"base,omitempty"` // digest of the state that a "start" found
	// Unit is that of the device of a "start", and of a State of one that nothing was written to.
	Unit drivers.Unit `json:"unit,omitzero"`
	Path string       `json:"path,omitempty"` // of that intent, absolute
	Of   string       `json:"of,omitempty"`   // the run that this one rolls back
	By   string       `json:"by,omitempty"`   // who began it: user@machine
	// Continues is the run before it that did not come to its end, and that it goes on with.
	Continues string `json:"continues,omitempty"`
	// Devices are those that the run that begins is to change or look after.
	Devices []string `json:"devices,omitempty"`
	// idle lists the devices of the run on which there is nothing to do. They are not written
	// to the journal.
	idle []string
}

// journal is the record of one run, in the store before each act. It holds what a
// later run needs to roll a device back, and no secret.
type journal struct {
	store store.Store
	lock  store.Lock
	log   store.Journal
	first entry // the one that began it

	mu      sync.Mutex
	written hash.Hash // of all records
	unsure  bool      // a record may be there or not

	// past are the other runs of the fabric with a journal in the same store, read when
	// they are first asked for: the lock keeps new ones from beginning.
	past func() ([]string, error)
	// history is what they left on devices.
	history func() (*History, error)
}

// errLocked says that another run works on the fabric.
var errLocked = store.ErrHeld

// begin takes the lock of a store and opens a journal there. Close ends both.
func begin(s store.Store, id string, first entry) (*journal, error) {
	ctx := context.Background() // a store bounds its own waits
	me := store.Self(id, first.Path)
	lock, err := s.Lock(ctx, me)
	if errors.Is(err, errLocked) {
		return nil, NewError("", OpJudge, err)
	}
	if err != nil {
		return nil, err
	}
	if first.Of == "" && len(first.Devices) > 0 {
		if first.Continues, err = continued(s, first.Intent, slices.Concat(first.Devices, first.idle)); err != nil {
			return nil, errors.Join(err, lock.Release())
		}
	}
	log, err := lock.Create(ctx, id)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	j := &journal{store: s, lock: lock, log: log, first: first, written: sha256.New()}
	j.past = sync.OnceValues(j.readOthers)
	j.history = sync.OnceValues(func() (*History, error) { return history(s, log.ID()) })
	first.Event, first.By, first.Journal = "begin", me.User+"@"+me.Host, log.ID().String()
	if err := j.Write(first); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// guard ends a context when the lock of the run is lost.
func (j *journal) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if j == nil {
		return ctx, func() {}
	}
	return j.lock.Guard(ctx)
}

// AtWork returns the ID of the run that holds the lock of a store, and an error
// that wraps errLocked and says who it is; "" and nil where nobody does.
func AtWork(s store.Store) (id string, busy, err error) {
	o, err := s.Holder(context.Background())
	if o == nil || err != nil {
		return "", nil, err
	}
	return o.Run, NewError("", OpJudge, &store.HeldError{Owner: *o}), nil
}

// OtherCheckouts are the last users of a store with another copy of the intent, be it
// of the same fabric or of one that has its name.
func OtherCheckouts(ctx context.Context, s store.Store, f *intent.Fabric) ([]store.Owner, error) {
	all, err := s.Checkouts(ctx)
	me := store.Self("", intentPath(f))
	return slices.DeleteFunc(all, func(o store.Owner) bool { return o.Host == me.Host && o.Intent == me.Intent }), err
}

// left is what earlier runs left on a device. A nil journal knows of nothing.
func (j *journal) left(device string) (leftover, error) {
	h, err := j.pastRuns()
	if err != nil {
		return leftover{}, err
	}
	return h.left(device), nil
}

// pastRuns is what earlier runs left and recorded. A nil journal knows of none.
func (j *journal) pastRuns() (*History, error) {
	if j == nil {
		return nil, nil
	}
	return j.history()
}

// inherits returns the undo records that an apply to a device continues; see
// [History.inherits]. A nil journal knows of none.
func (j *journal) inherits(device string, f drivers.Facts) ([]*drivers.Token, error) {
	h, err := j.pastRuns()
	if h == nil || err != nil {
		return nil, err
	}
	return h.inherits(device, f)
}

// ports records the ports of a device that are about to go down, and those that
// are up again.
func (j *journal) ports(device string) func(down, up []string) error {
	return func(down, up []string) error {
		for _, r := range []entry{{Device: device, Event: "down", Ports: down}, {Device: device, Event: "up", Ports: up}} {
			if len(r.Ports) == 0 {
				continue
			}
			if err := j.Write(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// continues returns the run that this one goes on with; "" for none.
func (j *journal) continues() string {
	if j == nil {
		return ""
	}
	return j.first.Continues
}

// Path is where the journal is; "" for a nil journal.
func (j *journal) Path() string {
	if j == nil {
		return ""
	}
	return j.store.Place(j.log.ID())
}

// others returns the IDs of the other runs of the fabric that have a journal in the same
// store. None of them is at work, because this one has the lock.
func (j *journal) others() ([]string, error) {
	if j == nil {
		return nil, nil
	}
	return j.past()
}

func (j *journal) readOthers() (runs []string, _ error) {
	ids, err := newestFirst(j.store)
	for _, id := range ids {
		if id != j.log.ID() && !errors.Is(isForeign(j.store, id), errForeign) {
			runs = append(runs, id.Run)
		}
	}
	return runs, err
}

// Write appends a record and waits until it is durable. A nil journal keeps nothing.
func (j *journal) Write(r entry) error {
	if j == nil {
		return nil
	}
	r.Time = time.Now().UTC()
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.log.Append(context.Background(), b); err != nil {
		j.unsure = true
		return fmt.Errorf("journal: %w", err)
	}
	_, _ = fmt.Fprintf(j.written, "%s\n", b) // a hash takes everything
	return nil
}

// verify reads the journal back: it must hold what was written, or a rollback would
// rely on what someone else wrote. A nil journal holds nothing.
func (j *journal) verify() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unsure {
		return nil // the error of that record has ended the run
	}
	held := sha256.New()
	for rec, err := range j.store.Records(context.Background(), j.log.ID(), 0) {
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		_, _ = fmt.Fprintf(held, "%s\n", rec.Data)
	}
	if !bytes.Equal(held.Sum(nil), j.written.Sum(nil)) {
		return fmt.Errorf("journal: %s: %w", j.Path(), store.ErrChanged)
	}
	return nil
}

// record writes what became of a device.
func (j *journal) record(out Outcome) error {
	r := entry{Device: out.Device, Event: string(out.State), Gate: out.Gate, Unit: out.unit}
	if h, err := j.pastRuns(); err == nil && out.State == Unchanged && !out.unit.Known() {
		r.Unit, _ = h.unit(out.Device) // it was not read
	}
	if out.Error != nil {
		r.Error = out.Error.Text
	}
	return j.Write(r)
}

// Close ends the journal and gives the lock back.
func (j *journal) Close() error { return errors.Join(j.log.Close(), j.lock.Release()) }
