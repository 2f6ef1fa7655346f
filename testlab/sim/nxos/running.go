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

// pass runs the lines once. Lines below a refused header are skipped.
func (c *configurer) pass(lines []string) (refused []string) {
	c.stack, c.heredoc = nil, nil
	skip := -1
	for i, l := range lines {
		depth := len(l) - len(strings.TrimLeft(l, " "))
		text := strings.TrimSpace(l)
		switch {
		case c.heredoc == nil && skip >= 0 && depth > skip && text != "":
			continue
		case c.heredoc == nil && (text == "" || text[0] == '!'): // a comment does not end a mode
			continue
		}
		if c.heredoc == nil && depth == 0 {
			c.stack = nil
		}
		skip = -1
		if out := refusal(c.run)(l); out != "" {
			refused = append(refused, fmt.Sprintf("line %d: %s: %s", i+1, cli.Clip(text), out))
			skip = depth
		}
	}
	c.stack, c.heredoc = nil, nil
	return refused
}

// Models with the 4-queue class model: the Nexus 3000, and the Nexus 9000 before Cloud Scale.
// Later releases of some of them have eight queues as well.
var (
	fourQueueBox = lazyre.New(`(?i)^(N3K-|N9K-C9\d+(PX|TX|PQ)(-E)?$)`)
	eightNames   = lazyre.New(`c-8q-nq|c-out-8q-q`)
)

// fourQueues reports whether a switch of a model with that running configuration has four
// queues.
func fourQueues(model string, config []byte) bool {
	return fourQueueBox.MatchString(model) && !eightNames.Match(config)
}
