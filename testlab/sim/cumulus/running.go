package cumulus

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	yamltext "github.com/roce-fabric/roce-fabric/internal/yaml"
)

// read parses a configuration: an object, the list of "nv config show", commands, alone or after
// prompts, or a playbook of Ansible. It leaves out what the switch rejects, and returns that as
// refused.
func (s *Switch) read(b []byte) (out tree, refused []string, err error) {
	if commands := typedCommands(string(b)); len(commands) > 0 && !listed.Match(b) {
		out, refused = s.runAll(commands)
		return out, append(refused, s.prune(out)...), nil
	}
	var v any
	if json.Unmarshal(b, &v) != nil {
		doc, faults := yamltext.Parse("configuration", b)
		if len(faults) > 0 {
			return nil, nil, faults[0]
		}
		v = asJSON(doc)
	}
	if played.Match(b) {
		out, refused = s.play(v)
		return out, append(refused, s.prune(out)...), nil
	}
	out = tree{}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, one := range list {
		m, ok := one.(tree)
		if !ok {
			return nil, nil, errors.New("configuration: not an object")
		}
		if set, ok := m["set"].(tree); ok {
			m = set
		} else if m["header"] != nil {
			continue
		}
		merge(out, expand(m).(tree))
	}
	return out, s.prune(out), nil
}

// runAll runs commands on an empty configuration.
func (s *Switch) runAll(commands [][]string) (out tree, refused []string) {
	out = tree{}
	for _, words := range commands {
		if err := s.typed(out, words); err != nil {
			refused = append(refused, fmt.Sprintf("%s: %v", strings.Join(words, " "), err))
		}
	}
	return out, refused
}

// listed matches the YAML of "nv config show", whose texts may contain commands.
var listed = regexp.MustCompile(`(?m)^- (?:header|set):`)

// typedStart matches the start of a command: at the start of a line, or after a prompt, a dash of a
// list, or the quote of an argument of ssh.
var typedStart = regexp.MustCompile(`(?m)^(?:[^\n#'"]*[$>] ?|[^\s#'"]+# ?|[ \t]*- ["']?|[^\n#'"]*\bssh [^\n'"]*["'])?[ \t]*(?:sudo )?(?:/usr/bin/)?nv (?:set|unset) `)

// rootPrompt matches the prompt of root, alone, in front of a command.
var rootPrompt = regexp.MustCompile(`(?m)^# ?nv (set|unset) `)

// typedCommands returns the words of the "nv set" and "nv unset" commands of a text, as a shell
// splits them: a quoted word may span lines.
func typedCommands(text string) (out [][]string) {
	if !typedStart.MatchString(text) {
		text = rootPrompt.ReplaceAllString(text, "nv $1 ") // no other prompt: these are no comments
	}
	for {
		m := typedStart.FindStringIndex(text)
		if m == nil {
			return out
		}
		text = text[m[0]+strings.LastIndex(text[m[0]:m[1]], "nv "):]
		for strings.HasPrefix(text, "nv ") {
			words, rest := shellWords(text)
			if len(words) > 2 && (words[1] == "set" || words[1] == "unset") {
				out = append(out, words)
			}
			text = strings.TrimLeft(rest, " \t;&|")
		}
	}
}

// shellWords returns the words of the first command of a text, and the text after it.
func shellWords(text string) (words []string, rest string) {
	l := lexer{text: text}
	for !l.ended() {
		l.next()
	}
	l.flush()
	return l.words, text[l.at:]
}

// lexer splits the first command of a text into words.
type lexer struct {
	text  string
	at    int
	words []string
	word  []byte
	in    bool // inside of a word
	quote byte // the open quote, or 0
}

// ended reports whether the command ends here.
func (l *lexer) ended() bool {
	return l.at == len(l.text) || l.quote == 0 && strings.IndexByte("\n;&|", l.text[l.at]) >= 0
}

func (l *lexer) flush() {
	if l.in && !redirected.Match(l.word) {
		l.words = append(l.words, string(l.word))
	}
	l.word, l.in = nil, false
}

// escaped takes the character after a backslash; with the end of a line, the command goes on in the
// next one.
func (l *lexer) escaped() {
	if c := l.text[l.at]; c != '\n' {
		l.word, l.in = append(l.word, c), true
	}
	l.at++
}

// next takes a character.
func (l *lexer) next() {
	c := l.text[l.at]
	l.at++
	isQuote := c == '\'' || c == '"'
	switch {
	case c == '\\' && l.quote != '\'' && l.at < len(l.text):
		l.escaped()
	case l.quote != 0:
		l.quoted(c)
	case c == ' ' || c == '\t':
		l.flush()
	case c == '#' && !l.in:
		comment, _, _ := strings.Cut(l.text[l.at:], "\n")
		l.at += len(comment)
	case isQuote && !closes(l.text, l.at-1):
		l.quote, l.in = c, true
	case !isQuote:
		l.word, l.in = append(l.word, c), true
	}
}

// quoted takes a character of a quoted text.
func (l *lexer) quoted(c byte) {
	if c == l.quote {
		l.quote = 0
		return
	}
	l.word = append(l.word, c)
}

// redirected matches a word that redirects the output of a command.
var redirected = regexp.MustCompile(`^[12]?>`)

// closes reports whether the quote at i closes one that began before the command: it ends its line,
// and no other quote of its kind follows.
func closes(text string, i int) bool {
	line, rest, _ := strings.Cut(text[i+1:], "\n")
	return strings.TrimSpace(line) == "" && strings.Count(rest, text[i:i+1])%2 == 0
}

// asJSON converts parsed YAML to the types used for JSON.
func asJSON(n *yamltext.Node) any {
	switch n.Kind {
	case yamltext.Map:
		out := tree{}
		for _, p := range n.Pairs {
			out[p.Key.Value] = asJSON(p.Value)
		}
		return out
	case yamltext.List:
		var out []any
		for _, one := range n.Items {
			out = append(out, asJSON(one))
		}
		return out
	case yamltext.Int, yamltext.Float:
		return value(n.Value)
	case yamltext.Bool:
		return n.Value == "true"
	case yamltext.Null:
		return nil
	}
	return n.Value
}

// statedRelease matches the release in the header of "nv config show", and oldWords a state as
// releases before 5.15 spell it.
var (
	statedRelease = regexp.MustCompile(`Cumulus Linux (5\.\d{1,2}(?:\.\d{1,3})?)`)
	oldWords      = regexp.MustCompile(`(?:qos roce|adaptive-routing) enable (?:on|off)\b|"?roce"?:\s*\{?\s*"?enable"?:`)
	newWords      = regexp.MustCompile(`(?:qos roce|adaptive-routing) state (?:enabled|disabled)\b|"?roce"?:\s*\{?\s*"?state"?:`)
)

// releaseOf returns the release of a switch that accepts a configuration.
func releaseOf(config []byte) string {
	if m := statedRelease.FindSubmatch(config); m != nil {
		return string(m[1])
	}
	if oldWords.Match(config) && !newWords.Match(config) {
		return lastOldRelease
	}
	return newestRelease
}

// played matches a playbook, or the variables of one.
var played = regexp.MustCompile(`(?m)^\s*(?:- )?(?:hosts|tasks|nvue_switch_(?:interface_)?config):`)

// objects are the branches of NVUE's tree that Ansible's modules write.
var objects = []string{"qos", "interface", "system", "router", "bridge", "evpn", "nve", "vrf", "mlag", "acl"}

// play runs what the modules of a playbook send.
func (s *Switch) play(v any) (out tree, refused []string) {
	b := playbook{tree: tree{}}
	b.walk(v)
	out, refused = s.runAll(b.commands)
	merge(b.tree, out)
	return b.tree, refused
}

// playbook collects what the modules of a playbook send.
type playbook struct {
	tree     tree
	commands [][]string
}

// list adds the commands of a list, which may lack "nv"; before stands in front of those that lack
// a verb.
func (b *playbook) list(v any, before ...string) {
	for _, one := range asList(v) {
		line, _ := one.(string)
		words, _ := shellWords(strings.TrimPrefix(line, "nv "))
		if len(words) > 1 && (words[0] == "set" || words[0] == "unset") {
			b.commands = append(b.commands, append([]string{"nv"}, words...))
		} else if len(before) > 0 {
			b.commands = append(b.commands, slices.Concat(before, words))
		}
	}
}

func (b *playbook) walk(v any) {
	for _, one := range asList(v) {
		b.walk(one)
	}
	m, _ := v.(tree)
	if slices.ContainsFunc(objects, func(k string) bool { _, is := m[k].(tree); return is }) {
		merge(b.tree, expand(m).(tree))
		return
	}
	for k, v := range m {
		kind, module := strings.CutPrefix(k, "nvidia.nvue.")
		data := object(m, k)["data"]
		switch {
		case module && slices.Contains(objects, kind) && data != nil:
			merge(b.tree, expand(tree{kind: byID(data)}).(tree))
		case k == "commands", k == "nvue_switch_config":
			b.list(v)
		case k == "nvue_switch_interface_config":
			for name, each := range object(m, k) {
				b.list(object(tree{"of": each}, "of")["config"], "nv", "set", "interface", name)
			}
		default:
			b.walk(v)
		}
	}
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// byID turns the lists of Ansible's modules into the objects of NVUE: members by their "id", and
// names with dashes.
func byID(v any) any {
	switch v := v.(type) {
	case []any:
		out := tree{}
		for _, one := range v {
			m, _ := byID(one).(tree)
			id := text(m, "id")
			delete(m, "id")
			out[id] = m
		}
		return out
	case tree:
		out := tree{}
		for k, each := range v {
			out[strings.ReplaceAll(k, "_", "-")] = byID(each)
		}
		return out
	}
	return v
}
