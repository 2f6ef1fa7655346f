package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/forms"
	"github.com/roce-fabric/roce-fabric/render/lines"
)

// written lists the keys that this tool writes at each place, and the prefixes of further keys.
// Profiles are not restricted, and a queue contains only QoS lines.
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

// known reports whether [Change] or its undo could make a setting: in an Ethernet interface, a
// profile of this tool, or at the top level, with a line of the grammar that sets the key, and a
// key that this tool writes there. In a profile with another name only single lines are changed.
func known(s lines.Setting) (port string, ok bool) {
	at := inGlobal
	if name, ok := strings.CutPrefix(s.Section, sectionInterface); ok && isEthernet(name) {
		at, port = inInterface, name
	} else if name, ok := strings.CutPrefix(s.Section, sectionProfile); ok && (isOwn(name) || others(s)) {
		at = inProfile
	} else if s.Section != "" {
		return "", false
	}
	if s.Key == "" {
		return port, s.Section != "" && s.Block == "" && (s.Line == "" || s.Line == lines.Present || s.Line == s.Section)
	}
	if s.Block != "" {
		if at == inGlobal || !isQueue(s.Block) {
			return "", false
		}
		at = inQueue
	}
	if !plain(s.Key) || !plain(s.Line) || !writes(at, s.Key) {
		return "", false
	}
	if s.Line == "" {
		unset := unsetOf(at, s.Key, "")
		_, ok := match(unset, at)
		return port, ok || unset == "no " // "no " alone: the key is unset by negating the present line
	}
	h, ok := match(s.Line, at)
	if !ok || h.Other || h.Text != s.Line {
		return "", false
	}
	id := 0
	if h.List() {
		ids := h.Entries()
		if len(ids) != 1 {
			return "", false
		}
		id = ids[0]
	}
	return port, h.keyText(id) == s.Key
}

// others reports whether a setting may belong to a profile with another name.
func others(s lines.Setting) bool {
	return s.Key != "" && plain(s.Section) && forms.IsWord(strings.TrimPrefix(s.Section, sectionProfile)) && (s.Block != "" || writes(inInterface, s.Key))
}

// plain reports whether a text is safe to type and has single spaces.
func plain(text string) bool { return canonical(text) == text && lines.Plain(text) }
