package rollout

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
	// Of is the run that this one took back; "" for an apply.
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
	// Touched says that something may have been written: there is a way back.
	Touched bool

	at, size int64 // of the record with the way back
}

// maxRecord bounds a record of a journal: the way back of a switch with a
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
	default:
		d.State = State(rec.Event)
	}
}

// Token reads the way back of a device that the run has Touched.
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

// maxRuns bounds how far back a question about the past looks.
const maxRuns = 100

// CutOff returns, by device, the run that was cut off in its work on it and
// that no later run has come by. It looks no further back than the newest run
// that came to its end, also where that one worked on other devices. Journals
// that cannot be read are passed over: the answer is advice.
func CutOff(dir string) map[string]*Past {
	out := map[string]*Past{}
	later := map[string]bool{}
	n := 0
	for p, err := range Runs(dir) {
		if n++; n > maxRuns {
			break
		}
		if err != nil {
			continue
		}
		for _, d := range p.Devices {
			if d.State == "" && !later[d.Name] {
				out[d.Name] = p
			}
			later[d.Name] = true
		}
		if p.Ended {
			break
		}
	}
	return out
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
