package intent

import (
	"slices"

	"github.com/roce-fabric/roce-fabric/internal/units"
)

// portKey is a key of a switch's ports whose value a [PortLine] holds.
type portKey struct {
	key string
	// read sets the value in a line from an entry of the intent, which may state nothing.
	read func(l *PortLine, v *rawPort)
	// lost reports whether an imported line lacks the value of a line that a person wrote.
	lost func(written, imported *PortLine) bool
	// same reports whether two lines state the same value, or neither does.
	same func(a, b *PortLine) bool
	// pos returns where the value is stated.
	pos func(*PortLine) Pos
}

// portKeys is the table of all these keys.
var portKeys = []portKey{
	portValue("speed", alwaysShown, func(l *PortLine) *Value[units.Rate] { return &l.Speed }, func(v *rawPort) Value[units.Rate] { return from(v.Speed, 0) }),
	portValue("cable", lostUnset, func(l *PortLine) *Value[units.Length] { return &l.Cable }, func(v *rawPort) Value[units.Length] { return from(v.Cable, 0) }),
	portValue("fec", lostOther, func(l *PortLine) *Value[string] { return &l.FEC }, func(v *rawPort) Value[string] { return from(v.FEC, "") }),
	portValue("admin", lostUnset, func(l *PortLine) *Value[*bool] { return &l.AdminUp }, func(v *rawPort) Value[*bool] { return isWord(v.Admin, "up") }),
	portValue("lag", alwaysShown, func(l *PortLine) *Value[string] { return &l.LAG }, func(v *rawPort) Value[string] { return from(v.LAG, "") }),
	portValue("breakout", alwaysShown, func(l *PortLine) *Value[string] { return &l.Breakout }, func(v *rawPort) Value[string] { return from(v.Breakout, "") }),
}

// losses says when an import loses a value.
type losses int

const (
	alwaysShown losses = iota // never: every switch shows it
	lostUnset                 // if the import has none
	lostOther                 // if the import has none or another one
)

func portValue[T comparable](key string, when losses, at func(*PortLine) *Value[T], read func(*rawPort) Value[T]) portKey {
	return portKey{
		key:  key,
		read: func(l *PortLine, v *rawPort) { *at(l) = read(v) },
		lost: func(written, imported *PortLine) bool {
			var unset T
			was, now := at(written).V, at(imported).V
			switch when {
			case lostUnset:
				return was != unset && now == unset
			case lostOther:
				return was != now
			}
			return false
		},
		same: func(a, b *PortLine) bool { return at(a).V == at(b).V && at(a).IsDefault() == at(b).IsDefault() },
		pos:  func(l *PortLine) Pos { return at(l).From.Pos },
	}
}

// lineOf returns the line that an entry of the intent states for its ports.
func lineOf(v *rawPort) *PortLine {
	l := &PortLine{}
	for _, k := range portKeys {
		k.read(l, v)
	}
	return l
}

// unstated is the line of a port for which the intent states nothing.
var unstated = lineOf(&rawPort{})

// Lost returns the keys of a line that an imported line lacks.
func (l *PortLine) Lost(imported *PortLine) (keys []string) {
	for _, k := range portKeys {
		if k.lost(l, imported) {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// Same reports whether two lines state the same, wherever they do.
func (l *PortLine) Same(o *PortLine) bool {
	return l == o || !slices.ContainsFunc(portKeys, func(k portKey) bool { return !k.same(l, o) })
}

// Places returns where the values of the line are stated.
func (l *PortLine) Places() []Pos {
	out := make([]Pos, len(portKeys))
	for i, k := range portKeys {
		out[i] = k.pos(l)
	}
	return out
}
