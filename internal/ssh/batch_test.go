package ssh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// blocks parses an indented configuration into lines and adds an "exit" at the end of each block.
func blocks(text string) (out []Line) {
	depth := 0
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		for is := len(l) - len(strings.TrimLeft(l, " ")); depth > is; depth-- {
			out = append(out, Line{"exit", depth})
		}
		depth = len(l) - len(strings.TrimLeft(l, " "))
		out = append(out, Line{strings.TrimSpace(l), depth})
	}
	for ; depth > 0; depth-- {
		out = append(out, Line{"exit", depth})
	}
	return out
}

func TestBursts(t *testing.T) {
	long := strings.Repeat("x", burst)
	for name, tc := range map[string]struct {
		lines []Line
		want  []string // first and last line of each burst
	}{
		"none":                    {},
		"one":                     {flat("mtu 9000"), []string{"mtu 9000"}},
		"two":                     {flat("a", "b"), []string{"a,b"}},
		"by size":                 {flat("a", long[:burst-3], "b", "c"), []string{"a," + long[:burst-3], "b,c"}},
		"a line that is too long": {flat("a", long, "b"), []string{"a", long, "b"}},
		// If the profile were rejected, its exit would leave the session.
		"an exit waits for its block": {blocks("profile P\n a\nmap 1\nmap 2"), []string{"profile P,a", "exit,map 2"}},
		"two of them":                 {blocks("profile P\n queue 1\n  a\n queue 2\n  b"), []string{"profile P,a", "exit,exit", "exit"}},
		// The opener of the next interface ends the mode, so no exit is needed.
		"none between openers": {blocks("interface 1\n a\ninterface 2\n b\ninterface 3\n c\nmap 1"), []string{"interface 1,c", "exit,map 1"}},
		"nor out of two modes": {blocks("profile P\n queue 1\n  a\ninterface 2\n b"), []string{"profile P,b", "exit"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Network{p: testPlatform}
			var got []string
			for _, b := range n.bursts(tc.lines) {
				first, last := tc.lines[b[0]].Text, tc.lines[b[len(b)-1]].Text
				if len(b) > 1 {
					first += "," + last
				}
				got = append(got, first)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// drops returns a batch in a session, and a counter of how often it was dropped.
func drops(n *Network, lines []Line) (b *Batch, dropped *int) {
	dropped = new(int)
	return &Batch{Level: "session", Enter: "configure session x", Lines: lines, Drop: func(ctx context.Context) error {
		*dropped++
		_, err := n.Do(ctx, "abort x")
		return err
	}}, dropped
}

func ports(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "interface Ethernet%d\n mtu 9214\n priority-flow-control on\n", i+1)
	}
	return b.String()
}

// inSession fails the test if a line of the batch was typed outside the session.
func (r *router) inSession(t *testing.T, lines []Line) {
	t.Helper()
	for _, typed := range r.lines() {
		at := strings.LastIndexByte(typed, '#') + 1
		if prompt, line := typed[:at], typed[at:]; !strings.Contains(prompt, "(conf-s-") && slices.ContainsFunc(lines, func(l Line) bool { return l.Text == line }) {
			t.Errorf("typed outside of the session: %q", typed)
		}
	}
}

func TestConfigureAtOnce(t *testing.T) {
	lines := blocks(ports(120) + "map 1")
	for name, r := range map[string]*router{
		"plain":           {},
		"two echoes":      {doubleEcho: true},
		"logs":            {noise: map[string]string{"interface Ethernet2": "2026 Nov 25 11:22:33 leaf1 %ETHPORT-5-IF_UP: Ethernet9\n"}},
		"early echoes":    {noise: map[string]string{"interface Ethernet2": "interface Ethernet3\nmtu 9214\npri"}},
		"a piece of echo": {noise: map[string]string{"interface Ethernet2": "mtu 92\nerface Ethernet3\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r.answers = map[string]string{"map 1": "! it counts from now on\n"}
				n := r.mustOpen(t)
				b, dropped := drops(n, lines)
				notes, err := n.Configure(t.Context(), b)
				if err != nil || notes[len(notes)-1] != "! it counts from now on" {
					t.Errorf("%q %v", notes, err)
				}
				if want := map[string]int{"early echoes": 1}[name]; *dropped != want {
					t.Errorf("dropped %d times, want %d", *dropped, want)
				}
				r.inSession(t, lines)
				// All lines were typed in order after the last Enter command.
				var got, want []string
				for _, l := range r.lines() {
					switch l = l[strings.LastIndexByte(l, '#')+1:]; l {
					case b.Enter:
						got = nil
					case "exit":
					default:
						got = append(got, l)
					}
				}
				for _, l := range lines {
					if l.Text != "exit" {
						want = append(want, l.Text)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("typed %q", got)
				}
			})
		})
	}
}

func TestConfigureAtOnceRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		r       *router
		number  int
		dropped int
	}{
		"a line":               {ports(120), &router{refused: map[string]bool{"mtu 9214": true}}, 2, 0},
		"the first of several": {ports(3) + "map 1\nmap 2", &router{refused: map[string]bool{"map 1": true, "map 2": true}}, 13, 0},
		"two echoes":           {ports(3) + "map 1\nmap 2", &router{doubleEcho: true, refused: map[string]bool{"map 2": true}}, 14, 0},
		"what opens a mode":    {"profile P\n a\nprofile Q\n b\nmap 1", &router{refused: map[string]bool{"profile P": true}}, 1, 0},
		// The skipped exit may be the reason for the rejection.
		"after an exit that was left out": {ports(120), &router{refused: map[string]bool{"interface Ethernet7": true}}, 25, 1},
		"behind an early echo":            {ports(120), &router{refused: map[string]bool{"interface Ethernet1": true}, noise: map[string]string{"interface Ethernet1": "mtu 92"}}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := tc.r.mustOpen(t)
				lines := blocks(tc.text)
				b, dropped := drops(n, lines)
				_, err := n.Configure(t.Context(), b)
				var le *LineError
				if !errors.Is(err, errRefused) || !errors.As(err, &le) || le.Number != tc.number || le.Line != lines[le.Number-1].Text || le.Words != "% Invalid input" {
					t.Fatalf("error %v", err)
				}
				if *dropped != tc.dropped {
					t.Errorf("dropped %d times", *dropped)
				}
				tc.r.inSession(t, lines)
				if _, err := n.Show(t.Context(), "show clock"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestShowAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &router{answers: map[string]string{
			"show one": "leaf1#\nleaf2>\n  50% of all\n", "show two": "% Invalid input\n", "show three": strings.Repeat("description leaf1#\n", 5000),
		}}
		n := r.mustOpen(t)
		out, err := n.ShowAll(t.Context(), []string{"show one", "show two", "show three"})
		var le *LineError
		if err != nil || out[0].Out != "leaf1#\nleaf2>\n  50% of all" || !errors.As(out[1].Err, &le) || le.Line != "show two" ||
			out[2].Out+"\n" != r.answers["show three"] {
			t.Errorf("%.300q %v", out, err)
		}
		if n.slow {
			t.Error("they were shown one by one")
		}
		if _, err := n.ShowAll(t.Context(), []string{"show one", "a\nb"}); !errors.Is(err, errConfig) {
			t.Errorf("error %v", err)
		}
	})
}
