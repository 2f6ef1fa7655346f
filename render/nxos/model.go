package nxos

import (
	"strings"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// ClassModel tells which predefined class names a switch uses in network-qos and queuing
// policies, and thereby how many queues it has.
type ClassModel int

// The class models.
const (
	EightQueue ClassModel = iota // c-8q-nq1.., c-out-8q-q1..
	FourQueue                    // c-nq1.., c-out-q1..
)

// String returns "8q" or "4q".
func (m ClassModel) String() string {
	if m == FourQueue {
		return "4q"
	}
	return "8q"
}

// top returns the highest queue.
func (m ClassModel) top() int {
	if m == FourQueue {
		return 3
	}
	return qos.NumPriorities - 1
}

// class returns the name of the class for a queue in queuing or network-qos policies.
func (m ClassModel) class(typ string, queue int) string {
	prefix, rest := "c-8q-nq", "c-8q-nq-default"
	switch {
	case m == EightQueue && typ == typeQueuing:
		prefix, rest = "c-out-8q-q", "c-out-8q-q-default"
	case m == FourQueue && typ == typeNetwork:
		prefix, rest = "c-nq", "c-nq-default"
	case m == FourQueue:
		prefix, rest = "c-out-q", "c-out-q-default"
	}
	if queue == 0 {
		return rest
	}
	return prefix + string(rune('0'+queue))
}

// queue returns the queue of a class in policies of a type.
func (m ClassModel) queue(typ, class string) (int, bool) {
	for q := range m.top() + 1 {
		if m.class(typ, q) == class {
			return q, true
		}
	}
	return 0, false
}

// ModelOf determines the class model from the class names in a text: the output of "show
// class-map type network-qos" or "show policy-map system type network-qos", or a running
// configuration. Switches with eight queues know the four-queue names as well, so one
// eight-queue name decides. ok is false if the text has no such name.
func ModelOf(text string) (m ClassModel, ok bool) {
	if strings.Contains(text, "c-8q-nq") || strings.Contains(text, "c-out-8q-q") {
		return EightQueue, true
	}
	for _, w := range strings.Fields(text) {
		for q := range FourQueue.top() + 1 {
			if w == FourQueue.class(typeNetwork, q) || w == FourQueue.class(typeQueuing, q) {
				return FourQueue, true
			}
		}
	}
	return EightQueue, false
}
