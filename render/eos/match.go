package eos

import (
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/render/forms"
)

// hit is a line that the grammar describes, and what it does to the state.
type hit struct {
	forms.Found
	set func(*state, args)
}

// match returns the form of a line and its values; false if the line is not known at that place.
func match(text string, at place) (hit, bool) { return hitOf(grammar().Find(at, text)) }

// matchLine does the same for a line of a configuration, whose form the parser has found.
func matchLine(l *Line, at place) (hit, bool) { return hitOf(grammar().Lookup(at, l)) }

func hitOf(f forms.Found, ok bool) (hit, bool) {
	if !ok {
		return hit{}, false
	}
	return hit{f, rows[f.Index()].set}, true
}

// keyText returns the key with the values filled in; id is the entry of a list.
func (h *hit) keyText(id int) string {
	if !h.List() {
		return h.Sets()
	}
	return h.KeyOf(itoa(id))
}

// unsetOf returns the command that unsets a key; held is the present line of the key.
func unsetOf(at place, keyText, held string) string { return grammar().Unset(at, keyText, held) }

// roce reports whether a line belongs to a family of lines that RoCE depends on. Such a line
// must always be reported if it is not understood.
func roce(text string) bool {
	first, rest, _ := strings.Cut(text, " ")
	if first == "no" || first == "default" {
		first, _, _ = strings.Cut(rest, " ")
	}
	switch first {
	case "qos", "priority-flow-control", "random-detect", "dcbx", "service-profile", "bandwidth", "priority", "shape",
		"flowcontrol", string(TxQueue), string(UCTxQueue), multicastQueue:
		return true
	}
	return strings.HasPrefix(text, "service-policy type qos ")
}

// aboutQoS reports whether a line that the grammar does not describe concerns QoS at a place. All
// lines of a profile and of a queue do.
func aboutQoS(at place, text string) bool {
	if text[0] == '!' {
		return false
	}
	switch {
	case at == inProfile || at == inQueue || roce(text):
		return true
	case belongsElsewhere(at, text):
		return false
	}
	return forms.AboutQoS(text) || at == inGlobal && slices.ContainsFunc(qosPlaces, func(in place) bool {
		_, ok := match(text, in)
		return ok
	})
}

// qosPlaces lists the places in which every line is about QoS.
var qosPlaces = []place{inProfile, inQueue, inClassMap, inPolicy, inClass}

// belongsElsewhere reports whether a line is known to belong to another feature.
func belongsElsewhere(at place, text string) bool {
	_, ok := elsewhere().Find(at, text)
	return ok
}

// rankOf returns the position of a line in the order in which EOS prints lines; false if it is
// not known. Lines of the same rank are ordered by their numbers.
func rankOf(at place, text string) (rank int, ok bool) {
	h, ok := match(text, at)
	if !ok {
		return 0, false
	}
	return h.Rank(), true
}
