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

// Verb is what is asked of an agent.
type Verb string

// The verbs, by the method of [Machine].
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

	VerbInstallUnit Verb = "install-unit"
	VerbRemoveUnit  Verb = "remove-unit"
)

// writes reports whether a verb may leave the machine changed.
func (v Verb) writes() bool {
	return slices.Contains([]Verb{VerbApply, VerbRevert, VerbHold, VerbReset, VerbInstallUnit, VerbRemoveUnit}, v)
}

// Request is the one line that an agent takes.
type Request struct {
	Version int  `json:"version"`
	Verb    Verb `json:"verb"`
	// TimeoutMS bounds the work, in milliseconds; 0 is the verb's deadline.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`

	Names      []string       `json:"names,omitzero"`       // read: null is all with an RDMA device; resets
	NoFirmware bool           `json:"no_firmware,omitzero"` // read
	Running    *nic.Host      `json:"running,omitzero"`     // plan; counters: whose ports
	Desired    *nic.Host      `json:"desired,omitzero"`     // plan, watch, install-unit
	Options    *local.Options `json:"options,omitzero"`     // plan, resets, reset
	Steps      []local.Step   `json:"steps,omitzero"`       // before, apply, watch
	Undo       *local.Undo    `json:"undo,omitzero"`        // revert
	Program    string         `json:"program,omitzero"`     // install-unit
	Mark       *mark.Mark     `json:"mark,omitzero"`        // hold

	Reset *local.CardReset `json:"reset,omitzero"` // reset
	// Select are the selectors of NICs by name, for all verbs.
	Select map[string]intent.Selector `json:"select,omitempty"`
}

// hello is the first line of an agent.
type hello struct {
	Version int `json:"roce_fabric_agent"`
}

// helloPrefix begins the hello, and no line that is not meant to.
const helloPrefix = `{"roce_fabric_agent":`

// answer is every further line: one of the two.
type answer struct {
	Progress *progress `json:"progress,omitzero"`
	Response *Response `json:"response,omitzero"`
}

// progress says that step Step of Steps begins, from 0 among those not blocked.
type progress struct {
	Step  int `json:"step"`
	Steps int `json:"steps"`
	// Note is of a hold, whose one step is what lasts.
	Note string `json:"note,omitzero"`
}

// Response is the last line of an agent.
type Response struct {
	Host  *nic.Host    `json:"host,omitzero"`  // read, counters
	Steps []local.Step `json:"steps,omitzero"` // plan
	// Changes are what did not stay.
	Changes []nic.Change `json:"changes,omitzero"` // watch
	Undo    *local.Undo  `json:"undo,omitzero"`    // before; apply, with an error too
	Files   []string     `json:"files,omitzero"`   // install-unit, remove-unit, with an error too
	Mark    *mark.Mark   `json:"mark,omitzero"`    // hold: of another run
	Note    string       `json:"note,omitzero"`    // hold: why there is no mark

	Resets []local.CardReset `json:"resets,omitzero"` // resets
	Error  *Failure          `json:"error,omitzero"`
}

// errTooLong is a line above the bound.
var errTooLong = errors.New("line too long")

// lines reads lines up to a bound. A last line without its end is
// io.ErrUnexpectedEOF: it may have been cut off.
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

// strictly decodes one JSON value that has to be the whole line.
func strictly(line []byte, into any) error {
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

// decodeRequest reads a request. Another version's is looked at no further.
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
	if err := strictly(line, &q); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return &q, q.check()
}

// check refuses a request whose parts are not those of its verb.
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
		if err := whole(h); err != nil {
			return fmt.Errorf("%w: %w", ErrRequest, err)
		}
	}
	return nil
}

// whole refuses a host with ports, or devices over them, that are null: nothing beyond here
// looks for that.
func whole(h *nic.Host) error {
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

// decodeAnswer reads a line of an agent. All its text is safe to print.
func decodeAnswer(line []byte) (*answer, error) {
	line, err := cleaned(line)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	var a answer
	if err := strictly(line, &a); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrAnswer, term.CleanLine(err.Error())) // it may name a key of the answer
	}
	if (a.Progress == nil) == (a.Response == nil) {
		return nil, fmt.Errorf("%w: neither progress nor response", ErrAnswer)
	}
	if a.Response != nil {
		if err := whole(a.Response.Host); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	return &a, nil
}

// cleaned makes every string of a JSON line safe to print on one line. Most
// lines hold nothing to clean, and are returned as they are.
func cleaned(line []byte) ([]byte, error) {
	odd := func(r rune) bool { return r == '\\' || r < ' ' || r > '~' }
	if !bytes.ContainsFunc(bytes.TrimSpace(line), odd) {
		return line, nil
	}
	var v any
	if err := strictly(line, &v); err != nil {
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

// cleanText leaves printable text as it is: a value is compared with others.
func cleanText(s string) string {
	if !strings.ContainsAny(s, "\n\t") && term.Clean(s) == s {
		return s
	}
	return term.CleanLine(s)
}

// clip makes foreign text short and safe to print.
func clip(s string) string { return term.Clip(s, 200) }
