package eos

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns an error unless each setting is one that [Change] or
// [Edit.Undo] makes: of an Ethernet interface that is managed, a profile of
// this tool, or the top level, with a line of the grammar that sets what the
// key says, and a key that this tool writes there. An edit that was read from a
// file may hold anything. A nil managed takes every Ethernet interface.
func (e Edit) Check(managed func(port string) bool) error {
	for i, s := range e {
		if !s.known() {
			return fmt.Errorf("setting %d: this tool never writes it: key %q, line %q, queue %q, section %q", i+1, s.Key, s.Line, s.Queue, s.Section)
		}
		if port, ok := strings.CutPrefix(s.Section, sectionInterface); ok && managed != nil && !managed(port) {
			return fmt.Errorf("setting %d: %s is not in the intent: key %q, line %q", i+1, s.Section, s.Key, s.Line)
		}
	}
	return nil
}

// CheckUndo returns an error unless undo is at the places of the edit, as what
// [Edit.Undo] returns is.
func (e Edit) CheckUndo(undo Edit) error {
	at := map[Setting]bool{}
	for _, s := range e {
		at[Setting{Section: s.Section}] = true
		at[Setting{Section: s.Section, Queue: s.Queue, Key: s.Key}] = true
		if s.Key == "" && s.Line == "" {
			at[Setting{Section: s.Section, Line: gone}] = true
		}
	}
	for i, s := range undo {
		if !at[Setting{Section: s.Section, Queue: s.Queue, Key: s.Key}] && !at[Setting{Section: s.Section, Line: gone}] {
			return fmt.Errorf("setting %d: the run wrote nothing there: key %q, line %q, queue %q, section %q", i+1, s.Key, s.Line, s.Queue, s.Section)
		}
	}
	return nil
}

// gone marks, within CheckUndo, a section that goes as a whole.
const gone = "\x00"

// written are the keys that this tool writes, by place, and what others begin
// with. A profile is its own as a whole, and a queue holds nothing but QoS.
var written = map[place]struct{ keys, prefixes []string }{
	inGlobal: {
		keys:     []string{keyAllOff, keyTimeout, keyRecovery, keyPoll, keyAction, keyOverride},
		prefixes: []string{keyMapDSCP, keyMapCOS, keyMapTC},
	},
	inInterface: {
		keys:     []string{keyMTU, keyL2MTU, keyShutdown, keySend, keyReceive, keyProfile, keyTrust, keyPFC, keyDog, keyDogAction, keyDogTimer},
		prefixes: []string{keyNoDrop},
	},
}

func writes(at place, key string) bool {
	w, bounded := written[at]
	return !bounded || slices.Contains(w.keys, key) || slices.ContainsFunc(w.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

func (s Setting) known() bool {
	at := inGlobal
	if name, ok := strings.CutPrefix(s.Section, sectionInterface); ok && isEthernet(name) {
		at = inInterface
	} else if name, ok := strings.CutPrefix(s.Section, sectionProfile); ok && isOwn(name) {
		at = inProfile
	} else if s.Section != "" {
		return false
	}
	if s.Key == "" {
		return s.Section != "" && s.Queue == "" && (s.Line == "" || s.Line == s.Section)
	}
	if s.Queue != "" {
		if at == inGlobal || !isQueue(s.Queue) {
			return false
		}
		at = inQueue
	}
	if !plain(s.Key) || !plain(s.Line) || !writes(at, s.Key) {
		return false
	}
	if s.Line == "" {
		unset, _ := unsetOf(s.Key, "", at)
		_, ok := match(unset, at)
		return ok || unset == "no " // and the line that is held
	}
	h, ok := match(s.Line, at)
	if !ok || h.about == nil || h.text != s.Line {
		return false
	}
	id := 0
	if h.list {
		ids := h.entries()
		if len(ids) != 1 {
			return false
		}
		id = ids[0]
	}
	return h.keyText(id) == s.Key
}

// plain reports whether a text is one line that ends no command, begins no
// other, asks for no help and sends no output away, with single blanks.
func plain(text string) bool {
	return canonical(text) == text && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || strings.ContainsRune(";|<>?!\"'`\\", r)
	})
}

// Flaps reports whether an edit changes the admin state of an interface.
func (e Edit) Flaps() bool {
	return slices.ContainsFunc(e, func(s Setting) bool { return s.Key == keyShutdown })
}
