// Package store keeps the lock and the journals of a fabric where the runs that may
// meet see them: in a folder of one machine ([Dir]) or in etcd ([Etcd]). A store of
// another package is made with [Keep], [CheckRecord] and the like, and passes the suite
// in package storetest.
//
// A record is one line of JSON, and its meaning is the caller's. Do not put a secret
// in one, and do not take the lock for a fence around devices: a run that has lost it
// is told so and cannot write to its journal any more, but what it has sent is sent.
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
	// Lock takes the lock. The error is a [*HeldError] where another run has it.
	Lock(ctx context.Context, o Owner) (Lock, error)
	// Holder returns who has the lock, nil for nobody.
	Holder(ctx context.Context) (*Owner, error)
	// Break takes the lock away from held, and keeps who did that. It refuses where
	// the lock has changed hands since the caller looked.
	Break(ctx context.Context, held, by Owner) error
	// Breaks are the locks that were broken, the oldest first.
	Breaks(ctx context.Context) ([]Break, error)
	// Checkouts are the last owners from each intent on each host. More than one says
	// that checkouts share the store, or that two fabrics have one name.
	Checkouts(ctx context.Context) ([]Owner, error)
	// Journals lists the journals, the oldest first.
	Journals(ctx context.Context) ([]ID, error)
	// Records reads the records of a journal from a place on: 0, or the At of one. It
	// goes on after a record that cannot be read, whose error names journal and place.
	// The error of a last record that is not complete is an [ErrCutOff].
	Records(ctx context.Context, id ID, from int64) iter.Seq2[Record, error]
	// Fabric is the name of the fabric whose runs are kept here. A journal of another one
	// is not read; "" reads all.
	Fabric() string
	// Place says to people where a journal is, String where the store is.
	Place(id ID) string
	String() string
	Close() error
}

// Lock is the lock of a fabric while this process has it.
type Lock interface {
	// Guard returns a context that ends, with the reason as its cause, when the lock
	// is lost or given back, as [fence.With] does. The caller must call the function in
	// the end.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
	// Create begins the journal of a run, with the next number.
	Create(ctx context.Context, run string) (Journal, error)
	// Release gives the lock back. It may be called more than once.
	Release() error
}

// Journal is the journal of the run at work. It is safe for concurrent use.
type Journal interface {
	ID() ID
	// Append returns when the record is durable. After an error the record may be
	// there or not, and the next one may be tried. It fails with [ErrLost] once the
	// lock is lost.
	Append(ctx context.Context, record []byte) error
	// Close may be called more than once.
	Close() error
}

// Owner is who has a lock, or broke one.
type Owner struct {
	User    string    `json:"user,omitempty"`
	Host    string    `json:"host,omitempty"`
	Process int       `json:"process,omitempty"`
	Since   time.Time `json:"since"`
	Run     string    `json:"run,omitempty"`
	Intent  string    `json:"intent,omitempty"` // the path of the intent, absolute
}

// Self is this process as the owner of a run, from now on.
func Self(run, intent string) Owner {
	o := Owner{Process: os.Getpid(), Since: time.Now().UTC().Truncate(time.Millisecond), Run: run, Intent: intent}
	o.User, o.Host = mark.Who()
	return o
}

// String says who it is, as in "run 7, process 12 of ann on host1, since ...".
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
		return "a process that left no note"
	}
	return strings.Join(parts, ", ")
}

// is reports whether two notes are of the same holder.
func (o Owner) is(p Owner) bool {
	return o.Since.Equal(p.Since) && o.User == p.User && o.Host == p.Host && o.Process == p.Process && o.Run == p.Run
}

// Break is a lock that was broken. By.Since is when.
type Break struct {
	Held Owner `json:"held"`
	By   Owner `json:"by"`
}

// ID names a journal. Journals from before there were numbers have 0, and come first.
type ID struct {
	Number uint64
	Run    string
	folder string // in the folder of a store, of old journals
}

// String is the name under which stores keep the journal. It sorts as the journals
// came, after the names without a number, which begin with a year.
func (id ID) String() string {
	if id.Number == 0 {
		return id.Run
	}
	return fmt.Sprintf("n%012d.%s", id.Number, id.Run)
}

// Record is a record of a journal.
type Record struct {
	At   int64  // its place, for [Store.Records]
	Data []byte // valid until the next record is read
}

// ErrLost says that this process has the lock no more.
var ErrLost = errors.New("the lock is lost")

// ErrCutOff says that the last record of a journal is not complete: its process ended
// while it wrote.
var ErrCutOff = errors.New("cut off")

// ErrChanged says that a journal is not as its run wrote it.
var ErrChanged = errors.New("it does not hold what this run wrote: someone else changed it")

// ErrHeld says that another run has the lock. The error is a [*HeldError].
var ErrHeld = errors.New("another run is changing this fabric")

// errReleased ends a lock that was given back.
var errReleased = errors.New("the lock was released")

// HeldError says who has the lock.
type HeldError struct{ Owner Owner }

func (e *HeldError) Error() string { return fmt.Sprintf("%v: %v", ErrHeld, e.Owner) }

// Unwrap returns [ErrHeld].
func (e *HeldError) Unwrap() error { return ErrHeld }

// MaxRecord bounds a record: the undo record of a switch with a thousand ports takes a
// few MB.
const MaxRecord = 64 << 20
