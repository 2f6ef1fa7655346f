package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
)

// Past is a run as its journal tells it.
type Past struct {
	ID     string    `json:"run"`
	Begun  time.Time `json:"begun"`
	By     string    `json:"by,omitempty"` // who began it: user@machine
	Ended  bool      `json:"ended"`        // it came to its end, whatever that was
	AtWork bool      `json:"at_work,omitempty"`
	Of     string    `json:"of,omitempty"` // the run that this one rolled back; "" for an apply
	// Devices in the order in which they were worked on.
	Devices []PastDevice `json:"devices"`
	Intent  string       `json:"-"` // hash of the intent that it applied

	path string
}

// PastDevice is what a journal says of one device.
type PastDevice struct {
	Name string `json:"device"`
	// State is what became of it; "" where the run was cut off in its work, or is at
	// it.
	State State `json:"state"`

	base    string // digest of the state that the run started from
	touched bool   // something may have been written: there is an undo record
	// down are the ports that the run took down for a step and did not bring up
	// again; raised those that it brought up.
	down, raised []string
	at, size     int64 // of the undo record
	line         int
}

// maxRecord bounds a record of a journal: the undo record of a switch with a
// thousand ports takes a few MB.
const maxRecord = 64 << 20

// Runs reads the journals of a folder, newest first. A folder that does not
// exist has none.
func Runs(dir string) iter.Seq2[*Past, error] {
	return func(yield func(*Past, error) bool) {
		names, err := journals(dir)
		atWork, _, lockErr := AtWork(dir)
		if err := errors.Join(err, lockErr); err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			p, err := readPast(filepath.Join(dir, name))
			if err == nil {
				p.AtWork = p.ID == atWork
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

// hostRuns is the folder in which older versions keep the journals of hosts.
const hostRuns = "hosts"

// journals lists the journals, newest first: a name begins with the time.
func journals(dir string) (names []string, _ error) {
	for _, sub := range []string{"", hostRuns} {
		es, err := os.ReadDir(filepath.Join(dir, sub))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the journals: %w", err)
		}
		for _, e := range es {
			if strings.HasSuffix(e.Name(), ".journal") && e.Type().IsRegular() {
				names = append(names, filepath.Join(sub, e.Name()))
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(filepath.Base(b), filepath.Base(a)) })
	return names, nil
}

func readPast(path string) (_ *Past, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p := &Past{ID: strings.TrimSuffix(filepath.Base(path), ".journal"), Devices: []PastDevice{}, path: path}
	if err := p.read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// read reads the records. The last line may be cut off: the process ended while it
// wrote.
func (p *Past) read(r io.Reader) error {
	var at int64
	sc := lines(r, maxRecord)
	n := 1
	for ; sc.Scan(); n++ {
		line := sc.Bytes()
		if line[len(line)-1] != '\n' {
			return nil
		}
		var rec entry
		if err := json.Unmarshal(line, &rec); err != nil {
			return fmt.Errorf("line %d is not a journal record: %w", n, err)
		}
		p.take(rec, n, at, int64(len(line)))
		at += int64(len(line))
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	return nil
}

func (p *Past) take(rec entry, line int, at, size int64) {
	switch rec.Event {
	case "begin":
		p.Begun, p.Intent, p.Of, p.By = rec.Time, rec.Intent, rec.Of, rec.By
		return
	case "end":
		p.Ended = true
		return
	}
	i := slices.IndexFunc(p.Devices, func(d PastDevice) bool { return d.Name == rec.Device })
	if i < 0 {
		i = len(p.Devices)
		p.Devices = append(p.Devices, PastDevice{Name: rec.Device})
	}
	d := &p.Devices[i]
	switch rec.Event {
	case "start":
		d.base = rec.Base
	case "undo":
		d.touched, d.line, d.at, d.size = rec.Undo != nil, line, at, size
	case "down":
		d.down = slices.Concat(without(d.down, rec.Ports), rec.Ports)
	case "up":
		d.down, d.raised = without(d.down, rec.Ports), append(d.raised, rec.Ports...)
	default:
		d.State = State(rec.Event)
	}
}

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

// Token reads the undo record of a device that has one.
func (p *Past) Token(d PastDevice) (_ *drivers.Token, err error) {
	f, err := os.Open(p.path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	line := make([]byte, d.size)
	if _, err := f.ReadAt(line, d.at); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	var rec entry
	if err := json.Unmarshal(bytes.TrimSpace(line), &rec); err != nil || rec.Undo == nil || rec.Device != d.Name {
		return nil, fmt.Errorf("%s: the undo record of %s has changed", p.path, d.Name)
	}
	return rec.Undo, nil
}

// standing reports whether what the run wrote on a device may still be there.
func (d PastDevice) standing() bool {
	return d.touched && d.State != Reverted && d.State != Restored
}

// settled reports whether the device was left as intended or as it was before
// the run, so that nothing of an earlier run is in the way.
func (d PastDevice) settled() bool {
	switch d.State {
	case Applied, Unchanged, Unsaved, Reverted, Restored:
		return true
	}
	return false
}

// maxRuns bounds how far back a question about the past looks.
const maxRuns = 100

// History answers what earlier runs left on devices. It reads journals only as
// far back as the questions need, and passes over those that cannot be read. It
// is safe for concurrent use.
type History struct {
	// busy is the run that is at work in the folder; "" for none.
	busy string

	dir   string
	mu    sync.Mutex
	names []string // not read yet, newest first
	runs  []*Past  // newest first
}

// OpenHistory makes the history of a folder; one that does not exist has none. busy
// wraps errLocked and says which run is at work in it.
func OpenHistory(dir string) (h *History, busy, err error) {
	id, busy, err := AtWork(dir)
	if err != nil {
		return nil, nil, err
	}
	if h, err = history(dir, ""); err != nil {
		return nil, nil, err
	}
	h.busy = id
	return h, busy, nil
}

// history leaves the run out that asks.
func history(dir, own string) (*History, error) {
	names, err := journals(dir)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == own+".journal" })
	return &History{dir: dir, names: names[:min(len(names), maxRuns)]}, nil
}

// run returns the nth run, the newest first, nil where there are not so many.
func (h *History) run(n int) *Past {
	for n >= len(h.runs) && len(h.names) > 0 {
		p, err := readPast(filepath.Join(h.dir, h.names[0]))
		if h.names = h.names[1:]; err == nil {
			h.runs = append(h.runs, p)
		}
	}
	if n >= len(h.runs) {
		return nil
	}
	return h.runs[n]
}

// leftover is what earlier runs left on a device.
type leftover struct {
	// CutOff is the newest run that was cut off in its work on the device and
	// that no later run has come by; nil for none.
	CutOff *Past
	// Down are the ports that such runs took down for a step and did not bring
	// up again, each with the run.
	Down map[string]string
	// Busy says that a run is at work on the device.
	Busy bool
}

// left returns what earlier runs left on a device. A nil History knows of
// nothing.
func (h *History) left(device string) leftover {
	left := leftover{Down: map[string]string{}}
	if h == nil {
		return left
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var since []*Past // newest first
	for n := 0; ; n++ {
		p := h.run(n)
		if p == nil {
			break
		}
		d, ok := p.device(device)
		if ok && d.settled() {
			break
		}
		if ok {
			since = append(since, p)
		}
	}
	for _, p := range slices.Backward(since) {
		d, _ := p.device(device)
		if d.State == "" && p.ID == h.busy {
			return leftover{Busy: true}
		}
		for _, port := range d.raised {
			delete(left.Down, port)
		}
		for _, port := range d.down {
			if left.Down[port] == "" {
				left.Down[port] = p.ID
			}
		}
		if d.State == "" {
			left.CutOff = p
		}
	}
	return left
}

// device returns what the run did on a device.
func (p *Past) device(name string) (PastDevice, bool) {
	for _, d := range p.Devices {
		if d.Name == name {
			return d, true
		}
	}
	return PastDevice{}, false
}
