package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/mark"
)

// Held is the result of an attempt to mark a machine for a run.
type Held struct {
	// Other is the mark that the machine already has; nil if it has none.
	Other *mark.Mark
	// Note says why there is no mark, or whose mark was taken over; "" if neither applies.
	Note string
	// End removes the mark; nil if there is none. It may be called more than once.
	End func()
}

// holdPatience is how long Hold waits for a mark whose run is ending, because an agent exits a
// moment after its connection is cut. holdPause is the time between two attempts.
const (
	holdPatience = time.Second
	holdPause    = 20 * time.Millisecond
	// agentPatience is how long to wait for the host's own agent to finish its few steps, one of
	// which may wait for a link.
	agentPatience = 3 * time.Minute
)

// errTaken: another process has the lock of the mark.
var errTaken = errors.New("taken")

// Hold marks the machine for a run until End is called or the process exits. The mark is a file
// locked with flock; a mark that no process has locked belongs to a process that is gone. A machine
// that cannot be marked is no error.
func (m *Machine) Hold(ctx context.Context, k mark.Mark) (Held, error) {
	name := under(m.Run, "/run", mark.Name)
	for start := time.Now(); ; {
		f, old, err := lockMark(name)
		patience := holdPatience
		if mark.Parse(old).Run == mark.Agent {
			patience = agentPatience
		}
		if errors.Is(err, errTaken) && time.Since(start) < patience {
			select {
			case <-time.After(holdPause):
				continue
			case <-ctx.Done():
				return Held{}, fmt.Errorf("mark the host: %w", ctx.Err())
			}
		}
		if errors.Is(err, errTaken) {
			return Held{Other: new(mark.Parse(old))}, nil
		}
		if err == nil {
			if _, err = f.WriteAt([]byte(k.Text()), 0); err == nil {
				err = f.Truncate(int64(len(k.Text())))
			}
			if err != nil {
				err = errors.Join(err, os.Remove(name), f.Close())
			}
		}
		if err != nil {
			return Held{Note: "cannot mark the host, so a run on another machine does not notice this one: " + m.explainError(err)}, nil
		}
		h := Held{End: func() {
			if f != nil && isSameFile(f, name) {
				_ = os.Remove(name) // a file that remains is not locked and blocks nobody
			}
			_ = f.Close()
			f = nil
		}}
		if len(old) > 0 {
			h.Note = fmt.Sprintf("took over the mark of %s, whose process is gone", mark.Parse(old))
		}
		return h, nil
	}
}

// lockMark opens the mark, locks it, and returns its content, even with errTaken.
func lockMark(name string) (f *os.File, text []byte, err error) {
	for {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, nil, err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			_ = f.Close()
			continue
		case err != nil && !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		case err == nil && !isSameFile(f, name):
			_ = f.Close() // its run has just removed it
			continue
		}
		taken := err != nil
		if text, err = io.ReadAll(io.NewSectionReader(f, 0, mark.Max+1)); err == nil && !taken {
			return f, text, nil
		}
		if taken {
			err = errTaken
		}
		return nil, text, errors.Join(err, f.Close())
	}
}

// isSameFile reports whether the open file is still the one with that name.
func isSameFile(f *os.File, name string) bool {
	a, err := f.Stat()
	b, err2 := os.Lstat(name)
	return err == nil && err2 == nil && os.SameFile(a, b)
}
