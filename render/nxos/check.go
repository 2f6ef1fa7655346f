package nxos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/cli"
)

// Check returns an error unless each setting is one that [Change] or
// [Edit.Undo] makes: of an Ethernet interface that is managed, system qos, a
// block of this package's own, or the top level, with a line of the grammar that
// sets what the key says. An edit that was read from a file may hold anything,
// and NX-OS takes commands of exec mode in configuration mode too. A nil managed
// takes every Ethernet interface.
func (e Edit) Check(managed func(port string) bool) error {
	for i, s := range e {
		if !s.known() {
			return fmt.Errorf("setting %d: this tool never writes it: section %q, class %q, key %q, line %q", i+1, s.Section, s.Class, s.Key, s.Line)
		}
		if h, ok := headOf(s.Section); ok && h.at == inInterface && managed != nil && !managed(h.name) {
			return fmt.Errorf("setting %d: %s is not in the intent: key %q, line %q", i+1, s.Section, s.Key, s.Line)
		}
	}
	return nil
}

func (s Setting) known() bool {
	h, ok := headOf(s.Section)
	switch {
	case !plain(s.Section) || !plain(s.Class) || s.At < 0:
		return false
	case s.Section == "":
		return s.Class == "" && s.Key != "" && s.sets(inGlobal)
	case !ok:
		return false
	}
	switch h.at {
	case inInterface:
		whole := s.Key == "" && s.Line == ""
		return isPort(h.name) && s.Class == "" && (whole || slices.Contains(written, s.Key)) && s.sets(h.at)
	case inSystem:
		return s.Class == "" && (s.Key == "" || s.Key == keyNetwork) && s.sets(h.at)
	}
	if !strings.HasPrefix(h.name, Prefix) || h.at == inPolicy && classPlace(h.typ) == inOther {
		return false
	}
	if s.Class == "" {
		// A class of a policy is no line of it.
		return (h.at == inClassMap || s.Key == "" || s.Key == keyDescription) && s.sets(h.at)
	}
	typ, _, ok := classOf(s.Class)
	return h.at == inPolicy && ok && typ == h.typ && s.sets(classPlace(h.typ))
}

// CheckUndo returns an error unless undo is at the places of the edit, as what
// [Edit.Undo] returns is.
func (e Edit) CheckUndo(undo Edit) error {
	at := map[Setting]bool{}
	for _, s := range e {
		at[Setting{Section: s.Section}] = s.Section != ""
		at[Setting{Section: s.Section, Class: s.Class}] = s.Section != ""
		at[Setting{Section: s.Section, Class: s.Class, Key: s.Key}] = true
		if s.Key == "" && s.Line == "" {
			at[Setting{Section: s.Section, Class: s.Class, Line: gone}] = true
		}
	}
	for i, s := range undo {
		if !at[Setting{Section: s.Section, Class: s.Class, Key: s.Key}] && !at[Setting{Section: s.Section, Class: s.Class, Line: gone}] && !at[Setting{Section: s.Section, Line: gone}] {
			return fmt.Errorf("setting %d: the run wrote nothing there: section %q, class %q, key %q, line %q", i+1, s.Section, s.Class, s.Key, s.Line)
		}
	}
	return nil
}

// gone marks, within CheckUndo, a block or class that goes as a whole.
const gone = "\x00"

// written are the keys of an interface that this package writes.
var written = []string{keyMTU, keyPFC, keyWatchdog, keyInput, keyOutput, keyShutdown, keyReceive, keySend}

// sets reports whether the line of a setting at a place is one of its key. What
// takes a line away is made of the line that the switch has, so that the key
// alone says which that is.
func (s Setting) sets(at place) bool {
	switch {
	case s.Key == "":
		return s.Line == "" || s.Line == Present
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
		return r > 127 || !cli.Alnum(byte(r)) && !strings.ContainsRune(" ._:/,+-", r)
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
	return ok && strings.TrimSpace(rest) == rest && !strings.ContainsFunc(rest, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(";|<>?!\"'`\\$", r)
	})
}

// Flaps reports whether an edit changes the admin state of an interface.
func (e Edit) Flaps() bool {
	return slices.ContainsFunc(e, func(s Setting) bool { return s.Key == keyShutdown })
}
