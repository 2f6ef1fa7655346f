package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/intent"
	"github.com/roce-fabric/roce-fabric/internal/mark"
	"github.com/roce-fabric/roce-fabric/internal/term"
	"github.com/roce-fabric/roce-fabric/nic"
	"github.com/roce-fabric/roce-fabric/nic/local"
)

// Verb is an operation requested from an agent.
type Verb string

// The verbs, named after the methods of [Machine].
const (
	VerbRead     Verb = "read"
	VerbCounters Verb = "counters"
	VerbPlan     Verb = "plan"
	VerbBefore   Verb = "before"
	VerbApply    Verb = "apply"
	VerbWatch    Verb = "watch"
	VerbRevert   Verb = "revert"
	VerbHold     Verb = "hold"
	VerbResets   Verb = "resets"
	VerbReset    Verb = "reset"
	VerbLoad     Verb = "load"

	VerbInstallUnit Verb = "install-unit"
	VerbRemoveUnit  Verb = "remove-unit"
)

// writes reports whether a verb may leave the machine changed.
func (v Verb) writes() bool {
	return slices.Contains([]Verb{VerbApply, VerbRevert, VerbHold, VerbReset, VerbInstallUnit, VerbRemoveUnit}, v)
}

// Request is the single line that an agent reads.
type Request struct {
	Version int  `json:"version"`
	Verb    Verb `json:"verb"`
	// TimeoutMS limits the work, in milliseconds; 0 stands for the verb's deadline.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`

	Names      []string       `json:"names,omitzero"`       // read (null: all with an RDMA device), resets
	NoFirmware bool           `json:"no_firmware,omitzero"` // read
	Running    *nic.Host      `json:"running,omitzero"`     // plan, counters (only its ports)
	Desired    *nic.Host      `json:"desired,omitzero"`     // plan, watch, install-unit
	Options    *local.Options `json:"options,omitzero"`     // plan, resets, reset
	Steps      []local.Step   `json:"steps,omitzero"`       // before, apply, watch
	Undo       *local.Undo    `json:"undo,omitzero"`        // revert
	Program    string         `json:"program,omitzero"`     // install-unit
	Mark       *mark.Mark     `json:"mark,omitzero"`        // hold

	Reset *local.CardReset `json:"reset,omitzero"` // reset
	Loads []local.Load     `json:"loads,omitzero"` // load
	// Select holds the selectors, by the name of the NIC, for all verbs.
	Select map[string]intent.Selector `json:"select,omitempty"`
}

// hello is the first line from an agent.
type hello struct {
	Version int `json:"roce_fabric_agent"`
}

// helloPrefix begins the hello; no other output is expected to begin like this.
const helloPrefix = `{"roce_fabric_agent":`

// answer is every further line from an agent; exactly one of its members is set.
type answer struct {
	Progress *progress `json:"progress,omitzero"`
	Response *Response `json:"response,omitzero"`
}

// progress reports that step Step of Steps begins, counted from 0 without the blocked ones.
type progress struct {
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Note belongs to a hold: why there is no mark, or whose mark was taken over.
	Note string `json:"note,omitzero"`
}

// Response is the last line from an agent.
type Response struct {
	Host  *nic.Host    `json:"host,omitzero"`  // read, counters
	Steps []local.Step `json:"steps,omitzero"` // plan
	// Changes lists the settings that did not stay.
	Changes []nic.Change `json:"changes,omitzero"` // watch
	Undo    *local.Undo  `json:"undo,omitzero"`    // before, apply; also if the apply failed
	Files   []string     `json:"files,omitzero"`   // install-unit, remove-unit; also if they failed
	Mark    *mark.Mark   `json:"mark,omitzero"`    // hold: the mark of another run
	Note    string       `json:"note,omitzero"`    // hold: why there is no mark

	Resets []local.CardReset `json:"resets,omitzero"` // resets
	Loaded []local.Loaded    `json:"loaded,omitzero"` // load
	Error  *Failure          `json:"error,omitzero"`
}

// errTooLong is returned for a line above the limit.
var errTooLong = errors.New("line too long")

// lines reads lines up to a given length. For a last line without a newline it returns
// io.ErrUnexpectedEOF, because the line may be incomplete.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) lines { return lines{bufio.NewReaderSize(r, 64<<10)} }

func (l lines) next(most int) ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, fmt.Errorf("%w: more than %d bytes", errTooLong, most)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// decodeStrict decodes a line that must hold exactly one JSON value.
func decodeStrict(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	dec.UseNumber() // counters have 64 bits
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value on the line")
	}
	return nil
}

// decodeRequest decodes a request. For another version, it checks nothing but the version.
func decodeRequest(line []byte) (*Request, error) {
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if v.Version != version {
		return nil, fmt.Errorf("%w: asked in version %d, this agent speaks %d", ErrVersion, v.Version, version)
	}
	var q Request
	if err := decodeStrict(line, &q); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return &q, q.check()
}

// check rejects a request that lacks what its verb needs.
func (q *Request) check() error {
	if _, known := timeouts[q.Verb]; !known {
		return fmt.Errorf("%w: no verb %q", ErrRequest, clip(string(q.Verb)))
	}
	for _, part := range []struct {
		name    string
		missing bool
		verbs   []Verb
	}{
		{"running", q.Running == nil, []Verb{VerbCounters, VerbPlan}},
		{"desired", q.Desired == nil, []Verb{VerbPlan, VerbWatch, VerbInstallUnit}},
		{"undo", q.Undo == nil, []Verb{VerbRevert}},
		{"mark", q.Mark == nil, []Verb{VerbHold}},
		{"reset", q.Reset == nil, []Verb{VerbReset}},
	} {
		if part.missing && slices.Contains(part.verbs, q.Verb) {
			return fmt.Errorf("%w: %s without %s", ErrRequest, q.Verb, part.name)
		}
	}
	if q.TimeoutMS < 0 || q.TimeoutMS > maxTimeout.Milliseconds() {
		return fmt.Errorf("%w: timeout_ms is not in 0..%d", ErrRequest, maxTimeout.Milliseconds())
	}
	for _, h := range []*nic.Host{q.Running, q.Desired} {
		if err := checkNoNulls(h); err != nil {
			return fmt.Errorf("%w: %w", ErrRequest, err)
		}
	}
	return nil
}

// checkNoNulls rejects a host with a null port or a null device over ports, because no other code
// checks for that.
func checkNoNulls(h *nic.Host) error {
	if h == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(h.Ports)) {
		if h.Ports[name] == nil {
			return fmt.Errorf("port %q is null", clip(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.Uppers)) {
		if h.Uppers[name] == nil {
			return fmt.Errorf("device %q is null", clip(name))
		}
	}
	return nil
}

// decodeAnswer decodes a line from an agent and makes all its text safe to print.
func decodeAnswer(line []byte) (*answer, error) {
	line, err := cleaned(line)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	var a answer
	if err := decodeStrict(line, &a); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrAnswer, term.CleanLine(err.Error())) // the error may quote a key of the answer
	}
	if (a.Progress == nil) == (a.Response == nil) {
		return nil, fmt.Errorf("%w: neither progress nor response", ErrAnswer)
	}
	if a.Response != nil {
		if err := checkNoNulls(a.Response.Host); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	return &a, nil
}

// cleaned makes every string of a JSON line safe to print on one line. Most lines hold nothing to
// clean and are returned unchanged.
func cleaned(line []byte) ([]byte, error) {
	odd := func(r rune) bool { return r == '\\' || r < ' ' || r > '~' }
	if !bytes.ContainsFunc(bytes.TrimSpace(line), odd) {
		return line, nil
	}
	var v any
	if err := decodeStrict(line, &v); err != nil {
		return nil, err
	}
	return json.Marshal(clean(v))
}

func clean(v any) any {
	switch v := v.(type) {
	case string:
		return cleanText(v)
	case []any:
		for i := range v {
			v[i] = clean(v[i])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e := clean(v[k])
			delete(v, k)
			v[cleanText(k)] = e
		}
	}
	return v
}

// cleanText leaves printable text unchanged, because values are compared with others.
func cleanText(s string) string {
	if !strings.ContainsAny(s, "\n\t") && term.Clean(s) == s {
		return s
	}
	return term.CleanLine(s)
}

// clip shortens text from the other side and makes it safe to print.
func clip(s string) string { return term.Clip(s, 200) }
