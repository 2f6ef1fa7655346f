package nxos

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// answer is the output of a show command.
type answer struct {
	text  string
	value map[string]any // content of its JSON form; nil if the command has none
	// cut removes the part of the JSON that a fault withholds; nil removes nothing.
	cut func(string) string
}

// showCommand is a show command with documented output.
type showCommand struct {
	words string                                       // without "show"; words in capitals stand for arguments
	run   func(f *front, args []string) (answer, bool) // returns false if an argument names nothing that exists
}

// Pattern returns the command as written in the table.
func (c showCommand) Pattern() string { return "show|sh " + c.words }

// textOnly returns a command function without a JSON form.
func textOnly(text func(f *front, args []string) string) func(*front, []string) (answer, bool) {
	return func(f *front, args []string) (answer, bool) { return answer{text: text(f, args)}, true }
}

// noStructure is the answer to "| json" for a command without a JSON form.
const noStructure = "ERROR: Structured output unsupported"

// show executes a show command with its pipes. It returns the output, and whether the pager
// applies to it.
func (sh *shell) show(line string) (string, bool) {
	parts := strings.Split(line, " | ")
	words := portWords(strings.Fields(parts[0]))
	a, refusal := sh.answer(line, words)
	if refusal != "" {
		return refusal, false
	}
	out, paged := a.text, true
	at := len(strings.Fields(parts[0]))
	for n, pipe := range parts[1:] {
		at++ // the "|"
		name, arg, _ := strings.Cut(strings.TrimSpace(pipe), " ")
		arg = strings.Trim(strings.TrimSpace(arg), `"`)
		var err error
		switch {
		case (name == "json" || name == "json-pretty") && arg == "" && n == 0:
			out = string(sh.f.n.Dice.Answer().JSON([]byte(a.encode(name == "json-pretty"))))
		case name == "no-more" && arg == "":
			paged = false
		case (name == "include" || name == "section" || name == "exclude" || name == "") && arg == "":
			return sh.refusal(line, at+1), false
		case name == "include" || name == "inc":
			out, err = cli.Include(out, arg)
		case name == "section" || name == "sec":
			out, err = section(out, arg)
		default:
			return sh.refusal(line, at), false
		}
		if err != nil {
			return sh.refusal(line, at+1), false
		}
		at += len(strings.Fields(pipe))
	}
	return out, paged
}

// answer executes a show command without its pipes.
func (sh *shell) answer(line string, words []string) (answer, string) {
	if sh.dual && len(words) == 2 && words[1] == "configuration" {
		return answer{text: sh.config.buffer()}, ""
	}
	c, args, at := cli.Find(showCommands, words)
	if c == nil {
		if at == len(words) {
			at = len(strings.Fields(line)) // words are missing
		}
		return answer{}, sh.refusal(line, at)
	}
	a, ok := c.run(sh.f, args)
	if !ok {
		return answer{}, sh.refusal(line, len(words)-1)
	}
	return a, ""
}

// portWords joins port names that are written as two words.
func portWords(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if i+1 < len(words) && i > 0 && words[i-1] == "interface" {
			if _, ok := interfaceType(words[i]); ok && words[i+1][0] >= '0' && words[i+1][0] <= '9' {
				out = append(out, words[i]+words[i+1])
				i++
				continue
			}
		}
		out = append(out, words[i])
	}
	return out
}

// encode returns the answer as printed by "| json" or "| json-pretty".
func (a answer) encode(pretty bool) string {
	if a.value == nil {
		return noStructure
	}
	var b []byte
	var err error
	if pretty {
		b, err = json.MarshalIndent(a.value, "", "    ")
	} else {
		b, err = json.Marshal(a.value)
	}
	if err != nil {
		return "ERROR: " + err.Error()
	}
	if a.cut != nil {
		return a.cut(string(b))
	}
	return string(b)
}

// table adds a table to structured output: one row is an object, several rows are a list, and a
// table without rows is omitted.
func table(into map[string]any, name string, rows []map[string]any) {
	switch len(rows) {
	case 0:
	case 1:
		into["TABLE_"+name] = map[string]any{"ROW_" + name: rows[0]}
	default:
		into["TABLE_"+name] = map[string]any{"ROW_" + name: rows}
	}
}

// module returns a table within the table of modules; the switch has one module.
func module(name string, rows []map[string]any) map[string]any {
	row := map[string]any{"slot": "1"}
	table(row, name, rows)
	out := map[string]any{}
	table(out, "module", []map[string]any{row})
	return out
}

// text returns a number in the form that structured output uses.
func text(n any) string { return fmt.Sprint(n) }

var showCommands []showCommand

func init() { // in init, since the commands refer to the table
	showCommands = []showCommand{
		{"version", (*front).version},
		{"inventory", (*front).inventory},
		{"clock", textOnly(func(f *front, _ []string) string { return f.clock() })},
		{"hostname", textOnly(func(f *front, _ []string) string { return f.n.hostname() })},
		{"running-config|run", running()},
		{"running-config|run all", running("all")},
		{"running-config|run ipqos", running("ipqos")},
		{"running-config|run ipqos all", running("ipqos", "all")},
		{"running-config|run interface PORT", (*front).runningInterface},
		{"startup-config|start", textOnly(func(f *front, _ []string) string { return f.faults.Cut(f.n.Startup()) })},
		{"file FILE", (*front).file},
		{"checkpoint summary", textOnly(func(f *front, _ []string) string { return f.checkpoints() })},
		{"rollback status", textOnly(func(f *front, _ []string) string { return f.n.rollbackStatus() })},
		{"diff rollback-patch checkpoint NAME running-config", textOnly(func(f *front, args []string) string { return f.n.diffCheckpoint(args[0]) })},
		{"policy-map system type network-qos", textOnly(func(f *front, _ []string) string { return f.networkPolicy() })},
		{"class-map type network-qos", textOnly(func(f *front, _ []string) string { return f.networkClasses() })},
		{"lldp neighbors|neighbor", (*front).lldpNeighbors},
		{"lldp neighbors|neighbor detail", (*front).lldpDetail},
	}
	showCommands = append(showCommands, portCommands...)
	showCommands = append(showCommands, queuingCommands...)
}
