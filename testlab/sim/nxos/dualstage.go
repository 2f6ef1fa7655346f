package nxos

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// stage is the buffer of a dual-stage configuration: its lines are checked
// against the grammar as they come and against the configuration when they are
// committed.
type stage struct {
	scratch *cli.Block // where the lines open their modes; nothing of it is kept
	lines   []step
	notices []string
	over    bool // aborted
}

// maxStaged bounds the lines of a buffer.
const maxStaged = 20_000

// confirmTimer is the timer of a commit that waits for its confirmation. A box
// has one.
type confirmTimer struct {
	s      *stage
	before *cli.Block // what it rolls back to
}

// firstCommit is the number before that of the first commit.
const firstCommit = 1000000000

// openDualStage is "configure dual-stage", which not every box has.
func (n *NXOS) openDualStage(user string) (c *configurer, refused bool) {
	if n.o.NoDualStage {
		return nil, true
	}
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return &configurer{n: n, user: user, stage: &stage{scratch: n.running.Clone()}}, false
}

// staged takes a line into the buffer. The caller holds mu.
func (c *configurer) staged(text string) string {
	s := c.stage
	if s.over {
		return "ERROR: the dual-stage configuration is over"
	}
	line := strings.TrimSpace(strings.Map(cli.Printable, text))
	if c.n.o.DualStageNoQoS && qosLine(line) || cli.Matches(c.n.stageRefuse, line) {
		w := cli.Tokenize(line)
		return c.say(cli.Misfit{}, w, len(text)-len(strings.TrimLeft(text, " ")))
	}
	if len(s.lines) >= maxStaged {
		return "ERROR: too many lines in the buffer"
	}
	c.ran = nil
	out := c.run(text)
	if c.ran != nil && !failed(out) {
		s.lines = append(s.lines, *c.ran)
	}
	return out
}

// qosLine reports whether a line is about QoS.
func qosLine(line string) bool {
	f := strings.Fields(strings.ToLower(line))
	if len(f) > 1 && (f[0] == "no" || f[0] == "default") {
		f = f[1:]
	}
	if len(f) == 0 {
		return false
	}
	return slices.Contains([]string{"class-map", "policy-map", "service-policy", "priority-flow-control"}, f[0]) || f[0] == "system" && len(f) > 1 && f[1] == "qos"
}

// buffer is "show configuration": what the buffer holds.
func (c *configurer) buffer() string {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	return "! Cached configuration\n" + patchText(c.stage.lines, " ")
}

// notice is what the box has to say on this terminal since it was asked last.
func (c *configurer) notice() string {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	if c.stage == nil {
		return ""
	}
	out := strings.Join(c.stage.notices, "\n")
	c.stage.notices = nil
	return out
}

// abort drops the buffer. A commit of this terminal that waits for its
// confirmation is rolled back.
func (c *configurer) abort() string {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	if c.stage == nil {
		return "% Invalid command"
	}
	c.stage.over, c.stage.lines, c.stack = true, nil, nil
	if t := c.n.Timer; t != nil && t.s == c.stage {
		c.n.expire()
	}
	return ""
}

// commit verifies the buffer and makes it part of the running configuration, as
// a whole or not at all. With a number of seconds it is rolled back when they
// end,
// unless a commit of an empty buffer confirms it. The result is what the box
// prints.
func (c *configurer) commit(seconds int) string {
	if !c.n.Work() {
		return "Failed. err=the switch is going down\ncommit verification failed"
	}
	n := c.n
	n.Mu.Lock()
	defer n.Mu.Unlock()
	s := c.stage
	switch {
	case s == nil:
		return "% Invalid command"
	case s.over:
		return "ERROR: the dual-stage configuration is over"
	case n.Timer != nil && len(s.lines) == 0:
		if seconds > 0 {
			return "ERROR: a commit waits for its confirmation"
		}
		n.StopTimer()
		return confirming
	}
	n.Wrote()
	switch {
	case n.Timer != nil:
		return refusedCommit("a commit waits for its confirmation")
	case len(s.lines) == 0:
		return "No configuration changes to commit."
	}
	cfg := n.running.Clone()
	for _, l := range s.lines {
		if out := n.runStep(cfg, l); failed(out) {
			return refusedCommit(strings.TrimPrefix(lastLine(out), "ERROR: ") + " (" + l.line + ")")
		}
	}
	before := n.running
	n.replace(cfg)
	if seconds > 0 {
		n.StartTimer(&confirmTimer{s: s, before: before}, time.Duration(seconds)*time.Second, n.expire)
	}
	s.lines, s.scratch, c.stack = nil, cfg.Clone(), nil
	return "Verification Succeeded.\n\nProceeding to apply configuration. This might take a while depending on amount of configuration in buffer.\n" +
		"Please avoid other configuration changes during this time.\nConfiguration committed by user '" + c.user + "' using Commit ID : " + n.commitID()
}

// confirming is the answer to a confirmation.
const confirming = "Confirming commit"

func refusedCommit(reason string) string {
	return "Failed. err=" + reason + "\ncommit verification failed"
}

// commitID is the ID of the commit that has just been made.
func (n *NXOS) commitID() string {
	n.lastCommit++
	return strconv.Itoa(firstCommit + n.lastCommit)
}

// expire undoes the commit that waits for its confirmation and says so on its
// terminal. The caller holds mu.
func (n *NXOS) expire() {
	t := n.Timer
	n.StopTimer()
	n.replace(t.before)
	t.s.notices = append(t.s.notices, "Confirm commit Timer expired, triggering rollback commit", "Rollback in progress",
		"Configuration committed by rollback using Commit ID : "+n.commitID())
}
