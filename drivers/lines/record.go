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
	// Session is the session whose commit timer reverts the apply; "" for none.
	Session string `json:"session,omitempty"`
	// Checkpoint names the checkpoint with the settings from before the apply; "" for none. It
	// may no longer exist, because a switch keeps only a few.
	Checkpoint string `json:"checkpoint,omitempty"`
	// Edit holds the applied settings, Undo the previous ones.
	Edit native.Edit `json:"edit"`
	Undo native.Edit `json:"undo"`
	// Earlier holds the settings that earlier, interrupted runs applied; Undo reverts these as
	// well. Checkpoint and Session belong to this run only.
	Earlier native.Edit `json:"earlier,omitempty"`
	// Before is the fingerprint of the whole configuration before the apply.
	Before string `json:"before"`
	// Variant is the variant of the switch, see [Machine.Means].
	Variant int `json:"model,omitempty"`
	// Begun is the start time of the apply; zero in records without it.
	Begun time.Time `json:"begun,omitzero"`
}

// Undone reports whether a configuration contains nothing of the applied settings.
func (b Record) Undone(now *native.Config) bool { return len(b.Undo.Commands(now)) == 0 }

// Alone reports whether nobody else changed anything since the apply: undoing it would restore
// the previous configuration exactly.
func (b Record) Alone(now *native.Config) bool {
	return drivers.Fingerprint(b.Undo.Apply(now).String()) == b.Before
}

var afterMark = lazyre.New(`^[\w-]{0,80}$`)

// marked reports whether this tool may have given the name to an object on a switch.
func marked(name string) bool {
	rest, ok := strings.CutPrefix(name, drivers.Mark)
	return ok && afterMark.MatchString(rest)
}

// check returns an error, with its position, for an undo record that Apply would never create.
// Records come from a journal file, and their lines are typed on the switch.
func (m *Machine) check(b Record, managed func(port string) bool) error {
	if b.Session != "" && !marked(b.Session) {
		return fmt.Errorf("undo record: invalid session name %q", b.Session)
	}
	if (b.Checkpoint != "" || m.Checkpoints) && !marked(b.Checkpoint) {
		return fmt.Errorf("undo record: invalid checkpoint name %q", b.Checkpoint)
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

// continued extends the record of an apply to cfg so that it also undoes earlier runs, whose
// records are given newest first.
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

// CheckUndo returns an error, with its position, for a record that Apply never creates.
func (m *Machine) CheckUndo(t *drivers.Token, managed func(port string) bool) (qos.Impact, error) {
	b, err := m.record(t, managed)
	return m.disturbs(b.Undo), err
}

// Record decodes an undo record and rejects one that Apply never creates.
func (m *Machine) Record(t *drivers.Token) (Record, error) { return m.record(t, nil) }

func (m *Machine) record(t *drivers.Token, managed func(port string) bool) (b Record, err error) {
	if err = t.Read(m.Name, &b); err != nil {
		return b, err
	}
	return b, m.check(b, managed)
}
