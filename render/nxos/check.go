package nxos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// known reports whether a setting is one that [Change] or its undoing makes: of
// an Ethernet interface, system qos, a block of this package's own, a class of a
// policy, what a class-map matches, or the top level, with a line of the grammar that sets what the key says. NX-OS takes
// commands of exec mode in configuration mode too.
func known(s lines.Setting) (port string, ok bool) {
	h, isBlock := headOf(s.Section)
	switch {
	case !plain(s.Section) || !plain(s.Block):
		return "", false
	case s.Section == "":
		return "", s.Block == "" && s.Key != "" && setsItsKey(s, inGlobal)
	case !isBlock:
		return "", false
	}
	switch h.at {
	case inInterface:
		whole := s.Key == "" && s.Line == ""
		return h.name, isPort(h.name) && s.Block == "" && (whole || slices.Contains(written, s.Key)) && setsItsKey(s, h.at)
	case inSystem:
		return "", s.Block == "" && (s.Key == "" || s.Key == keyNetwork) && setsItsKey(s, h.at)
	}
	if !strings.HasPrefix(h.name, prefix) {
		return "", edited(s, h)
	}
	if h.at == inPolicy && classPlace(h.typ) == inOther {
		return "", false
	}
	if s.Block == "" {
		// A class of a policy is no line of it.
		return "", (h.at == inClassMap || s.Key == "" || s.Key == keyDescription) && setsItsKey(s, h.at)
	}
	typ, _, ok := classOf(s.Block)
	return "", h.at == inPolicy && ok && typ == h.typ && setsItsKey(s, classPlace(h.typ))
}

// edited reports whether a setting is one of a policy or class-map of another name that
// is edited in place: what its classes match, the group that they set, shares and
// marking. The policy or class-map itself is neither made nor removed.
func edited(s lines.Setting, h head) bool {
	typ, _, ok := classOf(s.Block)
	switch {
	case h.at == inClassMap && h.typ == typeQoS && s.Block == "":
		var m matched
		return m.add(s.Key) && setsItsKey(s, inClassMap)
	case h.at != inPolicy || !ok || typ != h.typ:
		return false
	}
	keys := map[string][]string{typeQoS: {"", keyGroup}, typeQueuing: {"", keyBandwidth, keyPriority, keyShape, keyWRED, "afd"}}
	return slices.Contains(keys[typ], s.Key) && setsItsKey(s, classPlace(typ))
}

// written are the keys of an interface that this package writes.
var written = []string{keyMTU, keyPFC, keyWatchdog, keyInput, keyOutput, keyShutdown, keyReceive, keySend}

// setsItsKey reports whether the line of a setting at a place is one of its key. What
// takes a line away is made of the line that the switch has, so that the key
// alone says which that is.
func setsItsKey(s lines.Setting, at place) bool {
	switch {
	case s.Key == "":
		return s.Line == "" || s.Line == lines.Present
	case !belongs(at, s.Key) || keyOf(at, s.Key) != s.Key || !plain(s.Key):
		return false
	case s.Line == "":
		return true
	}
	return repeatable(at, s.Line) && keyOf(at, s.Line) == s.Key
}

// plain reports whether a text is made of what commands are made of: nothing
// that ends a command, begins another, asks for help or sends output away.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r > 127 || !lines.Alnum(byte(r)) && !strings.ContainsRune(" ._:/,+-", r)
	})
}

// repeatable reports whether a line that a switch holds may be typed again.
func repeatable(at place, text string) bool {
	return (plain(text) || described(text)) && belongs(at, text)
}

// described reports whether a line is a description: a text of its own, of one
// line, without what a command line gives a meaning.
func described(text string) bool {
	rest, ok := strings.CutPrefix(text, keyDescription+" ")
	return ok && strings.TrimSpace(rest) == rest && lines.Plain(rest)
}
