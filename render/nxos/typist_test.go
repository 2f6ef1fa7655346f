package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/roce-fabric/roce-fabric/intent/qos"
)

// box is a switch as seen by someone who types at it: a command interpreter that shares no code
// with the package and refuses what a switch refuses.
type box struct {
	order []string            // headers of blocks and classes, "block" or "block|class"
	lines map[string][]string // lines in each block
	mode  []string            // current block and class
}

func newBox(text string) *box {
	b := &box{lines: map[string][]string{"": nil}, order: []string{""}}
	block, class := "", ""
	raw := false
	for _, l := range strings.Split(text, "\n") {
		t := strings.TrimSpace(l)
		if strings.HasPrefix(l, "banner") || raw && l == "#" {
			raw = !raw
			continue
		}
		switch indent := len(l) - len(strings.TrimLeft(l, " ")); {
		case t == "" || raw:
		case indent == 0:
			block, class = "", ""
			if isBlock(t) {
				block = t
				b.enter(block)
			} else {
				b.lines[""] = append(b.lines[""], t)
			}
		case indent == 2 && strings.HasPrefix(t, "class "):
			class = block + "|" + t
			b.enter(class)
		case indent == 2 && block != "":
			b.lines[block] = append(b.lines[block], t)
		case class != "":
			b.lines[class] = append(b.lines[class], t)
		}
	}
	return b
}

func isBlock(t string) bool {
	return t == "system qos" || strings.HasPrefix(t, "class-map ") || strings.HasPrefix(t, "policy-map ") || strings.HasPrefix(t, "interface ")
}

func (b *box) enter(key string) {
	if _, ok := b.lines[key]; !ok {
		b.order, b.lines[key] = append(b.order, key), nil
	}
}

func (b *box) drop(key string) {
	b.order = slices.DeleteFunc(b.order, func(k string) bool { return k == key || strings.HasPrefix(k, key+"|") })
	for k := range b.lines {
		if k == key || strings.HasPrefix(k, key+"|") {
			delete(b.lines, k)
		}
	}
}

// named reports whether an attachment or a class of a policy refers to a name.
func (b *box) named(name string, attached bool) bool {
	for k, ls := range b.lines {
		for _, l := range ls {
			if attached && strings.HasPrefix(l, "service-policy ") && slices.Contains(strings.Fields(l), name) {
				return true
			}
		}
		if block, class, ok := strings.Cut(k, "|"); ok && !attached && strings.HasPrefix(block, "policy-map type qos ") && class == "class "+name {
			return true
		}
	}
	return false
}

func (b *box) run(cmds []string) error {
	for i, c := range cmds {
		if err := b.one(c); err != nil {
			return fmt.Errorf("line %d, %q in %q: %w", i+1, c, b.mode, err)
		}
	}
	if len(b.mode) > 0 {
		return fmt.Errorf("the lines end in %q", b.mode)
	}
	return nil
}

func (b *box) one(c string) error {
	if c == "exit" {
		if len(b.mode) == 0 {
			return fmt.Errorf("exit leaves the configuration")
		}
		b.mode = b.mode[:len(b.mode)-1]
		return nil
	}
	if isBlock(c) {
		if len(b.mode) > 0 {
			return fmt.Errorf("the mode was not left")
		}
		if _, there := b.lines[c]; strings.HasPrefix(c, "interface ") && !there {
			return fmt.Errorf("no such interface")
		}
		b.enter(c)
		b.mode = []string{c}
		return nil
	}
	if rest, ok := strings.CutPrefix(c, "no "); ok && len(b.mode) == 0 && isBlock(rest) {
		name := rest[strings.LastIndexByte(rest, ' ')+1:]
		if _, ok := b.lines[rest]; !ok {
			return fmt.Errorf("there is none")
		}
		if b.named(name, strings.HasPrefix(rest, "policy-map")) {
			return fmt.Errorf("in use")
		}
		b.drop(rest)
		return nil
	}
	if len(b.mode) > 0 && strings.HasPrefix(b.mode[0], "policy-map type network-qos ") {
		for _, l := range b.lines["system qos"] {
			if l == "service-policy type network-qos "+strings.TrimPrefix(b.mode[0], "policy-map type network-qos ") {
				return fmt.Errorf("the policy is attached")
			}
		}
	}
	if len(b.mode) == 1 && strings.HasPrefix(b.mode[0], "policy-map ") {
		if gone, ok := strings.CutPrefix(c, "no class "); ok {
			key := b.mode[0] + "|class " + gone
			if _, ok := b.lines[key]; !ok {
				return fmt.Errorf("there is none")
			}
			b.drop(key)
			return nil
		}
		if strings.HasPrefix(c, "class ") {
			name := strings.TrimPrefix(c, "class ")
			_, any := b.lines["class-map type qos match-any "+name]
			if !strings.Contains(c, " type ") && name != "class-default" && !any {
				return fmt.Errorf("no such class-map")
			}
			b.enter(b.mode[0] + "|" + c)
			b.mode = append(b.mode, c)
			return nil
		}
	}
	return b.line(strings.Join(b.mode, "|"), c)
}

// singles lists the beginnings of lines that replace one another.
var singles = []string{
	"mtu", "priority-flow-control mode", "priority-flow-control watch-dog-interval", "priority-flow-control watch-dog interval",
	"priority-flow-control watch-dog shutdown-multiplier", "priority-flow-control auto-restore multiplier", "shutdown",
	"service-policy type qos input", "service-policy type queuing output", "service-policy type network-qos",
	"set qos-group", "bandwidth", "priority", "shape", "random-detect", "flowcontrol receive", "flowcontrol send", "queue-limit",
}

func single(l string) string {
	l = strings.TrimPrefix(l, "no ")
	best := ""
	for _, s := range singles {
		if (l == s || strings.HasPrefix(l, s+" ")) && len(s) > len(best) {
			best = s
		}
	}
	return best
}

func (b *box) line(key, c string) error {
	ls := b.lines[key]
	at := func(l string) int { return slices.Index(ls, l) }
	for _, kind := range []string{"match dscp", "match cos"} {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(c, "no "), kind+" "); ok {
			b.lines[key] = match(ls, kind, rest, !strings.HasPrefix(c, "no "))
			return nil
		}
	}
	if gone, ok := strings.CutPrefix(c, "no "); ok && gone != "shutdown" {
		i := at(gone)
		if i < 0 && gone == "mtu" {
			i = slices.IndexFunc(ls, func(l string) bool { return strings.HasPrefix(l, "mtu ") })
		}
		if i < 0 {
			return fmt.Errorf("there is none")
		}
		b.lines[key] = slices.Delete(slices.Clone(ls), i, i+1)
		return b.shares(key)
	}
	kind := single(c)
	if kind == "" && !strings.HasPrefix(c, "pause ") && !strings.HasPrefix(c, "description ") {
		return fmt.Errorf("unknown")
	}
	if name, ok := strings.CutPrefix(c, kind+" "); ok && strings.HasPrefix(kind, "service-policy") {
		typ := strings.Fields(kind)[2]
		if _, ok := b.lines["policy-map type "+typ+" "+name]; !ok {
			return fmt.Errorf("no such policy")
		}
	}
	i := slices.IndexFunc(ls, func(l string) bool { return kind != "" && single(l) == kind })
	switch {
	case i < 0:
		b.lines[key] = append(slices.Clone(ls), c)
	case strings.HasPrefix(kind, "service-policy") && strings.HasPrefix(key, "interface "):
		return fmt.Errorf("a policy is attached")
	case kind == "bandwidth" && c[:strings.LastIndexByte(c, ' ')] != ls[i][:strings.LastIndexByte(ls[i], ' ')]:
		return fmt.Errorf("another kind of bandwidth")
	default:
		b.lines[key] = slices.Clone(ls)
		b.lines[key][i] = c
	}
	return b.shares(key)
}

// match returns the match set of a class-map after adding or removing a line.
func match(ls []string, kind, list string, add bool) []string {
	set := map[int]bool{}
	each := func(list string, f func(int)) {
		for _, p := range strings.Split(list, ",") {
			lo, hi, ok := strings.Cut(p, "-")
			a, _ := strconv.Atoi(lo)
			z := a
			if ok {
				z, _ = strconv.Atoi(hi)
			}
			for ; a <= z; a++ {
				f(a)
			}
		}
	}
	var rest []string
	for _, l := range ls {
		if have, ok := strings.CutPrefix(l, kind+" "); ok {
			each(have, func(n int) { set[n] = true })
		} else {
			rest = append(rest, l)
		}
	}
	each(list, func(n int) { set[n] = add })
	var ns []string
	for n := range 64 {
		if set[n] {
			ns = append(ns, strconv.Itoa(n))
		}
	}
	if len(ns) > 0 {
		rest = append(rest, kind+" "+strings.Join(ns, ","))
	}
	return rest
}

// shares refuses bandwidths above 100 percent, bandwidth in a class with priority, and strict
// queues that are not the highest.
func (b *box) shares(key string) error {
	policy, _, ok := strings.Cut(key, "|")
	if !ok || !strings.HasPrefix(policy, "policy-map type queuing ") {
		return nil
	}
	sum, lowest, strictest := 0, 8, 0
	for k, ls := range b.lines {
		if !strings.HasPrefix(k, policy+"|") {
			continue
		}
		strict := slices.ContainsFunc(ls, func(l string) bool { return strings.HasPrefix(l, "priority level ") })
		if strict {
			n, _ := strconv.Atoi(k[len(k)-1:])
			lowest, strictest = min(lowest, n), strictest+1
		}
		for _, l := range ls {
			if strings.HasPrefix(l, "bandwidth ") {
				n, _ := strconv.Atoi(l[strings.LastIndexByte(l, ' ')+1:])
				sum += n
				if strict {
					return fmt.Errorf("bandwidth and priority in one class")
				}
			}
		}
	}
	if sum > 100 {
		return fmt.Errorf("%d percent", sum)
	}
	if strictest > 0 && lowest != 8-strictest {
		return fmt.Errorf("%d strict queues from %d on are not adjacent to the highest", strictest, lowest)
	}
	return nil
}

// text returns the configuration, with bandwidth and lists in the form in which they were typed.
func (b *box) text() string {
	var out strings.Builder
	for _, k := range b.order {
		if strings.Contains(k, "|") {
			continue
		}
		indent := "  "
		if k == "" {
			indent = ""
		} else {
			out.WriteString(k + "\n")
		}
		for _, l := range b.lines[k] {
			out.WriteString(indent + l + "\n")
		}
		for _, c := range b.order {
			if _, class, ok := strings.Cut(c, "|"); ok && strings.HasPrefix(c, k+"|") {
				out.WriteString("  " + class + "\n")
				for _, l := range b.lines[c] {
					out.WriteString("    " + l + "\n")
				}
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// The typed commands have the effect that Apply predicts, for the edit and its undo, and no line
// is refused.
func TestTypedCommandsMatchApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, want := have(t, 3), device(t, 3)
		edit := Change(old, want, EightQueue)
		cmds := edit.Commands(old)
		now := edit.Apply(old)
		b := newBox(old.String())
		check := func(cmds []string, foretold *Config) {
			if err := b.run(cmds); err != nil {
				t.Fatalf("%v in\n%s\non\n%s", err, strings.Join(cmds, "\n"), old)
			}
			got, err := Parse([]byte(b.text()))
			if err != nil {
				t.Fatal(err)
			}
			typed, _ := Decode(got, EightQueue)
			said, _ := Decode(foretold, EightQueue)
			if left := append(qos.Diff(typed, said), qos.Diff(said, typed)...); len(left) > 0 {
				t.Fatalf("typed, not as foretold: %v\n%s\nis\n%s\nforetold\n%s", left, strings.Join(cmds, "\n"), got, foretold)
			}
			if a, z := named(got), named(foretold); !slices.Equal(a, z) {
				t.Fatalf("typed, there are the blocks %q, foretold %q", a, z)
			}
		}
		check(cmds, now)
		if len(cmds) > 0 && Change(now, want, EightQueue).Commands(now) != nil {
			t.Fatal("a second change types something")
		}
		check(edit.Undo(old).Commands(now), old)
	})
}

// named returns the policies and class-maps of a configuration.
func named(c *Config) []string {
	var out []string
	for _, l := range c.Lines {
		if strings.HasPrefix(l.Text, "class-map ") || strings.HasPrefix(l.Text, "policy-map ") {
			out = append(out, l.Text)
		}
	}
	slices.Sort(out)
	return out
}

// The interpreter refuses invalid commands.
func TestTheInterpreterRefuses(t *testing.T) {
	for _, cmds := range []string{
		"no policy-map type queuing ROCE-FABRIC-OUT", "no class-map type qos match-any ROCE-FABRIC-ROCE",
		"policy-map type network-qos ROCE-FABRIC-NQ|class type network-qos c-8q-nq3|mtu 1500",
		"policy-map type queuing ROCE-FABRIC-OUT|class type queuing c-out-8q-q1|bandwidth remaining percent 1",
		"policy-map type queuing ROCE-FABRIC-OUT|class type queuing c-out-8q-q7|no priority level 1",
		"interface Ethernet1/1|service-policy type qos input ROCE-FABRIC-IN", "interface Ethernet1/7", "interface Ethernet1/1|no mtu 1", "system qos", "exit",
	} {
		if err := newBox(roceText).run(strings.Split(cmds, "|")); err == nil {
			t.Errorf("%q is taken", cmds)
		}
	}
}
