package cumulus

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/hint"
	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/internal/yaml"
)

// played matches keys of Ansible playbooks, roles and variables that do not occur in NVUE's tree
// (collection nvidia.nvue; Kayobe's role nvue-switch).
var played = lazyre.New(`(?m)^[ \t]*(?:- +)?["']?(?:nvidia\.nvue\.[a-z]+|hosts|tasks|nvue_switch_(?:interface_)?config)["']?:`)

// playbook reads the tasks of an Ansible playbook that configure NVUE. Variables and conditions,
// which only Ansible can evaluate, are an error if they affect QoS.
type playbook struct {
	p     *parser
	found bool
	// hosts are the hosts of the play that sets QoS.
	hosts *string
}

// task holds the context of a part of a playbook.
type task struct {
	hosts string
	when  bool // runs only under a condition
}

func (p *parser) playbook(doc *yaml.Node) error {
	b := &playbook{p: p}
	if err := b.walk(doc, task{}); err != nil {
		return err
	}
	if !b.found {
		return unread(errors.New("no task in the playbook sets anything of NVUE"))
	}
	return nil
}

// unread adds a hint to an error about text that cannot be read: what to provide instead.
func unread(err error) error {
	return hint.With(err, "give what 'nv config show -o yaml' prints on the switch")
}

// silent holds keys whose contents configure nothing.
var silent = map[string]bool{"name": true, "when": true, "register": true, "debug": true, "assert": true, "ansible.builtin.debug": true, "ansible.builtin.assert": true}

func (b *playbook) walk(n *yaml.Node, t task) error {
	switch n.Kind {
	case yaml.Text:
		return b.lines(n, t, func(line string) [][]string {
			cmds, _ := nvCommands(prompted, line, unpaired(line))
			return cmds
		})
	case yaml.List:
		for _, item := range n.Items {
			if err := b.walk(item, t); err != nil {
				return err
			}
		}
	case yaml.Map:
		if h := n.Get("hosts"); h != nil {
			t.hosts = h.Value
			for _, item := range h.Items {
				t.hosts += item.Value + ","
			}
		}
		t.when = t.when || n.Get("when") != nil
		for _, pair := range n.Pairs {
			if silent[pair.Key.Value] {
				continue
			}
			if err := b.module(pair.Key.Value, pair.Value, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// module reads a task or any other key.
func (b *playbook) module(name string, v *yaml.Node, t task) error {
	args := func(key string) *yaml.Node {
		if n := v.Get(key); n != nil {
			return n
		}
		return &yaml.Node{}
	}
	object, nvue := strings.CutPrefix(name, "nvidia.nvue.")
	switch {
	case nvue && object == "command":
		if err := b.bare(args("commands"), t); err != nil {
			return err
		}
		return b.bare(args("template"), t)
	case nvue && object == "api":
		if args("operation").Value != "set" {
			return nil
		}
		return b.tree(args("data"), strings.Fields(strings.ReplaceAll(args("path").Value, "/", " ")), t)
	case nvue && (object == "qos" || object == "interface"):
		switch args("state").Value {
		case "merged":
			return b.tree(unlisted(args("data")), Path{object}, t)
		case "deleted":
			return unread(fmt.Errorf("line %d: a task takes parts of %s away, which depends on what the switch holds", v.Line, object))
		}
		return nil
	case nvue:
		return nil
	case name == "uri" || name == "ansible.builtin.uri":
		if body := args("body"); args("method").Value == "PATCH" && b.p.isTree(body) {
			return b.tree(body, nil, t)
		}
		return nil
	case name == "nvue_switch_config":
		return b.bare(v, t)
	case name == "nvue_switch_interface_config":
		for _, port := range v.Pairs {
			if c := port.Value.Get("config"); c != nil {
				if err := b.bare(c, t, "set", "interface", port.Key.Value); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return b.walk(v, t)
}

// unpaired returns the quote at the end of a line that began before the line; 0 if there is none.
func unpaired(line string) byte {
	line = strings.TrimSpace(line)
	if line == "" {
		return 0
	}
	if c := line[len(line)-1]; (c == '\'' || c == '"') && strings.Count(line, string(c))%2 != 0 {
		return c
	}
	return 0
}

// bare reads commands that may lack "nv"; before is prepended to each.
func (b *playbook) bare(n *yaml.Node, t task, before ...string) error {
	for _, item := range append(slices.Clone(n.Items), n) {
		// A command between two control lines ("{%") is conditional.
		under := t
		under.when = t.when || strings.Contains(item.Value, "{%")
		err := b.lines(item, under, func(line string) [][]string {
			line = strings.TrimPrefix(strings.TrimSpace(line), "nv ")
			words, _, err := shellWords(line, unpaired(line))
			if words = slices.Concat(before, words); err != nil || len(words) < 2 || words[0] != "set" && words[0] != "unset" {
				return nil
			}
			return [][]string{words}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lines reads the commands of a text, one per line.
func (b *playbook) lines(n *yaml.Node, t task, commands func(line string) [][]string) error {
	if n.Kind != yaml.Text {
		return nil
	}
	no := n.Line
	if strings.Contains(n.Value, "\n") {
		no++ // the text begins on the line after the "|"
	}
	for line := range strings.Lines(n.Value) {
		for _, words := range commands(line) {
			if decides(words[1:]) {
				if err := b.noteQoSTask(no, t); err != nil {
					return err
				}
			}
			b.found = true
			if err := b.p.command(words, &source{no: no, text: "nv " + strings.Join(words, " ")}); err != nil {
				return err
			}
		}
		no++
	}
	return nil
}

// noteQoSTask records that a task, at a line, affects QoS.
func (b *playbook) noteQoSTask(no int, t task) error {
	switch {
	case t.when:
		return unread(fmt.Errorf("line %d: only Ansible can evaluate its condition", no))
	case b.hosts != nil && *b.hosts != t.hosts:
		return unread(fmt.Errorf("line %d: plays for different hosts set QoS, %s and %s", no, strings.Trim(*b.hosts, ","), strings.Trim(t.hosts, ",")))
	}
	b.hosts = &t.hosts
	return nil
}

// tree reads a part of NVUE's tree that belongs below a path.
func (b *playbook) tree(n *yaml.Node, at Path, t task) error {
	if n.Kind != yaml.Map && decides(at) {
		return unread(fmt.Errorf("line %d: %w", n.Line, errTemplate))
	}
	if err := b.check(n, at, t); err != nil {
		return err
	}
	b.found = true
	b.p.tree(n, at, []Path{at})
	return nil
}

// check returns an error for parts of the tree that cannot be read.
func (b *playbook) check(n *yaml.Node, at Path, t task) error {
	for _, pair := range n.Pairs {
		to := append(at[:len(at):len(at)], pair.Key.Value)
		if !decides(to) {
			continue
		}
		switch v := pair.Value; {
		case isTemplate(pair.Key.Value) || isTemplate(v.Value):
			return unread(fmt.Errorf("line %d: %s: %w", pair.Key.Line, to, errTemplate))
		case v.Kind == yaml.Null && to[0] == "qos":
			return unread(fmt.Errorf("line %d: %s has no value, which NVUE may take as set or as unset", pair.Key.Line, to))
		case v.Kind != yaml.Map:
			if err := b.noteQoSTask(pair.Key.Line, t); err != nil {
				return err
			}
		}
		if err := b.check(pair.Value, to, t); err != nil {
			return err
		}
	}
	return nil
}

// errTemplate reports that a value is a template.
var errTemplate = errors.New("a template, which only Ansible or a script can fill in")

// isTemplate reports whether a word is a placeholder to be filled in by Ansible, a shell or a
// person.
func isTemplate(s string) bool {
	if strings.Contains(s, "{{") || strings.Contains(s, "{%") {
		return true
	}
	_, after, ok := strings.Cut(s, "$")
	return strings.HasPrefix(s, "<") || ok && after != "" && (after[0] == '{' || after[0] == '(' || isAlnum(after[0]))
}

// decides reports whether a setting at a path, or below it, may affect QoS or an MTU.
func decides(p Path) bool {
	switch {
	case len(p) == 0 || p[0] == "qos":
		return true
	case p[0] != "interface":
		return false
	}
	return len(p) < 3 || p[2] == "qos" || p[2] == "link" && (len(p) == 3 || p[3] == "mtu")
}

// unlisted converts module arguments to a tree: their lists hold members with an ID, and their
// keys have underscores.
func unlisted(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Line: n.Line, Value: n.Value}
	for _, pair := range n.Pairs {
		key := *pair.Key
		key.Value = strings.ReplaceAll(key.Value, "_", "-")
		out.Pairs = append(out.Pairs, yaml.Pair{Key: &key, Value: unlisted(pair.Value)})
	}
	for _, item := range n.Items {
		id := item.Get("id")
		if id == nil {
			out.Items = append(out.Items, item)
			continue
		}
		out.Kind = yaml.Map
		member := unlisted(item)
		member.Delete("id")
		out.Pairs = append(out.Pairs, yaml.Pair{Key: id, Value: member})
	}
	return out
}
