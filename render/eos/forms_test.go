package eos

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/intent/qos"
	"github.com/roce-fabric/roce-fabric/internal/sharedtest"
	"github.com/roce-fabric/roce-fabric/render"
	"github.com/roce-fabric/roce-fabric/render/forms/formstest"
)

// Without a line, only the attributes change that its form names.
func TestFormsNameWhatTheyChange(t *testing.T) {
	tried := 0
	for file, text := range published(t) {
		c := mustParse(t, text)
		whole := deviceOf(c)
		var without func(section string, at place, block *Line)
		without = func(section string, at place, block *Line) {
			for i, l := range block.Sub {
				if id, in, ok := blockOf(section, l.Text); ok {
					without(id, in, l)
					continue
				}
				h, ok := match(l.Text, at)
				if !ok || h.Other {
					continue
				}
				tried++
				all := block.Sub
				block.Sub = slices.Delete(slices.Clone(all), i, i+1)
				for _, change := range qos.Diff(deviceOf(c), whole) {
					if !slices.Contains(h.Kinds, change.Field.Kind) {
						t.Errorf("%s, line %d (%s): %s", file, l.No, l.Text, change.Field)
					}
				}
				block.Sub = all
			}
		}
		top := &Line{Sub: c.Lines}
		for i, l := range c.Lines {
			if id, in, ok := blockOf("", l.Text); ok {
				without(id, in, l)
			} else if h, ok := match(l.Text, inGlobal); ok && !h.Other {
				tried++
				c.Lines = slices.Delete(slices.Clone(top.Sub), i, i+1)
				for _, change := range qos.Diff(deviceOf(c), whole) {
					if !slices.Contains(h.Kinds, change.Field.Kind) {
						t.Errorf("%s, line %d (%s): %s", file, l.No, l.Text, change.Field)
					}
				}
				c.Lines = top.Sub
			}
		}
	}
	if tried < 1400 {
		t.Errorf("only %d lines were left out", tried)
	}
}

// A line that a form writes is read as the same values by the same form.
func TestFormsReadWhatTheyWrite(t *testing.T) {
	r := rand.New(rand.NewPCG(34, 0))
	table := grammar()
	for i := range rows {
		f := table.Form(i)
		for range 50 {
			line := f.Write(draw(r, f.Key+" "+f.Args)...)
			values, ok := f.Read(line)
			if !ok {
				t.Errorf("%q of form %q is not read", line, f.Key)
				break
			}
			if again := f.Write(values...); again != line {
				t.Errorf("%q is written as %q", line, again)
			}
			for _, at := range f.In {
				h, ok := match(line, at)
				if !ok || h.Negated || h.Key != f.Key && !f.Other {
					t.Errorf("%q of form %q is found as one of %q", line, f.Key, h.Key)
				}
			}
		}
	}
}

// draw returns values for the words of a pattern that can have several. All groups are present, or
// all are missing.
func draw(r *rand.Rand, pattern string) (values []string) {
	whole := r.IntN(2) == 0
	optional := false
	for _, w := range strings.Fields(pattern) {
		optional = optional || w[0] == '['
		ends := strings.HasSuffix(w, "]")
		w = strings.Trim(w, "[]")
		low, high, isRange := strings.Cut(strings.Trim(w, "<>"), "-")
		v := ""
		switch {
		case strings.Contains(w, "|") && !strings.Contains(w, "<"):
			v = strings.Split(w, "|")[r.IntN(strings.Count(w, "|")+1)]
		case w == "<word>":
			v = "NAME"
		case strings.Contains(w, "<decimal>"):
			v = strconv.Itoa(r.IntN(100)) + "." + strconv.Itoa(r.IntN(100))
		case strings.HasPrefix(w, "<list:"):
			v = strconv.Itoa(r.IntN(4)) + " " + strconv.Itoa(4+r.IntN(4))
		case isRange && w[0] == '<':
			from, _ := strconv.Atoi(low)
			to, _ := strconv.Atoi(high)
			v = strconv.Itoa(from + r.IntN(to-from+1))
		}
		switch {
		case optional && !whole && v != "":
			values = append(values, "")
		case v != "":
			values = append(values, v)
		}
		optional = optional && !ends
	}
	return values
}

// reader says how this package reads.
func reader(t *testing.T) formstest.Reader {
	return formstest.Reader{Table: grammar(), Opens: blockOf, Read: func(text string) (*Config, *qos.Device, []render.Line) {
		c := mustParse(t, text)
		return c, deviceOf(c), Account(c)
	}}
}

// A line that the switch refuses changes neither what is in force nor the account of the accepted
// line of its key.
func TestRefusedLinesHideNothing(t *testing.T) {
	if tried := reader(t).RefusedLinesHideNothing(t, published(t), sharedtest.Sized(8, 1)); tried < 250 {
		t.Errorf("only %d lines were tried", tried)
	}
}

// A line that the switch takes as the negation of an earlier one undoes it.
func TestNegationsUndoTheirLine(t *testing.T) {
	if tried := reader(t).NegationsUndoTheirLine(t, published(t), sharedtest.Sized(8, 1)); tried < 100 {
		t.Errorf("only %d lines were tried", tried)
	}
}

// A line that removes a block takes it away as the switch does: what stands before it is gone, what
// comes after it counts, and the account says which line removed which.
func TestRemovalOfABlock(t *testing.T) {
	const profile = "qos profile P\n   qos trust dscp\n   priority-flow-control on\n   tx-queue 3\n      bandwidth percent 40\n   tx-queue 4\n      bandwidth percent 20\n"
	const port = "interface Ethernet1\n   mtu 9214\n   service-profile P\n"
	const policy = "class-map type qos match-any R\n   match dscp 26\npolicy-map type quality-of-service Q\n   class R\n      set traffic-class 3\n"
	for name, c := range map[string]struct {
		text, line string // line is the one that removes
		want       render.Fate
		same       string // an equal configuration; "" for the text without the line
	}{
		"profile":               {profile + "no qos profile P\n" + port, "no qos profile P", render.Default, port},
		"profile in use":        {profile + port + "no qos profile P\n", "no qos profile P", render.Default, port},
		"defined anew":          {profile + port + "no qos profile P\nqos profile P\n   qos trust cos\n", "no qos profile P", render.Default, "qos profile P\n   qos trust cos\n" + port},
		"before its definition": {"no qos profile P\n" + profile + port, "no qos profile P", render.Represented, profile + port},
		"queue":                 {profile + "   no tx-queue 3\n" + port, "no tx-queue 3", render.Default, strings.Replace(profile, "   tx-queue 3\n      bandwidth percent 40\n", "", 1) + port},
		"interface":             {profile + port + "default interface Ethernet1\n", "default interface Ethernet1", render.Default, profile + "interface Ethernet1\n"},
		"flat":                  {strings.ReplaceAll(profile+port, "   ", "") + "no qos profile P\nqos map dscp 26 to traffic-class 3\n", "no qos profile P", render.Default, port + "qos map dscp 26 to traffic-class 3\n"},
		"unused policy":         {policy + "no policy-map type quality-of-service Q\n", "no policy-map type quality-of-service Q", render.Default, "class-map type qos match-any R\n   match dscp 26\n"},
		"policy in use":         {policy + "interface Ethernet1\n   service-policy type qos input Q\nno policy-map type quality-of-service Q\n", "no policy-map type quality-of-service Q", render.Unknown, ""},
		"port of a range":       {profile + strings.Replace(port, "Ethernet1", "Ethernet1-3", 1) + "default interface Ethernet2\n", "default interface Ethernet2", render.Unknown, ""},
		"range of ports":        {profile + port + "default interface Ethernet1-3\n", "default interface Ethernet1-3", render.Unknown, ""},
		"another interface":     {profile + port + "default interface Ethernet2\n", "default interface Ethernet2", "", profile + port},
	} {
		formstest.Removal(t, reader(t), name, c.text, c.line, c.same, c.want)
	}
}
