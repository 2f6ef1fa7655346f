package eos

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// answer is the answer to a show command.
type answer struct {
	text  string
	value any // value for JSON; nil for an unconverted command
	// cut truncates the JSON as a fault demands; nil changes nothing.
	cut func(string) string
}

// json returns the answer as the JSON of a converted command.
func (a answer) json(marshal func(any) ([]byte, error)) (string, error) {
	b, err := marshal(a.value)
	if err != nil {
		return "", fmt.Errorf("json: %w", err)
	}
	if a.cut != nil {
		return a.cut(string(b)), nil
	}
	return string(b), nil
}

// showCommand is a command whose text or JSON output is documented.
type showCommand struct {
	words      string // without "show"; words in capitals are arguments
	privileged bool
	run        func(f *front, args []string) (answer, bool) // returns false if an argument names nothing
}

// Pattern returns the pattern in the table of commands.
func (c showCommand) Pattern() string { return "show " + c.words }

// textOnly returns a command without JSON output.
func textOnly(text func(f *front, args []string) string) func(*front, []string) (answer, bool) {
	return func(f *front, args []string) (answer, bool) { return answer{text: text(f, args)}, true }
}

var showCommands []showCommand

func init() { // avoids an initialization cycle
	showCommands = []showCommand{
		{"version", false, (*front).version},
		{"clock", false, textOnly(func(f *front, _ []string) string { return f.clock() })},
		{"running-config", true, runningConfig(false)},
		{"running-config all", true, runningConfig(true)},
		{"running-config interfaces PORT", true, runningConfig(false)},
		{"running-config all interfaces PORT", true, runningConfig(true)},
		{"running-config section WORDS", true, textOnly(func(f *front, args []string) string {
			out, err := section(f.running(false), args[0])
			if err != nil {
				return "% Invalid input"
			}
			return out
		})},
		{"running-config diffs", true, textOnly(func(f *front, _ []string) string { return f.faults.Cut(f.e.unsaved()) })},
		{"startup-config", true, textOnly(func(f *front, _ []string) string { return f.faults.Cut(f.e.Startup()) })},
		{"configuration sessions", true, (*front).sessions},
		{"configuration sessions detail", true, (*front).sessions},
	}
	showCommands = append(showCommands, portCommands...)
	showCommands = append(showCommands, counterCommands...)
}

// unconvertedWords lists commands that real boxes have but whose output is not documented well
// enough to print. As JSON they are rejected as unconverted.
var unconvertedWords = []string{"show priority-flow-control", "show priority-flow-control status", "show qos interfaces",
	"show qos interfaces trust", "show qos interfaces ecn", "show qos maps", "show qos profile", "show qos profile summary",
	"show platform trident mmu queue status"}

// ask answers a show command without its pipes. The refusal is "" if there is an answer.
func (f *front) ask(words []string, privileged bool) (a answer, refusal string) {
	line := strings.Join(words, " ")
	for _, w := range unconvertedWords {
		if w == line {
			return answer{text: "% Unavailable command (not supported on this hardware platform)"}, ""
		}
	}
	c, args, refusal := find(showCommands, words)
	switch {
	case c == nil:
		return answer{}, refusal
	case c.privileged && !privileged:
		return answer{}, privilegeRequired
	}
	a, ok := c.run(f, args)
	if !ok {
		at := len(words) - 1
		for i, w := range words {
			if len(args) > 0 && w == args[0] {
				at = i
				break
			}
		}
		return answer{}, invalid(line, at)
	}
	return a, ""
}

// show executes a show command with its pipes. It returns the output, and whether the output goes
// through the pager.
func (sh *shell) show(line string) (string, bool) {
	parts := strings.Split(line, " | ")
	words := strings.Fields(parts[0])
	var a answer
	var refusal string
	if len(words) > 1 && words[1] == "session-config" {
		a, refusal = sh.sessionConfig(words)
	} else {
		a, refusal = sh.f.ask(words, sh.privileged)
	}
	if refusal != "" {
		return refusal, false
	}
	out, paged := a.text, true
	at := len(words)
	for n, pipe := range parts[1:] {
		at++ // the vertical bar
		name, arg, _ := strings.Cut(strings.TrimSpace(pipe), " ")
		arg = strings.TrimSpace(arg)
		var err error
		switch {
		case name == "json" && arg == "" && n == 0:
			if out, err = encode(a); err != nil {
				return "% Error: " + err.Error(), false
			}
			out = string(sh.f.e.Dice.Answer().JSON([]byte(out)))
		case name == "no-more" && arg == "":
			paged = false
		case (name == "include" || name == "section" || name == "") && arg == "":
			return incomplete, false
		case name == "include":
			out, err = cli.Include(out, arg)
		case name == "section":
			out, err = section(out, arg)
		default:
			return invalid(line, at), false
		}
		if err != nil {
			return "% Invalid regular expression: '" + arg + "'", false
		}
		at += len(strings.Fields(pipe))
	}
	return out, paged
}

// encode returns the answer as printed by `| json`.
func encode(a answer) (string, error) {
	if a.value == nil {
		return unconverted, nil
	}
	return a.json(func(v any) ([]byte, error) { return json.MarshalIndent(v, "", "    ") })
}

// section returns the blocks whose first line, which is not indented, matches a regular
// expression.
func section(text, expr string) (string, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return "", fmt.Errorf("section: %w", err)
	}
	var b strings.Builder
	keep := false
	for l := range strings.Lines(text) {
		if l[0] != ' ' {
			keep = re.MatchString(strings.TrimRight(l, "\n"))
		}
		if keep {
			b.WriteString(l)
		}
	}
	return b.String(), nil
}

// sessionConfig executes show session-config [named NAME] [diffs].
func (sh *shell) sessionConfig(words []string) (answer, string) {
	line := strings.Join(words, " ")
	if !sh.privileged {
		return answer{}, privilegeRequired
	}
	rest := words[2:]
	name := ""
	if len(rest) > 0 && rest[0] == "named" {
		if len(rest) == 1 {
			return answer{}, incomplete
		}
		name, rest = rest[1], rest[2:]
	}
	diffs := len(rest) == 1 && rest[0] == "diffs"
	switch {
	case len(rest) > 0 && !diffs:
		return answer{}, invalid(line, len(words)-len(rest))
	case name != "":
		text, ok := sh.f.e.namedSession(name, diffs)
		if !ok {
			return answer{}, "% Error: session " + name + " does not exist"
		}
		return answer{text: text}, ""
	case sh.name == "":
		return answer{}, invalid(line, 1)
	case diffs:
		return answer{text: sh.config.diffs()}, ""
	}
	return answer{text: sh.config.text()}, ""
}
