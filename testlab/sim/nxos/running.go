package nxos

import (
	"fmt"
	"strings"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// Refuses returns the lines of a running configuration that a switch of a model refuses, each
// with its number and the answer of the switch: "line 12: pause pfc-cos 9: % Invalid command at
// '^' marker.". If model is "", the default of [Options] is used.
func Refuses(model string, config []byte) []string {
	n := &NXOS{o: withDefaults(Options{Model: model, Running: config})}
	n.carved = true
	if err := n.Init(cli.Setup{Name: "switch"}); err != nil {
		return []string{err.Error()}
	}
	return (&configurer{n: n, user: "startup", root: &cli.Block{}}).take(config)
}

// take runs the lines of a running configuration and returns the refused ones. It runs them
// several times, as objects may come in any order: a policy may stand before a class-map that it
// uses.
func (c *configurer) take(config []byte) (refused []string) {
	lines := cli.SplitLines(strings.ReplaceAll(string(config), "\r", ""))
	for range 3 {
		before := len(refused)
		if refused = c.pass(lines); len(refused) == 0 || len(refused) == before {
			break
		}
	}
	return refused
}

// opened is a sub-mode that a line of a file has opened, with the indentation of that line.
// indented is set if lines of the sub-mode are indented below it.
type opened struct {
	indent   int
	indented bool
}

// pass runs the lines once, as if they were typed: a line without indentation belongs to the
// innermost sub-mode that knows it, unless the lines before it were indented below that sub-mode's
// header. Lines below a refused header are skipped. Prompts are cut off.
func (c *configurer) pass(lines []string) (refused []string) {
	c.stack, c.heredoc = nil, nil
	var open []opened
	skip := -1
	for i, l := range lines {
		if c.heredoc != nil {
			c.run(l)
			continue
		}
		mode, l, typed := cli.CutPrompt(l)
		depth, text := cli.Indented(l), strings.TrimSpace(l)
		switch {
		case text == "", text[0] == '!', cli.Talk(text), skip >= 0 && depth > skip: // a comment does not end a mode
			continue
		case typed && mode == "config":
			c.stack = nil
		}
		open = leave(open[:min(len(open), len(c.stack))], depth)
		c.stack = c.stack[:len(open)]
		skip = -1
		if systemClass.MatchString(text) && !c.n.o.FourQueue {
			skip = depth // the switch has it
			continue
		}
		if out := refusal(c.run)(text); out != "" {
			refused = append(refused, fmt.Sprintf("line %d: %s: %s", i+1, cli.Clip(text), out))
			skip = depth
		}
		open = open[:min(len(open), len(c.stack))]
		if n := len(c.stack); n > 0 && c.stack[n-1].Line == cli.Tokenize(text).Line {
			open = append(open[:n-1], opened{indent: depth})
		}
	}
	c.stack, c.heredoc = nil, nil
	return refused
}

// leave returns the sub-modes that stay open for a line with an indentation.
func leave(open []opened, depth int) []opened {
	for len(open) > 0 {
		top := &open[len(open)-1]
		if top.indented = top.indented || depth > top.indent; depth > top.indent || !top.indented {
			break
		}
		open = open[:len(open)-1]
	}
	return open
}

// Models with the 4-queue class model: the Nexus 3000, and the Nexus 9000 before Cloud Scale.
// Later releases of some of them have eight queues as well.
var (
	fourQueueBox = lazyre.New(`(?i)^(N3K-|N9K-C9\d+(PX|TX|PQ)(-E)?$)`)
	eightNames   = lazyre.New(`c-8q-nq|c-out-8q-q`)
	fourNames    = lazyre.New(`c-nq(\d|-default)|c-out-q(\d|-default)`)
)

// Switches whose classes of type queuing are user-defined, as those of type network-qos are
// everywhere: Nexus 3000 and 5000 (microsoft/SDN, Nexus 3132; Nexus 3000 and 5000 NX-OS QoS
// Configuration Guides). A file without the model shows it by its release or by such a class.
var (
	userClassBox     = lazyre.New(`(?i)^(N3K-|N5K-|N6K-)`)
	userClassRelease = lazyre.New(`(?m)^\s*version \d+\.\d+\(\w+\)[NU]\d`)
	userClass        = lazyre.New(`(?m)^\s*(\S+# *)?(class-map type queuing (match-a\w+ )?[^c\s]|pause no-drop)`)
)

// systemClass matches the header of a class-map that the switch has by itself, as "show
// running-config all" prints it.
var systemClass = lazyre.New(`^class-map type (queuing|network-qos) (match-a\w+ )?c-(8q-nq|nq|out-8q-q|out-q|in-q)(\d|-default)$`)

// userClasses reports whether a switch of a model with that running configuration has queuing
// classes that its user defines.
func userClasses(model string, config []byte) bool {
	if fourNames.Match(config) || eightNames.Match(config) && !userClass.Match(config) {
		return false
	}
	if model != "" && !userClassBox.MatchString(model) {
		return false
	}
	return userClassRelease.Match(config) || userClass.Match(config)
}

// fourQueues reports whether a switch of a model with that running configuration has four
// queues.
func fourQueues(model string, config []byte) bool {
	if model == "" {
		return fourNames.Match(config) && !eightNames.Match(config)
	}
	return fourQueueBox.MatchString(model) && !eightNames.Match(config)
}
