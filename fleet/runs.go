package fleet

import (
	"context"
	"iter"
	"path/filepath"
	"slices"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/planfile"
	"github.com/roce-fabric/roce-fabric/fleet/store"
	"github.com/roce-fabric/roce-fabric/intent"
)

// OtherCheckouts returns the last users of a store who had a different copy of the intent,
// of the same fabric or of another fabric with the same name.
func OtherCheckouts(ctx context.Context, s store.Store, f *intent.Fabric) ([]store.Owner, error) {
	all, err := s.Checkouts(ctx)
	me := store.Self("", intentPath(f))
	return slices.DeleteFunc(all, func(o store.Owner) bool { return o.Host == me.Host && o.Intent == me.Intent }), err
}

// intentPath returns the absolute path of the first file of an intent; "" if the intent did not
// come from a file.
func intentPath(f *intent.Fabric) string {
	if len(f.Files) == 0 {
		return ""
	}
	if path, err := filepath.Abs(f.Files[0]); err == nil && f.Files[0] != "<stdin>" {
		return path
	}
	return ""
}

// OpenPlan opens a plan file and checks that it is complete and unchanged. The caller must
// close the plan.
func OpenPlan(path string) (*PlanFile, error) { return planfile.OpenPlan(path) }

// Runs reads the journals of a store, newest first. It yields a run together with an error if
// some of the run's records cannot be read.
func Runs(s store.Store) iter.Seq2[*Past, error] { return engine.Runs(s) }

// AtWork returns the ID of the run that holds the lock of a store, and as busy an error that
// wraps [store.ErrHeld] and names the holder; "" and nil if the lock is free.
func AtWork(s store.Store) (id string, busy, err error) { return engine.AtWork(s) }

// OpenHistory returns the history of a store. busy wraps [store.ErrHeld] and names the run in
// progress; nil if there is none.
func OpenHistory(s store.Store) (h *History, busy, err error) { return engine.OpenHistory(s) }

// Disposable lists the journals of a store that no later run needs, oldest first. It
// retains the newest keep journals, and each journal of a run that left a device in a state
// that no later run has settled.
func Disposable(s store.Store, keep int) ([]store.ID, error) { return engine.Disposable(s, keep) }

// Unfinished returns the newest run and the devices it did not reach because it was cut off or
// stopped. It returns an error if there are none, if the run is a rollback, or if the run
// applied another version of the intent.
func Unfinished(s store.Store, f *intent.Fabric) (*Past, []string, error) {
	return engine.Unfinished(s, f.Hash)
}

// Find finds the run to roll back. It reads the undo records, and returns an error for a
// record that the driver of its device would not have made. It does not connect to devices.
func Find(ctx context.Context, devices []Device, o FindOptions) (*Undo, error) {
	return engine.Find(ctx, devices, o)
}
