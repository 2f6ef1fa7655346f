package fleet

import (
	"bufio"
	"bytes"
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
	ID     string
	Begun  time.Time
	Ended  bool   // it came to its end, whatever that was
	Intent string // hash of the intent that it applied
	By     string // who began it: user@machine
	// Of is the run that this one rolled back; "" for an apply.
	Of string
	// Devices in the order in which they were worked on.
	Devices []PastDevice

	path string
}

// PastDevice is what a journal says of one device.
type PastDevice struct {
	Name string
	// State is what became of it; "" where the run was cut off in its work.
	State State
	// Base is the digest of the state that the run started from.
	Base string
	// Touched says that something may have been written: there is an undo record.
	Touched bool
	// Down are the ports that the run took down for a step and did not bring up
	// again; Raised those that it brought up.
	Down, Raised []string

	at, size int64 // of the record with the way back
}

// maxRecord bounds a record of a journal: the undo record of a switch with a
// thousand ports takes a few MB.
const maxRecord = 64 << 20

// Runs reads the journals of a folder, newest first. A folder that does not
// exist has none.
func Runs(dir string) iter.Seq2[*Past, error] {
	return func(yield func(*Past, error) bool) {
		names, err := journals(dir)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, name := range names {
			if !yield(readPast(filepath.Join(dir, name))) {
				return
			}
		}
	}
}

// journals lists the journals, newest first: a name begins with the time.
func journals(dir string) ([]string, error) {
	es, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journals: %w", err)
	}
	var names []string
	for _, e := range es {
		if strings.HasSuffix(e.Name(), ".journal") && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

func readPast(path string) (_ *Past, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p := &Past{ID: strings.TrimSuffix(filepath.Base(path), ".journal"), path: path}
	if err := p.read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// read takes the records up. The last line may be cut off: the process ended
// while it wrote.
func (p *Past) read(r io.Reader) error {
	b := bufio.NewReaderSize(r, 64<<10)
	var at int64
	for n := 1; ; n++ {
		line, err := readLine(b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return fmt.Errorf("line %d is no record of a journal: %w", n, err)
		}
		p.take(rec, at, int64(len(line)))
		at += int64(len(line))
	}
}

// readLine returns a whole line with its end, and io.EOF for one without.
func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxRecord:
			return nil, fmt.Errorf("longer than %d MB", maxRecord>>20)
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (p *Past) take(rec Record, at, size int64) {
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
		d.Base = rec.Base
	case "undo":
		d.Touched, d.at, d.size = rec.Undo != nil, at, size
	case "down":
		d.Down = slices.Concat(without(d.Down, rec.Ports), rec.Ports)
	case "up":
		d.Down, d.Raised = without(d.Down, rec.Ports), append(d.Raised, rec.Ports...)
	default:
		d.State = State(rec.Event)
	}
}

func without(list, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
}

// Token reads the undo record of a device that the run has Touched.
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
	var rec Record
	if err := json.Unmarshal(bytes.TrimSpace(line), &rec); err != nil || rec.Undo == nil || rec.Device != d.Name {
		return nil, fmt.Errorf("%s: the way back of %s has changed", p.path, d.Name)
	}
	return rec.Undo, nil
}

// standing reports whether what the run wrote on a device may still be there.
func (d PastDevice) standing() bool {
	return d.Touched && d.State != Reverted && d.State != Restored
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
	// Busy is the run that is at work in the folder; "" for none.
	Busy string

	dir   string
	mu    sync.Mutex
	names []string // not read yet, newest first
	runs  []*Past  // newest first
}

// OpenHistory makes the history of a folder; one that does not exist has none. busy
// wraps ErrLocked and says which run is at work in it.
func OpenHistory(dir string) (h *History, busy, err error) {
	id, busy, err := AtWork(dir)
	if err != nil {
		return nil, nil, err
	}
	if h, err = history(dir, ""); err != nil {
		return nil, nil, err
	}
	h.Busy = id
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

// Left is what earlier runs left on a device.
type Left struct {
	// CutOff is the newest run that was cut off in its work on the device and
	// that no later run has come by; nil for none.
	CutOff *Past
	// Down are the ports that such runs took down for a step and did not bring
	// up again, each with the run.
	Down map[string]string
	// Busy says that a run is at work on the device.
	Busy bool
}

// Left returns what earlier runs left on a device. A nil History knows of
// nothing.
func (h *History) Left(device string) Left {
	left := Left{Down: map[string]string{}}
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
		d, ok := p.Device(device)
		if ok && d.settled() {
			break
		}
		if ok {
			since = append(since, p)
		}
	}
	for _, p := range slices.Backward(since) {
		d, _ := p.Device(device)
		if d.State == "" && p.ID == h.Busy {
			return Left{Busy: true}
		}
		for _, port := range d.Raised {
			delete(left.Down, port)
		}
		for _, port := range d.Down {
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

// Device returns what the run did on a device.
func (p *Past) Device(name string) (PastDevice, bool) {
	for _, d := range p.Devices {
		if d.Name == name {
			return d, true
		}
	}
	return PastDevice{}, false
}
