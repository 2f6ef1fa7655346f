// Package store keeps the lock and the journals of a fabric in a place that every
// concurrent run can see: in a folder on one machine ([Dir]) or in etcd ([Etcd]). Another
// package can implement a store with [Keep], [CheckRecord] and similar helpers; it must
// pass the test suite in package storetest.
//
// A record is one line of JSON whose meaning is up to the caller. Do not put secrets in
// records. The lock does not fence the devices: a run that loses it is notified and can
// no longer write to its journal, but commands already sent to a device take effect.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/mark"
)

// Store keeps the lock and the journals of one fabric. It is safe for concurrent use.
type Store interface {
	// Lock takes the lock. It returns a [*HeldError] if another run holds it.
	Lock(ctx context.Context, o Owner) (Lock, error)
	// Holder returns the holder of the lock, or nil if the lock is free.
	Holder(ctx context.Context) (*Owner, error)
	// Break takes the lock away from held and records that by did so. It fails if held
	// is no longer the holder.
	Break(ctx context.Context, held, by Owner) error
	// Breaks lists the locks that were broken, oldest first.
	Breaks(ctx context.Context) ([]Break, error)
	// Checkouts returns the latest owner for each pair of intent and host. More than one
	// means that several checkouts share the store, or that two fabrics have the same name.
	Checkouts(ctx context.Context) ([]Owner, error)
	// Journals lists the journals, oldest first.
	Journals(ctx context.Context) ([]ID, error)
	// Records reads the records of a journal, starting at from: 0, or the At of a record.
	// It yields an error that names the journal and the position for each unreadable
	// record, and continues after it. An incomplete last record yields [ErrCutOff].
	Records(ctx context.Context, id ID, from int64) iter.Seq2[Record, error]
	// Fabric returns the name of the fabric whose runs are kept here. Journals of other
	// fabrics are not read; "" reads the journals of all fabrics.
	Fabric() string
	// Place describes, for messages, where a journal is stored; String does so for the
	// store.
	Place(id ID) string
	String() string
	Close() error
}

// Lock is a fabric's lock while this process holds it.
type Lock interface {
	// Guard returns a copy of ctx that is cancelled when the lock is lost or released,
	// with the reason as its cause, as [fence.With] does. The caller must call the
	// returned function when done.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
	// Create starts the journal of a run under the next free number. It is in the store once
	// it has its first record, and never without one.
	Create(ctx context.Context, run string) (Journal, error)
	// Release releases the lock. It may be called more than once.
	Release() error
}

// Journal is the journal of the current run. It is safe for concurrent use.
type Journal interface {
	ID() ID
	// Append writes a record and returns once it is durable. After an error the record
	// may or may not have been stored, and the caller may append the next one. Append
	// fails with [ErrLost] once the lock is lost.
	Append(ctx context.Context, record []byte) error
	// Close may be called more than once.
	Close() error
}

// Owner identifies the run that holds a lock, or the user and process that broke one.
type Owner struct {
	User    string    `json:"user,omitempty"`
	Host    string    `json:"host,omitempty"`
	Process int       `json:"process,omitempty"`
	Since   time.Time `json:"since"`
	Run     string    `json:"run,omitempty"`
	Intent  string    `json:"intent,omitempty"` // absolute path of the intent
}

// Self returns this process as the owner of a run that starts now.
func Self(run, intent string) Owner {
	o := Owner{Process: os.Getpid(), Since: time.Now().UTC().Truncate(time.Millisecond), Run: run, Intent: intent}
	o.User, o.Host = mark.Who()
	return o
}

// String describes the owner, as in "run 7, process 12 of ann on host1, since ...".
func (o Owner) String() string {
	var parts []string
	if o.Run != "" {
		parts = append(parts, "run "+o.Run)
	}
	if o.Process != 0 {
		parts = append(parts, fmt.Sprintf("process %d of %s on %s", o.Process, o.User, o.Host))
	}
	if !o.Since.IsZero() {
		parts = append(parts, "since "+o.Since.Format(time.RFC3339))
	}
	if o.Intent != "" {
		parts = append(parts, "with "+o.Intent)
	}
	if parts == nil {
		return "an unknown process"
	}
	return strings.Join(parts, ", ")
}

// is reports whether o and p are the same holder. It ignores the intent.
func (o Owner) is(p Owner) bool {
	return o.Since.Equal(p.Since) && o.User == p.User && o.Host == p.Host && o.Process == p.Process && o.Run == p.Run
}

// Break records that By broke the lock of Held, at the time By.Since.
type Break struct {
	Held Owner `json:"held"`
	By   Owner `json:"by"`
}

// ID names a journal. Journals of earlier versions have no number (0) and sort first.
type ID struct {
	Number uint64
	Run    string
	folder string // subfolder of the store that holds an old journal; else ""
}

// String returns the name under which stores keep the journal. Names sort in the order
// in which the journals were created, after names without a number, which begin with a year.
func (id ID) String() string {
	if id.Number == 0 {
		return id.Run
	}
	return fmt.Sprintf("n%012d.%s", id.Number, id.Run)
}

// Record is one record of a journal.
type Record struct {
	At   int64  // position in the journal, for [Store.Records]
	Data []byte // valid until the next record is read
}

// ErrLost is returned when this process no longer holds the lock.
var ErrLost = errors.New("the lock is lost")

// ErrCutOff is returned for an incomplete last record of a journal: the process ended
// while it was writing.
var ErrCutOff = errors.New("cut off")

// ErrChanged is returned when a journal differs from what its run wrote.
var ErrChanged = errors.New("someone else changed it during this run")

// ErrHeld is returned, wrapped in a [*HeldError], when another run holds the lock.
var ErrHeld = errors.New("another run is changing this fabric")

// errReleased is the cause of a lease that ended because the lock was released.
var errReleased = errors.New("the lock was released")

// HeldError is returned when another run, Owner, holds the lock.
type HeldError struct{ Owner Owner }

func (e *HeldError) Error() string { return fmt.Sprintf("%v: %v", ErrHeld, e.Owner) }

// Unwrap returns [ErrHeld].
func (e *HeldError) Unwrap() error { return ErrHeld }

// MaxRecord is the maximum size of a record in bytes. The undo record of a switch with a
// thousand ports takes a few MB.
const MaxRecord = 64 << 20
