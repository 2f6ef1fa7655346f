package nxos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/cli"
)

// Check returns an error unless each setting is one that [Change] makes: of an
// Ethernet interface, system qos, a block of this package's own, or the top
// level, with a line of the grammar that sets what the key says. An edit that
// was read from a file may hold anything, and NX-OS takes commands of exec mode
// in configuration mode too.
func (e Edit) Check() error {
	for _, s := range e {
		if !s.known() {
			return fmt.Errorf("no setting of this tool: section %q, class %q, key %q, line %q", s.Section, s.Class, s.Key, s.Line)
		}
	}
	return nil
}

func (s Setting) known() bool {
	h, ok := headOf(s.Section)
	switch {
	case !plain(s.Section):
		return false
	case s.Section == "":
		return s.Class == "" && s.Key != "" && s.sets(inGlobal)
	case !ok:
		return false
	}
	switch h.at {
	case inInterface:
		return isPort(h.name) && s.Class == "" && slices.Contains(written, s.Key) && s.sets(h.at)
	case inSystem:
		return s.Class == "" && (s.Key == "" || s.Key == keyNetwork) && s.sets(h.at)
	}
	if !strings.HasPrefix(h.name, Prefix) || h.at == inPolicy && classPlace(h.typ) == inOther {
		return false
	}
	if s.Class == "" {
		return (s.Key == "" || h.at == inClassMap) && s.sets(h.at)
	}
	typ, _, ok := classOf(s.Class)
	return h.at == inPolicy && ok && typ == h.typ && s.sets(classPlace(h.typ))
}

// written are the keys of an interface that this package writes.
var written = []string{keyMTU, keyPFC, keyWatchdog, keyInput, keyOutput, keyShutdown, keyReceive, keySend}

// sets reports whether the line of a setting at a place is one of its key. What
// takes a line away is made of the line that the switch has.
func (s Setting) sets(at place) bool {
	switch {
	case s.Line == "":
		return true
	case s.Key == "":
		return s.Line == Present && plain(s.Class)
	}
	return plain(s.Class) && plain(s.Line) && belongs(at, s.Line) && keyOf(at, s.Line) == s.Key
}

// plain reports whether a text is made of what commands are made of: nothing
// that ends a command, begins another, asks for help or sends output away.
func plain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r > 127 || !cli.Alnum(byte(r)) && !strings.ContainsRune(" ._:/,+-", r)
	})
}

// repeatable reports whether a line of another policy may be written in one of
// this package's own.
func repeatable(at place, text string) bool { return plain(text) && belongs(at, text) }
