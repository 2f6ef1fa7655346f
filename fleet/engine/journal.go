package engine

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
)

// journal is the record of one run. Each act is recorded in the store before it happens. The
// journal contains what a later run needs to roll a device back, and no secrets.
type journal struct {
	store store.Store
	lock  store.Lock
	log   store.Journal
	first entry // the "begin" entry

	mu      sync.Mutex
	written hash.Hash // hash of all records
	unsure  bool      // a record may or may not have been stored

	// past returns the other runs of the fabric with a journal in the same store. It reads
	// them once, on first use: the lock prevents new ones.
	past func() ([]string, error)
	// history returns what other runs left on devices.
	history func() (*History, error)
}

// begin takes the lock of a store and creates a journal there. Close ends both.
func begin(s store.Store, id string, first entry) (*journal, error) {
	ctx := context.Background() // the store has its own timeouts
	me := store.Self(id, first.Path)
	lock, err := s.Lock(ctx, me)
	if errors.Is(err, store.ErrHeld) {
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

// guard returns a context that ends when the lock of the run is lost.
func (j *journal) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if j == nil {
		return ctx, func() {}
	}
	return j.lock.Guard(ctx)
}

// left returns what earlier runs left on a device. A nil journal returns nothing.
func (j *journal) left(device string) (leftover, error) {
	h, err := j.pastRuns()
	if err != nil {
		return leftover{}, err
	}
	return h.left(device), nil
}

// pastRuns returns the history of earlier runs; nil for a nil journal.
func (j *journal) pastRuns() (*History, error) {
	if j == nil {
		return nil, nil
	}
	return j.history()
}

// inherits returns the undo records that an apply to a device continues; see
// [History.inherits]. A nil journal returns none.
func (j *journal) inherits(device string, f drivers.Facts) ([]*drivers.Token, error) {
	h, err := j.pastRuns()
	if h == nil || err != nil {
		return nil, err
	}
	return h.inherits(device, f)
}

// ports returns a function that records the ports of a device that are about to go down, and
// those that are up again.
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

// continues returns the run that this run continues; "" for none.
func (j *journal) continues() string {
	if j == nil {
		return ""
	}
	return j.first.Continues
}

// Path returns where the journal is stored; "" for a nil journal.
func (j *journal) Path() string {
	if j == nil {
		return ""
	}
	return j.store.Place(j.log.ID())
}

// others returns the IDs of the other runs of the fabric that have a journal in the same
// store. None of them is in progress, because this run holds the lock.
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

// Write appends a record and waits until it is durable. A nil journal discards it.
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
	_, _ = fmt.Fprintf(j.written, "%s\n", b) // a hash never returns an error
	return nil
}

// verify reads the journal back and returns an error unless it contains exactly what was
// written: a rollback must not rely on what someone else wrote. It does nothing for a nil
// journal.
func (j *journal) verify() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unsure {
		return nil // the failed write has already ended the run with an error
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

// record writes the outcome of a device.
func (j *journal) record(out Outcome) error {
	r := entry{Device: out.Device, Event: string(out.State), Gate: out.Gate, Unit: out.Unit}
	if h, err := j.pastRuns(); err == nil && out.State == Unchanged && !out.Unit.Known() {
		r.Unit, _ = h.UnitOf(out.Device) // the device was not read: copy the earlier record
	}
	if out.Error != nil {
		r.Error = out.Error.Text
	}
	return j.Write(r)
}

// Close closes the journal and releases the lock.
func (j *journal) Close() error { return errors.Join(j.log.Close(), j.lock.Release()) }
