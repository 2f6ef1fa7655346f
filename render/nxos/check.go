package nxos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/render/lines"
)

// known reports whether [Change] or its undo could make a setting: on an Ethernet interface, in
// system qos, in a block of this package, in a class of a policy, in the matches of a class-map,
// or at the top level, with a line of the grammar that sets the key. Checking this matters
// because NX-OS accepts exec-mode commands in configuration mode too.
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
		return h.name, isPort(h.name) && s.Block == "" && (whole || writes(inInterface, s.Key)) && setsItsKey(s, h.at)
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
		// A class of a policy is a block, not a setting of the policy.
		return "", (h.at == inClassMap || s.Key == "" || s.Key == keyDescription) && setsItsKey(s, h.at)
	}
	typ, _, ok := classOf(s.Block)
	return "", h.at == inPolicy && ok && typ == h.typ && setsItsKey(s, classPlace(h.typ))
}

// edited reports whether a setting belongs to a policy or class-map with a foreign name that is
// edited in place: class-map matches, qos-groups, bandwidth shares and marking. The policy or
// class-map itself is never created or removed.
func edited(s lines.Setting, h head) bool {
	typ, _, ok := classOf(s.Block)
	switch {
	case h.at == inClassMap && h.typ == typeQoS && s.Block == "":
		var m matched
		return m.add(s.Key) && setsItsKey(s, inClassMap)
	case h.at != inPolicy || !ok || typ != h.typ:
		return false
	}
	at := classPlace(typ)
	return (at == inClassQoS || at == inClassQueuing) && (s.Key == "" || writes(at, s.Key)) && setsItsKey(s, at)
}

// setsItsKey reports whether the line of a setting sets its key at that place. A removal has no
// line: its command is derived from the line on the switch, so the key alone must be valid.
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

// plain reports whether a text is safe to use in a command: it cannot end the command, start
// another, ask for help or redirect output.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r > 127 || !lines.Alnum(byte(r)) && !strings.ContainsRune(" ._:/,+-", r)
	})
}

// repeatable reports whether a line held by a switch may be typed again.
func repeatable(at place, text string) bool {
	return (plain(text) || described(text)) && belongs(at, text)
}

// described reports whether a line is a description with a one-line text free of characters that
// are special on the command line.
func described(text string) bool {
	rest, ok := strings.CutPrefix(text, keyDescription+" ")
	return ok && strings.TrimSpace(rest) == rest && lines.Plain(rest)
}
