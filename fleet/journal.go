package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// entry is one line of the journal.
type entry struct {
	Time   time.Time      `json:"time"`
	Device string         `json:"device,omitempty"`
	Event  string         `json:"event"` // "begin", "start", "undo", "down", "up", a State, "end"
	Steps  int            `json:"steps,omitempty"`
	Undo   *drivers.Token `json:"undo,omitempty"`
	Ports  []string       `json:"ports,omitempty"` // that are about to go "down", or are "up" again
	Error  string         `json:"error,omitempty"`
	Fabric string         `json:"fabric,omitempty"`
	Intent string         `json:"intent,omitempty"`
	Base   string         `json:"base,omitempty"` // digest of the state that a "start" found
	Of     string         `json:"of,omitempty"`   // the run that this one rolls back
	By     string         `json:"by,omitempty"`   // who began it: user@machine
}

// journal is the record of one run, on disk before each act. It holds what a
// later run needs to roll a device back, and no secret.
type journal struct {
	mu   sync.Mutex
	f    *os.File
	lock *os.File
	path string
	// past are the other runs with a journal in the same folder, read when they
	// are first asked for: the lock keeps new ones from beginning.
	past func() ([]string, error)
	// history is what they left on devices.
	history func() (*History, error)
}

// errLocked says that another run works on the fabric.
var errLocked = errors.New("another run is changing this fabric")

// StateDir is where journals and locks of a fabric are kept:
// $XDG_STATE_HOME/roce-fabric/<fabric>, or ~/.local/state/....
func StateDir(fabric string) (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the state folder: %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "roce-fabric", fabric), nil
}

// begin takes the lock of the fabric in dir and opens a journal there. Close
// ends both. The lock is the kernel's: it goes with the process, so that a
// crash leaves none behind.
func begin(dir, id string, first entry) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := take(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	host, _ := os.Hostname()
	if err := lock.Truncate(0); err == nil {
		// For people only; a lock without a note is as good.
		_, _ = fmt.Fprintf(lock, "run %s, process %d on %s, since %s\n", id, os.Getpid(), host, time.Now().Format(time.RFC3339))
	}
	path := filepath.Join(dir, id+".journal")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	j := &journal{f: f, lock: lock, path: path}
	j.past = sync.OnceValues(j.readOthers)
	j.history = sync.OnceValues(func() (*History, error) { return history(dir, id) })
	first.Event, first.By = "begin", who(host)
	if err := j.Write(first); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// take takes the lock. A question whether it is held holds it for a moment, so
// that one refusal is not yet an answer.
func take(lock *os.File) error {
	const patience, pause = 500 * time.Millisecond, 10 * time.Millisecond
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return locked(lock)
		}
	}
}

// locked is the error that says who holds the lock.
func locked(lock *os.File) error {
	return NewError("", OpJudge, fmt.Errorf("%w: %s", errLocked, holder(lock)))
}

// holder is what the run that holds the lock says of itself.
func holder(lock *os.File) string {
	who, _ := os.ReadFile(lock.Name())
	return strings.TrimSpace(string(who[:min(len(who), 200)]))
}

// AtWork returns the ID of the run that holds the lock of a folder, and an error
// that wraps errLocked and says who it is; "" and nil where nobody does.
func AtWork(dir string) (id string, busy, err error) {
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("look at the lock: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return "", nil, nil // closing it gives it back
	} else if !errors.Is(err, syscall.EWOULDBLOCK) {
		return "", nil, fmt.Errorf("look at the lock: %w", err)
	}
	id, _, _ = strings.Cut(strings.TrimPrefix(holder(lock), "run "), ",")
	return id, locked(lock), nil
}

// left is what earlier runs left on a device. A nil journal knows of nothing.
func (j *journal) left(device string) (leftover, error) {
	if j == nil {
		return leftover{Down: map[string]string{}}, nil
	}
	h, err := j.history()
	if err != nil {
		return leftover{}, err
	}
	return h.left(device), nil
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

// who names the person behind this process as well as can be known: under sudo
// that is who called it (sudo(8)).
func who(host string) string {
	name := os.Getenv("SUDO_USER")
	if name == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	return name + "@" + host
}

// Path is the journal's file; "" for a nil journal.
func (j *journal) Path() string {
	if j == nil {
		return ""
	}
	return j.path
}

// others returns the IDs of the other runs that have a journal in the same folder.
// None of them is at work, because this one has the lock.
func (j *journal) others() ([]string, error) {
	if j == nil {
		return nil, nil
	}
	return j.past()
}

func (j *journal) readOthers() ([]string, error) {
	names, err := journals(filepath.Dir(j.path))
	for i, n := range names {
		names[i] = strings.TrimSuffix(filepath.Base(n), ".journal")
	}
	own := strings.TrimSuffix(filepath.Base(j.path), ".journal")
	return slices.DeleteFunc(names, func(id string) bool { return id == own }), err
}

// Write appends a record and waits until it is on disk. A nil journal keeps
// nothing.
func (j *journal) Write(r entry) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r.Time = time.Now().UTC()
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if _, err := j.f.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.f.Sync(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// record writes what became of a device.
func (j *journal) record(out Outcome) error {
	r := entry{Device: out.Device, Event: string(out.State)}
	if out.Error != nil {
		r.Error = out.Error.Text
	}
	return j.Write(r)
}

// Close ends the journal and gives the lock back.
func (j *journal) Close() error { return errors.Join(j.f.Close(), j.lock.Close()) }
