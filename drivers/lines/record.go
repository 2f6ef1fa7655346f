package lines

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// Record is the native part of an undo record.
type Record struct {
	// Session is the one whose commit timer reverts the apply; "" for none.
	Session string `json:"session,omitempty"`
	// Checkpoint is the name of the one that holds what stood there before; ""
	// for none. It need not be there: a switch has room for a few.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Edit is what was applied, Undo what stood there before.
	Edit native.Edit `json:"edit"`
	Undo native.Edit `json:"undo"`
	// Earlier is what runs before it wrote that were cut off, and whose effects Undo
	// undoes as well. Checkpoint and Session are those of this run alone.
	Earlier native.Edit `json:"earlier,omitempty"`
	// Before identifies the whole configuration before the apply.
	Before string `json:"before"`
	// Variant is the kind of the box, see [Machine.Means].
	Variant int `json:"model,omitempty"`
	// Begun is when the apply began; zero in records that do not say.
	Begun time.Time `json:"begun,omitzero"`
}

// Undone reports whether nothing of what was applied is in a configuration.
func (b Record) Undone(now *native.Config) bool { return len(b.Undo.Commands(now)) == 0 }

// Alone reports whether nobody else changed anything since the apply: without it
// a configuration is what it was before.
func (b Record) Alone(now *native.Config) bool {
	return drivers.Fingerprint(b.Undo.Apply(now).String()) == b.Before
}

var afterMark = lazyre.New(`^[\w-]{0,80}$`)

// marked reports whether a name is one that this tool gives to what it keeps on a switch.
func marked(name string) bool {
	rest, ok := strings.CutPrefix(name, drivers.Mark)
	return ok && afterMark.MatchString(rest)
}

// check returns an error, with the place, unless an undo record is one that
// Apply makes: a journal is a file, and its lines are typed.
func (m *Machine) check(b Record, managed func(port string) bool) error {
	if b.Session != "" && !marked(b.Session) {
		return fmt.Errorf("undo record: unusable name of a session %q", b.Session)
	}
	if (b.Checkpoint != "" || m.Checkpoints) && !marked(b.Checkpoint) {
		return fmt.Errorf("undo record: unusable name of a checkpoint %q", b.Checkpoint)
	}
	if b.Variant < 0 || b.Variant > max(0, m.Variants-1) {
		return fmt.Errorf("undo record: unknown model %d", b.Variant)
	}
	if err := m.Grammar.Check(b.Edit, managed); err != nil {
		return fmt.Errorf("undo record: applied lines: %w", err)
	}
	if err := m.Grammar.Check(b.Earlier, managed); err != nil {
		return fmt.Errorf("undo record: lines of earlier runs: %w", err)
	}
	err := m.Grammar.Check(b.Undo, managed)
	if err == nil {
		err = slices.Concat(b.Edit, b.Earlier).CheckUndo(b.Undo)
	}
	if err != nil {
		return fmt.Errorf("undo record: previous lines: %w", err)
	}
	return nil
}

// continued returns the record of an apply to cfg that undoes runs before it as well,
// whose records are given, the newest first.
func (m *Machine) continued(b Record, cfg *native.Config, runs []*drivers.Token) (Record, error) {
	if len(runs) == 0 {
		return b, nil
	}
	for _, t := range runs {
		run, err := m.Record(t)
		if err != nil {
			return b, err
		}
		cfg = run.Undo.Apply(cfg)
		b.Earlier = slices.Concat(b.Earlier, run.Edit, run.Earlier)
	}
	b.Undo = slices.Concat(b.Edit, b.Earlier).Undo(cfg)
	b.Before = drivers.Fingerprint(cfg.String())
	return b, nil
}

// CheckUndo returns an error, with the place, for a record that Apply never makes.
func (m *Machine) CheckUndo(t *drivers.Token, managed func(port string) bool) (qos.Impact, error) {
	b, err := m.record(t, managed)
	return m.disturbs(b.Undo), err
}

// Record reads an undo record, and takes none that Apply does not make.
func (m *Machine) Record(t *drivers.Token) (Record, error) { return m.record(t, nil) }

func (m *Machine) record(t *drivers.Token, managed func(port string) bool) (b Record, err error) {
	if err = t.Read(m.Name, &b); err != nil {
		return b, err
	}
	return b, m.check(b, managed)
}
