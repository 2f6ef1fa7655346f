package mlxconfig

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Kind is what a difference between a card and what is wanted calls for.
type Kind string

// The kinds. Only Program is work for [Tool.Set].
const (
	// Program: the next boot differs from what is wanted.
	Program Kind = "program"
	// ResetPending: the next boot is as wanted and what is in force is not. It
	// takes a reset and no further write.
	ResetPending Kind = "reset-pending"
	// unconfirmed: the next boot is as wanted; what is in force is not shown.
	unconfirmed Kind = "unconfirmed"
	// Unsupported: the card does not list it, or what is wanted is no value.
	Unsupported Kind = "unsupported"
	// ReadOnly: the next boot differs, and the card takes no change of it.
	ReadOnly Kind = "read-only"
	// Unreadable: whether it differs could not be read.
	Unreadable Kind = "unreadable"
)

// Change is one difference.
type Change struct {
	Name string
	Kind Kind
	Want Value
	// Current and Next are what the card held when it was read.
	Current, Next Value
	// Why explains every kind but Program and ResetPending.
	Why string
	// Reset says what puts the change in force; "" for kinds that need none.
	Reset string
}

// Plan compares a card with the settings that are wanted, by name, values as
// [ParseValue] reads them, and returns what differs in natural order of the
// names. A setting that is as wanted, now and after the next boot, is not in
// it; neither is one that want does not name.
func Plan(cfg *Config, want map[string]string) []Change {
	var out []Change
	for _, name := range natural.Keys(want) {
		if ch := compare(cfg, name, ParseValue(want[name])); ch != nil {
			out = append(out, *ch)
		}
	}
	return out
}

func compare(cfg *Config, name string, want Value) *Change {
	p, listed := cfg.Params[name]
	ch := &Change{Name: name, Want: want, Current: p.Current, Next: p.Next}
	switch {
	case !want.Known():
		ch.Kind, ch.Why = Unsupported, "no value is wanted"
	case !listed:
		ch.Kind, ch.Why = missing(cfg, name)
	case !p.Next.Known():
		ch.Kind, ch.Why = Unreadable, "the tool could not read the next boot's value"
	case strings.HasPrefix(p.Next.Name, "Array["):
		ch.Kind, ch.Why = Unreadable, "the setting is an array, whose values are not in the answer"
	case !comparableTo(want, p.Next):
		ch.Kind, ch.Why = Unreadable, "the card shows no name for its value "+p.Next.String()+": want a number"
	case !p.Next.Same(want) && p.ReadOnly:
		ch.Kind, ch.Why = ReadOnly, "the card lets this host read the setting and not change it"
	case !p.Next.Same(want):
		ch.Kind, ch.Reset = Program, cfg.reset()
	case !p.Current.Known():
		ch.Kind, ch.Why = unconfirmed, "the next boot is as wanted; the firmware does not show what is in force"
	case !p.Current.Same(want):
		ch.Kind, ch.Reset = ResetPending, cfg.reset()
	default:
		return nil
	}
	return ch
}

// comparableTo reports whether two values can be told apart at all: a name alone
// cannot be compared with a number alone.
func comparableTo(a, b Value) bool {
	return a.Numbered && b.Numbered || a.Name != "" && b.Name != ""
}

// hidden are settings that a card lists once ADVANCED_PCI_SETTINGS is in force.
var hidden = map[string]bool{"MAX_ACC_OUT_READ": true, RelaxedOrdering: true}

// missing says why a setting is not in a config.
func missing(cfg *Config, name string) (Kind, string) {
	base, _, element := strings.Cut(name, "[")
	if _, listed := cfg.Params[base]; element && listed {
		return Unreadable, "the setting is an array, whose values are not in the answer"
	}
	if !paramName.MatchString(name) {
		return Unsupported, "no setting has such a name"
	}
	if port := portOf(name); port > cfg.Ports() && cfg.Ports() > 0 && !cfg.Partial {
		return Unsupported, "the card has no such port"
	}
	for _, line := range cfg.Unread {
		if strings.Contains(line, name) {
			return Unreadable, "the tool's line of it cannot be understood: " + line
		}
	}
	inDPU, _ := cfg.dpu()
	switch {
	case cfg.Partial:
		return Unreadable, "the card does not list it, and the tool could not read all settings"
	case inDPU:
		return Unsupported, "the card does not list it for this host; in DPU mode it belongs to the card's own CPU"
	case hidden[name]:
		return Unsupported, "the card hides it until ADVANCED_PCI_SETTINGS is on and the card was reset"
	}
	return Unsupported, "the card's firmware does not list it"
}
