package nxos

import (
	"slices"
	"strings"
)

// Commands returns what to type in configuration mode, one line each, with the
// mode lines and "exit"; the last one leaves the last mode. Nothing is typed
// for what have holds already. The watchdog's timers come first: a switch that
// does not know their lines refuses them before anything in force is touched.
// What is named is made first, and what names it is taken away first:
// network-qos policies that nothing uses yet, class-maps, policies, other
// global lines, system qos, interfaces, then what is removed. A network-qos
// policy in use is not edited while it is attached. Within a queuing policy
// bandwidth is given up before it is given.
func (e Edit) Commands(have *Config) []string {
	old, now := newTree(have), newTree(e.Apply(have))
	w := typist{old: old, now: now}
	network, _, _ := last(old.blocks[head{at: inSystem}.id()], keyNetwork)
	var phases [10][]string
	seen := map[string]bool{}
	for _, s := range e {
		if s.Section == "" {
			at := 5
			if slices.Contains(timerKeys, s.Key) {
				at = 0
			}
			phases[at] = append(phases[at], w.globalLine(s.Key)...)
			continue
		}
		h, _ := headOf(s.Section)
		if seen[h.id()] {
			continue
		}
		seen[h.id()] = true
		was, is := old.blocks[h.id()], now.blocks[h.id()]
		at := 7
		switch {
		case h.at == inPolicy && is == nil:
			at = 8
		case h.at == inClassMap && is == nil:
			at = 9
		case h.at == inPolicy && h.typ == typeNetwork && h.name == network:
			at = 8
		case h.at == inPolicy && h.typ == typeNetwork:
			at = 1
		case h.at == inClassMap:
			at = 2
		case h.at == inPolicy && h.typ == typeQoS:
			at = 3
		case h.at == inPolicy:
			at = 4
		case h.at == inSystem:
			at = 6
		}
		phases[at] = append(phases[at], w.block(h, was, is)...)
	}
	return slices.Concat(phases[:]...)
}

// timerKeys are the lines of the watchdog's timers, whose names are in no public
// document that we know.
var timerKeys = []string{keyInterval, keyMultiplier, keyRestore}

type typist struct{ old, now *tree }

func (w typist) globalLine(key string) []string {
	text := func(t *tree) string {
		if ls := t.global[key]; len(ls) > 0 {
			return ls[len(ls)-1].Text
		}
		return ""
	}
	was, is := text(w.old), text(w.now)
	switch {
	case was == is:
		return nil
	case is == "":
		return []string{unsetOf(inGlobal, was)}
	}
	return []string{is}
}

func (w typist) block(h head, was, is *Line) []string {
	switch {
	case was == nil && is == nil:
		return nil
	case is == nil && !lasting(h.at):
		return []string{"no " + was.Text}
	}
	var body []string
	if h.at == inPolicy {
		body = w.policy(h, was, is)
	} else {
		body = changes(h.at, was, is)
	}
	if len(body) == 0 && (was != nil || lasting(h.at)) {
		return nil
	}
	header := h.text()
	if was != nil {
		header = was.Text
	} else if is != nil {
		header = is.Text
	}
	return append(append([]string{header}, body...), "exit")
}

// lines returns the lines of a block by key, and the keys in order. Classes
// are no lines of a policy.
func lines(at place, block *Line) (keys []string, text map[string]string) {
	text = map[string]string{}
	if block == nil {
		return nil, text
	}
	for _, l := range block.Sub {
		if _, _, isClass := classOf(l.Text); isClass && at == inPolicy || l.Text[0] == '!' {
			continue
		}
		key := keyOf(at, l.Text)
		if _, ok := text[key]; !ok {
			keys = append(keys, key)
		}
		text[key] = l.Text
	}
	return keys, text
}

// changes returns what makes one block of the other, first what goes.
func changes(at place, was, is *Line) []string {
	take, give := takeGive(at, was, is)
	return append(take, give...)
}

// takeGive returns what takes lines away and what gives new ones. A policy
// attached in the place of another is attached once that is gone; only that of
// system qos is known to be replaced in one step.
func takeGive(at place, was, is *Line) (take, give []string) {
	oldKeys, old := lines(at, was)
	newKeys, now := lines(at, is)
	for _, k := range oldKeys {
		if _, ok := now[k]; !ok {
			take = append(take, unsetOf(at, old[k]))
		}
	}
	for _, k := range newKeys {
		o, had := old[k]
		if had && o == now[k] {
			continue
		}
		swap := at == inInterface && strings.HasPrefix(k, "service-policy") ||
			at == inClassQueuing && k == keyBandwidth && form(o) != form(now[k])
		if had && swap {
			take = append(take, unsetOf(at, o))
		}
		give = append(give, now[k])
	}
	return take, give
}

// form is a line without its last word: "bandwidth remaining percent".
func form(text string) string { return text[:max(0, strings.LastIndexByte(text, ' '))] }

// policy returns what makes one policy of another. In a queuing policy
// the lowest queue gives up first, and the highest gets first.
func (w typist) policy(h head, was, is *Line) []string {
	out := changes(inPolicy, was, is)
	if was != nil {
		for _, l := range classes(was) {
			if w.now.class(is, l.Text) == nil {
				out = append(out, "no "+l.Text)
			}
		}
	}
	list := classes(is)
	if h.typ == typeQueuing && was != nil {
		slices.SortStableFunc(list, func(a, b *Line) int { return queueOrder(a.Text) - queueOrder(b.Text) })
	}
	var later [][]string
	for _, l := range list {
		var before *Line
		if was != nil {
			before = w.old.class(was, l.Text)
		}
		take, give := takeGive(classPlace(h.typ), before, l)
		switch {
		case before == nil:
			out = append(append(append(out, l.Text), give...), "exit")
		case h.typ != typeQueuing || gives(before, l):
			out = append(out, inClass(l, append(take, give...))...)
		default:
			out = append(out, inClass(l, take)...)
			later = append(later, inClass(l, give))
		}
	}
	for _, l := range slices.Backward(later) {
		out = append(out, l...)
	}
	return out
}

// inClass returns lines with the mode of their class around them; nothing for
// none.
func inClass(class *Line, lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return append(append([]string{class.Text}, lines...), "exit")
}

// gives reports whether a class keeps its kind of share and makes it smaller.
func gives(was, is *Line) bool {
	_, _, strict := last(is, keyPriority)
	_, _, wasStrict := last(was, keyPriority)
	return !strict && !wasStrict && bandwidthOf(is) < bandwidthOf(was)
}

// bandwidthOf is the percentage that a class has; 0 for none.
func bandwidthOf(class *Line) int {
	rest, _, _ := last(class, keyBandwidth)
	n, _ := number(rest[strings.LastIndexByte(rest, ' ')+1:], 100)
	return n
}

// queueOrder orders the classes of a queuing policy by queue; the default is
// the lowest.
func queueOrder(header string) int {
	n := header[len(header)-1]
	if n < '0' || n > '9' {
		return 0
	}
	return int(n - '0')
}
