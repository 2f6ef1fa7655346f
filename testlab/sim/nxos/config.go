package nxos

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// configurer is one client's configuration session with its current mode: a terminal, whose
// lines take effect at once, or a dual-stage session.
type configurer struct {
	n       *NXOS
	user    string
	root    *cli.Block // a configuration that only this session sees; nil for the running one
	stage   *stage     // nil for a terminal
	stack   []cli.Frame
	heredoc *heredoc // banner being entered
	counted bool     // this session has been counted as a write
	ran     *step    // last line that was understood, in a dual-stage session
}

// heredoc is a multi-line banner, up to its delimiter.
type heredoc struct {
	head  string
	delim byte
	text  []string
	size  int
}

// maxBanner limits the size of a banner in bytes.
const maxBanner = 64 << 10

// exec is a command being executed.
type exec struct {
	*cli.Match[*exec]
	cli.Exec
	n     *NXOS
	c     *configurer
	w     cli.Words
	loose bool // check only the grammar: a dual-stage line before its commit
}

// Command returns the command being executed and its line.
func (x *exec) Command() (*cli.Exec, string) { return &x.Exec, x.Line }

// enter opens a sub-mode of the command's mode.
func (x *exec) enter(f cli.Frame) {
	f.Line = x.w.Line
	x.Enter(f)
}

// openTerminal executes "configure terminal".
func (n *NXOS) openTerminal(user string) *configurer { return &configurer{n: n, user: user} }

// line executes a configuration line and returns the output of the switch, "" for none. A
// refused line changes neither the configuration nor the mode.
func (c *configurer) line(text string) string {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	if c.stage != nil {
		return c.staged(text)
	}
	if !c.counted && strings.TrimSpace(text) != "" {
		c.counted = true
		c.n.Wrote()
	}
	before := downIn(c.n.running)
	out := c.run(text)
	if !failed(out) && strings.TrimSpace(text) != "" {
		c.n.touched(before)
	}
	return out
}

// config returns the configuration that lines change. The caller holds mu.
func (c *configurer) config() *cli.Block {
	switch {
	case c.root != nil:
		return c.root
	case c.stage != nil:
		return c.stage.scratch
	}
	return c.n.running
}

// exit leaves the current mode. It reports whether the client was at the top level and has left
// configuration mode.
func (c *configurer) exit() (left bool) {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	c.heredoc = nil
	if len(c.stack) == 0 {
		return true
	}
	c.stack = c.stack[:len(c.stack)-1]
	return false
}

// inBanner reports whether the next line is part of a banner, whatever it contains.
func (c *configurer) inBanner() bool {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	return c.heredoc != nil
}

// prompt returns the part of the prompt after the host name: "(config)", "(config-if)",
// "(config-dual-stage-if)".
func (c *configurer) prompt() string {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	return c.promptNow()
}

func (c *configurer) promptNow() string {
	p := "(config"
	if c.stage != nil {
		p += "-dual-stage"
	}
	if n := len(c.stack); n > 0 {
		p += "-" + c.stack[n-1].Prompt
	}
	return p + ")"
}

// run executes a configuration line. The caller holds mu.
func (c *configurer) run(text string) string {
	if len(text) > cli.MaxLine {
		return "% Invalid command (line too long)"
	}
	if c.heredoc != nil {
		return c.banner(text)
	}
	text = strings.Map(cli.Printable, text)
	line := strings.Trim(text, " ")
	w := cli.Tokenize(line)
	if len(w.Word) == 0 || line[0] == '!' {
		return ""
	}
	switch strings.ToLower(line) {
	case "exit":
		if len(c.stack) > 0 {
			c.stack = c.stack[:len(c.stack)-1]
		}
		return ""
	case "end":
		c.stack = nil
		return ""
	}
	out, miss := c.command(w)
	if miss != nil {
		return c.refusalText(*miss, w, len(text)-len(strings.TrimLeft(text, " ")))
	}
	return out
}

// command executes a line in the current mode, or in the nearest parent mode that knows it.
func (c *configurer) command(w cli.Words) (string, *cli.Misfit) {
	x := &exec{n: c.n, c: c, w: w, loose: c.stage != nil, Exec: cli.Exec{Root: c.config(), Client: &c.stack}}
	first := 0
	switch v := strings.ToLower(w.Word[0]); v {
	case "no", "default":
		x.Verb, first = v, 1
	}
	if c.n.Refuses(w.Line) {
		return "", &cli.Misfit{At: 0}
	}
	m, depth, worst := commands().Find(c.stack, modeGlobal, w, first, x.Verb != "")
	if m == nil {
		return "", &worst
	}
	x.Match, x.Stack = m, c.stack[:depth:depth]
	if c.stage != nil {
		c.ran = &step{line: w.Line}
		for _, f := range x.Stack {
			c.ran.path = append(c.ran.path, f.Line)
		}
	}
	before := c.stack
	c.stack = x.Stack
	out := m.Run(x)
	if failed(out) {
		c.stack = before
	}
	var i int
	if n, _ := fmt.Sscanf(out, misplaced, &i); n == 1 {
		return "", &cli.Misfit{At: i}
	}
	return out, nil
}

// misplaced is the result of an action for a word that is not valid there.
const misplaced = "%% misplaced word %d"

// invalid refuses the line at a word; a negative index counts from the end.
func (x *exec) invalid(word int) string {
	if word < 0 {
		word += len(x.w.Word)
	}
	return fmt.Sprintf(misplaced, word)
}

// deny refuses a line because of the present configuration. A dual-stage line is refused for
// this reason only at its commit.
func (x *exec) deny(format string, args ...any) string {
	if x.loose {
		return ""
	}
	return "ERROR: " + fmt.Sprintf(format, args...)
}

// refusalText returns the answer of the switch to a line that it does not understand: a line with a
// mark below the word, and the reason (ansible-collections/cisco.nxos plugins/terminal/nxos.py).
func (c *configurer) refusalText(f cli.Misfit, w cli.Words, indent int) string {
	at := len(w.Line) + 1
	if f.At < len(w.Word) {
		at = w.At[f.At]
	}
	width := len(hostnameOf(c.config())) + len(c.promptNow()) + len("# ")
	mark := strings.Repeat(" ", width+indent+at) + "^\n"
	switch {
	case f.At >= len(w.Word):
		return mark + "% Incomplete command at '^' marker."
	case f.Ambiguous:
		return mark + "% Ambiguous command at '^' marker."
	case f.Range != "":
		return mark + "% Invalid number, range is (" + f.Range + ") at '^' marker."
	}
	return mark + "% Invalid command at '^' marker."
}

// banner reads one line of a banner.
func (c *configurer) banner(text string) string {
	h := c.heredoc
	text = strings.TrimRight(text, "\r")
	if i := strings.IndexByte(text, h.delim); i >= 0 {
		c.heredoc = nil
		lines := strings.Join(append(append([]string{h.head}, h.text...), text[:i+1]), "\n")
		c.config().Put("banner motd", cli.Value{Line: lines, Plain: lines, Rank: rankBanner})
		return ""
	}
	if h.size += len(text) + 1; h.size > maxBanner {
		c.heredoc = nil
		return "ERROR: banner too long"
	}
	h.text = append(h.text, text)
	return ""
}

func hostnameOf(root *cli.Block) string {
	if l := root.Get("hostname"); l != "" {
		return strings.TrimPrefix(l, "hostname ")
	}
	return defaultHostname
}

// downIn returns the interfaces that are shut down.
func downIn(root *cli.Block) map[string]bool {
	var out map[string]bool
	for _, b := range root.Subs {
		if interfaceModes[b.Mode] && b.Get("shutdown") == "shutdown" {
			if out == nil {
				out = map[string]bool{}
			}
			out[b.Name()] = true
		}
	}
	return out
}

// section returns the result of "| section EXPR": the matching lines with everything indented
// below them. It fails if the expression does not compile.
func section(text, expr string) (string, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return "", fmt.Errorf("section %q: %w", cli.Clip(expr), err)
	}
	var b strings.Builder
	depth := -1
	for _, l := range cli.SplitLines(text) {
		indent := len(l) - len(strings.TrimLeft(l, " "))
		if depth >= 0 && (indent <= depth || l == "") {
			depth = -1
		}
		if depth < 0 && l != "" && re.MatchString(l) {
			depth = indent
		}
		if depth >= 0 {
			b.WriteString(l + "\n")
		}
	}
	return b.String(), nil
}
