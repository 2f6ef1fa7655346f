package fleet

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
	"os"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/atomicfile"
)

// planFormat is the version of the file's form.
const planFormat = 1

// planKind marks the file.
const planKind = "roce-fabric-plan"

// ErrPlanFile is wrapped by errors about a file that is not a whole plan.
var ErrPlanFile = errors.New("not a usable plan file")

// PlanHeader is the first line of a plan file.
type PlanHeader struct {
	Kind    string    `json:"kind"`
	Format  int       `json:"format"`
	Tool    string    `json:"tool"`
	Fabric  string    `json:"fabric"`
	Intent  string    `json:"intent"` // hash of the intent's files
	Created time.Time `json:"created"`
}

// trailer is the last line: without it the file was cut short.
type trailer struct {
	End     bool   `json:"end"`
	Devices int    `json:"devices"`
	SHA256  string `json:"sha256"` // of all lines before
}

// maxLine bounds one line, that is, one device.
const maxLine = 64 << 20

// PlanWriter writes a plan file, a line a device. Nothing is at the path before
// Commit.
type PlanWriter struct {
	f   *atomicfile.File
	sum hash.Hash
	n   int
}

// CreatePlan starts a plan file.
func CreatePlan(path string, h PlanHeader) (*PlanWriter, error) {
	f, err := atomicfile.Output(path, 0o600)
	if err != nil {
		return nil, err
	}
	w := &PlanWriter{f: f, sum: sha256.New()}
	h.Kind, h.Format = planKind, planFormat
	if err := w.line(h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

func (w *PlanWriter) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	w.sum.Write(b)
	_, err = w.f.Write(b)
	return err
}

// Add writes one device.
func (w *PlanWriter) Add(d *DevicePlan) error {
	w.n++
	return w.line(d)
}

// Commit puts the file in its place.
func (w *PlanWriter) Commit() error {
	t := trailer{End: true, Devices: w.n, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if err := w.line(t); err != nil {
		return errors.Join(err, w.f.Close())
	}
	return w.f.Commit()
}

// Close drops the file where it was not committed.
func (w *PlanWriter) Close() error { return w.f.Close() }

// PlanFile is a saved plan that was read to its end and found whole.
type PlanFile struct {
	PlanHeader
	f    *os.File
	path string
}

// OpenPlan checks a plan file as a whole, so that nothing is acted on before its
// end is known to be there. Close must be called on the file.
func OpenPlan(path string) (*PlanFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &PlanFile{f: f, path: path}
	if err := scan(f, path, func(h PlanHeader) { p.PlanHeader = h }, func(*DevicePlan) error { return nil }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// Each calls do for each device, in order, with one device in memory. It reads
// the file that was opened, whatever stands at its path now.
func (p *PlanFile) Each(do func(*DevicePlan) error) error {
	if _, err := p.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return scan(p.f, p.path, func(PlanHeader) {}, do)
}

// Close closes the file.
func (p *PlanFile) Close() error { return p.f.Close() }

func scan(r io.Reader, path string, head func(PlanHeader), do func(*DevicePlan) error) error {
	bad := func(line int, format string, a ...any) error {
		return fmt.Errorf("%s:%d: %w: %w", path, line, ErrPlanFile, fmt.Errorf(format, a...))
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	sum := sha256.New()
	line, devices := 0, 0
	for sc.Scan() {
		line++
		b := sc.Bytes()
		if line == 1 {
			var h PlanHeader
			if err := strict(b, &h); err != nil || h.Kind != planKind {
				return bad(line, "the first line is no header of a plan")
			}
			if h.Format != planFormat {
				return bad(line, "format %d; this version reads format %d", h.Format, planFormat)
			}
			head(h)
		} else if bytes.HasPrefix(b, []byte(`{"end":`)) {
			var t trailer
			if err := strict(b, &t); err != nil {
				return bad(line, "%w", err)
			}
			if t.Devices != devices || t.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				return bad(line, "the file was changed after it was saved")
			}
			if sc.Scan() {
				return bad(line+1, "text after the end")
			}
			return nil
		} else {
			var d DevicePlan
			if err := strict(b, &d); err != nil {
				return bad(line, "%w", err)
			}
			devices++
			if err := do(&d); err != nil {
				return err
			}
		}
		sum.Write(b)
		sum.Write([]byte{'\n'})
	}
	if err := sc.Err(); err != nil {
		return bad(line+1, "%w", err)
	}
	return bad(line+1, "the file ends early")
}

func strict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}
