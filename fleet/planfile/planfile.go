// Package planfile keeps the plans of many devices in a file. It is also the one place that
// decides whether a run may carry out a plan: [PlanFile.Decide] does so from the plan alone,
// and [PlanFile.Recheck] after it has read the devices.
package planfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/roce-fabric/roce-fabric/fleet/engine"
	"github.com/roce-fabric/roce-fabric/fleet/keys"
	"github.com/roce-fabric/roce-fabric/fleet/rollout"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
	"github.com/roce-fabric/roce-fabric/internal/boundedfile"
)

// planFormat is the version of the plan file format.
const planFormat = 3

// planKind marks a plan file.
const planKind = "roce-fabric-plan"

// errPlanFile is wrapped by errors about a file that is not a complete plan.
var errPlanFile = errors.New("not a usable plan file")

// PlanHeader is the first line of a plan file.
type PlanHeader struct {
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Tool    string    `json:"tool"`
	Fabric  string    `json:"fabric"`
	Intent  string    `json:"intent"` // hash of the intent's files
	Created time.Time `json:"created"`
}

// trailer is the last line of a plan file. A file without it is truncated.
type trailer struct {
	End     bool   `json:"end"`
	Devices int    `json:"devices"`
	SHA256  string `json:"sha256"` // hash of all lines before the trailer
	Sig     string `json:"sig,omitempty"`
}

// signedPlan is the kind of text for which plans are signed, see package keys.
const signedPlan = "plan"

// maxLine is the maximum size in bytes of one line, that is, of one device.
const maxLine = 64 << 20

// PlanFile is a plan of many devices kept in a file: a saved plan that was read completely and
// found intact, or one that this process made. What is needed to judge the plan of each device is
// in memory; the steps stay in the file.
type PlanFile struct {
	PlanHeader
	// Digest identifies what a run of the plan does: the fabric, the intent, the steps, the
	// waves, the gate and the maintenance windows. It does not depend on when the plan was made.
	Digest string
	// Rollout holds the waves of the devices that change.
	Rollout *rollout.Rollout
	// SignedBy names the key that the file claims to be signed with; "" for none.
	SignedBy string

	f    *os.File
	path string
	// maker made the rollout if this process made the plan; nil for a saved plan.
	maker    *rollout.Maker
	sum, sig string
	devices  []planSummary
	size     int64 // total size of the lines before the trailer
}

// Fresh reports whether this process made the plan.
func (p *PlanFile) Fresh() bool { return p.maker != nil }

// digest returns the [PlanFile.Digest] of a plan; lines is the hash of the lines of its
// devices.
func (p *PlanFile) digest(lines []byte) string {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{p.Fabric, p.Intent, lines, p.Rollout.Course()})
	return hex.EncodeToString(sum.Sum(nil))
}

// Devices yields the plans of the devices, in order.
func (p *PlanFile) Devices() iter.Seq2[*engine.DevicePlan, error] {
	return func(yield func(*engine.DevicePlan, error) bool) {
		for _, of := range p.devices {
			if d, err := p.device(of); !yield(d, err) {
				return
			}
		}
	}
}

// OpenPlan opens a plan file and checks that it is complete and unchanged. The caller must
// close the plan.
func OpenPlan(path string) (*PlanFile, error) {
	f, err := boundedfile.Open(path)
	if err != nil {
		return nil, err
	}
	p := &PlanFile{f: f.File, path: path}
	if err := p.scan(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// Builder writes the file of a [PlanFile], with one line per device.
type Builder struct {
	p            *PlanFile
	sum, devices hash.Hash
}

// New creates the temporary file of a plan.
func New(h PlanHeader) (*Builder, error) {
	f, err := os.CreateTemp("", "roce-fabric-")
	if err != nil {
		return nil, err
	}
	h.Kind, h.Format = planKind, planFormat
	b := &Builder{&PlanFile{PlanHeader: h, f: f, path: "the plan"}, sha256.New(), sha256.New()}
	_, err = b.line(h)
	if err := errors.Join(os.Remove(f.Name()), err); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, nil
}

// Close closes the file of a plan that was not ended.
func (b *Builder) Close() error { return b.p.Close() }

// line writes v as a line of JSON, and returns the line.
func (b *Builder) line(v any) ([]byte, error) {
	l, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	l = append(l, '\n')
	b.sum.Write(l)
	n, err := b.p.f.Write(l)
	b.p.size += int64(n)
	return l, err
}

// Add adds the plan of a device.
func (b *Builder) Add(d *engine.DevicePlan) error {
	at := b.p.size
	l, err := b.line(d)
	if err == nil {
		b.devices.Write(l)
		b.p.devices = append(b.p.devices, summaryOf(d, at, len(l)))
	}
	return err
}

// End ends the plan with its waves, which maker made.
func (b *Builder) End(r *rollout.Rollout, maker *rollout.Maker) (*PlanFile, error) {
	if _, err := b.line(r); err != nil {
		return nil, err
	}
	b.p.Rollout, b.p.maker = r, maker
	b.p.Digest, b.p.sum = b.p.digest(b.devices.Sum(nil)), hex.EncodeToString(b.sum.Sum(nil))
	return b.p, nil
}

// Save writes a plan that this process made to path, signed with the key of ring unless ring
// is nil. The file appears at path only once it is complete.
func (p *PlanFile) Save(path string, ring *keys.Ring) (err error) {
	t := trailer{End: true, Devices: len(p.devices), SHA256: p.sum}
	if ring != nil {
		if err := ring.Ensure(); err != nil {
			return err
		}
		t.Sig = ring.Sign(signedPlan, []byte(t.SHA256))
	}
	last, err := json.Marshal(t)
	if err != nil {
		return err
	}
	f, err := atomicfile.Output(path, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, io.MultiReader(io.NewSectionReader(p.f, 0, p.size), bytes.NewReader(append(last, '\n')))); err != nil {
		return err
	}
	return f.Commit()
}

// device reads the plan of a device from the open file, even if another file is at its path
// now. It is safe for concurrent use.
func (p *PlanFile) device(of planSummary) (*engine.DevicePlan, error) {
	b := make([]byte, of.size)
	if _, err := p.f.ReadAt(b, of.at); err != nil {
		return nil, fmt.Errorf("read its plan again: %w", err)
	}
	var d engine.DevicePlan
	if err := decodeStrictly(b, &d); err != nil || d.Name != of.name {
		return nil, errors.New("its plan was edited in the file")
	}
	return &d, nil
}

// Close closes the file.
func (p *PlanFile) Close() error { return p.f.Close() }

func (p *PlanFile) scan(r io.Reader) error {
	bad := func(line int, format string, a ...any) error {
		return fmt.Errorf("%s:%d: %w: %w", p.path, line, errPlanFile, fmt.Errorf(format, a...))
	}
	sc := lineScanner(r, maxLine)
	sum, devices := sha256.New(), sha256.New()
	line, at := 0, int64(0)
	for sc.Scan() {
		line++
		b := sc.Bytes()
		if line == 1 {
			if err := decodeStrictly(b, &p.PlanHeader); err != nil || p.Kind != planKind {
				return bad(line, "the first line is no header of a plan")
			}
			if p.Format != planFormat {
				return bad(line, "format %d; this version reads format %d", p.Format, planFormat)
			}
		} else if bytes.HasPrefix(b, []byte(`{"end":`)) {
			var t trailer
			if err := decodeStrictly(b, &t); err != nil {
				return bad(line, "%w", err)
			}
			if t.Devices != len(p.devices) || t.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				return bad(line, "the file was changed after it was saved")
			}
			if sc.Scan() {
				return bad(line+1, "text after the end")
			}
			if err := p.checkWaves(); err != nil {
				return bad(line, "%w", err)
			}
			p.Digest, p.sum, p.sig, p.SignedBy = p.digest(devices.Sum(nil)), t.SHA256, t.Sig, keys.Fingerprint(t.Sig)
			return nil
		} else if bytes.HasPrefix(b, []byte(`{"waves":`)) && p.Rollout == nil {
			if err := decodeStrictly(b, &p.Rollout); err != nil {
				return bad(line, "%w", err)
			}
		} else {
			var d engine.DevicePlan
			if err := decodeStrictly(b, &d); err != nil {
				return bad(line, "%w", err)
			}
			if d.Error != nil {
				d.Error.Device = d.Name
			}
			p.devices = append(p.devices, summaryOf(&d, at, len(b)))
			devices.Write(b)
		}
		sum.Write(b)
		at += int64(len(b))
	}
	if err := sc.Err(); err != nil {
		return bad(line+1, "%w", err)
	}
	return bad(line+1, "the file ends early")
}

// checkWaves returns an error unless each device with steps is in exactly one wave, and no
// other device is in any wave.
func (p *PlanFile) checkWaves() error {
	if p.Rollout == nil {
		return errors.New("the file has no waves")
	}
	changes := map[string]bool{}
	for _, d := range p.devices {
		changes[d.name] = !d.empty
	}
	for _, w := range p.Rollout.Waves {
		for _, name := range w.Devices {
			if !changes[name] {
				return fmt.Errorf("device %s is in a wave but has no steps, or is in more than one wave", name)
			}
			delete(changes, name)
		}
	}
	for name, left := range changes {
		if left {
			return fmt.Errorf("device %s is in no wave", name)
		}
	}
	return nil
}

// lineScanner returns a scanner of lines, with their newlines. most is the maximum size of a line.
func lineScanner(r io.Reader, most int) *bufio.Scanner {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), most)
	sc.Split(func(b []byte, end bool) (int, []byte, error) {
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 && end {
			n = len(b)
		}
		if n == 0 {
			return 0, nil, nil
		}
		return n, b[:n], nil
	})
	return sc
}

func decodeStrictly(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// Changes yields the devices that the plan changes, with the impact on each.
func (p *PlanFile) Changes() iter.Seq2[string, qos.Impact] {
	return func(yield func(string, qos.Impact) bool) {
		for _, d := range p.devices {
			if d.err == nil && !d.empty && !yield(d.name, d.impact) {
				return
			}
		}
	}
}

// Work returns the devices that a run of the plan is to change or check, and those on which
// there is nothing to do.
func (p *PlanFile) Work(devices map[string]engine.Device) (names, idle []string) {
	for _, d := range p.devices {
		switch {
		case !d.isIdle(devices[d.name]):
			names = append(names, d.name)
		case d.err == nil:
			idle = append(idle, d.name)
		}
	}
	return names, idle
}

// Task returns what a run is to do on a device of the plan.
func (p *PlanFile) Task(dev engine.Device) (engine.Task, error) {
	i := slices.IndexFunc(p.devices, func(d planSummary) bool { return d.name == dev.Name })
	d, err := p.device(p.devices[i])
	return engine.Task{Device: dev, Plan: d, Want: dev.Desired(), Steps: p.devices[i].steps}, err
}

// Waves returns the devices of a plan in the order in which they are worked on: first the
// devices that nothing is written to, then the waves of the rollout.
func (p *PlanFile) Waves() []rollout.Wave {
	var idle rollout.Wave
	in := map[string]bool{}
	for _, w := range p.Rollout.Waves {
		for _, name := range w.Devices {
			in[name] = true
		}
	}
	for _, d := range p.devices {
		if !in[d.name] {
			idle.Devices = append(idle.Devices, d.name)
		}
	}
	return append([]rollout.Wave{idle}, p.Rollout.Waves...)
}

// isIdle reports whether a run has nothing to change and nothing to check on a device.
func (p planSummary) isIdle(dev engine.Device) bool {
	return p.err != nil || p.empty && dev.Volatile
}

// ReadHeader reads the header of a plan file; it returns nil for any other file.
func ReadHeader(path string) *PlanHeader {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // opened only for reading
	line, err := bufio.NewReader(io.LimitReader(f, 4<<10)).ReadBytes('\n')
	h := &PlanHeader{}
	if err != nil || json.Unmarshal(line, h) != nil || h.Kind != planKind {
		return nil
	}
	return h
}
