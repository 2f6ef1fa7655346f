package lines

import (
	"errors"
	"slices"
	"testing"

	"github.com/roce-fabric/roce-fabric/drivers"
	"github.com/roce-fabric/roce-fabric/render/eos"
	native "github.com/roce-fabric/roce-fabric/render/lines"
)

// The verdict on a batch depends on the running configuration: a batch that is active in part is
// an ErrPartial, whatever the switch answered.
func TestVerdict(t *testing.T) {
	parse := func(lines ...string) *native.Config {
		c, err := eos.Parse([]byte("hostname x\ninterface Ethernet1/1\n" + joined(lines)))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	edit := native.Edit{
		{Section: "interface Ethernet1/1", Key: "mtu", Line: "mtu 9100"},
		{Section: "interface Ethernet1/1", Key: "qos trust", Line: "qos trust dscp"},
	}
	before, half := parse(), parse("mtu 9100")
	m := &Machine{Name: "sw1", Grammar: eos.Lines}
	w := &Work{Record: Record{Edit: edit, Undo: edit.Undo(before)}, Lines: edit.Commands(before)}
	cause := errors.New("cause")
	for _, c := range []struct {
		name    string
		now     *native.Config
		fate    Fate
		is, not error
		nothing bool
	}{
		{"half, and an answer", half, Answered, drivers.ErrPartial, drivers.ErrRejected, false},
		{"half, and no answer", half, Unanswered, drivers.ErrPartial, drivers.ErrUnreachable, false},
		{"half, refused: others wrote it", half, Rejected, drivers.ErrRejected, drivers.ErrPartial, true},
		{"nothing, and no answer", before, Unanswered, drivers.ErrUnreachable, drivers.ErrPartial, false},
		{"nothing, and an answer", before, Answered, drivers.ErrRejected, drivers.ErrPartial, true},
		{"nothing, refused", before, Rejected, drivers.ErrRejected, drivers.ErrPartial, true},
		{"nothing, unsent", before, Unsent, drivers.ErrRejected, drivers.ErrPartial, true},
	} {
		nothing, err := m.verdict(w, c.now, c.fate, cause)
		if !errors.Is(err, c.is) || errors.Is(err, c.not) || nothing != c.nothing {
			t.Errorf("%s: %t, %v", c.name, nothing, err)
		}
	}
	if _, err := m.verdict(w, half, Answered, nil); !errors.Is(err, ErrOthers) {
		t.Errorf("half, without a cause: %v", err)
	}
}

func joined(lines []string) (text string) {
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return text
}

// A record with an unknown variant is rejected.
func TestVariantOfARecord(t *testing.T) {
	for variants, taken := range map[int][]int{0: {0}, 1: {0}, 2: {0, 1}} {
		m := &Machine{Name: "sw1", Grammar: eos.Lines, Variants: variants}
		for v := -1; v <= 3; v++ {
			if err := m.check(Record{Variant: v}, nil); (err == nil) != slices.Contains(taken, v) {
				t.Errorf("variant %d of %d: %v", v, variants, err)
			}
		}
	}
}
