package eos

import (
	"fmt"
	"slices"
	"strings"
)

// box accepts lines as a switch does, without knowing the grammar of the package: a line
// replaces the line that begins like it, and "no" and "default" remove the lines that begin with
// the rest.
type box struct {
	order    []string
	sections map[string]*boxSection // by mode: "", "interface X", "qos profile X\x00uc-tx-queue 3"
}

type boxSection struct{ lines []string }

func (b *box) open(mode string) *boxSection {
	if b.sections[mode] == nil {
		b.sections[mode] = &boxSection{}
		b.order = append(b.order, mode)
	}
	return b.sections[mode]
}

func isSectionLine(t string) bool {
	return strings.HasPrefix(t, "interface ") || strings.HasPrefix(t, "qos profile ")
}

func isQueueLine(t string) bool {
	return strings.Contains(t, "tx-queue ") && !strings.Contains(t, "map")
}

// load fills the box from text with an indentation of three spaces.
func (b *box) load(text string) {
	section, queue := "", ""
	for _, l := range strings.Split(text, "\n") {
		t := strings.TrimSpace(l)
		depth := (len(l) - len(strings.TrimLeft(l, " "))) / 3
		switch {
		case t == "" || t[0] == '!' || t == "end":
			continue
		case depth == 0 && isSectionLine(t):
			section, queue = t, ""
			b.open(section)
			continue
		case depth == 0:
			section, queue = "", ""
		case depth == 1 && isQueueLine(t):
			queue = section + "\x00" + t
			b.open(queue)
			continue
		case depth == 1:
			queue = ""
		}
		mode := section
		if queue != "" {
			mode = queue
		}
		if section != "" || strings.HasPrefix(t, "qos ") || strings.HasPrefix(t, "priority-flow") {
			b.take(b.open(mode), t)
		}
	}
}

var (
	valueNo = []string{"no priority", "no qos trust", "no switchport", "no priority-flow-control pause watchdog"}
	// single lists the beginnings that identify what a line sets.
	single = []string{"mtu", "l2 mtu", "service-profile", "qos trust", "priority", "bandwidth percent", "bandwidth guaranteed", "shape rate",
		"random-detect ecn minimum-threshold", "flowcontrol send", "flowcontrol receive",
		"priority-flow-control pause watchdog default timeout", "priority-flow-control pause watchdog default recovery-time",
		"priority-flow-control pause watchdog default polling-interval", "priority-flow-control pause watchdog action",
		"priority-flow-control pause watchdog port action", "priority-flow-control pause watchdog port timer"}
)

func (b *box) take(s *boxSection, line string) {
	if rest, ok := strings.CutPrefix(line, "qos map "); ok {
		kind, rest, _ := strings.Cut(rest, " ")
		list, to, _ := strings.Cut(rest, " to ")
		what, _, _ := strings.Cut(to, " ")
		for _, id := range strings.Fields(list) {
			s.drop("qos map " + kind + " " + id + " to " + what)
			s.lines = append(s.lines, "qos map "+kind+" "+id+" to "+to)
		}
		return
	}
	if rest, ok := strings.CutPrefix(line, "no "); ok && !slices.Contains(valueNo, line) {
		s.drop(rest)
		return
	}
	if rest, ok := strings.CutPrefix(line, "default "); ok {
		s.drop(rest)
		s.drop("no " + rest)
		return
	}
	what := strings.TrimPrefix(line, "no ")
	if i := slices.IndexFunc(single, func(p string) bool { return what == p || strings.HasPrefix(what, p+" ") }); i >= 0 {
		what = single[i]
	}
	if p, ok := strings.CutSuffix(what, "no-drop"); ok {
		what = p
	} else if p, ok := strings.CutSuffix(what, " drop"); ok && strings.HasPrefix(what, "priority-flow-control priority") {
		what = p + " "
	}
	what = strings.TrimSuffix(what, " ")
	s.drop(what)
	s.drop("no " + what)
	s.lines = append(s.lines, line)
}

// drop removes the lines that begin with what. The line that turns the watchdog on does not
// count as the beginning of its other lines.
func (s *boxSection) drop(what string) {
	s.lines = slices.DeleteFunc(s.lines, func(l string) bool {
		if what == "priority-flow-control" {
			return l == "priority-flow-control on"
		}
		return l == what || strings.HasPrefix(l, what+" ") && what != "priority-flow-control pause watchdog" && what != "random-detect ecn"
	})
}

// enter types the lines of a session.
func (b *box) enter(t tester, lines []string) {
	t.Helper()
	mode := ""
	for _, l := range lines {
		section, _, deep := strings.Cut(mode, "\x00")
		switch {
		case l == "exit" && deep:
			mode = section
		case l == "exit" && mode != "":
			mode = ""
		case isSectionLine(l):
			if mode != "" {
				t.Fatalf("%q typed in %q", l, mode)
			}
			mode = l
			b.open(mode)
		case strings.HasPrefix(l, "no qos profile "):
			b.removeProfile(t, strings.TrimPrefix(l, "no "))
		case isQueueLine(l):
			if deep || mode == "" {
				t.Fatalf("%q typed in %q", l, mode)
			}
			mode += "\x00" + l
			b.open(mode)
		default:
			b.take(b.sections[mode], l)
		}
	}
	if mode != "" {
		t.Fatalf("the session ends in %q", mode)
	}
}

func (b *box) removeProfile(t tester, header string) {
	t.Helper()
	for m, s := range b.sections {
		if slices.Contains(s.lines, "service-profile "+strings.TrimPrefix(header, "qos profile ")) {
			t.Fatalf("no %s typed while %q carries it", header, m)
		}
		if m == header || strings.HasPrefix(m, header+"\x00") {
			delete(b.sections, m)
			b.order = slices.DeleteFunc(b.order, func(o string) bool { return o == m })
		}
	}
}

func (b *box) text() string {
	var out strings.Builder
	order := slices.Clone(b.order)
	slices.SortStableFunc(order, func(x, y string) int {
		sx, _, _ := strings.Cut(x, "\x00")
		sy, _, _ := strings.Cut(y, "\x00")
		return strings.Compare(sx, sy)
	})
	for _, mode := range order {
		section, queue, deep := strings.Cut(mode, "\x00")
		indent := ""
		switch {
		case deep && len(b.sections[mode].lines) == 0:
			continue
		case deep:
			fmt.Fprintf(&out, "   %s\n", queue)
			indent = "      "
		case section != "":
			fmt.Fprintf(&out, "!\n%s\n", section)
			indent = "   "
		}
		for _, l := range b.sections[mode].lines {
			fmt.Fprintf(&out, "%s%s\n", indent, l)
		}
	}
	return out.String() + "end\n"
}
