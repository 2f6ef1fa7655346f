package mlxconfig

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/natural"
)

// Kind classifies a difference between a card and the wanted settings.
type Kind string

// The kinds of differences. [Tool.Set] acts only on Program.
const (
	// Program: the value for the next boot differs from the wanted one.
	Program Kind = "program"
	// ResetPending: the value for the next boot is as wanted, but the one in force is not. This
	// requires a reset and no further write.
	ResetPending Kind = "reset-pending"
	// unconfirmed: the value for the next boot is as wanted; the one in force is not shown.
	unconfirmed Kind = "unconfirmed"
	// Unsupported: the card does not list the setting, or the wanted value is not a value.
	Unsupported Kind = "unsupported"
	// ReadOnly: the value for the next boot differs, and the card does not allow changing it.
	ReadOnly Kind = "read-only"
	// Unreadable: the value could not be read, so it may or may not differ.
	Unreadable Kind = "unreadable"
)

// Change is one difference.
type Change struct {
	Name string
	Kind Kind
	Want Value
	// Current and Next are the card's values when it was read.
	Current, Next Value
	// Why gives the reason for every kind except Program and ResetPending.
	Why string
	// Reset says what puts the change into force; "" for kinds that need no reset.
	Reset string
}

// Plan compares a card with the wanted settings, given by name as values that [ParseValue] reads,
// and returns the differences in natural order of the names. It omits settings that are as wanted
// both now and after the next boot, and settings that want does not name.
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
		ch.Kind, ch.Why = ReadOnly, "the card lets this host read the setting, but not change it"
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

// comparableTo reports whether two values can be compared: a bare name cannot be compared with a
// bare number.
func comparableTo(a, b Value) bool {
	return a.Numbered && b.Numbered || a.Name != "" && b.Name != ""
}

// hidden lists the settings that a card shows only once ADVANCED_PCI_SETTINGS is in force.
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
			return Unreadable, "the tool's line about it cannot be parsed: " + line
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
