package nxos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roce-fabric/roce-fabric/internal/lazyre"
	"github.com/roce-fabric/roce-fabric/testlab/sim/cli"
)

// checkpoint is a saved configuration to which a rollback returns.
type checkpoint struct {
	name, user string
	cfg        *cli.Block
	at         time.Time
}

// checkpointInfo is an entry of "show checkpoint summary".
type checkpointInfo struct {
	Name, User string
	Size       int // bytes
	At         time.Time
}

// Texts of rollbacks (napalm-automation/napalm nxos.py, genie libs).
const (
	rollbackDone   = "Rollback completed successfully."
	rollbackFailed = "Rollback failed."
	patchHead      = "Generating Rollback Patch"
	patchEmpty     = "Rollback Patch is Empty"
)

var checkpointName = lazyre.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$`)

// addCheckpoint saves the running configuration under a name, or under a generated name if name
// is "". It returns the output of the switch.
func (n *NXOS) addCheckpoint(name string) string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	if name == "" {
		for i := 1; ; i++ {
			if name = "user-checkpoint-" + strconv.Itoa(i); n.checkpointNamed(name) == nil {
				break
			}
		}
	}
	switch {
	case !checkpointName.MatchString(name) || strings.HasPrefix(name, "system-"):
		return "% Invalid command"
	case n.checkpointNamed(name) != nil:
		return "ERROR: checkpoint " + name + " already exists"
	case len(n.checkpoints) >= n.o.MaxCheckpoints:
		return fmt.Sprintf("ERROR: maximum number of checkpoints (%d) reached", n.o.MaxCheckpoints)
	}
	n.checkpoints = append(n.checkpoints, &checkpoint{name: name, user: n.o.Username, cfg: n.running.Clone(), at: time.Now()})
	return "Done"
}

// removeCheckpoint executes "no checkpoint NAME".
func (n *NXOS) removeCheckpoint(name string) string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	c := n.checkpointNamed(name)
	if c == nil {
		return n.noCheckpoint(name)
	}
	n.checkpoints = slices.DeleteFunc(n.checkpoints, func(o *checkpoint) bool { return o == c })
	return ""
}

func (n *NXOS) checkpointNamed(name string) *checkpoint {
	for _, c := range n.checkpoints {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (n *NXOS) noCheckpoint(name string) string {
	return "ERROR: checkpoint " + cli.Clip(name) + " does not exist"
}

// checkpointSummary lists the user's checkpoints, oldest first.
func (n *NXOS) checkpointSummary() []checkpointInfo {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	var out []checkpointInfo
	for _, c := range n.checkpoints {
		out = append(out, checkpointInfo{c.name, c.user, len(n.body(c.cfg)), c.at})
	}
	return out
}

// diffCheckpoint returns the output of "show diff rollback-patch checkpoint NAME
// running-config": the lines that turn the checkpoint into the running configuration.
func (n *NXOS) diffCheckpoint(name string) string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	c := n.checkpointNamed(name)
	if c == nil {
		return n.noCheckpoint(name)
	}
	out := "Collecting Running-Config\n#" + patchHead + "\n"
	steps := patch(c.cfg, n.running)
	if len(steps) == 0 {
		return out + patchEmpty
	}
	return out + "!!\n" + strings.TrimRight(patchText(steps, ""), "\n")
}

// rollbackStatus returns the output of "show rollback status".
func (n *NXOS) rollbackStatus() string {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	if n.lastRoll == "" {
		return "No rollback operation has been performed"
	}
	return n.lastRoll
}

// rollback executes "rollback running-config checkpoint NAME [MODE]": it runs a patch from the
// running configuration to the checkpoint line by line, under the same rules as typed lines.
// Mode "atomic" (also "") leaves everything unchanged if a line is refused; the others are
// "stop-at-first-failure" and "best-effort". It returns the output of the switch.
func (n *NXOS) rollback(name, mode string) string {
	if !n.Work() {
		return "ERROR: the switch is going down\n" + rollbackFailed
	}
	n.Mu.Lock()
	defer n.Mu.Unlock()
	n.Wrote()
	c := n.checkpointNamed(name)
	if c == nil {
		return n.noCheckpoint(name)
	}
	if mode == "" {
		mode = "atomic"
	}
	begun := time.Now()
	var b strings.Builder
	b.WriteString("Collecting Running-Config\n#" + patchHead + "\n")
	steps := patch(n.running, c.cfg)
	status := "Success"
	if len(steps) == 0 {
		b.WriteString(patchEmpty + "\n\n" + rollbackDone + "\n")
	} else {
		b.WriteString("Executing Rollback Patch\n")
		refused := n.rollTo(steps, mode)
		// A line may remove others as a side effect; another patch restores them.
		for range 2 {
			if len(refused) == 0 && !same(n.running, c.cfg) {
				refused = n.rollTo(patch(n.running, c.cfg), mode)
			}
		}
		for _, r := range refused {
			b.WriteString(r + "\n")
		}
		if len(refused) == 0 && !same(n.running, c.cfg) {
			refused = []string{"ERROR: verification patch is not empty"}
			b.WriteString("Generating Running-config for verification\nGenerating Patch for verification\n" + refused[0] + "\n")
		}
		if len(refused) > 0 {
			status = "Failed"
			b.WriteString("\n" + rollbackFailed + "\n")
		} else {
			b.WriteString("Generating Running-config for verification\nGenerating Patch for verification\nVerification is Successful.\n\n" + rollbackDone + "\n")
		}
	}
	n.lastRoll = "Last operation  : Rollback to checkpoint\nDetails         :\n  Rollback type : " + mode +
		"\n  Start Time    : " + begun.UTC().Format(stamp) + "\n  End Time      : " + time.Now().UTC().Format(stamp) + "\n  Operation Status: " + status + "\n"
	return strings.TrimRight(b.String(), "\n")
}

// rollTo runs a patch on the running configuration and returns the refusals.
func (n *NXOS) rollTo(steps []step, mode string) []string {
	cfg := n.running.Clone()
	var refused []string
	for _, s := range steps {
		out := n.runStep(cfg, s)
		if !failed(out) {
			continue
		}
		refused = append(refused, "'"+s.line+"' : "+lastLine(out), lastLine(out))
		switch mode {
		case "atomic":
			return refused
		case "best-effort":
			continue
		}
		break
	}
	n.replace(cfg)
	return refused
}

// runStep runs one line in the mode that its headers open.
func (n *NXOS) runStep(cfg *cli.Block, s step) string {
	c := &configurer{n: n, user: "rollback", root: cfg}
	for _, h := range s.path {
		if out := c.run(h); failed(out) {
			return out
		}
	}
	out := ""
	for _, l := range cli.SplitLines(s.line) { // a banner has several lines
		if out = c.run(l); failed(out) {
			break
		}
	}
	return out
}
