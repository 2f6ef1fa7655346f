package nxos

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// stage is the buffer of a dual-stage session. Its lines are checked against the grammar when
// they are entered, and against the configuration when they are committed.
type stage struct {
	scratch *cli.Block // the lines open their modes here; its contents are discarded
	lines   []step
	notices []string
	over    bool // aborted
}

// maxStaged limits the number of lines in a buffer.
const maxStaged = 20_000

// confirmTimer is the timer of a commit that waits for confirmation. A switch has only one.
type confirmTimer struct {
	s      *stage
	before *cli.Block // configuration to roll back to
}

// firstCommit is the commit ID before the first commit.
const firstCommit = 1000000000

// openDualStage executes "configure dual-stage", which not every switch supports.
func (n *NXOS) openDualStage(user string) (c *configurer, refused bool) {
	if n.o.NoDualStage {
		return nil, true
	}
	n.Mu.Lock()
	defer n.Mu.Unlock()
	return &configurer{n: n, user: user, stage: &stage{scratch: n.running.Clone()}}, false
}

// staged adds a line to the buffer. The caller holds mu.
func (c *configurer) staged(text string) string {
	s := c.stage
	if s.over {
		return "ERROR: the dual-stage configuration is over"
	}
	line := strings.TrimSpace(strings.Map(cli.Printable, text))
	if c.n.o.DualStageNoQoS && qosLine(line) || cli.Matches(c.n.stageRefuse, line) {
		w := cli.Tokenize(line)
		return c.refusalText(cli.Misfit{}, w, len(text)-len(strings.TrimLeft(text, " ")))
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

// buffer returns the output of "show configuration": the contents of the buffer.
func (c *configurer) buffer() string {
	c.n.Mu.Lock()
	defer c.n.Mu.Unlock()
	return "! Cached configuration\n" + patchText(c.stage.lines, " ")
}

// notice returns the messages to this terminal since the last call.
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

// abort discards the buffer. If a commit of this terminal waits for confirmation, it is rolled
// back.
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

// commit verifies the buffer and applies it to the running configuration, completely or not at
// all. If seconds is above 0, the commit is rolled back after that time unless a commit of an
// empty buffer confirms it. It returns the output of the switch.
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

// Unconfirmed commits another MTU of a port with a timer, as a run of the product on another machine
// does that began a minute ago and has yet to confirm.
func (n *NXOS) Unconfirmed(port string) {
	c, refused := n.openDualStage("colleague")
	if refused {
		return
	}
	n.addCheckpoint("rf-" + time.Now().Add(-time.Minute).UTC().Format("20060102-150405") + "-lab")
	for _, line := range []string{"interface " + port, "mtu 1500"} {
		c.line(line)
	}
	c.commit(300)
}

// confirming is the answer to a confirmation.
const confirming = "Confirming commit"

func refusedCommit(reason string) string {
	return "Failed. err=" + reason + "\ncommit verification failed"
}

// commitID returns the ID of the commit that has just been made.
func (n *NXOS) commitID() string {
	n.lastCommit++
	return strconv.Itoa(firstCommit + n.lastCommit)
}

// expire rolls back the commit that waits for confirmation and reports it on its terminal. The
// caller holds mu.
func (n *NXOS) expire() {
	t := n.Timer
	n.StopTimer()
	n.replace(t.before)
	t.s.notices = append(t.s.notices, "Confirm commit Timer expired, triggering rollback commit", "Rollback in progress",
		"Configuration committed by rollback using Commit ID : "+n.commitID())
}
